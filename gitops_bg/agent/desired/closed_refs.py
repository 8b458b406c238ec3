"""Branches that the remote does not take: what it said, and when each is tried again. Each has a backoff of its own.

Told by the Git thread, read by all. It writes nothing; one branch that is refused slows no other.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.core.errors import GitopsBgError, Refused

SHOWN_AFTER = 3
"""Failures in a row after which also what may pass by itself (a timeout) is said: a refusal is said at once."""


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
        """These branches could not be written; whether that is news to people.

        What failed together is tried again together: in as few pushes as before.
        """
        with self._lock:
            before = self._shown()
            pause = max((self._backoff.failed(name) for name in errors), default=0.0)
            until = self._clock() + timedelta(seconds=pause)
            for name, error in errors.items():
                times = self._closed[name].times + 1 if name in self._closed else 1
                self._closed[name] = _Closed(_words(name, error), until, times, isinstance(error, Refused))
            return self._shown() != before

    def taken(self, names: Iterable[str]) -> bool:
        """These branches were written, or nobody wants to write them any more; whether that is news to people."""
        with self._lock:
            before = self._shown()
            for name in names:
                self._backoff.succeeded(name)
                self._closed.pop(name, None)
            return self._shown() != before

    def forgive(self) -> None:
        """Try all of them now: the remote is back, or somebody asked."""
        with self._lock:
            now = self._clock()
            self._closed = {name: replace(one, until=now) for name, one in self._closed.items()}

    def opens_at(self, name: str) -> datetime | None:
        """When a branch is to be tried again; None for one that may be written now."""
        with self._lock:
            closed = self._closed.get(name)
            return closed.until if closed and closed.until > self._clock() else None

    def why(self, name: str) -> str:
        """What people are told about a branch; empty where it is written."""
        with self._lock:
            closed = self._closed.get(name)
            return closed.shown if closed else ""

    def counts(self, kind: Callable[[str], str]) -> Mapping[str, int]:
        """How many are refused, by kind of branch."""
        with self._lock:
            return Counter(kind(name) for name in self._shown())

    def _shown(self) -> dict[str, str]:
        return {name: closed.shown for name, closed in self._closed.items() if closed.shown}


def _words(name: str, error: GitopsBgError) -> str:
    """The remote's own words about this branch, where it had any."""
    words: Mapping[str, str] = getattr(error, "words", {})
    return f"the remote refuses {name}: {words[name]}" if words.get(name) else str(error)
