"""When a forge may be asked or written to again, after failures and within its limits, and what users are told of what
failed. No I/O; the caller passes the time.
"""

import logging
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_bg.core.backoff import delay
from gitops_bg.core.errors import GitopsBgError, Refused
from gitops_bg.forge.plan import StepKind
from gitops_bg.forge.port import NotFound

# --- the rate of writes, by the published limits and what the forge itself says ---
# GitHub allows 80 creating requests a minute and 500 an hour, and asks for a second between two writes (forges.md §2).
# The others allow more; nothing but the view is delayed.

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

    def asked_to_wait(self, now: datetime) -> datetime | None:
        """Return until when the forge asked for no requests at all."""
        return self._told if self._told and self._told > now else None

    @staticmethod
    def _room(spent: deque[datetime], most: int, wanted: int, window: timedelta, now: datetime) -> datetime | None:
        """Return when ``wanted`` more fit into a window; None: now."""
        while spent and spent[0] <= now - window:
            spent.popleft()
        excess = len(spent) + wanted - most
        return spent[min(excess, len(spent)) - 1] + window if excess > 0 and wanted and spent else None


# --- what failed ---

LOGGER = logging.getLogger(__name__)

FIRST_RETRY, LONGEST_RETRY = 5.0, 900.0
"""Seconds until the next attempt; they double each time."""
REFUSED_RETRY = 60.0
"""The first wait after a refusal; what is not found may have been made only a moment ago."""
FAILURES_TOLD = 3
"""After how many consecutive failures a passing error is reported; a refusal is reported at once."""


@dataclass(slots=True)
class _Failure:
    error: GitopsBgError
    count: int
    until: datetime


class Failures:
    """Failures by key: the whole forge (empty), a kind of write, one write, or one question."""

    def __init__(self) -> None:
        self._known: dict[str, _Failure] = {}

    def failed(self, key: str, error: GitopsBgError, now: datetime) -> bool:
        """Count a failure; return whether to report it: the first one, or another reason."""
        before = self._known.get(key)
        count = before.count + 1 if before else 1
        first = REFUSED_RETRY if isinstance(error, Refused) and not isinstance(error, NotFound) else FIRST_RETRY
        seconds = max(delay(count, first, LONGEST_RETRY), getattr(error, "retry_after", None) or 0.0)
        self._known[key] = _Failure(error, count, now + timedelta(seconds=seconds))
        return before is None or before.error.reason != error.reason

    def over(self, key: str) -> None:
        """Forget the failure: it succeeded."""
        if self._known.pop(key, None) and not key:
            LOGGER.info("the forge answers again")

    def until(self, key: str, now: datetime) -> datetime | None:
        """Return when to try again; None: now."""
        known = self._known.get(key)
        return known.until if known and known.until > now else None

    def troubles(self) -> dict[str, str]:
        """Return what users are told: by branch, and under the empty name for the whole forge."""
        told = {key: str(each.error) for key, each in self._known.items() if _is_worth_telling(each)}
        of_all = told.get("") or next((said for key, said in told.items() if key in StepKind.__members__), "")
        found = {"": of_all} if of_all else {}
        for key, said in told.items():
            _, space, branch = key.partition(" ")
            if space:
                found[branch] = said
        return found


def _is_worth_telling(failure: _Failure) -> bool:
    return isinstance(failure.error, Refused) or failure.count >= FAILURES_TOLD
