"""The step that notes when live traffic has really arrived: until then, and `drainSeconds` longer, nobody is retired.

A Service moves in one write, its EndpointSlices a little later. The version that traffic left keeps its pods until the
slices of the active Service hold exactly the new ones. No longer than ``progressDeadlineSeconds``: where somebody else
keeps an address in the slices, nothing would ever be scaled down.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.digest import short
from gitops_bg.core.model import Version
from gitops_bg.core.observed import ServiceView
from gitops_bg.core.world import World


def note_arrival(world: World) -> World:
    """Keep the time at which the endpoints of the active Service were first exactly the pods of the active version."""
    active = world.active
    if active is None or active.routed_at or not _is_routed(world, active):
        return world
    return world.with_version(replace(active, routed_at=world.now))


def drained_at(world: World) -> datetime | None:
    """When the version that traffic left last may go, by what is known now; None where nothing serves."""
    arrived = arrived_at(world)
    return arrived + timedelta(seconds=world.spec.strategy.drain_seconds) if arrived else None


def arrived_at(world: World) -> datetime | None:
    """When live traffic arrived, or will be taken to have, by what is known now; None where nothing serves."""
    active = world.active
    if active is None or active.activated_at is None:
        return None
    late = active.activated_at + timedelta(seconds=world.spec.progress_deadline_seconds)
    return min(active.routed_at or late, late)


def may_still_serve(world: World, version: Version) -> bool:
    """Whether requests may still be on their way to a version that traffic has left."""
    moment, active = drained_at(world), world.active
    if moment is None or active is None or version.left_at is None or active.activated_at is None:
        return False
    return version.left_at >= active.activated_at and world.now < moment


def _is_routed(world: World, active: Version) -> bool:
    """Whether the endpoints of every active Service are exactly its pods."""
    reached = (reaches_only(world, view, active) for _, view in world.active_services)
    return world.is_selected_by_all(active.digest) and all(reached)


def reaches_only(world: World, service: ServiceView | None, version: Version) -> bool:
    """Whether the endpoints of a Service are the available pods of a version, all of them and nobody else's."""
    if service is None or service.digest != short(version.digest) or service.other_endpoints:
        return False
    return service.ready_endpoints >= world.available(version.digest)
