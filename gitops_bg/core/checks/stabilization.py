"""Until when a promoted version has to prove itself."""

from datetime import datetime, timedelta

from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def stabilization_ends(world: World, version: Version) -> datetime | None:
    """When time alone ends the probation of a version, for better or worse; None where it is on none."""
    if version.stabilization is None:
        return None
    return version.stabilization.since + timedelta(seconds=world.spec.progress_deadline_seconds)
