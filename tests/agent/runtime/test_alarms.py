"""Alarms over APScheduler itself: none is lost, whatever comes due together, and whatever the clock does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from apscheduler.schedulers.background import BackgroundScheduler

from gitops_bg.agent.runtime.alarms import Alarms, scheduler
from gitops_bg.agent.runtime.timers import Timers
from gitops_bg.core.model.version import AppKey
from tests.support.waiting import PATIENCE

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def running() -> Iterator[BackgroundScheduler]:
    made = scheduler()
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
    alarms, rung, enough = Alarms(running), [0], threading.Event()

    def ring() -> None:
        rung[0] += 1
        if rung[0] < 50:
            alarms.after(0.0, ring, "again")
        else:
            enough.set()

    alarms.after(0.0, ring, "again")
    assert enough.wait(PATIENCE)


class Desk:
    """A scheduler with one job, a clock that may be set, and seconds that pass by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.set_by = timedelta()
        self.due: datetime | None = None
        self.ring: Callable[[], None] = list
        self.rung: list[float] = []
        self.alarms = Alarms(self, lambda: self.seconds, self.clock)

    def clock(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds) + self.set_by

    def add_job(self, func: Callable[..., None], **options: Any) -> None:
        self.due, self.ring = options["run_date"], partial(func, *options["args"])

    def pass_until(self, seconds: float) -> None:
        """Time goes by a second at a time; the scheduler looks at its clock each time."""
        while self.seconds < seconds:
            self.seconds += 1
            if self.due is not None and self.due <= self.clock():
                self.due = None
                self.ring()

    def note(self) -> None:
        self.rung.append(self.seconds)


@pytest.mark.parametrize("hours", [1, -1])
@pytest.mark.parametrize("noticed", [True, False])
def test_alarm_rings_after_its_seconds_though_the_clock_was_set(hours: int, noticed: bool) -> None:
    """Set back and not noticed yet, the scheduler waits; set forward, it comes early, and the alarm waits on."""
    desk = Desk()
    desk.alarms.after(10, desk.note, "poll")
    desk.pass_until(5)
    desk.set_by = timedelta(hours=hours)
    if noticed or hours < 0:
        desk.alarms.clock_was_set()
    desk.pass_until(60)
    assert desk.rung == [10]


def test_name_stands_for_the_last_alarm_only() -> None:
    desk = Desk()
    desk.alarms.after(10, desk.note, "poll")
    desk.alarms.after(20, desk.note, "poll")
    desk.pass_until(60)
    assert desk.rung == [20]
    desk.alarms.clock_was_set()
    assert desk.due is None, "what has rung is not set again"
