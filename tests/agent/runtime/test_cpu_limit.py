"""A computation that takes too much CPU is ended, by an exception of its own thread, and nothing else is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, repeat

import pytest

from gitops_bg.agent.runtime.cpu import CpuLimit
from gitops_bg.core.errors import TookTooLong, guarded
from tests.support.waiting import eventually

LITTLE = 0.02
"""Seconds of CPU."""


def endless() -> None:
    while True:
        pass


def stubborn() -> None:
    while True:
        with suppress(Exception), guarded("a boundary inside"):
            endless()


def waiting() -> str:
    time.sleep(0.2)
    return "waited"


@pytest.mark.parametrize("compute", [endless, stubborn])
def test_what_never_ends_is_ended_and_the_error_says_where(compute: Callable[[], None]) -> None:
    with pytest.raises(
        TookTooLong, match=r"^reading apps/shop/web takes more than 0.02 s of CPU, and was ended$"
    ) as told:
        CpuLimit().run("reading apps/shop/web", compute, LITTLE)
    where = told.value.__cause__
    assert where is not None
    names = set()
    trace = where.__traceback__
    while trace is not None:
        names.add(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "endless" in names


def test_waiting_takes_no_cpu_and_what_is_computed_in_time_is_returned() -> None:
    limit = CpuLimit()
    assert limit.run("x", waiting, 0.1) == "waited"
    assert limit.run("x", lambda: 3) == 3
    with pytest.raises(ValueError, match="its own"):
        limit.run("x", lambda: int("its own"))


def test_an_interruption_at_the_last_moment_reaches_nothing_outside() -> None:
    clock = chain([0.0], repeat(5.0))
    limit = CpuLimit(cpu_of=lambda _: next(clock))

    def just_in_time() -> str:
        watcher = threading.Thread(target=limit.check)
        watcher.start()
        watcher.join()
        return "done"

    with suppress(TookTooLong):
        limit.run("x", just_in_time, 1.0)
    for _ in range(1_000):
        pass  # It would come here.


def test_what_is_asked_outside_is_not_interrupted_and_costs_nothing() -> None:
    now, asked = [0.0], list[str]()
    limit = CpuLimit(cpu_of=lambda _: now[0], interrupt=lambda _: asked.append("interrupted"))

    def ask() -> None:
        now[0] += 100
        limit.check()

    def compute() -> None:
        limit.outside(ask)
        limit.check()
        assert asked == []
        now[0] += 1.1
        limit.check()
        assert asked == ["interrupted"]

    limit.run("x", compute, 1.0)
    limit.outside(lambda: asked.append("not in a computation"))
    assert asked[-1] == "not in a computation"


def test_its_lock_is_taken_by_no_python_code_that_could_be_interrupted_once_it_has_it() -> None:
    assert type(CpuLimit()._lock) is type(threading.Lock())
    assert not hasattr(type(CpuLimit()._lock).__enter__, "__code__")


def test_the_others_go_on_meanwhile() -> None:
    limit, ended, counted = CpuLimit(), threading.Event(), [0]

    def run() -> None:
        with suppress(TookTooLong):
            limit.run("x", endless, 0.3)
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not ended.is_set():
        counted[0] += limit.run("y", lambda: 1)
        time.sleep(0.001)
    assert counted[0] > 10
    thread.join()
    eventually(lambda: not limit._under_way, what="nothing is left")
