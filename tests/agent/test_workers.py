"""Workers begin, end and begin again; each app is looked at by one of them at a time."""

from __future__ import annotations

import threading

from gitops_bg.agent.runtime.workers import Workers
from gitops_bg.agent.runtime.workqueue import WorkQueue
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
