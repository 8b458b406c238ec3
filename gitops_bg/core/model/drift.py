"""What somebody else changed of a live object of ours, in words for people; and how often that happened of late.

A `Contest` counts the repairs of one part of one object. When it is a fight, and how long the next repair waits, are
the rules of DESIGN §10.6; they read no clock. Nothing here holds the value of a secret.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

AT_ONCE = 4
"""So many repairs of the same part are made at once: one more change of it is a fight."""

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=2)
"""The time from one repair to the next in a fight: at first, and at most; it doubles."""

LIVE_PAUSE = timedelta(seconds=1)
"""The same for what live traffic depends on: no version may keep traffic that it must not have."""

QUIET = timedelta(minutes=10)
"""A fight ends after so much time without a change; a slow one after twice the time between its last two changes."""

REMEMBERED = timedelta(hours=1)
"""How long repairs count that are no fight yet: other tools often look every ten minutes."""

GONE = ""
"""The part of an object that somebody deleted."""

REPLICAS = "spec.replicas"
"""The part of a ReplicaSet that `ScaleReplicaSet` writes, and no other repair."""

ADMISSION = "an admission webhook"
"""Who changed what the API server stores differently from what was just applied to it."""

_MOST_CHANGES, _MOST_NAMES = 3, 4


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that somebody changed."""

    field: str
    """Its path: ``spec.template.spec.containers[web].image``."""
    part: str
    """The part of the object that it is in, such as ``metadata.labels``: there are few, whatever somebody writes."""
    text: str
    """The path, what was found there and what is there again; of a secret, the path alone. One line, bounded."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Drift:
    """What somebody else changed of one live object, and one write repaired.

    >>> print(Drift((FieldChange("spec.type", "spec.type", "spec.type: NodePort → ClusterIP"),), "kubectl-edit"))
    kubectl-edit changed spec.type: NodePort → ClusterIP
    >>> print(Drift())
    somebody deleted it
    """

    changes: tuple[FieldChange, ...] = ()
    """Empty: the object was gone."""
    by: str = ""
    """The field managers of the other side, as far as the object says (``metadata.managedFields``)."""

    @property
    def parts(self) -> frozenset[str]:
        """The parts of the object that were changed."""
        return frozenset(change.part for change in self.changes) or frozenset((GONE,))

    def __str__(self) -> str:
        who = self.by or "somebody"
        if not self.changes:
            return f"{who} deleted it"
        said, more = ", ".join(map(str, self.changes[:_MOST_CHANGES])), len(self.changes) - _MOST_CHANGES
        return f"{who} changed {said}" + (f", and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Contest:
    """The repairs of one part of one object, one after the other. Times are UTC."""

    kind: str
    name: str
    part: str
    count: int
    last: datetime
    """The last repair."""
    before: datetime
    """The one before that; of the first, the same."""
    fields: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    """The first few fields and managers; empty where nothing says."""

    @property
    def is_fight(self) -> bool:
        """Whether it was changed again after all repairs that are made at once."""
        return self.count > AT_ONCE

    @property
    def ends_at(self) -> datetime:
        """When it is forgotten, unless there is another change."""
        return self.last + (max(QUIET, 2 * (self.last - self.before)) if self.is_fight else REMEMBERED)

    def next_repair(self, *, live: bool) -> datetime:
        """The earliest moment of the next repair; ``live``: traffic depends on the object.

        It counts from the last repair, so that a change that comes after that is repaired at once: only what changes
        faster waits.
        """
        if self.count < AT_ONCE:
            return self.last
        pause = min(FIRST_PAUSE * (1 << min(self.count - AT_ONCE, LONGEST_PAUSE // FIRST_PAUSE)), LONGEST_PAUSE)
        return self.last + (min(pause, LIVE_PAUSE) if live else pause)

    def is_due(self, now: datetime, *, live: bool) -> bool:
        """Whether the next repair may be made now. Where the last one is still to come, somebody has set the clock back
        since: how long ago it was, nobody knows.
        """
        return now < self.last or self.next_repair(live=live) <= now

    def __str__(self) -> str:
        who = ", ".join(self.by) or "somebody"
        what = f"changes {', '.join(self.fields)}" if self.part != GONE else "deletes it"
        return f"{self.kind} {self.name}: {who} {what} again and again"


def after_repair(
    contests: tuple[Contest, ...], kind: str, name: str, drift: Drift, now: datetime
) -> tuple[Contest, ...]:
    """Count one more repair, in every part that was changed."""
    concerned = [each for each in contests if (each.kind, each.name) == (kind, name) and each.part in drift.parts]
    known = {each.part: each for each in concerned}
    counted = (
        _counted(known.get(part), Contest(kind, name, part, 0, now, now), drift, now) for part in sorted(drift.parts)
    )
    return (*(each for each in contests if each not in concerned), *counted)


def _counted(before: Contest | None, new: Contest, drift: Drift, now: datetime) -> Contest:
    known = before or new
    fields = tuple(change.field for change in drift.changes if change.part == known.part)
    return Contest(
        known.kind,
        known.name,
        known.part,
        known.count + 1,
        now,
        known.last,
        _with(known.fields, fields),
        _with(known.by, (drift.by,) if drift.by else ()),
    )


def _with(known: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """The first few of both, each once: what is shown does not change with every change."""
    return tuple(dict.fromkeys((*known, *more)))[:_MOST_NAMES]


def going_on(contests: tuple[Contest, ...], now: datetime) -> tuple[Contest, ...]:
    """Those that are not over."""
    return tuple(each for each in contests if now < each.ends_at)
