"""The repairs of each app and group of late, in memory: a restart begins to count anew, and the record has none of it.

When something is a fight, and how long the next repair waits, is decided in the core (``core.model.drift``).
"""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from gitops_bg.core.model.change_set import ChangeSetEntry
from gitops_bg.core.model.drift import Contest, after_repair, going_on
from gitops_bg.core.model.subject import Subject


class Contests:
    """Asked by one thread at a time for each app or group."""

    def __init__(self) -> None:
        self._known: dict[Subject, tuple[Contest, ...]] = {}

    def of(self, subject: Subject) -> tuple[Contest, ...]:
        """The present ones of an app or a group."""
        return self._known.get(subject, ())

    def note(self, subject: Subject, entries: Iterable[ChangeSetEntry], now: datetime) -> tuple[Contest, ...]:
        """Count the repairs among these writes; return the fights that begin with them."""
        before = after = self.of(subject)
        for entry in entries:
            if entry.drift is not None:
                after = after_repair(after, entry.kind, entry.name, entry.drift, now)
        if after:
            self._known[subject] = after
        known = {(each.kind, each.name, each.part) for each in before if each.is_fight}
        return tuple(each for each in after if each.is_fight and (each.kind, each.name, each.part) not in known)

    def end(self, subject: Subject, now: datetime) -> tuple[Contest, ...]:
        """Forget what is over; return the fights among it."""
        before = self.of(subject)
        after = going_on(before, now)
        if after:
            self._known[subject] = after
        else:
            self._known.pop(subject, None)
        return tuple(each for each in before if each.is_fight and each not in after)

    def repeats(self, subject: Subject, entries: Iterable[ChangeSetEntry]) -> bool:
        """Whether these writes only repaired what is changed again and again: no such repair is said by itself."""
        drifted = [entry for entry in entries if entry.drift is not None]
        return bool(drifted) and all(map(partial(self._is_fight, subject), drifted))

    def _is_fight(self, subject: Subject, entry: ChangeSetEntry) -> bool:
        of_it = [each for each in self.of(subject) if (each.kind, each.name) == (entry.kind, entry.name)]
        return entry.drift is not None and entry.drift.parts <= {each.part for each in of_it if each.is_fight}

    def drop(self, subject: Subject) -> None:
        """Forget what was deleted."""
        self._known.pop(subject, None)
