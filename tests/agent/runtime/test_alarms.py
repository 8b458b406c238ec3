"""Alarms over APScheduler itself: none is lost, whatever comes due together, and whatever the clock does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any

import pytest
from apscheduler.schedulers import base
from apscheduler.schedulers.background import BackgroundScheduler

from gitops_bg.agent.runtime import alarms
from gitops_bg.agent.runtime.alarms import Alarms, AlarmScheduler, SteadyTime
from gitops_bg.agent.runtime.clocks import utc_now
from gitops_bg.agent.runtime.timers import Timers
from gitops_bg.core.model.version import AppKey
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture
def running() -> Iterator[BackgroundScheduler]:
    made = AlarmScheduler()
    made.start()
    yield made
    made.shutdown()


def test_timer_that_comes_due_while_another_is_told_is_not_lost_nor_is_any_after_it(
    running: BackgroundScheduler,
) -> None:
    """Found: APScheduler dropped the job, and no timer of the agent fired any more until it was restarted."""
    begun, second, last = threading.Event(), threading.Event(), threading.Event()

    def wake(app: AppKey) -> None:
        if app.name == "first":
            begun.set()
            assert second.wait(PATIENCE), "the second timer fires while the first one is told"
        else:
            {"second": second, "last": last}[app.name].set()

    timers = Timers(Alarms(running), lambda: datetime.now(UTC), wake)
    timers.schedule(AppKey("shop", "first"), datetime.now(UTC), "wake")
    assert begun.wait(PATIENCE)
    timers.schedule(AppKey("shop", "second"), datetime.now(UTC) + timedelta(milliseconds=10), "wake")
    assert second.wait(PATIENCE)
    timers.schedule(AppKey("shop", "last"), datetime.now(UTC) + timedelta(milliseconds=10), "wake")
    assert last.wait(PATIENCE)


def test_an_alarm_may_set_itself_again(running: BackgroundScheduler) -> None:
    subject, rung, enough = Alarms(running), [0], threading.Event()

    def ring() -> None:
        rung[0] += 1
        if rung[0] < 50:
            subject.after(0.0, ring, "again")
        else:
            enough.set()

    subject.after(0.0, ring, "again")
    assert enough.wait(PATIENCE)


def test_a_scheduler_ends_while_an_alarm_sets_itself_again() -> None:
    """Found: an agent that was told to stop while its resync came due hung until it was killed."""
    made, begun = AlarmScheduler(), threading.Event()
    made.start()
    subject = Alarms(made)

    def ring() -> None:
        begun.set()
        eventually(lambda: not made.running, what="the scheduler ends")
        subject.after(60.0, ring, "again")

    subject.after(0.0, ring, "again")
    assert begun.wait(PATIENCE)
    ending = threading.Thread(target=made.shutdown, daemon=True)
    ending.start()
    ending.join(PATIENCE)
    assert not ending.is_alive()


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

    for module in (base, alarms):
        monkeypatch.setattr(module, "datetime", Datetime)
    monkeypatch.setattr(alarms, "SteadyTime", partial(SteadyTime, clock=clock))
    return clock


@pytest.mark.parametrize("hours", [1, -1])
def test_an_alarm_rings_after_its_seconds_though_the_clock_was_set(machine: MachineClock, hours: int) -> None:
    made, rung, soon = AlarmScheduler(), list[str](), threading.Event()
    made.start()
    try:
        subject = Alarms(made)
        subject.after(1800, lambda: rung.append("late"), "late")
        subject.after(0.2, soon.set, "soon")
        machine.by = timedelta(hours=hours)
        made.wakeup()  # As anything does that is added meanwhile.
        assert soon.wait(PATIENCE)
        eventually(lambda: [each.id for each in made.get_jobs()] == ["late"], what="the other one waits on")
        assert not rung
    finally:
        made.shutdown()


def test_a_name_stands_for_the_last_alarm_only(running: BackgroundScheduler) -> None:
    subject, rung, last = Alarms(running), list[str](), threading.Event()
    subject.after(3600, lambda: rung.append("first"), "poll")
    subject.after(0.0, last.set, "poll")
    assert last.wait(PATIENCE)
    eventually(lambda: not running.get_jobs(), what="no other one is left")
    assert not rung
