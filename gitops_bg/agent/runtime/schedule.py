"""What the agent does by time: one heap of moments at which apps and groups are woken, the jobs that recur, and clocks.

The machine's clock may be set; a steady one only goes on. What an app waits for is a moment in UTC, which other agents
and people can read. How long this process waits, for an answer or until it tries again, is measured by a steady clock.
"""

import logging
import time
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta, tzinfo
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from gitops_bg.agent.runtime.failures import quietly
from gitops_bg.agent.runtime.workers import BackgroundThread
from gitops_bg.core.model.version import AppOrGroup

K = TypeVar("K", bound=Hashable)

_LONGEST = 24 * 3600.0
"""Seconds of the longest wait for a moment that is farther away."""


class Moments(Generic[K]):
    """A heap of moments, at most one for each key. Not thread-safe.

    >>> moments = Moments[str]()
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> moments.set("web", noon + timedelta(hours=2)), moments.set("web", noon), moments.set("api", None)
    (True, True, False)
    >>> moments.pop_due(noon), moments.earliest
    (['web'], None)
    """

    def __init__(self) -> None:
        self._moments: dict[K, datetime] = {}
        self._heap: list[tuple[datetime, int, K]] = []
        """With a number each: keys may have no order. Entries of former moments stay until they are the first."""
        self._next = count()

    @property
    def earliest(self) -> datetime | None:
        """The first moment of all."""
        while self._heap and self._moments.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def set(self, key: K, moment: datetime | None) -> bool:
        """Set the moment of a key, or clear it; return whether the earliest is another one now."""
        if self._moments.get(key) == moment:
            return False
        before = self.earliest
        if moment is None:
            self._moments.pop(key, None)
        else:
            self._moments[key] = moment
            heappush(self._heap, (moment, next(self._next), key))
        return self.earliest != before

    def pop_due(self, now: datetime) -> list[K]:
        """Remove the keys whose moments have come, and return them in the order of these."""
        due: list[K] = []
        while (moment := self.earliest) is not None and moment <= now:
            key = heappop(self._heap)[2]
            del self._moments[key]
            due.append(key)
        return due

    def shift(self, by: timedelta) -> None:
        """Move all moments."""
        self._moments = {key: moment + by for key, moment in self._moments.items()}
        self._heap = [(moment, next(self._next), key) for key, moment in self._moments.items()]
        heapify(self._heap)


