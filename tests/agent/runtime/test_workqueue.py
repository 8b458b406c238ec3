"""The queue of apps: each at most once, one worker per app, no entry lost."""

import threading

from hypothesis import given
from hypothesis import strategies as some

from gitops_bg.agent.reconcile.kind import Urgency
from gitops_bg.agent.runtime.workers import MOST_LOOKS, MOST_PASSED, WorkQueue
from gitops_bg.core.model.version import AppKey

WEB, API, OTHER = AppKey("shop", "web"), AppKey("shop", "api"), AppKey("shop", "other")


def test_apps_come_out_in_the_order_of_their_first_mention_each_once() -> None:
    queue = WorkQueue()
    for app in (WEB, API, WEB):
        queue.add(app)
    assert len(queue) == 2
    assert [queue.get(), queue.get()] == [WEB, API]


def test_mention_while_an_app_is_worked_on_waits_for_the_end_of_that() -> None:
    queue = WorkQueue()
    queue.add(WEB)
    assert queue.get() == WEB
    queue.add(WEB)
    queue.add(WEB)
    assert len(queue) == 0, "one worker an app at a time"
    queue.done(WEB)
    assert len(queue) == 1, "and once more, not twice"


def test_app_that_is_done_and_not_mentioned_again_is_over() -> None:
    queue = WorkQueue()
    queue.add(WEB)
    queue.get()
    assert not queue.idle
    queue.done(WEB)
    assert queue.idle
    assert queue.wait_idle(0)


def look(queue: WorkQueue, *, rests: bool) -> AppKey | None:
    """One look at the next app, which rests afterwards or not."""
    app = queue.get()
    assert app is not None
    if rests:
        queue.rest(app)
    queue.done(app)
    return app


def drained(queue: WorkQueue) -> list[AppKey | None]:
    """The apps in the order of their looks, each of which ends at rest."""
    return [look(queue, rests=True) for _ in range(len(queue))]


def test_an_app_that_goes_on_goes_on_before_the_next_one_begins() -> None:
    queue = WorkQueue()
    for app in (WEB, API, OTHER):
        queue.add(app)
    assert look(queue, rests=False) == WEB
    queue.add(WEB)  # its pods are there
    assert [look(queue, rests=True), look(queue, rests=True), look(queue, rests=True)] == [WEB, API, OTHER]


def test_an_app_that_rested_is_queued_behind_those_that_came_meanwhile() -> None:
    queue = WorkQueue()
    for app in (WEB, API):
        queue.add(app)
    assert look(queue, rests=True) == WEB
    queue.add(WEB)
    assert [look(queue, rests=True), look(queue, rests=True)] == [API, WEB]


def test_what_was_added_during_a_look_that_ends_at_rest_is_queued_last() -> None:
    queue = WorkQueue()
    queue.add(WEB)
    assert queue.get() == WEB
    queue.add(API)
    queue.add(WEB)
    queue.rest(WEB)
    queue.done(WEB)
    assert [queue.get(), queue.get()] == [API, WEB]


def test_an_app_that_waits_keeps_its_place() -> None:
    queue = WorkQueue()
    for app in (WEB, API):
        queue.add(app)
    queue.rest(WEB)
    assert drained(queue) == [WEB, API]


def test_an_app_that_is_woken_without_end_keeps_nobody_waiting_without_end() -> None:
    queue, looks = WorkQueue(), 0
    queue.add(WEB)
    queue.add(API)
    while look(queue, rests=False) == WEB:
        queue.add(WEB)
        looks += 1
    assert looks == MOST_LOOKS


def test_the_more_urgent_app_comes_first_and_equally_urgent_ones_in_the_order_in_which_they_came() -> None:
    queue, late = WorkQueue(), AppKey("shop", "late")
    for app, urgency in ((WEB, 2), (API, 1), (OTHER, 2), (late, 1)):
        queue.add(app, urgency)
    assert drained(queue) == [API, late, WEB, OTHER]


def test_an_app_that_waits_becomes_more_urgent_and_never_less() -> None:
    queue = WorkQueue()
    for app, urgency in ((WEB, 1), (API, 2), (API, 0), (WEB, 2), (OTHER, 2)):
        queue.add(app, urgency)
    assert (len(queue), drained(queue)) == (3, [API, WEB, OTHER])
    assert queue.idle


def test_what_was_urgent_once_is_no_more_so_when_it_is_added_again() -> None:
    queue = WorkQueue()
    queue.add(WEB, 2)
    queue.add(WEB, 0)
    queue.add(API, 2)
    assert look(queue, rests=True) == WEB
    queue.add(WEB, 2)
    assert drained(queue) == [API, WEB]


def test_an_app_is_as_urgent_after_a_look_as_the_most_urgent_mention_during_it() -> None:
    queue = WorkQueue()
    queue.add(WEB, 2)
    assert queue.get() == WEB
    for urgency in (2, 0, 1):
        queue.add(WEB, urgency)
    queue.add(API, 1)
    queue.done(WEB)
    assert drained(queue) == [WEB, API]


