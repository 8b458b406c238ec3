"""The repairs of each app and group of late, in memory: a restart begins to count anew, and the record has none of it.

When something is a fight, and how long the next repair waits, is decided in the core (``core.model.drift``).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from gitops_bg.core.model.drift import ChangeSetEntry, DriftLoop, after_repair
from gitops_bg.core.model.version import Subject


class Contests:
    """Asked by one thread at a time for each app or group."""

    def __init__(self) -> None:
        self._known: dict[Subject, tuple[DriftLoop, ...]] = {}

    def of(self, subject: Subject) -> tuple[DriftLoop, ...]:
        """The present ones of an app or a group."""
        return self._known.get(subject, ())

    def count(self, subject: Subject, entries: Sequence[ChangeSetEntry], now: datetime) -> tuple[DriftLoop, ...]:
        """Count the repairs among these writes; return the fights that are to be said now."""
        contests = self.of(subject)
        for entry in entries:
            if entry.drift is not None:
                contests = after_repair(contests, entry.kind, entry.name, entry.drift, now)
                self._known[subject] = contests
        written = {(entry.kind, entry.name) for entry in entries if entry.drift is not None}
        return tuple(each for each in contests if each.said == now and (each.kind, each.name) in written)

    def repeats(self, subject: Subject, entries: Iterable[ChangeSetEntry]) -> bool:
        """Whether these writes only repaired what the same one changes again and again: no such repair is said by
        itself. A change by somebody else is, whatever is fought over: it may be of what matters most.
        """
        fights = {(each.kind, each.name) for each in self.of(subject) if each.is_fight and not each.by_another}
        drifted = {(entry.kind, entry.name) for entry in entries if entry.drift is not None}
        return bool(drifted) and drifted <= fights

    def drop(self, subject: Subject) -> None:
        """Forget what was deleted."""
        self._known.pop(subject, None)