class Timers(BackgroundThread):
    """Wakes apps and groups at their time; at most one timer for each purpose of one: setting it again moves it.

    ``clock`` gives UTC; ``wake`` only puts them on the queue (pitfalls.md §3).
    """

    def __init__(
        self,
        clock: Callable[[], datetime],
        wake: Callable[[AppOrGroup], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("timers", crashed)
        self._clock = clock
        self._wake = wake
        self._moments: Moments[tuple[AppOrGroup, str]] = Moments()

    def schedule(self, app: AppOrGroup, moment: datetime | None, purpose: str) -> None:
        """Wake it at ``moment``; None cancels the timer of this purpose."""
        with self._changed:
            if self._moments.set((app, purpose), moment):
                self._changed.notify_all()

    def clock_was_set(self, by: timedelta) -> None:
        """Keep the time that each timer has left; who waits for a moment in UTC sets its timer again."""
        with self._changed:
            self._moments.shift(by)
            self._changed.notify_all()

    def fire(self) -> None:
        """Wake all whose time has come."""
        with self._changed:
            due = self._moments.pop_due(self._clock())
        for app in dict.fromkeys(app for app, _ in due):
            with quietly(f"waking {app}", app):
                self._wake(app)

    def _run(self) -> None:
        while self._waited():
            self.fire()

    def _waited(self) -> bool:
        """Wait for the earliest moment; False once the thread shall end."""
        with self._changed:
            while not self._stopping and (left := self._left()) > 0:
                self._changed.wait(left)
            return not self._stopping

    def _left(self) -> float:
        earliest = self._moments.earliest
        return _LONGEST if earliest is None else min(_LONGEST, (earliest - self._clock()).total_seconds())


# --- what recurs ----------------------------------------------------------------------------------------------

_AT_ONCE = 4
"""How many jobs that recur may run at the same time."""


class Every(BaseTrigger):  # type: ignore[misc] # APScheduler has no types.
    """Some seconds after the last time, by the clock of the scheduler."""

    def __init__(self, seconds: float) -> None:
        self._pause = timedelta(seconds=seconds)

    def get_next_fire_time(self, _previous: datetime | None, now: datetime) -> datetime:
        """Return the next time, as APScheduler asks for it."""
        return now + self._pause


class Recurring(BackgroundScheduler):  # type: ignore[misc]
    """The jobs that recur, each under a name: none runs twice at a time, and a late one runs all the same."""

    def __init__(self, steady: Callable[[], datetime] | None = None) -> None:
        super().__init__(
            timezone=SteadyTime(steady or SteadyClock()),
            executors={"default": ThreadPoolExecutor(_AT_ONCE)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        # It warns at each time that a job is skipped because its last run has not ended.
        logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)

    def every(self, seconds: float, call: Callable[[], None], name: str) -> None:
        """Make a call again and again, ``seconds`` apart. One that fails is logged, and made again."""

        def guarded() -> None:
            with quietly(name):
                call()

        self.add_job(guarded, trigger=Every(seconds), id=name, name=name)

    @property
    def alive(self) -> bool:
        """Whether it runs, and its thread does."""
        return bool(self.running and self._thread is not None and self._thread.is_alive())


# --- clocks ---------------------------------------------------------------------------------------------------

COMPARE_SECONDS = 1.0
"""Seconds between two comparisons of the clocks."""
LEAST = timedelta(seconds=1)
"""The smallest difference that counts: NTP brings a clock that is off by less than half a second back step by step."""
_TOGETHER = timedelta(milliseconds=100)
"""Within this time two clocks are read at the same moment."""


def utc_now() -> datetime:
    """Return the machine's clock."""
    return datetime.now(UTC)


class SteadyClock:
    """UTC at its making, and from there on by the monotonic clock."""

    def __init__(
        self, clock: Callable[[], datetime] = utc_now, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._began, self._began_at = clock(), monotonic()
        self._monotonic = monotonic

    def __call__(self) -> datetime:
        """Return the time."""
        return self._began + timedelta(seconds=self._monotonic() - self._began_at)


class SteadyTime(tzinfo):
    """UTC by a clock that only goes on. APScheduler asks for the time in its time zone, which this one is."""

    def __init__(self, steady: Callable[[], datetime], clock: Callable[[], datetime] = utc_now) -> None:
        self._steady = steady
        self._clock = clock

    def fromutc(self, moment: datetime, /) -> datetime:
        """Take back by how much the machine's clock was set since."""
        return moment + (self._steady() - self._clock())

    def utcoffset(self, _moment: datetime | None, /) -> timedelta:
        """Return nothing: it is UTC."""
        return timedelta()

    def dst(self, _moment: datetime | None, /) -> timedelta:
        """Return nothing: it has none."""
        return timedelta()

    def tzname(self, _moment: datetime | None, /) -> str:
        """Return its name in the log of APScheduler."""
        return "UTC"


class ClockWatch:
    """Notices that a clock was set: ``was_set`` is told by how much it is ahead of where it would be."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
        was_set: Callable[[timedelta], None],
    ) -> None:
        self._clock = clock
        self._steady = steady
        self._was_set = was_set
        self._offset = self._measured()

    def compare(self) -> None:
        """Compare the clocks once."""
        before, self._offset = self._offset, self._measured()
        if abs(self._offset - before) >= LEAST:
            self._was_set(self._offset - before)

    def _measured(self) -> timedelta:
        while True:
            before = self._steady()
            now = self._clock()
            if self._steady() - before < _TOGETHER:
                return now - before
