"""When the Git thread writes what is wanted of Git: batches that gather, and branches that the remote refuses.

What somebody waits for is due soon; what is only history, a while later; and each batch has all that waits. Where the
last batch was of many, more follow: then both gather for longer, and history is left out of a batch until it is due
itself. So a thousand apps that promote themselves share a few pushes, and an app that is alone waits for none. A
refused branch has a backoff of its own, and slows no other. Nothing here writes to Git.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.backoff import Backoff
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, Refused

SOON = timedelta(milliseconds=20)
"""How long what somebody waits for gathers."""
HISTORY = timedelta(milliseconds=500)
"""How long history gathers: nobody waits for it."""
CROWD = 4
"""After a batch of so many, more are expected."""
LASTS = timedelta(seconds=2)
"""For how long they are."""
SOON_IN_A_CROWD, HISTORY_IN_A_CROWD = timedelta(milliseconds=400), timedelta(seconds=2)
"""How long each of the two gathers then."""


@dataclass(slots=True)
class Gathering:
    """The times of the next batch."""

    _due: datetime | None = None
    _history_due: datetime | None = None
    _crowd_until: datetime | None = None

    def add(self, now: datetime, *, urgent: bool, history: bool) -> None:
        """Note that somebody wants something written: what is ``urgent``, ``history``, or both."""
        crowded = self._is_crowded(now)
        if urgent:
            self.by(now + (SOON_IN_A_CROWD if crowded else SOON))
        if history:
            later = now + (HISTORY_IN_A_CROWD if crowded else HISTORY)
            self._history_due = min(self._history_due or later, later)

    def by(self, moment: datetime) -> None:
        """Have a batch due at a moment, at the latest."""
        self._due = min(self._due or moment, moment)

    def at_once(self, now: datetime) -> None:
        """Have a batch due now, with all that waits."""
        self._due = self._history_due = now

    def is_due(self, now: datetime) -> bool:
        """Return whether it is time for a batch."""
        return any(each is not None and each <= now for each in (self._due, self._history_due))

    def patience(self, now: datetime) -> float | None:
        """Return the seconds until a batch is due; None where nobody waits for one."""
        known = [each for each in (self._due, self._history_due) if each is not None]
        return max(0.0, (min(known) - now).total_seconds()) if known else None

    def begin(self, now: datetime) -> bool:
        """Begin a batch; return whether history is in it: in a crowd, only once it is due itself."""
        self._due = None
        if self._is_crowded(now) and self._history_due is not None and self._history_due > now:
            return False
        self._history_due = None
        return True

    def wrote(self, many: int, now: datetime) -> None:
        """Note that a batch of so many was written."""
        self._crowd_until = now + LASTS if many >= CROWD else None

    def _is_crowded(self, now: datetime) -> bool:
        return self._crowd_until is not None and now < self._crowd_until

    def drop(self) -> None:
        """Let nothing wait any more."""
        self._due = self._history_due = None


SHOWN_AFTER = 3
"""How many failures in a row make even a passing problem (a timeout) visible; a refusal is visible at once."""


@dataclass(frozen=True, slots=True)
class _Closed:
    why: str
    until: datetime
    times: int
    refused: bool

    @property
    def shown(self) -> str:
        return self.why if self.refused or self.times >= SHOWN_AFTER else ""


class ClosedRefs:
    """Thread-safe. ``clock`` gives UTC; ``backoff`` counts failures by branch."""

    def __init__(self, backoff: Backoff[str], clock: Callable[[], datetime]) -> None:
        self._backoff = backoff
        self._clock = clock
        self._lock = threading.Lock()
        self._closed: dict[str, _Closed] = {}

    def failed(self, errors: Mapping[str, GitopsBgError]) -> bool:
        """Note that these branches could not be written; return whether the status changes by it.

        Branches that failed together are tried again together, in as few pushes as before.
        """
        with self._lock:
            before = self._shown()
            pause = max((self._backoff.failed(name) for name in errors), default=0.0)
            until = self._clock() + timedelta(seconds=pause)
            for name, error in errors.items():
                times = self._closed[name].times + 1 if name in self._closed else 1
                self._closed[name] = _Closed(_words(name, error), until, times, isinstance(error, Refused))
            return self._shown() != before

    def mark_written(self, names: Iterable[str]) -> bool:
        """Note that these branches were written, or need not be any more; return whether the status changes by it."""
        with self._lock:
            before = self._shown()
            for name in names:
                self._backoff.succeeded(name)
                self._closed.pop(name, None)
            return self._shown() != before

    def forgive(self) -> None:
        """Try all of them now: the remote is reachable again, or somebody asked."""
        with self._lock:
            now = self._clock()
            self._closed = {name: replace(one, until=now) for name, one in self._closed.items()}

    def opens_at(self, name: str) -> datetime | None:
        """Return when a branch is tried again; None for one that may be written now."""
        with self._lock:
            closed = self._closed.get(name)
            return closed.until if closed and closed.until > self._clock() else None

    def why(self, name: str) -> str:
        """Return what the status says about a branch; empty where it can be written."""
        with self._lock:
            closed = self._closed.get(name)
            return closed.shown if closed else ""

    def counts(self, kind: Callable[[str], str]) -> Mapping[str, int]:
        """Return how many branches are refused, by kind."""
        with self._lock:
            return Counter(kind(name) for name in self._shown())

    def _shown(self) -> dict[str, str]:
        return {name: closed.shown for name, closed in self._closed.items() if closed.shown}


def _words(name: str, error: GitopsBgError) -> str:
    """Return the remote's own words about this branch, if it gave any."""
    words: Mapping[str, str] = getattr(error, "words", {})
    return f"the remote refuses {name}: {words[name]}" if words.get(name) else str(error)
