"""The repairs of each app of late, in memory: a restart begins to count anew, and the record has none of it.

When something is a fight, and how long the next repair waits, is decided in the core (``core.model.drift``).
"""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from gitops_bg.core.model.change_set import ActionResult, ChangeSetEntry
from gitops_bg.core.model.drift import Contest, after_repair, going_on
from gitops_bg.core.model.version import AppKey


class Contests:
    """Asked by workers, one at a time for each app."""

    def __init__(self) -> None:
        self._known: dict[AppKey, tuple[Contest, ...]] = {}

    def of(self, app: AppKey) -> tuple[Contest, ...]:
        """The present ones of an app."""
        return self._known.get(app, ())

    def note(self, app: AppKey, entries: Iterable[ChangeSetEntry], now: datetime) -> tuple[Contest, ...]:
        """Count the repairs among these writes; return the fights that begin with them."""
        before = after = self.of(app)
        for entry in entries:
            if entry.drift is not None:
                after = after_repair(after, entry.kind, entry.name, entry.drift, now)
        if after:
            self._known[app] = after
        known = {(each.kind, each.name, each.part) for each in before if each.is_fight}
        return tuple(each for each in after if each.is_fight and (each.kind, each.name, each.part) not in known)

    def end(self, app: AppKey, now: datetime) -> tuple[Contest, ...]:
        """Forget what is over; return the fights among it."""
        before = self.of(app)
        after = going_on(before, now)
        if after:
            self._known[app] = after
        else:
            self._known.pop(app, None)
        return tuple(each for each in before if each.is_fight and each not in after)

    def repeats(self, app: AppKey, result: ActionResult) -> bool:
        """Whether an action only repaired what is changed again and again: no such repair is said by itself."""
        drifted = [entry for entry in result.entries if entry.drift is not None]
        return bool(drifted) and all(map(partial(self._is_fight, app), drifted))

    def _is_fight(self, app: AppKey, entry: ChangeSetEntry) -> bool:
        of_it = [each for each in self.of(app) if (each.kind, each.name) == (entry.kind, entry.name)]
        return entry.drift is not None and entry.drift.parts <= {each.part for each in of_it if each.is_fight}

    def drop(self, app: AppKey) -> None:
        """Forget a deleted app."""
        self._known.pop(app, None)
