"""Whether somebody has suspended a group in group.yaml."""

from dataclasses import replace
from datetime import datetime

from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.decision import GateKind, GateResult


def is_suspended(world: GroupWorld) -> bool:
    """Whether nothing is promoted now, because somebody said so."""
    suspend = world.spec.suspend
    return suspend is not None and suspend.lasts(world.now)


def resumed_at(world: GroupWorld) -> datetime | None:
    """When the last suspension ended; None while it lasts, or where there was none."""
    if is_suspended(world):
        return None
    operator = world.record.operator
    return world.now if operator.suspended else operator.resumed_at


def note_suspension(world: GroupWorld) -> GroupWorld:
    """Remember whether the group is suspended, and when that ended."""
    operator = replace(world.record.operator, suspended=is_suspended(world), resumed_at=resumed_at(world))
    return world.with_record(operator=operator)


def not_suspended(world: GroupWorld, version: str) -> GateResult:
    """Nobody has suspended the group in group.yaml."""
    suspend = world.spec.suspend
    if suspend is None or not is_suspended(world):
        return GateResult(GateKind.SUSPENSION, open=True, reason=f"nobody has suspended the promotion of {version}")
    by = f" by {suspend.by}" if suspend.by else ""
    remedy = "when it is over, remove suspend from group.yaml"
    return GateResult(GateKind.SUSPENSION, False, f"suspended{by}: {suspend.reason}", suspend.until, remedy)
