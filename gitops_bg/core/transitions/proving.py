"""The step that counts how long the serving release has served, healthy and without a break, and tells the ledger once
that is as long as later environments ask for (decision 113).

Quiet: what counts is remembered a few times on the way to a threshold, and never where nobody asks.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.checks.policy_rules import length
from gitops_bg.core.checks.proving import asked_still, is_counting, is_settled, part_of, release_served, setback
from gitops_bg.core.environments.proven import EnvironmentInput, KnownRelease, ProvenRelease, Proving
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def prove(world: World) -> World:
    """Count, remember and tell."""
    environment, active, served = world.desired.environment, world.active, release_served(world)
    if environment is None:
        return world
    if served is not None and active is not None and active.release != served.id:
        world = world.with_version(replace(active, release=served.id))
    world = _kept(world)
    if served is None or active is None or not asked_still(world):
        return _counting(world, Proving(proven=world.record.proving.proven))
    world = _counting(world, _counted(world, environment, active))
    for seconds in asked_still(world):
        if world.record.proving.version and world.record.proving.counted(world.now) >= seconds:
            world = _publish(world, served, active, seconds)
    return world if asked_still(world) else _counting(world, Proving(proven=world.record.proving.proven))


def _counting(world: World, proving: Proving) -> World:
    return world if proving == world.record.proving else world.with_part(proving)


def _kept(world: World) -> World:
    """Forget proofs of a version that was left for a fault since: later environments must not take it in."""
    held = {hold.digest for hold in world.record.holds}
    proving = world.record.proving
    kept = tuple(each for each in proving.proven if each.version not in held)
    return _counting(world, replace(proving, proven=kept)) if kept != proving.proven else world


def _counted(world: World, environment: EnvironmentInput, active: Version) -> Proving:
    """Return the clock of the serving version as it stands now."""
    proving, now = world.record.proving, world.now
    if setback(world) or not is_settled(world, active):
        return Proving(proven=proving.proven)
    since = now if is_counting(world) else None
    if proving.version != active.digest:
        return Proving(active.digest, now, since, 0, proving.proven)
    if since is None:  # of a time in which nobody could look, nothing counts
        seconds = proving.counted(now) if environment.watched_since else proving.seconds
        return replace(proving, since=None, seconds=seconds)
    return _running(world, proving, max(environment.watched_since or now, proving.since or now))


def _running(world: World, proving: Proving, since: datetime) -> Proving:
    """Return the running clock: what counted is remembered at the end of each part; what nobody saw does not count."""
    if since == proving.since and world.now - since >= part_of(asked_still(world)[0]):
        return replace(proving, since=world.now, seconds=proving.counted(world.now))
    return replace(proving, since=since)


def _publish(world: World, served: KnownRelease, active: Version, seconds: int) -> World:
    proving = world.record.proving
    began = proving.began or world.now
    proof = ProvenRelease(served.id, seconds, active.digest, began, world.now, served.commit)
    reason = f"{served.id.name} served, healthy and without a break, for {length(timedelta(seconds=seconds))}"
    world = world.with_part(proving.with_proof(proof))
    return world.with_ledger_entry(Event.PROVEN, to=active, reason=reason if seconds else f"{served.id.name} settled")
