"""What this process wrote of an app, and whether another one took it back: whoever is contradicted waits before it
writes that again, twice as long each time.

So two agents that both work, and see different things, do not write a status in turns. Who is alone is never
contradicted, and never waits; the other one may be gone by the time it is reported again.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitops_bg.core.model.version import AppKey

W = TypeVar("W", bound=Hashable)


@dataclass(slots=True)
class Statement(Generic[W]):
    """What was reported last of an app."""

    reported: W
    at: float
    """When it was reported; where it was taken back, when it may be reported again."""
    stands: bool = True
    taken_back: int = 0


class ContradictionBackoff(Generic[W]):
    """Asked by workers, one at a time for each app. Moments are numbers, of what is up to the owner: polls, seconds.

    The first pause is ``first``, the longest ``most``.
    """

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self._statements: dict[AppKey, Statement[W]] = {}

    def may_report(self, app: AppKey, what: W, now: float, *, shown: bool = False) -> bool:
        """Whether ``what`` may be reported; ``shown``: it, or something like it, is there."""
        word = self._statements.get(app)
        if word is None or word.reported != what or shown:
            return True
        if word.stands:
            pause = min(self._first * 2**word.taken_back, self._most)
            word.stands, word.taken_back, word.at = False, word.taken_back + 1, now + pause
        return now >= word.at

    def reported(self, app: AppKey, what: W, now: float) -> None:
        """It is written, by this process."""
        word = self._statements.get(app)
        before = word.taken_back if word and word.reported == what else 0
        self._statements[app] = Statement(what, now, taken_back=before)

    def again(self, app: AppKey, now: float) -> float | None:
        """When what was taken back may be reported again; None where nothing waits."""
        word = self._statements.get(app)
        return word.at if word and not word.stands and now < word.at else None

    def drop(self, app: AppKey) -> None:
        """The app is gone."""
        self._statements.pop(app, None)

    def forget(self) -> None:
        """Nothing of it is to be reported any more."""
        self._statements.clear()
