"""Jobs that recur, over APScheduler itself: none is lost, whatever takes long, fails, or becomes of the clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import Any

import pytest
from apscheduler.schedulers import base

from gitops_bg.agent.runtime import schedule
from gitops_bg.agent.runtime.schedule import Recurring, SteadyTime, utc_now
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture
def running() -> Iterator[Recurring]:
    made = Recurring()
    made.start()
    yield made
    made.shutdown()


def test_a_job_recurs_though_it_fails_and_though_another_takes_long(running: Recurring) -> None:
    begun, end, failed = threading.Event(), threading.Event(), list[int]()

    def slow() -> None:
        begun.set()
        assert end.wait(PATIENCE)

    def fail() -> None:
        failed.append(1)
        raise ZeroDivisionError

    running.every(0.01, slow, "slow")
    running.every(0.01, fail, "fails")
    assert begun.wait(PATIENCE)
    eventually(lambda: len(failed) > 5, what="the other one recurs")
    end.set()


def test_a_job_never_runs_twice_at_a_time(running: Recurring) -> None:
    at_once, most = [0], list[int]()

    def count() -> None:
        at_once[0] += 1
        most.append(at_once[0])
        threading.Event().wait(0.03)
        at_once[0] -= 1

    running.every(0.01, count, "counts")
    eventually(lambda: len(most) > 5, what="it recurs")
    assert set(most) == {1}


def test_a_job_that_is_under_way_ends_before_the_scheduler_does() -> None:
    made, begun, ended = Recurring(), threading.Event(), threading.Event()
    made.start()

    def work() -> None:
        begun.set()
        eventually(lambda: not made.running, what="the scheduler ends")
        ended.set()

    made.every(0.01, work, "works")
    assert begun.wait(PATIENCE)
    made.pause()
    ending = threading.Thread(target=made.shutdown, daemon=True)
    ending.start()
    ending.join(PATIENCE)
    assert (ending.is_alive(), ended.is_set()) == (False, True)


@dataclass
class MachineClock:
    """The machine's clock as APScheduler and we read it; somebody may set it."""

    by: timedelta = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.by


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> MachineClock:
    clock = MachineClock()

    class Datetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return tz.fromutc(clock().replace(tzinfo=tz)) if tz else clock()

    monkeypatch.setattr(base, "datetime", Datetime)
    monkeypatch.setattr(schedule, "SteadyTime", partial(SteadyTime, clock=clock))
    return clock


@pytest.mark.parametrize("hours", [1, -1])
def test_a_job_recurs_after_its_seconds_though_the_clock_was_set(machine: MachineClock, hours: int) -> None:
    made, late, soon = Recurring(), list[str](), list[str]()
    made.start()
    try:
        made.every(1800, lambda: late.append("late"), "late")
        made.every(0.1, lambda: soon.append("soon"), "soon")
        machine.by = timedelta(hours=hours)
        made.wakeup()  # As anything does that is added meanwhile.
        eventually(lambda: len(soon) > 2, what="it recurs")
        assert not late
        assert len(soon) < 50, "and not without a pause"
    finally:
        made.shutdown()
