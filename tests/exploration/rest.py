"""How an explored world comes to rest: rounds in which everybody gets on with it, and time between them."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, TypeVar

from tests.exploration.world import Violation

S = TypeVar("S", bound=Hashable)


class Resting(ABC, Generic[S]):
    """A world whose states are led to their rest, each once."""

    def __init__(self) -> None:
        self._worked: dict[S, S] = {}
        self._calm: dict[S, S] = {}
        self._checked: set[S] = set()

    @abstractmethod
    def _work(self, state: S) -> S:
        """One round: agents look, decide and push, pods come up."""

    @abstractmethod
    def _well(self, state: S) -> S:
        """The state with all that may be wrong outside mended."""

    @abstractmethod
    def _wake(self, state: S) -> float | None:
        """In how many seconds the engine wants to be woken; None: never."""

    @abstractmethod
    def _after(self, state: S, seconds: float) -> S:
        """The state after some time."""

    @abstractmethod
    def _sleeps(self, state: S) -> None:
        """I5: check that nothing is wanted at rest, nor a day later."""

    @abstractmethod
    def _check(self, state: S) -> None:
        """Check what must be so at rest."""

    def work(self, state: S) -> S:
        """Everybody gets on with it for one round."""
        known = self._worked.get(state)
        if known is None:
            known = self._worked[state] = self._work(state)
        return known

    def settle(self, state: S, *, most: int = 40) -> S:
        """Rounds without time, until nothing changes."""
        for _ in range(most):
            following = self.work(state)
            if following == state:
                return state
            state = following
        raise Violation(f"I5: it does not come to rest within {most} rounds")

    def calm(self, state: S) -> S:
        """All is well outside: rounds and time, until nothing is left to do, or only the same again and again, as where
        a hook is asked every minute. Checks what must be so then.
        """
        state, path, known, repeats, waited = self._well(state), [], None, False, 0.0
        for _ in range(80):
            known = self._calm.get(state)
            repeats = known is None and state in path
            known = state if repeats else known
            if known is not None:
                break
            path.append(state)
            following = self.work(state)
            if following == state:
                wake = self._wake(state)
                if wake is None:
                    known = state
                    break
                waited = 2 * waited if wake <= waited else wake  # It only looks again and again: more time passes.
                following = self._after(state, waited)
            else:
                waited = 0.0
            state = following
        if known is None:
            raise Violation("it does not come to rest, whatever the time")
        self._calm.update(dict.fromkeys(path, known))
        if known not in self._checked:
            if not repeats:
                self._sleeps(known)
            self._check(known)
            self._checked.add(known)
        return known
