"""Whether a promoted version is on probation, and when that ends."""

from datetime import datetime, timedelta

from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Stabilization, Version
from gitops_bg.core.world import World


def is_watched(world: World, version: Version) -> bool:
    """Whether a version is on probation that serves, and that traffic does not leave anyway: back or forward. Who only
    waits for gates helps nobody.
    """
    if version.stabilization is None or world.suspended or version.digest != world.record.routing.traffic:
        return False
    switch = world.record.routing.switch
    is_left = world.switch_kind is SwitchKind.ROLLBACK or (switch is not None and not switch.withdrawn)
    return world.incoming is None or not is_left


def stabilization_ends(world: World, stabilization: Stabilization) -> datetime:
    """When time alone ends the probation of a version, with success or failure; pods are late in no suspension."""
    since = world.waits_since(stabilization.since) if stabilization.unready else stabilization.since
    return since + timedelta(seconds=world.spec.progress_deadline_seconds)
