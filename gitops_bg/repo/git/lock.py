"""The lock that the parts of one repository share: one call at a time, from whichever thread."""

import threading
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from gitops_bg.repo.git.errors import MirrorBroken

P = ParamSpec("P")
R = TypeVar("R")


class Lock:
    """Held while a part works; a part that has it may call another. Notes that the mirror turned out to be damaged."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.suspect = False
        """Whether a call hit a damaged mirror, so that the next poll clones it again."""

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.suspect = self.suspect or isinstance(error, MirrorBroken)
        self._lock.release()


class Part(Protocol):
    """A part of a repository."""

    lock: Lock


S = TypeVar("S", bound=Part)


def locked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method of a part one that any thread may call. Not for one that yields: it would work without the lock."""

    @wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return alone
