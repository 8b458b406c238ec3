"""Holds: "this digest is not to be promoted again until somebody says so" (DESIGN §2). Put and lifted here only."""

from dataclasses import replace

from gitops_bg.core.model import Version
from gitops_bg.core.record import Event, Hold
from gitops_bg.core.world import World


def put_hold(world: World, version: Version, *, reason: str, by: str = "", event: Event = Event.HELD) -> World:
    """Put a hold on a version, once, and say so in the ledger."""
    if world.record.held(version.digest):
        return world
    hold = Hold(version.digest, reason, world.now)
    world = world.with_record(replace(world.record, holds=(*world.record.holds, hold)))
    return world.noting(event, to=version, by=by, reason=reason, commit=world.desired.commit)


def lift_hold(world: World, digest: str, *, reason: str, by: str = "") -> World:
    """End the hold on a digest, if there is one, and say so in the ledger."""
    if not world.record.held(digest):
        return world
    holds = tuple(hold for hold in world.record.holds if hold.digest != digest)
    world = world.with_record(replace(world.record, holds=holds))
    return world.noting(Event.HOLD_LIFTED, to=world.record.version(digest), reason=reason, by=by)


def lift_all(world: World) -> World:
    """A new digest in the target ends every hold: what was held is not asked for any more (gitops.md §3)."""
    for hold in world.record.holds:
        world = lift_hold(world, hold.digest, reason="the target names a new version")
    return world
