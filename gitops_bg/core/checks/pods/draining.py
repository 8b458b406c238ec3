"""Whether live traffic has arrived, and how long the version that it left still serves."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def drained_at(world: World) -> datetime | None:
    """When the version that traffic left last may be scaled down, as far as is known now; None where nothing serves."""
    arrived = arrived_at(world)
    return arrived + timedelta(seconds=world.spec.strategy.drain_seconds) if arrived else None


def arrived_at(world: World) -> datetime | None:
    """When live traffic arrived, or will count as arrived, as far as is known now; None where nothing serves."""
    active = world.active
    if active is None or active.activated_at is None:
        return None
    late = active.activated_at + timedelta(seconds=world.spec.progress_deadline_seconds)
    return min(active.routed_at or late, late)


def may_still_serve(world: World, version: Version) -> bool:
    """Whether requests may still reach a version that traffic has left."""
    moment, active = drained_at(world), world.active
    if moment is None or active is None or version.left_at is None or active.activated_at is None:
        return False
    return version.left_at >= active.activated_at and world.now < moment


def reaches_only(world: World, service: ServiceView | None, version: Version) -> bool:
    """Whether the endpoints of a Service are all available pods of a version, and no others."""
    if service is None or service.digest != short(version.digest) or service.other_endpoints:
        return False
    return service.ready_endpoints >= world.available(version.digest)


def former_moments(world: World) -> Iterator[datetime]:
    """The times until which the former Services are followed."""
    for each in world.record.last_read.former_services:
        until = world.followed_until(each)
        if until is not None:
            yield until


def without_traffic(world: World) -> tuple[str, ...]:
    """The Services that ``app.yaml`` names for live traffic and that carry none: they do not exist, are not ours, or
    select no version.
    """
    carry = {name for name, view in world.active_services if view is not None and view.ours and view.digest}
    return tuple(name for name in world.spec.strategy.active_services if name not in carry)
