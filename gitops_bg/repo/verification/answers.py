"""Answers that are remembered: those that never change for good, and others for a while. Asks nobody itself.

A program that failed may have been out of room or time, so its answer must not last; but asking again at every look
would let one commit that makes it fail cost all of that each time.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache

FIRST_SECONDS = 180.0
"""How long an answer that does not last is remembered at first; twice as long each time that it comes again."""
_LONGEST_SECONDS = 24 * 3600.0

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Answer(Generic[Value]):
    value: Value
    lasts: bool
    until: float = 0.0
    seconds: float = 0.0


class Answers(Generic[Key, Value]):
    """The answers to the questions that were asked last. ``monotonic`` gives seconds."""

    def __init__(self, most: int, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: LRUCache[Key, _Answer[Value]] = LRUCache(most)

    def get(self, key: Key) -> Value | None:
        """The answer, if it still counts."""
        known = self._known.get(key)
        return known.value if known is not None and (known.lasts or self._monotonic() < known.until) else None

    def put(self, key: Key, value: Value, *, lasts: bool) -> None:
        """Remember an answer: for good, or for a time that grows while the question has none that lasts."""
        before = self._known.get(key)
        seconds = min(2 * before.seconds, _LONGEST_SECONDS) if before and not before.lasts else FIRST_SECONDS
        self._known[key] = _Answer(value, lasts, self._monotonic() + seconds, seconds)
