"""What the executor changed of the live objects (a change set, in the words of Flux's ``ssa.ChangeSet``), what somebody
else changed of them, and how often that happened of late.

Events, metrics, logs and `rollback --offline` all read the change set; nothing decides by it. A `DriftLoop` counts the
repairs of one object. When it is a fight, and how long the next repair waits, are the rules of DESIGN §10.6; they read
no clock. Nothing here holds the value of a secret.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass

AT_ONCE = 4
"""So many repairs of an object are made at once: one more change of it is a fight."""

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=2)
"""The time from one repair to the next in a fight: at first, and at most; it doubles."""

LIVE_PAUSE = timedelta(seconds=1)
"""The same for what live traffic depends on: no version may keep traffic that it must not have."""

REMEMBERED = timedelta(hours=1)
"""After so much time without a repair they are counted anew: other tools often look every ten minutes."""

SAY_AGAIN = timedelta(minutes=10)
"""How often a fight is said while it goes on: Events are gone after an hour."""

ADMISSION = "an admission webhook"
"""Who changed what the API server stores differently from what was just applied to it."""

_MOST_CHANGES = 3
_LEAVE_IT = "only one may own an object, see “Beside Argo CD or Flux” in the documentation"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that somebody changed."""

    field: str
    """Its path: ``spec.template.spec.containers[web].image``."""
    text: str
    """The path, what was found there and what is there again; of a secret, the path alone. One line, bounded."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Drift:
    """What somebody else changed of one live object, and one write repaired.

    >>> print(Drift((FieldChange("spec.type", "spec.type: NodePort → ClusterIP"),), "kubectl-edit"))
    kubectl-edit changed spec.type: NodePort → ClusterIP
    >>> print(Drift())
    somebody deleted it
    """

    changes: tuple[FieldChange, ...] = ()
    """Empty: the object was gone."""
    by: str = ""
    """The field managers of the other side, as far as the object says (``metadata.managedFields``)."""

    def __str__(self) -> str:
        who = self.by or "somebody"
        if not self.changes:
            return f"{who} deleted it"
        said, more = ", ".join(map(str, self.changes[:_MOST_CHANGES])), len(self.changes) - _MOST_CHANGES
        return f"{who} changed {said}" + (f", and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class DriftLoop:
    """The repairs of one object, one after the other. Times are UTC."""

    kind: str
    name: str
    count: int
    last: datetime
    """The last repair."""
    drift: Drift = Drift()
    """What it repaired."""
    said: datetime | None = None
    """When it was last said that this is a fight."""
    by_another: bool = False
    """Whether somebody else made this change than the one before."""

    @property
    def is_fight(self) -> bool:
        """Whether it was changed again after all repairs that are made at once."""
        return self.count > AT_ONCE

    def next_repair(self, *, live: bool) -> datetime:
        """Return the earliest moment of the next repair; ``live``: traffic depends on the object.

        It counts from the last repair, so that a change that comes after that is repaired at once: only what changes
        faster waits.
        """
        if self.count < AT_ONCE:
            return self.last
        pause = min(FIRST_PAUSE * (1 << min(self.count - AT_ONCE, LONGEST_PAUSE // FIRST_PAUSE)), LONGEST_PAUSE)
        return self.last + (min(pause, LIVE_PAUSE) if live else pause)

    def is_due(self, now: datetime, *, live: bool) -> bool:
        """Return whether the next repair may be made now. Where the last one is still to come, somebody has set the
        clock back since: how long ago it was, nobody knows.
        """
        return now < self.last or self.next_repair(live=live) <= now

    def __str__(self) -> str:
        fields = ", ".join(dict.fromkeys(change.field for change in self.drift.changes[:_MOST_CHANGES]))
        what = f"changes {fields}" if fields else "deletes it"
        return f"{self.kind} {self.name}: {self.drift.by or 'somebody'} {what} again and again; {_LEAVE_IT}"


def after_repair(
    contests: tuple[DriftLoop, ...], kind: str, name: str, drift: Drift, now: datetime
) -> tuple[DriftLoop, ...]:
    """Count one more repair, and forget those of long ago."""
    recent = [each for each in contests if now - each.last < REMEMBERED]
    before = next((each for each in recent if (each.kind, each.name) == (kind, name)), DriftLoop(kind, name, 0, now))
    contest = DriftLoop(kind, name, before.count + 1, now, drift, before.said, before.drift.by != drift.by)
    if contest.is_fight and (contest.said is None or not timedelta() <= now - contest.said < SAY_AGAIN):
        contest = replace(contest, said=now)
    return (*(each for each in recent if each is not before), contest)


class Change(StrEnum):
    """What a write did to one object."""

    CREATED = "created"
    CONFIGURED = "configured"
    """The object existed, and the write changed it."""
    UNCHANGED = "unchanged"
    """The server reports that the write changed nothing."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class ChangeSetEntry:
    """One object that was written to."""

    kind: str
    namespace: str
    name: str
    change: Change
    drift: Drift | None = None
    """What somebody else had changed, where the write repaired that."""

    @property
    def subject(self) -> str:
        """Which object, as Flux writes it.

        >>> ChangeSetEntry("Service", "shop", "web", Change.CONFIGURED).subject
        'Service/shop/web'
        """
        return f"{self.kind}/{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return f"{self.subject} {self.change}" + (f": {self.drift}" if self.drift else "")


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of one action: the objects it wrote to, in order, or why it was refused."""

    action: object
    """What was to be done of an app (`core.model.actions`), or of a release group (`core.groups.record`)."""
    entries: tuple[ChangeSetEntry, ...] = ()
    refused: str = ""
    """Why, in one sentence: missing rights, somebody else's object, an invalid one. Empty where it was carried out."""

    @property
    def drifts(self) -> tuple[Drift, ...]:
        """What the action repaired."""
        return tuple(entry.drift for entry in self.entries if entry.drift)

    def __str__(self) -> str:
        if self.refused:
            return f"{self.action}: {self.refused}"
        return "; ".join(dict.fromkeys(map(str, (self.action, *self.drifts))))


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The results of the actions that were tried, in order; an action that is not here was not tried to the end."""

    results: tuple[ActionResult, ...] = ()

    @property
    def carried_out(self) -> tuple[ActionResult, ...]:
        """The actions that were carried out."""
        return tuple(result for result in self.results if not result.refused)

    def __iter__(self) -> Iterator[ActionResult]:
        return iter(self.results)


NOTHING = ChangeSet()
"""No action was tried."""
