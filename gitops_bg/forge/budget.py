"""How fast the forge is written to: a bucket counted from the published limits, and what the forge itself told. Pure.

GitHub takes 80 creating requests a minute and 500 an hour, and asks for a second between two writes (forges.md §2). The
others take more; nobody waits for what this delays.
"""

from collections import deque
from datetime import datetime, timedelta

PER_MINUTE = 60
CREATING_PER_HOUR = 500
BETWEEN = timedelta(seconds=1)
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


class Budget:
    """Counts what was written. Times are given by who asks, and never go back."""

    def __init__(self) -> None:
        self._writes: deque[datetime] = deque()
        self._created: deque[datetime] = deque()
        self._free: datetime | None = None
        self._told: datetime | None = None

    def free_at(self, requests: int, creating: int, now: datetime) -> datetime:
        """When so many requests may go out, ``creating`` of them making something new; ``now`` where they may."""
        moments = (
            self._room(self._writes, PER_MINUTE, requests, _MINUTE, now),
            self._room(self._created, CREATING_PER_HOUR, creating, _HOUR, now),
            self._free,
            self._told,
        )
        return max((now, *(moment for moment in moments if moment)))

    def spend(self, requests: int, creating: int, now: datetime) -> None:
        """They went out, whatever came of them."""
        self._writes.extend([now] * requests)
        self._created.extend([now] * creating)
        self._free = now + BETWEEN * requests

    def wait_until(self, moment: datetime) -> None:
        """The forge said not to ask anything before."""
        self._told = max(moment, self._told or moment)

    def told_to_wait(self, now: datetime) -> datetime | None:
        """Until when nothing is to be asked at all, by the forge's own word."""
        return self._told if self._told and self._told > now else None

    @staticmethod
    def _room(spent: deque[datetime], most: int, wanted: int, window: timedelta, now: datetime) -> datetime | None:
        """When ``wanted`` more fit into a window; None: now."""
        while spent and spent[0] <= now - window:
            spent.popleft()
        excess = len(spent) + wanted - most
        return spent[min(excess, len(spent)) - 1] + window if excess > 0 and wanted and spent else None
