"""What is remembered of a browser between two requests, by a random name that only its cookie has. In this process
alone: after a restart everybody logs in again.
"""

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from gitops_bg.core.dataclass import dataclass

T = TypeVar("T")


@dataclass(slots=True)
class _Entry(Generic[T]):
    value: T
    began: datetime
    used: datetime


class Remembered(Generic[T]):
    """Values that end some time after they were used last, and at the latest some time after they began; of more than
    ``most`` that which was not used for longest. Any thread may call it.
    """

    def __init__(self, clock: Callable[[], datetime], idle: timedelta, longest: timedelta, most: int = 10_000) -> None:
        self._clock = clock
        self._idle = idle
        self._longest = longest
        self._most = most
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()

    def add(self, value: T) -> str:
        """Remember a value; return its name, of 256 random bits."""
        name, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._entries[_key(name)] = _Entry(value, now, now)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        return name

    def get(self, name: str, *, uses: bool = True) -> T | None:
        """Return the value of a name, which has been used by that, unless it is only looked up; None where there is
        none any more.
        """
        key, now = _key(name), self._clock()
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if now - entry.used >= self._idle or now - entry.began >= self._longest:
                del self._entries[key]
                return None
            if uses:
                entry.used = now
                self._entries.move_to_end(key)
            return entry.value

    def change(self, name: str, value: T) -> None:
        """Remember another value for a name that has one still."""
        with self._lock:
            entry = self._entries.get(_key(name))
            if entry is not None:
                entry.value = value

    def remove(self, name: str) -> T | None:
        """Forget a name; return its value, if it had one still."""
        value = self.get(name)
        with self._lock:
            self._entries.pop(_key(name), None)
        return value


def _key(name: str) -> str:
    """Return its hash: who reads this process's memory, or times a look-up, learns no name."""
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()
