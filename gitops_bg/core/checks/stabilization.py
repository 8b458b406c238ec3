"""Until when a promoted version has to prove itself."""

from datetime import datetime, timedelta

from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.world import World


def stabilization_ends(world: World, stabilization: Stabilization) -> datetime:
    """When time alone ends the probation of a version, for better or worse."""
    return stabilization.since + timedelta(seconds=world.spec.progress_deadline_seconds)
