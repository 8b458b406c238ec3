"""Gates that do not depend on pods: a hold on the version, and what stops the app as a whole.

Shown only while they are shut. Those of the app accept any version, and none of them stops a rollback.
"""

from gitops_bg.core.checks.git import history
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

_MEND = "correct the file and push; `gitops-bg check` names every mistake"
_LOOK = "the agent has just started and reads main; where that takes long, `kubectl logs` of the agent says why"
_PUT_BACK = "put the folder back, as by `git revert` of the commit that removed it; it keeps serving meanwhile"


def hold(world: World, version: Version) -> GateResult | None:
    """Shut where a person or a check put this version on hold (DESIGN §4.9)."""
    return hold_on(world, version.digest)


def hold_on(world: World, digest: str) -> GateResult | None:
    """Shut where this digest is on hold; its version may be forgotten."""
    held = world.record.held(digest)
    if held is None:
        return None
    resume = f"gitops-bg resume {world.spec.app}"
    remedy = f"push a new version, or lift it: {resume}"
    return GateResult(GateKind.HOLD, False, f"on hold: {held.why}", remedy=remedy)


def suspension(world: World, _: Version | None) -> GateResult | None:
    """Shut by ``spec.suspend``, which stops everything except rollbacks (DESIGN §4.10)."""
    suspend = world.spec.suspend
    if world.suspended and suspend:
        by = f" by {suspend.by}" if suspend.by else ""
        remedy = f"when it is over: gitops-bg resume {world.spec.app}"
        return GateResult(GateKind.SUSPENSION, False, f"suspended{by}: {suspend.reason}", suspend.until, remedy)
    return None


def main_looked_at(world: World, _: Version | None) -> GateResult | None:
    """Shut until an agent that has just started has read main."""
    if not world.desired.seen and world.desired.knowledge.counts:
        return GateResult(GateKind.SPEC, False, "nobody has looked at main yet", remedy=_LOOK)
    return None


def files_valid(world: World, _: Version | None) -> GateResult | None:
    """Shut by a broken file: the app stays where it is, and the serving version keeps serving."""
    if world.desired.problems:
        return GateResult(GateKind.SPEC, False, str(world.desired.problems[0]), remedy=_MEND)
    return None


def folder_in_main(world: World, _: Version | None) -> GateResult | None:
    """Shut where the folder of the app has left main: the app stays as it is (DESIGN §4.11)."""
    if not world.desired.in_git:
        return GateResult(GateKind.SPEC, False, "the app's folder has left main", remedy=_PUT_BACK)
    return None


def history_kept(world: World, _: Version | None) -> GateResult | None:
    """Shut where main moved backwards or cannot be read: it moves nothing (decision 17)."""
    return history.history_kept(world.desired.main, world.record.git.lost)
