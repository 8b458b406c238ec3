"""Counts the looks at main, and keeps which apps wait for the next (``core.model.journal``). Reads nothing."""

import threading
import uuid

from gitops_bg.core.model.journal import PollCount
from gitops_bg.core.model.version import AppKey


class PollCounter:
    """Used by the Git thread, which looks, and by workers, which wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = uuid.uuid4().hex[:8]
        self._begun = 0
        self._waiting: set[AppKey] = set()

    def count(self, seen: int) -> PollCount:
        """The present count, for a decision from look number ``seen``."""
        return PollCount(self._process, seen, self._begun)

    def begin(self) -> int:
        """Begin a look; return its number."""
        self._begun += 1
        return self._begun

    def end(self) -> frozenset[AppKey]:
        """End a look; return the apps that waited for it."""
        with self._lock:
            waiting, self._waiting = frozenset(self._waiting), set()
            return waiting

    def wait(self, app: AppKey) -> bool:
        """Let an app wait for the next look; return whether it did not wait already."""
        with self._lock:
            is_new = app not in self._waiting
            self._waiting.add(app)
            return is_new
