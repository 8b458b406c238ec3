"""The part of a step that notes when live traffic has arrived: until then, and `drainSeconds` longer, no version is
retired.

A Service moves in one write, its EndpointSlices a little later. The version that traffic left keeps its pods until the
slices of the active Service hold exactly the new ones, but no longer than ``progressDeadlineSeconds``: otherwise a
foreign address in the slices would prevent every scale-down.
"""

from dataclasses import replace

from gitops_bg.core.checks.pods.draining import reaches_only
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def note_endpoints_synced(world: World) -> World:
    """Record when the endpoints of the active Service were first exactly the pods of the active version."""
    active = world.active
    if active is None or active.routed_at or not _is_routed(world, active):
        return world
    return world.with_version(replace(active, routed_at=world.now))


def _is_routed(world: World, active: Version) -> bool:
    """Whether the endpoints of every active Service are exactly its pods."""
    reached = (reaches_only(world, view, active) for _, view in world.active_services)
    return world.is_selected_by_all(active.digest) and all(reached)
