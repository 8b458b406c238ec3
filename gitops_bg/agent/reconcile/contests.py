"""Others who write what this process writes, in memory: a restart begins to count anew.

Repairs of late tell a fight over a live object; what is a fight, and how long the next repair waits, is decided in the
core (``core.model.drift``). Of the status, another process may revert what this one reported, because it sees something
else: then a report waits before it is repeated, twice as long each time, so that two agents do not overwrite it in
turns. An agent that is alone is never contradicted, and never waits.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from gitops_bg.core.backoff import delay
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.drift import ChangeSetEntry, DriftLoop, after_repair
from gitops_bg.core.model.version import AppKey, AppOrGroup


class Contests:
    """Asked by one thread at a time for each app or group."""

    def __init__(self) -> None:
        self._known: dict[AppOrGroup, tuple[DriftLoop, ...]] = {}

    def of(self, subject: AppOrGroup) -> tuple[DriftLoop, ...]:
        """Return the present ones of an app or a group."""
        return self._known.get(subject, ())

    def count(self, subject: AppOrGroup, entries: Sequence[ChangeSetEntry], now: datetime) -> tuple[DriftLoop, ...]:
        """Count the repairs among these writes; return the fights that are to be said now."""
        contests = self.of(subject)
        for entry in entries:
            if entry.drift is not None:
                contests = after_repair(contests, entry.kind, entry.name, entry.drift, now)
                self._known[subject] = contests
        written = {(entry.kind, entry.name) for entry in entries if entry.drift is not None}
        return tuple(each for each in contests if each.said == now and (each.kind, each.name) in written)

    def repeats(self, subject: AppOrGroup, entries: Iterable[ChangeSetEntry]) -> bool:
        """Return whether these writes only repaired what the same one changes again and again: no such repair is said
        by itself. A change by somebody else is, whatever is fought over: it may be of what matters most.
        """
        fights = {(each.kind, each.name) for each in self.of(subject) if each.is_fight and not each.by_another}
        drifted = {(entry.kind, entry.name) for entry in entries if entry.drift is not None}
        return bool(drifted) and drifted <= fights

    def drop(self, subject: AppOrGroup) -> None:
        """Forget what was deleted."""
        self._known.pop(subject, None)


W = TypeVar("W", bound=Hashable)


@dataclass(slots=True)
class LastReport(Generic[W]):
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
        self._statements: dict[AppOrGroup, LastReport[W]] = {}

    def may_report(self, who: AppOrGroup, what: W, now: float, *, shown: bool = False) -> bool:
        """Return whether ``what`` may be reported; ``shown``: it, or something like it, is visible already."""
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
        self._statements[who] = LastReport(what, now, taken_back=before)

    def again(self, who: AppOrGroup, now: float) -> float | None:
        """Return when a contradicted report may be made again; None where nothing waits."""
        word = self._statements.get(who)
        return word.at if word and not word.stands and now < word.at else None

    def drop(self, who: AppOrGroup) -> None:
        """Forget one that was deleted."""
        self._statements.pop(who, None)

    def forget(self) -> None:
        """Forget all reports: nothing of it is to be reported any more."""
        self._statements.clear()


FIRST_POLLS = 4
"""The number of polls before a repeated report; doubled each time."""
MOST_POLLS = 128


class RewriteReports(ContradictionBackoff[str]):
    """Reports by the commit that main lacks. Time is counted in polls in a row that found a commit missing."""

    def __init__(self) -> None:
        super().__init__(FIRST_POLLS, MOST_POLLS)

    def stood(self, who: AppOrGroup, poll: int) -> float:
        """Return for how many polls a report has not been contradicted; if it never was, since the loss began."""
        word = self._statements.get(who)
        return poll - word.at if word and word.taken_back else poll

    def due(self, poll: int, lasting: int) -> Iterator[AppKey]:
        """Yield the apps to look at again at this poll: the report may be repeated, or has stood for ``lasting``
        polls.
        """
        for who, word in list(self._statements.items()):
            is_due = word.taken_back and poll == word.at + (lasting if word.stands else 0)
            if is_due and isinstance(who, AppKey):  # Each poll has all groups looked at.
                yield who