def test_nobody_waits_without_end_for_more_urgent_apps() -> None:
    queue, first = WorkQueue(), [AppKey("shop", f"first-{number}") for number in range(40)]
    queue.add(OTHER, 2)
    queue.add(API, 1)
    for app in first:
        queue.add(app)
    order = drained(queue)
    assert order.index(API) == MOST_PASSED
    assert order.index(OTHER) == MOST_PASSED + 1
    assert [app for app in order if app in first] == first


def test_what_waits_only_now_was_not_passed_before() -> None:
    queue, first = WorkQueue(), [AppKey("shop", f"first-{number}") for number in range(40)]
    queue.add(API, 1)
    for app in first:
        queue.add(app)
    assert [look(queue, rests=True) for _ in range(MOST_PASSED + 1)] == [*first[:MOST_PASSED], API]
    queue.add(WEB, 1)
    assert drained(queue).index(WEB) == MOST_PASSED


@given(some.lists(some.tuples(some.sampled_from((WEB, API, OTHER)), some.integers(0, 3), some.booleans()), max_size=60))
def test_of_few_apps_the_most_urgent_and_then_the_first_to_come_is_next_whatever_came_before(
    steps: list[tuple[AppKey, int, bool]],
) -> None:
    queue, waiting, came = WorkQueue(), dict[AppKey, int](), list[AppKey]()
    for app, urgency, is_look in steps:
        if is_look and waiting:
            next_one = min(waiting, key=lambda each: (waiting[each], came.index(each)))
            passed = queue._passed
            if max(passed.values(), default=0) < MOST_PASSED:
                assert look(queue, rests=True) == next_one
            else:
                next_one = look(queue, rests=True) or next_one
            del waiting[next_one]
            came.remove(next_one)
        elif not is_look:
            queue.add(app, urgency)
            waiting[app] = min(urgency, waiting.get(app, urgency))
            came += [app] if app not in came else []
    assert len(queue) == len(waiting)


def test_worker_waits_until_there_is_something_to_do() -> None:
    queue, got = WorkQueue(), []
    worker = threading.Thread(target=lambda: got.append(queue.get()))
    worker.start()
    queue.add(API)
    worker.join(5)
    assert got == [API]


def test_stopped_queue_sends_every_worker_home_and_takes_nothing_more() -> None:
    queue, got = WorkQueue(), []
    workers = [threading.Thread(target=lambda: got.append(queue.get())) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.stop()
    for worker in workers:
        worker.join(5)
    queue.add(WEB)
    assert got == [None] * 3
    assert len(queue) == 0


def test_wait_for_idleness_gives_up_after_its_time() -> None:
    queue = WorkQueue()
    queue.add(WEB)
    assert not queue.wait_idle(0.01)


def test_many_workers_never_hold_the_same_app_at_once() -> None:
    queue, held, clashes, looks = WorkQueue(), set(), [], []
    guard = threading.Lock()

    def work() -> None:
        for app in iter(queue.get, None):
            with guard:
                clashes.extend([app] if app in held else [])
                held.add(app)
                looks.append(app)
            with guard:
                held.discard(app)
            queue.done(app)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for _ in range(200):
        queue.add(WEB)
        queue.add(API)
    assert queue.wait_idle(5)
    queue.stop()
    for worker in workers:
        worker.join(5)
    assert not clashes
    assert {WEB, API} == set(looks)


def test_a_queue_that_is_paused_forgets_and_takes_nothing_until_it_is_resumed() -> None:
    queue = WorkQueue()
    queue.add(WEB)
    queue.pause()
    queue.add(API)
    assert (queue.get(), queue.idle, len(queue)) == (None, True, 0)
    queue.resume()
    queue.add(API)
    assert queue.get() == API


def test_an_app_whose_look_outlives_a_pause_is_not_looked_at_twice_at_once() -> None:
    queue = WorkQueue()
    queue.add(WEB)
    assert queue.get() == WEB
    queue.pause()
    queue.resume()
    queue.add(WEB)
    assert len(queue) == 0
    queue.done(WEB)
    assert queue.get() == WEB


def test_whether_a_more_urgent_app_waits() -> None:
    queue = WorkQueue()
    assert not queue.has_before(3)
    queue.add(WEB, 3)
    assert not queue.has_before(3)
    queue.add(API, 2)
    assert queue.has_before(3)
    queue.get()
    assert not queue.has_before(3), "what a worker has does not wait"


def test_what_may_follow_from_a_write_comes_after_what_changed_and_before_apps_at_rest() -> None:
    queue = WorkQueue()
    for app, urgency in ((OTHER, Urgency.AT_REST), (WEB, Urgency.WROTE), (API, Urgency.CHANGED)):
        queue.add(app, urgency)
    assert [queue.get() for _ in range(3)] == [API, WEB, OTHER]
