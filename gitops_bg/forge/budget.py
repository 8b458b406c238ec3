"""Limits the rate of writes to the forge, by the published limits and what the forge itself says. Pure.

GitHub allows 80 creating requests a minute and 500 an hour, and asks for a second between two writes (forges.md §2).
The others allow more; nothing but the view is delayed.
"""

from collections import deque
from datetime import datetime, timedelta

PER_MINUTE = 60
CREATING_PER_HOUR = 500
BETWEEN = timedelta(seconds=1)
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


class Budget:
    """Counts the writes. The caller passes the time, which never goes back."""

    def __init__(self) -> None:
        self._writes: deque[datetime] = deque()
        self._created: deque[datetime] = deque()
        self._free: datetime | None = None
        self._told: datetime | None = None

    def free_at(self, requests: int, creating: int, now: datetime) -> datetime:
        """Return when this many requests may be sent, ``creating`` of them creating something; ``now`` if at once."""
        moments = (
            self._room(self._writes, PER_MINUTE, requests, _MINUTE, now),
            self._room(self._created, CREATING_PER_HOUR, creating, _HOUR, now),
            self._free,
            self._told,
        )
        return max((now, *(moment for moment in moments if moment)))

    def spend(self, requests: int, creating: int, now: datetime) -> None:
        """Count sent requests, whatever their result."""
        self._writes.extend([now] * requests)
        self._created.extend([now] * creating)
        self._free = now + BETWEEN * requests

    def wait_until(self, moment: datetime) -> None:
        """Note that the forge asked for no requests before this moment."""
        self._told = max(moment, self._told or moment)

    def told_to_wait(self, now: datetime) -> datetime | None:
        """Return until when the forge asked for no requests at all."""
        return self._told if self._told and self._told > now else None

    @staticmethod
    def _room(spent: deque[datetime], most: int, wanted: int, window: timedelta, now: datetime) -> datetime | None:
        """Return when ``wanted`` more fit into a window; None: now."""
        while spent and spent[0] <= now - window:
            spent.popleft()
        excess = len(spent) + wanted - most
        return spent[min(excess, len(spent)) - 1] + window if excess > 0 and wanted and spent else None
