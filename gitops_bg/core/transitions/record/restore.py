"""The step that joins the record with Git's memory: what the ledger already has, and what a rebuilt cluster forgot
(`core.delivery.ledger`).
"""

from dataclasses import replace

from gitops_bg.core.checks.versions import next_color
from gitops_bg.core.delivery.ledger import acknowledge_ledger, begun, recalled
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.digest import is_computed_here, is_genuine, is_whole, same_content
from gitops_bg.core.model.observed import ReplicaSetView
from gitops_bg.core.model.stages import UNKNOWN, StageEvent, stage_after
from gitops_bg.core.model.version import Source, Version
from gitops_bg.core.transitions.record.clocks import clamp_future_timestamps
from gitops_bg.core.world import World


def restore_record(world: World) -> World:
    """Forget the entries that have reached the state branch, and correct times that are still to come; fill a new
    record with what the ledger and the cluster know.
    """
    return _remembered(clamp_future_timestamps(acknowledge_ledger(world)))


def _remembered(world: World) -> World:
    """Begin a new record: take numbers, holds and past digests from the ledger, and existing ReplicaSets.

    Where Git has not been read yet, the ledger is read as soon as it has.
    """
    if world.record.epoch:
        return _recalled(world)
    record = begun(world.record, world.observed.app_uid, world.spec.retry, world.observed.requests)
    world = _recalled(world.with_record(record))
    for view in sorted(world.observed.replica_sets, key=lambda each: each.number):
        world = _restore_version(world, view)
    return world


def _recalled(world: World) -> World:
    """Add what the ledger knows, once it can be read; what the record knows itself takes precedence."""
    record, memory = world.record, world.desired.memory or LedgerMemory()
    if not record.unrecalled or not world.desired.seen:
        return world
    record = recalled(record, memory)
    known = tuple(digest for digest in memory.active_digests if digest not in record.routing.activations)
    record = replace(
        record,
        last_version=max(record.last_version, memory.last_version),
        routing=replace(record.routing, activations=(*known, *record.routing.activations)),
        git=replace(record.git, primary_by=record.git.primary_by or memory.primary_by),
        versions=tuple(_served(world, each) if each.digest in known else each for each in record.versions),
    )
    return world.with_record(record)


def _served(world: World, version: Version) -> Version:
    """The version as one that served before: it was given a place before anybody could read the ledger."""
    return version if version.was_active else replace(version, activated_at=world.now, left_at=world.now)


def _restore_version(world: World, view: ReplicaSetView) -> World:
    """Give a ReplicaSet that outlived its record a version again: a retired one, unless Git still names it.

    It has a rollout of its own: what somebody asks of one rollout counts for no other version.
    """
    record = world.record
    usable = view.ours and not view.deleting and view.snapshot.text and view.number and _is_certain(world, view)
    if not usable or record.version(view.snapshot.digest) or record.numbered(view.number):
        return world
    served = view.snapshot.digest in record.routing.activations
    version = Version(
        number=view.number,
        snapshot=view.snapshot,
        color=view.color or next_color(world),
        stage=stage_after(UNKNOWN, StageEvent.FOUND_AGAIN if served else StageEvent.FOUND),
        source=_source(world, view.snapshot.digest),
        rollout=record.rollout + 1,
        rollout_started_at=world.now,
        waiting_since=world.now,
        activated_at=world.now if served else None,
        left_at=world.now if served else None,
    )
    record = replace(record, rollout=version.rollout, last_version=max(record.last_version, view.number))
    return world.with_record(record.with_version(version))


def _is_certain(world: World, view: ReplicaSetView) -> bool:
    """Whether a ReplicaSet is of the version that it names: its digest is that of its snapshot. One with a prefix of
    another release cannot be compared; then Git must name the same content. A short digest names no version.
    """
    if not is_whole(view.snapshot.digest):
        return False
    if is_computed_here(view.snapshot.digest):
        return is_genuine(view.snapshot)
    documents = (world.desired.primary, world.desired.target)
    return any(same_content(view.snapshot, one.snapshot) for one in documents if one)


def _source(world: World, digest: str) -> Source:
    """The commit that brought a snapshot, where main still names it."""
    documents = (world.desired.primary, world.desired.target)
    return next((one.source for one in documents if one and one.snapshot.digest == digest), Source(commit=""))
