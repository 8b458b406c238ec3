"""How a version on its way is aborted, whoever asks for it: a hold and an event; live traffic is never touched."""

from gitops_bg.core.delivery.holds import put_hold
from gitops_bg.core.model.git.journal import awaited
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.world import World


def abort_rollout(world: World, version: Version, *, cause: Cause, reason: str, by: str = "") -> World:
    """Abort a version on its way: hold it, and make ``primary.yaml`` name the live version again where it named this
    one.
    """
    waits, active = awaited(world.desired.looks), world.active
    world = put_hold(world, version.digest, cause=cause, reason=reason, by=by, event=Event.ABORTED, awaits=waits)
    if active is None or world.desired_digest != version.digest:
        return world
    return override(world, active, cause=cause, reason=reason, by=by)
