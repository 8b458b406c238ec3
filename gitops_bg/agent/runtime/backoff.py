"""How long to wait after failures: exponential, capped, with jitter. Pure arithmetic; the random number is
an argument.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Backoff(Generic[K]):
    """Counts failures in a row by key. ``random`` returns numbers from 0 to 1; times are in seconds."""

    def __init__(self, random: Callable[[], float], first: float = 0.1, longest: float = 300.0) -> None:
        self._random = random
        self._first = first
        self._longest = longest
        self._failures: dict[K, int] = {}

    def failed(self, key: K, at_least: float = 0.0) -> float:
        """Count one more failure; return the seconds to wait, between half and the whole of the exponential step."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        step = min(self._longest, self._first * 2.0 ** min(count, 30))
        return max(at_least, step * (0.5 + self._random() / 2))

    def succeeded(self, key: K) -> None:
        """Reset the count after a success."""
        self._failures.pop(key, None)
