"""Gates that do not depend on pods, and that only an app has: what stops the app as a whole.

Shown only while they are shut. They accept any version, and none of them stops a rollback.
"""

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

_LOOK = "the agent has just started and reads main; where that takes long, `kubectl logs` of the agent says why"
_PUT_BACK = "put the folder back, as by `git revert` of the commit that removed it; it keeps serving meanwhile"


def main_looked_at(world: World, _: Version | None) -> GateResult | None:
    """Shut until an agent that has just started has read main."""
    if not world.desired.seen and world.desired.knowledge.counts:
        return GateResult(GateKind.SPEC, False, "nobody has looked at main yet", remedy=_LOOK)
    return None


def folder_in_main(world: World, _: Version | None) -> GateResult | None:
    """Shut where the folder of the app has left main: the app stays as it is (DESIGN §4.11)."""
    if not world.desired.in_git:
        return GateResult(GateKind.SPEC, False, "the app's folder has left main", remedy=_PUT_BACK)
    return None
