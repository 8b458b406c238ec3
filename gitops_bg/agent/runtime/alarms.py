"""Calls functions after a time: one job of APScheduler each, under a name.

The machine's clock may be set while something waits; how long it waits does not change by that.
"""

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Protocol

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from gitops_bg.agent.runtime.clocks import SteadyClock, utc_now

_MOST_INSTANCES = 1_000
"""APScheduler drops a job that comes due while its last call has not returned: one that sets itself again does."""


class SteadyTime(tzinfo):
    """UTC by a clock that only goes on. APScheduler asks for the time in its time zone, which this one is."""

    def __init__(self, steady: Callable[[], datetime], clock: Callable[[], datetime] = utc_now) -> None:
        self._steady = steady
        self._clock = clock

    def fromutc(self, moment: datetime, /) -> datetime:
        """Take back by how much the machine's clock was set since."""
        return moment + (self._steady() - self._clock())

    def utcoffset(self, _moment: datetime | None, /) -> timedelta:
        """It is UTC."""
        return timedelta()

    def dst(self, _moment: datetime | None, /) -> timedelta:
        """It has none."""
        return timedelta()

    def tzname(self, _moment: datetime | None, /) -> str:
        """Its name in the log of APScheduler."""
        return "UTC"


class Scheduler(Protocol):
    """The part of APScheduler's scheduler that this module uses."""

    timezone: tzinfo

    def add_job(self, func: Callable[[], None], **options: object) -> object:
        """Add or replace a job."""


class AlarmScheduler(BackgroundScheduler):  # type: ignore[misc] # APScheduler has no types.
    """The scheduler for `Alarms`: late jobs run as well, and those that come due during a call of theirs."""

    def __init__(self) -> None:
        self._calls = ThreadPoolExecutor(2)
        super().__init__(
            timezone=SteadyTime(SteadyClock()),
            executors={"default": self._calls},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": _MOST_INSTANCES},
        )

    def shutdown(self, wait: bool = True) -> None:
        """Begin no more calls, and wait for those under way.

        APScheduler waits for them with the lock in hand that `add_job` takes: a call that sets an alarm never ended.
        And it cannot forget, once it is stopped, a job that it is just beginning.
        """
        self.pause()
        self.get_jobs()  # Returns once every job that is being begun has begun; a paused scheduler begins no other.
        super().shutdown(wait=False)
        self._calls.shutdown(wait)


class Alarms:
    """At most one alarm of each name. Thread-safe, as the scheduler is."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def after(self, seconds: float, call: Callable[[], None], name: str) -> None:
        """Call a function after so many seconds, instead of what the name stood for."""
        moment = datetime.now(self._scheduler.timezone) + timedelta(seconds=max(0.0, seconds))
        self._scheduler.add_job(call, trigger="date", run_date=moment, id=name, replace_existing=True)
