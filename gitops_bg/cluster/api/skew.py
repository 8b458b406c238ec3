"""The difference between the API server's clock and ours, from the Date of its responses. Decides nothing."""

from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

TOLERATED = timedelta(seconds=5)
"""A smaller difference does not matter: a Date counts whole seconds, and NTP keeps clocks closer than this."""
_RESOLUTION = timedelta(seconds=1)


class Skew:
    """Observes every response, from any thread. ``clock`` gives UTC, by the clock that waits are measured with."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._least = timedelta()

    def now(self) -> datetime:
        """Our time."""
        return self._clock()

    def observe(self, date: str | None, sent: datetime) -> None:
        """Note the Date header of a response that has just arrived, to a request ``sent`` at that time."""
        try:
            said = parsedate_to_datetime(date) if date else None
        except ValueError:
            return
        if said is not None and said.tzinfo is not None:
            self._least = least_skew(said, sent, self._clock())

    @property
    def seconds(self) -> float:
        """By how many seconds the server's clock is ahead at least (negative: behind), by its last response."""
        return self._least.total_seconds()

    @property
    def noteworthy(self) -> int:
        """The skew in whole seconds; 0 where it is tolerated."""
        return round(self.seconds) if abs(self._least) > TOLERATED else 0


def least_skew(said: datetime, sent: datetime, received: datetime) -> timedelta:
    """The smallest difference that explains a response: the server read its clock between ``sent`` and ``received``.

    >>> from datetime import UTC
    >>> at = lambda second: datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC)
    >>> [least_skew(at(said), at(10), at(12)).total_seconds() for said in (30, 11, 5)]
    [18.0, 0.0, -4.0]
    """
    if said > received:
        return said - received
    return min(timedelta(), said + _RESOLUTION - sent)
