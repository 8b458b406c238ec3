"""When time alone changes the decision: the earliest of all deadlines."""

from datetime import datetime

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.status.deadlines import deadlines_of
from gitops_bg.core.world import World


def wake_at(world: World, gates: tuple[GateResult, ...] | None = None) -> datetime | None:
    """The next moment after ``now`` at which to decide again; None where only an event can change anything.

    A caller that has computed `gates_to_show` already passes them.
    """
    suspended, now = world.suspended, world.now
    known = deadlines_of(world, gates_to_show(world) if gates is None else gates)
    going = (each.at for each in known if each.at and (each.while_suspended or not suspended))
    return min((moment for moment in going if moment > now), default=None)
