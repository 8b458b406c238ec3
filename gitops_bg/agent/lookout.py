"""Counts the looks at main, and knows which apps wait for the next (``core.looks``). Decides nothing, reads nothing."""

import threading
import uuid
from dataclasses import replace

from gitops_bg.core.looks import Looks
from gitops_bg.core.model import AppKey


class Lookout:
    """Used by the Git thread, which looks, and by workers, which wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looks = Looks(process=uuid.uuid4().hex[:8])
        self._waiting: set[AppKey] = set()

    @property
    def looks(self) -> Looks:
        """As it stands."""
        return self._looks

    def begin(self) -> int:
        """A look begins; its number."""
        with self._lock:
            self._looks = replace(self._looks, begun=self._looks.begun + 1)
            return self._looks.begun

    def end(self, number: int) -> frozenset[AppKey]:
        """What that look found is known now; the apps that waited for it."""
        with self._lock:
            self._looks = replace(self._looks, seen=number)
            waiting, self._waiting = frozenset(self._waiting), set()
            return waiting

    def wait(self, app: AppKey) -> bool:
        """An app waits for the next look; whether that is news."""
        with self._lock:
            is_new = app not in self._waiting
            self._waiting.add(app)
            return is_new
