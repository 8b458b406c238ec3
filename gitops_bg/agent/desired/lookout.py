"""Counts the looks at main, and knows which apps wait for the next (``core.model.looks``). Reads nothing."""

import threading
import uuid

from gitops_bg.core.model.looks import Looks
from gitops_bg.core.model.version import AppKey


class LookCounter:
    """Used by the Git thread, which looks, and by workers, which wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = uuid.uuid4().hex[:8]
        self._begun = 0
        self._waiting: set[AppKey] = set()

    def looks(self, seen: int) -> Looks:
        """As it stands, for who decides from what look number ``seen`` found."""
        return Looks(self._process, seen, self._begun)

    def begin(self) -> int:
        """A look begins; its number."""
        self._begun += 1
        return self._begun

    def end(self) -> frozenset[AppKey]:
        """What the look found is known now; the apps that waited for it."""
        with self._lock:
            waiting, self._waiting = frozenset(self._waiting), set()
            return waiting

    def wait(self, app: AppKey) -> bool:
        """An app waits for the next look; whether that is news."""
        with self._lock:
            is_new = app not in self._waiting
            self._waiting.add(app)
            return is_new
