"""Workers begin, end and begin again; each app is looked at by one of them at a time."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from gitops_bg.agent.runtime.workers import MOST_HANGING, Workers, WorkQueue
from gitops_bg.core.model.version import AppKey
from tests.support.waiting import eventually

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")


def test_workers_take_turns_with_nobody_and_a_look_that_goes_on_is_the_last_of_its_thread() -> None:
    queue, looked, may_end, crashes = WorkQueue(), list[tuple[AppKey, str]](), threading.Event(), list[BaseException]()

    def look_at(app: AppKey) -> None:
        looked.append((app, threading.current_thread().name))
        if app == WEB:
            may_end.wait(20)

    workers = Workers(queue, look_at, 2, crashes.append)
    queue.add(API)
    assert (len(queue), workers.problems()) == (0, []), "nobody works before it begins"
    workers.begin()
    workers.begin()
    queue.add(WEB)
    eventually(lambda: looked, what="the first look has begun")
    workers.end()
    queue.add(API)
    assert len(queue) == 0
    workers.begin()
    queue.add(WEB)
    queue.add(API)
    eventually(lambda: [app for app, _ in looked] == [WEB, API], what="another app is looked at beside the old look")
    may_end.set()
    eventually(lambda: [app for app, _ in looked] == [WEB, API, WEB], what="the app is looked at again, once")
    assert workers.problems() == []
    eventually(lambda: sum(each.is_alive() for each in workers._threads) == 2, what="the thread of before is gone")
    workers.end()
    workers.join(lambda: 20.0)
    assert not any(thread.is_alive() for thread in workers._threads)
    assert (workers.problems(), crashes) == ([], [])


def test_a_bug_that_ends_a_thread_is_told() -> None:
    queue, crashes = WorkQueue(), list[BaseException]()

    def fails(app: AppKey) -> None:
        raise MemoryError

    workers = Workers(queue, fails, 1, crashes.append)
    workers.begin()
    queue.add(WEB)
    eventually(lambda: crashes, what="it is told")
    eventually(lambda: workers.problems() == ["thread worker-0 ended"], what="and shown")
    workers.end()


def test_a_look_that_hangs_has_a_substitute_and_ends_its_thread() -> None:
    queue, looked, may_end, now = WorkQueue(), list[AppKey](), threading.Event(), [100.0]

    def look_at(app: AppKey) -> None:
        looked.append(app)
        if app == WEB:
            may_end.wait(20)

    workers = Workers(queue, look_at, 1, lambda _: None, monotonic=lambda: now[0])
    workers.begin()
    queue.add(WEB)
    eventually(lambda: looked == [WEB], what="the look has begun")
    queue.add(API)
    now[0] = 129.9
    assert workers.replace_hanging(30.0) == []
    now[0] = 130.0
    [(app, where)] = workers.replace_hanging(30.0)
    assert app == WEB
    assert "may_end.wait(20)" in where
    eventually(lambda: looked == [WEB, API], what="a substitute looks at the other app")
    now[0] = 999.0
    assert workers.replace_hanging(30.0) == [], "it is told once, and needs one substitute"
    waited = list[float]()
    workers.join(lambda: waited.append(0) or 0.0)
    assert len(waited) == 1, "nobody waits for a look that hangs: what else is to be ended gets the time"
    queue.add(WEB)
    assert workers.problems() == []
    may_end.set()
    eventually(lambda: looked == [WEB, API, WEB], what="the app is looked at again")
    eventually(lambda: sum(each.is_alive() for each in workers._threads) == 1, what="one thread remains")
    workers.end()
    workers.join(lambda: 20.0)


@pytest.mark.parametrize("hangs", [False, True])
def test_looking_where_threads_are_keeps_nothing_of_their_stacks(hangs: bool) -> None:
    """Python's stacks of all threads have that of who asks among them: kept in a variable, it would hold itself and
    all that any thread had in its hands, until Python searches for cycles.
    """
    queue, may_end, began = WorkQueue(), threading.Event(), threading.Event()

    def look_at(_: AppKey) -> None:
        began.set()
        may_end.wait(20)

    workers = Workers(queue, look_at, 1, lambda _: None)
    workers.begin()
    queue.add(WEB)
    assert began.wait(20)

    def ask() -> weakref.ref[WorkQueue]:
        held = WorkQueue()
        assert len(workers.replace_hanging(0.0 if hangs else 600.0)) == hangs
        return weakref.ref(held)

    gc.disable()
    try:
        assert ask()() is None
    finally:
        gc.enable()
        may_end.set()
        workers.end()


def test_too_many_looks_that_hang_are_a_reason_to_start_the_process_again() -> None:
    queue, may_end, now, begun = WorkQueue(), threading.Event(), [0.0], list[AppKey]()

    def look_at(app: AppKey) -> None:
        begun.append(app)
        may_end.wait(20)

    waiting: set[int] = set()
    workers = Workers(queue, look_at, 1, lambda _: None, lambda: now[0], waiting.__contains__)
    workers.begin()
    for number in range(MOST_HANGING + 1):
        assert workers.problems() == []
        queue.add(AppKey("shop", f"app-{number}"))
        eventually(lambda: len(begun) == number + 1, what="its look has begun")  # noqa: B023 - called in this turn
        now[0] += 60
        assert len(workers.replace_hanging(60.0)) == 1
    assert workers.problems() == [f"{MOST_HANGING + 1} looks hang"]
    waiting.add(next(each.ident or 0 for each in workers._looks))
    assert workers.problems() == [], "an API server that is slow would be as slow for another process"
    may_end.set()
    eventually(lambda: workers.problems() == [], what="none hangs any more")
    workers.end()
    workers.join(lambda: 20.0)
