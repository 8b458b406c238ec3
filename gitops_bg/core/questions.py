"""Questions about a world that steps ask again and again: each is answered once."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Asked(Protocol):
    """What never changes, and keeps what was answered about it."""

    @property
    def known(self) -> dict[object, Any]:
        """The answers so far, each with what was asked about."""


P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W", bound=Asked)


def answered_once(question: Callable[Concatenate[W, P], T], /) -> Callable[Concatenate[W, P], T]:
    """Cache a question for each world and its arguments: steps ask the same questions again and again.

    A world never changes; another record makes another world. Arguments are compared by identity (hashing a version
    costs more than most answers), and kept with the answer, so that no other object can get the same identity.
    """

    @wraps(question)
    def answer(world: W, /, *about: P.args, **none: P.kwargs) -> T:
        key = (question, *map(id, about)) if about else question
        known = world.known.get(key)
        if known is None:
            known = world.known[key] = (about, question(world, *about, **none))
        found: T = known[1]
        return found

    return answer
