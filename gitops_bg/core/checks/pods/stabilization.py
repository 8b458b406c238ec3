"""When the probation of a promoted version ends."""

from datetime import datetime, timedelta

from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.world import World


def stabilization_ends(world: World, stabilization: Stabilization) -> datetime:
    """When time alone ends the probation of a version, with success or failure; pods are late in no suspension."""
    since = world.waits_since(stabilization.since) if stabilization.unready else stabilization.since
    return since + timedelta(seconds=world.spec.progress_deadline_seconds)
