"""The step that follows a changed ``primary.yaml``, and what sends traffic where Git does not say yet (DESIGN §4)."""

from dataclasses import replace

from gitops_bg.core.desired import Desired, Primary
from gitops_bg.core.lifecycle.versions import keep, register, start_rollout
from gitops_bg.core.looks import awaited
from gitops_bg.core.model import Source, Stage, Version
from gitops_bg.core.record import Cause, Event, Lift, Override, Record
from gitops_bg.core.returning import leads_back
from gitops_bg.core.traffic.holds import lift_hold, put_hold
from gitops_bg.core.world import World, resolve


def follow_primary(world: World) -> World:
    """Take note of what ``primary.yaml`` names; a change of it is somebody's decision.

    It ends an override, lifts the hold on what it names, and holds a promotion that was reverted on its way.
    """
    primary = world.desired.primary
    if not primary:  # Absent: it goes on serving. Unreadable, or nobody has looked: what it said last holds.
        return world
    before, named, asked = world.record.primary, world.primary_digest, asks_what_passed(world.desired, world.record)
    world = _ensure_version(_end_override(world, named), primary, named)
    if named != before:
        reason, by = "primary.yaml names it again", primary.changed_by.author
        world = lift_hold(world, named, how=Lift.NAMED, reason=reason, by=by)
        if before:
            world = _hold_reverted_promotion(world, before, primary.changed_by)
        world = world.with_record(replace(world.record, primary=named))
    if asked and world.desired.passed is None:  # Nobody can tell now: it is asked again.
        return world
    world = _note_what_passed(world, primary)
    return world.with_record(replace(world.record, primary_by=primary.changed_by.commit))


def asks_what_passed(desired: Desired, record: Record) -> bool:
    """Whether it counts what ``primary.yaml`` named between the record's look at it and now: somebody decided twice.

    It may have taken a promotion back, where it names what it named then, or what serves; and it has lifted the holds
    on what it named. Only then: asking for it costs a few readings of Git.
    """
    primary = desired.primary
    if not primary or not record.primary_by or record.primary_by == primary.changed_by.commit:
        return False
    return bool(record.holds) or resolve(record, primary.snapshot) in (record.primary, record.traffic)


def _note_what_passed(world: World, primary: Primary) -> World:
    """What was named between two looks counts as if somebody had looked: the end does not hang on when we look.

    A promotion that was made and taken back is one that was taken back; one that another took the place of says that
    its version is wanted, whatever was said of it before.
    """
    for snapshot in world.desired.passed or ():
        digest = world.resolve(snapshot)
        if world.primary_digest != world.record.traffic:
            world = _lift_by_name(world, digest)
            continue
        if world.record.version(digest) is None and world.target and digest == world.target_digest:
            world = register(world, world.target.snapshot, world.target.source)
        world = _hold_reverted_promotion(world, digest, primary.changed_by)
    return world


def _lift_by_name(world: World, digest: str) -> World:
    hold = world.record.held(digest)
    if hold is None or hold.awaits:  # What main said before our own decision is no answer to it.
        return world
    return lift_hold(world, digest, how=Lift.NAMED, reason="primary.yaml named it since")


def _ensure_version(world: World, primary: Primary, named: str) -> World:
    version = world.record.version(named)
    if version is None:
        return register(world, primary.snapshot, primary.source, primary.version)
    if named == world.record.traffic or world.goal != named:
        return world
    if not version.retiring and version.stage in (Stage.CANDIDATE, Stage.LEGACY):
        return world
    if leads_back(world.record, version):
        return world.with_version(keep(world, version))
    return start_rollout(world, version)


def _end_override(world: World, named: str) -> World:
    """It ends once Git and traffic agree with it, or when main names another version than it did: a newer decision."""
    override = world.record.override
    if override is None:
        return world
    arrived = named == override.to_digest == world.record.traffic
    if not arrived and override.awaits:
        return world
    if not arrived and named == override.to_digest:  # Git has followed: from now on any other value is an answer.
        return world.with_record(replace(world.record, override=replace(override, baseline=named)))
    if not arrived and named == (override.baseline or override.from_digest):
        return world
    world = world.with_record(replace(world.record, override=None))
    if not override.diverged:
        return world
    reason = "primary.yaml follows live traffic again" if arrived else "primary.yaml names another version"
    return world.noting(Event.CONVERGED, to=world.record.version(named), reason=reason)


def _hold_reverted_promotion(world: World, before: str, revert: Source) -> World:
    """Main took a promotion back before traffic moved: without a hold it would be offered again at once."""
    version = world.record.version(before)
    taken_back = world.primary_digest == world.record.traffic and before != world.record.traffic
    if version is None or not taken_back or leads_back(world.record, version):
        return world
    reason = f"its promotion was taken back by {revert.commit[:10]}"
    return put_hold(world, version, cause=Cause.TAKEN_BACK, reason=reason, by=revert.author)


def _overrule_target(world: World) -> World:
    """A later decision about traffic: what the target's commit says it reverts does not count any more.

    One that says nothing is not noted: its own revert would be taken for the revert of a revert, and lift a hold.
    """
    told = world.desired.provenance
    if told is None or not told.named:
        return world
    return world.with_record(replace(world.record, target_revert=told.source.commit))


def override(world: World, to: Version, *, cause: Cause, reason: str, by: str, from_git: bool = False) -> World:
    """Send traffic where Git does not say yet; the commit follows (DESIGN §4.5).

    ``from_git``: main's own history asks for it, so whatever comes later there is newer.
    """
    world = _overrule_target(world.with_version(keep(world, to)))
    if world.primary_digest == to.digest == world.record.traffic:
        return world.with_record(replace(world.record, override=None))
    made = Override(world.record.primary, to.digest, reason, by, world.now, cause)
    made = made if from_git else replace(made, awaits=awaited(world.desired.looks))
    return world.with_record(replace(world.record, override=made))


def note_divergence(world: World) -> World:
    """Say in the ledger, once, that main refuses the commit of an emergency rollback."""
    pending, git = world.record.override, world.observed.git
    if pending is None or pending.diverged or not git.main_refused or world.record.traffic != pending.to_digest:
        return world
    world = world.with_record(replace(world.record, override=replace(pending, diverged=True)))
    reason = f"main refuses the commit ({git.main_refused}); it is offered on the promotion branch"
    return world.noting(Event.DIVERGED, to=world.active, by=pending.by, reason=reason)
