"""How long to wait after failures: twice as long after each in a row, up to a limit, with jitter.

Pure arithmetic; the random number is an argument. Times are in seconds.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_MOST_DOUBLED = 30


def delay(failures: int, first: float, longest: float, dice: float = 1.0) -> float:
    """Return how long to wait after so many failures in a row; ``dice``, from 0 to 1, takes up to half of it away.

    >>> [delay(failures, first=1, longest=5) for failures in (1, 2, 3, 4)], delay(2, 1, 5, dice=0.0)
    ([1.0, 2.0, 4.0, 5.0], 1.0)
    """
    return min(float(longest), first * 2.0 ** min(failures - 1, _MOST_DOUBLED)) * (0.5 + dice / 2)


class Backoff(Generic[K]):
    """Counts failures in a row by key. ``random`` returns numbers from 0 to 1."""

    def __init__(self, random: Callable[[], float], first: float = 0.1, longest: float = 300.0) -> None:
        self._random = random
        self._first = first
        self._longest = longest
        self._failures: dict[K, int] = {}

    def failed(self, key: K, at_least: float = 0.0) -> float:
        """Count one more failure; return the seconds to wait, between half and the whole of the exponential step."""
        self._failures[key] = self._failures.get(key, 0) + 1
        return max(at_least, delay(self._failures[key], self._first, self._longest, self._random()))

    def succeeded(self, key: K) -> None:
        """Reset the count after a success."""
        self._failures.pop(key, None)
