"""The life of a version as one table: what happens to it, and the stage that it is in then (DESIGN §2).

Nothing else changes a stage: a way that is not in the table raises. docs/architecture/stages.md draws it.
"""

from collections.abc import Mapping
from enum import StrEnum

from gitops_bg.core.model.version import Stage

UNKNOWN = None
"""The stage of a version that the record does not know: not yet, or no more."""


class StageEvent(StrEnum):
    """What happens to a version that may change its stage."""

    WANTED = "wanted"
    """Git names it, and it has to pass every gate: a new rollout."""
    FOUND = "found"
    """The record was lost: a ReplicaSet is there of which nobody knows that it served."""
    FOUND_AGAIN = "found again"
    """The record was lost: a ReplicaSet is there of which the ledger knows that it served."""
    RECALLED = "recalled"
    """Traffic is to go to it, or stay with it, through no gate but pods: it is kept, and scaled up first."""
    TRAFFIC_CAME = "traffic came"
    TRAFFIC_LEFT = "traffic left"
    EXPIRED = "delay is over"
    """Nothing wants it, and the delay of its way out is over: it goes to 0 pods."""
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
    """A bug: something happened to a version that cannot happen to it in its stage."""


def stage_after(stage: Stage | None, event: StageEvent) -> Stage:
    """The stage of a version to which this happened. Raises `ImpossibleStage` where the table has no such way.

    >>> stage_after(Stage.LEGACY, StageEvent.TRAFFIC_CAME)
    <Stage.ACTIVE: 'active'>
    """
    after = NEXT.get((stage, event))
    if after is None:
        raise ImpossibleStage(f"{event} cannot happen to a version that is {stage or 'unknown'}")
    return after


def can(stage: Stage, event: StageEvent) -> bool:
    """Whether this can happen to a version in this stage."""
    return (stage, event) in NEXT
