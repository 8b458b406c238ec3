"""Calls functions after a time: one job of APScheduler each, under a name.

APScheduler goes by the machine's clock, which may be set while something waits; how long something waits does not
change by that. So each job is kept with its moment by a clock that only goes on, and follows that one.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

_MOST_INSTANCES = 1_000
"""APScheduler drops a job that comes due while its last call has not returned: one that sets itself again does."""
_AT_ONCE = 0.001
"""Seconds: what has so little left is due."""


class Scheduler(Protocol):
    """The part of APScheduler's scheduler that this module uses."""

    def add_job(self, func: Callable[..., None], **options: object) -> object:
        """Add or replace a job."""


def scheduler() -> BackgroundScheduler:
    """The scheduler for `Alarms`: late jobs run as well, and those that come due during a call of theirs."""
    return BackgroundScheduler(
        timezone=UTC,
        executors={"default": ThreadPoolExecutor(2)},
        job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": _MOST_INSTANCES},
    )


@dataclass(frozen=True, slots=True)
class _Alarm:
    due: float
    call: Callable[[], None]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Alarms:
    """At most one alarm of each name. Thread-safe. ``monotonic`` gives seconds; ``clock`` is the scheduler's."""

    def __init__(
        self,
        scheduler: Scheduler,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._scheduler = scheduler
        self._monotonic = monotonic
        self._clock = clock
        self._lock = threading.RLock()
        self._alarms: dict[str, _Alarm] = {}

    def after(self, seconds: float, call: Callable[[], None], name: str) -> None:
        """Call a function after so many seconds, instead of what the name stood for."""
        with self._lock:
            self._alarms[name] = _Alarm(self._monotonic() + seconds, call)
            self._schedule(name, seconds)

    def clock_was_set(self) -> None:
        """Give each alarm the time that it has left: the scheduler's clock was set."""
        with self._lock:
            for name, alarm in self._alarms.items():
                self._schedule(name, alarm.due - self._monotonic())

    def _ring(self, name: str) -> None:
        with self._lock:
            alarm = self._alarms.get(name)
            if alarm is None:
                return
            left = alarm.due - self._monotonic()
            if left > _AT_ONCE:
                self._schedule(name, left)
                return
            del self._alarms[name]
        alarm.call()

    def _schedule(self, name: str, seconds: float) -> None:
        moment = self._clock() + timedelta(seconds=max(0.0, seconds))
        self._scheduler.add_job(
            self._ring, trigger="date", run_date=moment, args=[name], id=name, replace_existing=True
        )
