"""One watch: a queue of changes that its connection empties. It must do no I/O and take no store lock.

A watch with a selector says ADDED when an object begins to match and DELETED when it ceases to
(apiserver `storage/cacher/cache_watcher.go: convertToWatchEvent`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Condition

from gitops_bg.sandbox.objects.objects import Stored
from gitops_bg.sandbox.objects.selectors import Matcher

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """What one write did to one object."""

    type: str
    current: Stored
    previous: Stored | None

    def seen_through(self, matches: Matcher | None) -> WatchEvent | None:
        """Return the change as a watch with this selector sees it; None when it sees nothing."""
        if matches is None:
            return self
        before = self.previous is not None and matches(self.previous.obj)
        after = self.type != DELETED and matches(self.current.obj)
        if not before and not after:
            return None
        kind = (MODIFIED if before else ADDED) if after else DELETED
        return WatchEvent(kind, self.current, self.previous)


class Watch:
    """The changes that a client has not received yet."""

    def __init__(self, namespace: str, matches: Matcher | None, since: int = 0) -> None:
        """``since`` may be in the future, after a restore: nothing is delivered before (`cache_watcher.go`)."""
        self.since = since
        self._namespace = namespace
        self._matches = matches
        self._waiting: deque[WatchEvent] = deque()
        self._news = Condition()
        self._ended = False

    def offer(self, change: WatchEvent) -> None:
        """Queue a change if it is in the watched namespace; the selector is judged by the reader."""
        if change.current.version <= self.since:
            return
        if self._namespace and change.current.obj["metadata"].get("namespace") != self._namespace:
            return
        with self._news:
            self._waiting.append(change)
            self._news.notify()

    def end(self) -> None:
        """Let the reader see the end once it has read what is queued."""
        with self._news:
            self._ended = True
            self._news.notify()

    def next_events(self, timeout: float) -> list[WatchEvent] | None:
        """Return what is new, an empty list after `timeout` seconds of silence, or None at the end."""
        with self._news:
            self._news.wait_for(lambda: self._waiting or self._ended, timeout)
            changes = list(self._waiting)
            self._waiting.clear()
            if self._ended and not changes:
                return None
        seen = (change.seen_through(self._matches) for change in changes)
        return [change for change in seen if change is not None]
