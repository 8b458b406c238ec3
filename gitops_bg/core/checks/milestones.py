"""How far a rollout has got, and how long each stage took: push → available → promoted → switched → settled.

The record keeps the times, so that a restart of the agent does not measure a stage twice. Decides nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.model.record import Record, Rollout
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


class RolloutStage(StrEnum):
    """The part of a rollout that ends with a milestone; `TOTAL` is the whole."""

    AVAILABLE = "available"
    """From the push, as the agent saw it (or from the retry), to available pods."""
    PROMOTED = "promoted"
    """From there to the commit that names the version in ``primary.yaml``: analysis, pauses, people."""
    SWITCHED = "switched"
    """From there to the moved Service."""
    SETTLED = "settled"
    """From there to endpoints that have followed, and a successful analysis after promotion."""
    TOTAL = "total"
    """From the push to the end of `SETTLED`."""


@dataclass(frozen=True, slots=True)
class StageDuration:
    """One stage that has just ended for a rollout."""

    rollout: int
    stage: RolloutStage
    seconds: float


def reached(world: World, rollout: Rollout) -> Rollout:
    """Return the rollout with the milestones reached by now; a milestone once reached stays."""
    if rollout.settled_at or (rollout.outcome and not rollout.outcome.good):
        return rollout
    version = world.record.version(rollout.digest)
    if version is None or version.rollout != rollout.number:
        return rollout
    named = world.desired.primary if world.primary_digest == version.digest else None
    serves = version.digest == world.record.routing.traffic
    moments = {
        "available_at": rollout.available_at or version.available_since,
        "promoted_at": rollout.promoted_at or (world.now if named else None),
        "commit": rollout.commit or (named.changed_by.commit if named else ""),
        "switched_at": rollout.switched_at or (version.activated_at if serves else None),
        "settled_at": _settled_at(rollout, version),
    }
    news = {name: moment for name, moment in moments.items() if moment != getattr(rollout, name)}
    return replace(rollout, **news) if news else rollout  # type: ignore[arg-type]


def passed(before: Record, after: Record) -> Iterator[StageDuration]:
    """The stages that ended between two records of an app, oldest rollout first."""
    known = {rollout.number: milestones(rollout) for rollout in before.rollouts}
    for rollout in after.rollouts:
        yield from _passed(rollout, known.get(rollout.number, {}))


def _passed(rollout: Rollout, known: dict[RolloutStage, datetime]) -> Iterator[StageDuration]:
    """Return the durations of the stages that ended.

    A milestone out of order (somebody merged before the pods were available) ends a stage of length 0.
    """
    begun = rollout.started_at
    for stage, moment in milestones(rollout).items():
        if stage not in known:
            yield StageDuration(rollout.number, stage, max(0.0, (moment - begun).total_seconds()))
        begun = max(begun, moment)
    if rollout.settled_at and RolloutStage.SETTLED not in known:
        yield StageDuration(
            rollout.number, RolloutStage.TOTAL, (rollout.settled_at - rollout.started_at).total_seconds()
        )


def milestones(rollout: Rollout) -> dict[RolloutStage, datetime]:
    """When each stage of a rollout ended, in their order; without those that have not."""
    moments = {
        RolloutStage.AVAILABLE: rollout.available_at,
        RolloutStage.PROMOTED: rollout.promoted_at,
        RolloutStage.SWITCHED: rollout.switched_at,
        RolloutStage.SETTLED: rollout.settled_at,
    }
    return {stage: moment for stage, moment in moments.items() if moment}


def _settled_at(rollout: Rollout, version: Version) -> datetime | None:
    if version.routed_at is None or rollout.finished_at is None:
        return None
    return max(version.routed_at, rollout.finished_at)
