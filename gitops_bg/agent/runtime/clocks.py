"""The machine's clock may be set; a steady one only goes on.

What an app waits for is a moment in UTC, which other agents and people can read. How long this process waits, for an
answer or until it tries again, is measured by a steady clock.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from gitops_bg.agent.runtime.background_thread import BackgroundThread

EVERY = 1.0
"""Seconds between two looks at the clocks."""
LEAST = timedelta(seconds=1)
"""The smallest difference that counts: NTP brings a clock that is off by less than half a second back step by step."""
_TOGETHER = timedelta(milliseconds=100)
"""Within this time two clocks are read at the same moment."""


def utc_now() -> datetime:
    """The machine's clock."""
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


class ClockWatch(BackgroundThread):
    """Notices that a clock was set: ``was_set`` is told by how much it is ahead of where it would be."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
        was_set: Callable[[timedelta], None],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("clock-watch", crashed)
        self._clock = clock
        self._steady = steady
        self._was_set = was_set
        self._offset = self._measured()

    def look(self) -> None:
        """Compare the clocks once."""
        before, self._offset = self._offset, self._measured()
        if abs(self._offset - before) >= LEAST:
            self._was_set(self._offset - before)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._stopping, EVERY):
                    return
            self.look()

    def _measured(self) -> timedelta:
        while True:
            before = self._steady()
            now = self._clock()
            if self._steady() - before < _TOGETHER:
                return now - before
