"""Upgrades records of older releases, which marked a rollback on the version, and took its number as the order.

This release writes holds with a cause instead, and a separate order.
"""

from dataclasses import replace

from gitops_bg.core.model.record import Cause, Hold, Lift, Record
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def upgraded(world: World) -> World:
    """Return the same world with a record as this release writes it."""
    record = world.record
    served = [version for version in record.versions if version.was_active] if not record.routing.activations else []
    if not (served or record.routing.past_digests):
        return world
    arrivals = sorted(
        served, key=lambda one: (one.digest == record.routing.traffic, one.left_at or one.activated_at, one.number)
    )
    places = {version.digest: place for place, version in enumerate(arrivals, 1)}
    routing = replace(
        record.routing,
        activations=_order(record, served),
        past_digests=(),
        moves=max(record.routing.moves, len(arrivals)),
    )
    versions = tuple(_without_facts(one, places.get(one.digest, 0)) for one in record.versions)
    return world.with_record(replace(_with_facts(record), routing=routing, versions=versions))


def _order(record: Record, served: list[Version]) -> tuple[str, ...]:
    """The order of older releases: forgotten versions first, then by number."""
    known = tuple(version.digest for version in served)
    return (*(digest for digest in record.routing.past_digests if digest not in known), *known)


def _with_facts(record: Record) -> Record:
    """Give each version that was rolled back a hold with that cause: the one in force, or a lifted one."""
    bad = {version.digest for version in record.versions if version.rolled_back}
    holds = tuple(
        replace(hold, cause=Cause.ROLLED_BACK) if hold.digest in bad and hold.cause is Cause.UNKNOWN else hold
        for hold in record.holds
    )
    lifted = (
        version for version in record.versions if version.rolled_back and record.objection(version.digest) is None
    )
    return replace(record, holds=holds, past_holds=(*record.past_holds, *map(_fact, lifted)))


def _fact(version: Version) -> Hold:
    since = version.left_at or version.rollout_started_at
    return Hold(version.digest, "traffic was rolled back from it", since, Cause.ROLLED_BACK, Lift.PASSED_OVER)


def _without_facts(version: Version, place: int) -> Version:
    return replace(version, rolled_back=False, arrived=version.arrived or place)
