"""The life of a version as one table: an event, and the stage that it leads to (DESIGN §2).

Nothing else changes a stage; a transition that is not in the table raises. docs/architecture/stages.md draws it.
"""

from collections.abc import Mapping
from enum import StrEnum

from gitops_bg.core.model.version import Stage

UNKNOWN = None
"""The stage of a version that the record does not know: not yet, or no longer."""


class StageEvent(StrEnum):
    """An event that may change the stage of a version."""

    WANTED = "wanted"
    """Git names it, and it has to pass every gate: a new rollout."""
    FOUND = "found"
    """The record was lost, and a ReplicaSet exists that the ledger does not know to have served."""
    FOUND_AGAIN = "found again"
    """The record was lost, and a ReplicaSet exists that the ledger knows to have served."""
    RECALLED = "recalled"
    """Traffic is to go to it, or stay with it, and only the gate of its pods counts: it is kept, and scaled
    up first.
    """
    TRAFFIC_CAME = "traffic came"
    TRAFFIC_LEFT = "traffic left"
    EXPIRED = "delay is over"
    """Nothing wants it, and its scale-down delay is over: it goes to 0 pods."""
    FORGOTTEN = "forgotten"


NEXT: Mapping[tuple[Stage | None, StageEvent], Stage | None] = {
    (UNKNOWN, StageEvent.WANTED): Stage.CANDIDATE,
    (UNKNOWN, StageEvent.FOUND): Stage.CANDIDATE,
    (UNKNOWN, StageEvent.FOUND_AGAIN): Stage.LEGACY,
    (Stage.CANDIDATE, StageEvent.WANTED): Stage.CANDIDATE,
    (Stage.CANDIDATE, StageEvent.RECALLED): Stage.CANDIDATE,
    (Stage.CANDIDATE, StageEvent.TRAFFIC_CAME): Stage.ACTIVE,
    (Stage.CANDIDATE, StageEvent.EXPIRED): Stage.ARCHIVED,
    (Stage.ACTIVE, StageEvent.RECALLED): Stage.ACTIVE,
    (Stage.ACTIVE, StageEvent.TRAFFIC_CAME): Stage.ACTIVE,
    (Stage.ACTIVE, StageEvent.TRAFFIC_LEFT): Stage.LEGACY,
    (Stage.LEGACY, StageEvent.TRAFFIC_CAME): Stage.ACTIVE,
    (Stage.LEGACY, StageEvent.WANTED): Stage.CANDIDATE,
    (Stage.LEGACY, StageEvent.RECALLED): Stage.LEGACY,
    (Stage.LEGACY, StageEvent.EXPIRED): Stage.ARCHIVED,
    (Stage.ARCHIVED, StageEvent.RECALLED): Stage.LEGACY,
    (Stage.ARCHIVED, StageEvent.WANTED): Stage.CANDIDATE,
    (Stage.ARCHIVED, StageEvent.FORGOTTEN): UNKNOWN,
}


class ImpossibleStage(AssertionError):
    """A bug: an event happened to a version that cannot happen in its stage."""


def stage_after(stage: Stage | None, event: StageEvent) -> Stage:
    """The stage of a version after ``event``. Raises `ImpossibleStage` where the table has no such transition.

    >>> stage_after(Stage.LEGACY, StageEvent.TRAFFIC_CAME)
    <Stage.ACTIVE: 'active'>
    """
    after = NEXT.get((stage, event))
    if after is None:
        raise ImpossibleStage(f"{event} cannot happen to a version that is {stage or 'unknown'}")
    return after


def can(stage: Stage, event: StageEvent) -> bool:
    """Whether ``event`` can happen to a version in this stage."""
    return (stage, event) in NEXT
