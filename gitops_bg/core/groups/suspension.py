"""Whether somebody has suspended a group in group.yaml."""

from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.decision import GateKind, GateResult


def is_suspended(world: GroupWorld) -> bool:
    """Whether nothing is promoted now, because somebody said so."""
    suspend = world.spec.suspend
    return suspend is not None and suspend.lasts(world.now)


def not_suspended(world: GroupWorld, version: str) -> GateResult:
    """Nobody has suspended the group in group.yaml."""
    suspend = world.spec.suspend
    if suspend is None or not is_suspended(world):
        return GateResult(GateKind.SUSPENSION, open=True, reason=f"nobody has suspended the promotion of {version}")
    by = f" by {suspend.by}" if suspend.by else ""
    remedy = "when it is over, remove suspend from group.yaml"
    return GateResult(GateKind.SUSPENSION, False, f"suspended{by}: {suspend.reason}", suspend.until, remedy)
