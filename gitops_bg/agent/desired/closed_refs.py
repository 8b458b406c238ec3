"""Branches that the remote refuses: its words, and when each is tried again, with a backoff of its own.

Written by the Git thread, read by all. It writes nothing to Git; a refused branch slows no other.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_bg.core.backoff import Backoff
from gitops_bg.core.errors import GitopsBgError, Refused

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
        """When a branch is tried again; None for one that may be written now."""
        with self._lock:
            closed = self._closed.get(name)
            return closed.until if closed and closed.until > self._clock() else None

    def why(self, name: str) -> str:
        """What the status says about a branch; empty where it can be written."""
        with self._lock:
            closed = self._closed.get(name)
            return closed.shown if closed else ""

    def counts(self, kind: Callable[[str], str]) -> Mapping[str, int]:
        """How many branches are refused, by kind."""
        with self._lock:
            return Counter(kind(name) for name in self._shown())

    def _shown(self) -> dict[str, str]:
        return {name: closed.shown for name, closed in self._closed.items() if closed.shown}


def _words(name: str, error: GitopsBgError) -> str:
    """The remote's own words about this branch, if it gave any."""
    words: Mapping[str, str] = getattr(error, "words", {})
    return f"the remote refuses {name}: {words[name]}" if words.get(name) else str(error)
