"""The rate limits that a REST API states in its headers. Pure; the time is an argument."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST_WAIT = timedelta(hours=1)
"""The longest wait: no forge has a longer window, so a header with more is wrong."""
SHORTEST_WAIT = timedelta(seconds=1)
_EPOCH_FROM = 1_000_000_000
"""A larger number of seconds is a time since 1970, a smaller one a time from now."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The requests left until ``reset``, as far as the response says."""

    remaining: int | None = None
    reset: datetime | None = None
    retry_after: float | None = None
    """Seconds to wait before the next request."""

    def wait(self, now: datetime) -> timedelta | None:
        """How long to send no request; None where the response does not ask to wait."""
        if self.retry_after is not None:
            return _bounded(timedelta(seconds=self.retry_after))
        if self.remaining == 0 and self.reset is not None:
            return _bounded(self.reset - now)
        return None


def rate_of(headers: Mapping[str, str], now: datetime) -> Rate:
    """The limits of an answer: GitHub's ``x-ratelimit-*``, ``RateLimit-*`` of GitLab and the IETF, ``Retry-After``.

    >>> now = datetime(2026, 11, 22, 20, tzinfo=UTC)
    >>> rate_of({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1795377630"}, now).wait(now)
    datetime.timedelta(seconds=30)
    >>> rate_of({"ratelimit-remaining": "7", "ratelimit-reset": "60"}, now)
    Rate(remaining=7, reset=datetime.datetime(2026, 11, 22, 20, 1, tzinfo=datetime.timezone.utc), retry_after=None)
    >>> rate_of({"retry-after": "Sun, 22 Nov 2026 20:00:09 GMT"}, now).retry_after
    9.0
    """
    remaining = _number(headers.get("x-ratelimit-remaining") or headers.get("ratelimit-remaining"))
    reset = _number(headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset"))
    return Rate(
        None if remaining is None else int(remaining),
        None if reset is None else _time(reset, now),
        _retry_after(headers.get("retry-after"), now),
    )


def _bounded(wait: timedelta) -> timedelta:
    return max(SHORTEST_WAIT, min(wait, LONGEST_WAIT))


def _time(seconds: float, now: datetime) -> datetime:
    """The time of a reset, limited to a plausible one."""
    at = datetime.fromtimestamp(seconds, UTC) if _EPOCH_FROM < seconds < 10 * _EPOCH_FROM else None
    return at if at is not None else now + min(timedelta(seconds=min(seconds, 1e6)), LONGEST_WAIT)


def _retry_after(text: str | None, now: datetime) -> float | None:
    seconds = _number(text)
    if seconds is not None or not text:
        return None if seconds is None else min(seconds, LONGEST_WAIT.total_seconds())
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())


def _number(text: str | None) -> float | None:
    """A non-negative number; None for anything else."""
    try:
        value = float((text or "").strip())
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
