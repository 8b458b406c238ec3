"""What this process wrote about an app or a group, and whether another process reverted it: then it waits before it
writes again.

The wait doubles each time. So two working agents that see different things do not overwrite a status in turns. An agent
that is alone is never contradicted, and never waits; the other agent may be gone by the next attempt.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitops_bg.core.backoff import delay
from gitops_bg.core.model.version import AppOrGroup

W = TypeVar("W", bound=Hashable)


@dataclass(slots=True)
class Statement(Generic[W]):
    """The last report about one of them."""

    reported: W
    at: float
    """When it was reported; after a contradiction, when it may be reported again."""
    stands: bool = True
    taken_back: int = 0


class ContradictionBackoff(Generic[W]):
    """Asked by workers, one at a time for each subject. The caller chooses the unit of time: polls, seconds.

    The first pause is ``first``, the longest ``most``.
    """

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most
        self._statements: dict[AppOrGroup, Statement[W]] = {}

    def may_report(self, who: AppOrGroup, what: W, now: float, *, shown: bool = False) -> bool:
        """Whether ``what`` may be reported; ``shown``: it, or something like it, is visible already."""
        word = self._statements.get(who)
        if word is None or word.reported != what or shown:
            return True
        if word.stands:
            word.stands, word.taken_back = False, word.taken_back + 1
            word.at = now + delay(word.taken_back, self._first, self._most)
        return now >= word.at

    def reported(self, who: AppOrGroup, what: W, now: float) -> None:
        """Note that this process has written the report."""
        word = self._statements.get(who)
        before = word.taken_back if word and word.reported == what else 0
        self._statements[who] = Statement(what, now, taken_back=before)

    def again(self, who: AppOrGroup, now: float) -> float | None:
        """When a contradicted report may be made again; None where nothing waits."""
        word = self._statements.get(who)
        return word.at if word and not word.stands and now < word.at else None

    def drop(self, who: AppOrGroup) -> None:
        """Forget one that was deleted."""
        self._statements.pop(who, None)

    def forget(self) -> None:
        """Forget all reports: nothing of it is to be reported any more."""
        self._statements.clear()
