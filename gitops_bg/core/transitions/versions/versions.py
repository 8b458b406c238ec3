"""The life of versions: registering them, wanting them again, forgetting them. `retention` says how long they stay."""

from dataclasses import replace

from gitops_bg.core.checks.versions import next_color
from gitops_bg.core.delivery.holds import lift_others, put_hold
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.stages import UNKNOWN, StageEvent, can, stage_after
from gitops_bg.core.model.statements import Hold, Says
from gitops_bg.core.model.version import Snapshot, Source, Stage, Version
from gitops_bg.core.transitions.verdicts.analysis import forget_runs
from gitops_bg.core.transitions.versions.retention import retire
from gitops_bg.core.world import World

AGAIN = "it is the target again, and was given up: "


PAST_DIGESTS = 100
"""How many digests of versions that served a record keeps, in addition to those of its versions."""


def register(world: World, snapshot: Snapshot, source: Source, number: int = 0) -> World:
    """Give a snapshot that the record does not know a version, a color and a rollout of its own.

    ``number``, or the one that the ledger knows, is kept where it is free, so that Git and a rebuilt cluster agree.
    """
    record = world.record
    number = number or _number_before(world, snapshot.digest)
    if not number or record.numbered(number):
        number = record.last_version + 1
    served = snapshot.digest in record.routing.activations
    version = Version(
        number=number,
        snapshot=snapshot,
        color=next_color(world),
        stage=stage_after(UNKNOWN, StageEvent.WANTED),
        source=source,
        rollout=record.rollout + 1,
        rollout_started_at=world.now,
        waiting_since=world.now,
        activated_at=world.now if served else None,
        left_at=world.now if served else None,
    )
    record = replace(record, rollout=version.rollout, last_version=max(record.last_version, number))
    return world.with_record(record.with_version(version))


def _number_before(world: World, digest: str) -> int:
    """The number that the ledger knows for a digest, where the ledger was read because the record was lost;
    0 for none.
    """
    memory = world.desired.memory
    return dict(memory.numbers).get(digest, 0) if memory else 0


def start_rollout(world: World, version: Version, source: Source | None = None) -> World:
    """Begin a new, numbered attempt to promote a known version; nothing of an earlier attempt counts."""
    started = replace(
        version,
        snapshot=world.snapshot(version),
        stage=stage_after(version.stage, StageEvent.WANTED),
        retirement=None,
        color=next_color(world),
        source=source or version.source,
        rollout=world.record.rollout + 1,
        rollout_started_at=world.now,
        available_since=None,
        waiting_since=world.now,
        failure="",
    )
    record = replace(world.record, rollout=started.rollout)
    return world.with_record(record.with_version(started))


def retain(world: World, version: Version) -> Version:
    """Return ``version`` with its text, without a deadline, out of the archive: traffic is to go back to it."""
    stage = stage_after(version.stage, StageEvent.RECALLED)
    return replace(version, snapshot=world.snapshot(version), stage=stage, retirement=None)


def choose_candidate(world: World) -> World:
    """Follow the target: register a new version, supersede or cancel versions no longer wanted (DESIGN §4)."""
    if not world.frozen:
        world = _follow_target(world)
    return _release_unwanted(world)


def _follow_target(world: World) -> World:
    target, digest = world.target, world.target_digest
    if not target or digest == world.record.routing.traffic or world.record.held(digest):
        return world
    version, objection = world.record.version(digest), world.record.objection(digest)
    if version and (digest == world.desired_digest or (version.stage is Stage.CANDIDATE and not version.retiring)):
        return world
    if objection and objection.lifted is Says.PASSED_OVER:
        return _hold_again(world, target, objection)
    if version is None:
        world = register(lift_others(world, digest, "the target names a new version"), target.snapshot, target.source)
    else:
        world = start_rollout(world, version, target.source)
    return world.with_ledger_entry(
        Event.CANDIDATE,
        to=world.record.version(digest),
        origin=world.active,
        commit=world.desired.commit,
        by=target.source.author,
        reason=target.source.subject,
    )


def _hold_again(world: World, target: Target, objection: Hold) -> World:
    """Put the hold that a newer target had lifted back: naming the version again does not clear it."""
    digest = world.resolve(target.snapshot)
    if world.record.version(digest) is None:
        world = register(world, target.snapshot, target.source)
    version, known = world.record.version(digest), objection.reason.removeprefix(AGAIN)
    if version is None:
        return world
    return put_hold(world, version.digest, cause=objection.cause, reason=f"{AGAIN}{known}", by=target.source.author)


def _release_unwanted(world: World) -> World:
    for version in world.record.versions:
        if not version.retiring and version.stage is not Stage.ARCHIVED and not _is_wanted(world, version):
            world = _release(world, version)
    return world


def _is_wanted(world: World, version: Version) -> bool:
    if version.digest in (world.record.routing.traffic, world.desired_digest):
        return True
    if world.record.held(version.digest):
        return False
    # Where the target cannot be read or nothing new may start, the version it last named stays as it is.
    unclear = world.frozen or not world.target
    return version.stage is Stage.CANDIDATE and (unclear or version.digest == world.target_digest)


def _release(world: World, version: Version) -> World:
    held = world.record.held(version.digest)
    world = world.with_version(retire(world, version, aborted=held is not None))
    if held or version.stage is not Stage.CANDIDATE:
        return world
    wanted, source = world.record.version(world.target_digest), world.target.source if world.target else Source("")
    event, reason = Event.SUPERSEDED, "the target names a newer version"
    if world.target_digest == world.record.routing.traffic:
        event, reason = Event.CANCELLED, "the target names the active version again"
    elif wanted and wanted.number < version.number:
        event, reason = Event.CANCELLED, f"the target went back to {label(wanted.number, wanted.digest)}"
    commit = source.commit or world.desired.commit
    return world.with_ledger_entry(event, to=wanted, origin=version, commit=commit, by=source.author, reason=reason)


def forget(world: World) -> World:
    """Forget the oldest archived versions beyond ``revisionHistoryLimit``, then the analyses beyond their limits."""
    return forget_runs(_forget_versions(world))


def _forget_versions(world: World) -> World:
    """Forget the oldest archived versions, and remove texts that the record does not need.

    The last good version is never forgotten, and keeps its text: a rollback must stay possible (I6). That a forgotten
    version served, or was bad, stays known by its digest: a revert to it has the same effect (gitops.md §3).
    """
    record, needed = world.record, _needed(world)
    archived = [version for version in record.versions if can(version.stage, StageEvent.FORGOTTEN)]
    spare = [version for version in archived if version.digest not in needed]
    excess = spare[: max(0, len(archived) - world.spec.revision_history_limit)]
    kept = tuple(_kept(world, version, needed) for version in record.versions if version not in excess)
    if kept == record.versions:
        return world
    return world.with_record(replace(record, versions=kept))


def _needed(world: World) -> set[str]:
    good = world.rollback_target
    named = {world.primary_digest, world.target_digest}  # If it were forgotten, it would begin anew in every pass.
    return {world.record.routing.traffic, world.desired_digest, *named, good.digest if good else ""}


def _kept(world: World, version: Version, needed: set[str]) -> Version:
    """The version with its text where that is needed; without it where the ReplicaSet has the same text."""
    if version.digest in needed:
        return version if version.snapshot.text else replace(version, snapshot=world.snapshot(version))
    if version.stage is not Stage.ARCHIVED or not version.snapshot.text:
        return version
    view = world.replica_set(version.digest)
    return (
        replace(version, snapshot=replace(version.snapshot, text=""))
        if view and view.snapshot == version.snapshot
        else version
    )
