"""How far the API server's clock is from ours: read off the Date of its answers. Decides nothing, waits for nothing."""

from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

TOLERATED = timedelta(seconds=5)
"""Less is nothing to speak of: a Date counts whole seconds, and NTP keeps clocks closer than this."""
_RESOLUTION = timedelta(seconds=1)


class Skew:
    """Hears of every answer, from any thread. ``clock`` gives UTC, by the clock that waits are measured with."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._least = timedelta()

    def now(self) -> datetime:
        """Our time."""
        return self._clock()

    def observe(self, date: str | None, sent: datetime) -> None:
        """An answer with this header Date came just now to a request that was ``sent`` then."""
        try:
            said = parsedate_to_datetime(date) if date else None
        except ValueError:
            return
        if said is not None and said.tzinfo is not None:
            self._least = least_skew(said, sent, self._clock())

    @property
    def seconds(self) -> float:
        """By how much the server is ahead at least (behind: negative), by its last answer."""
        return self._least.total_seconds()

    @property
    def noteworthy(self) -> int:
        """The same in whole seconds; 0 where it is within what is tolerated."""
        return round(self.seconds) if abs(self._least) > TOLERATED else 0


def least_skew(said: datetime, sent: datetime, received: datetime) -> timedelta:
    """The smallest difference that explains an answer: the server looked at its clock between the two.

    >>> from datetime import UTC
    >>> at = lambda second: datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC)
    >>> [least_skew(at(said), at(10), at(12)).total_seconds() for said in (30, 11, 5)]
    [18.0, 0.0, -4.0]
    """
    if said > received:
        return said - received
    return min(timedelta(), said + _RESOLUTION - sent)
