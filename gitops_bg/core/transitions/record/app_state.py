"""The step that notes in the ledger when an app begins or ceases to be suspended, invalid, orphaned or rewritten."""

from dataclasses import replace

from gitops_bg.core.checks.adoption.moving import is_stranded, successor
from gitops_bg.core.checks.git.history import why_noted
from gitops_bg.core.checks.phase import is_to_go
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.transitions.git.main import note_lost
from gitops_bg.core.world import World

# Enough for a person to find the line; the condition and `gitops-bg check` show all of it.
LONGEST_REASON = 500

ENDINGS = {
    DeletionPolicy.ORPHAN: "deletionPolicy: orphan: its objects stay as they are, and serve, and are nobody's of ours",
    DeletionPolicy.REVERT_TO_TARGET: "deletionPolicy: revertToTarget: live traffic goes where it went before the app",
}
"""What the ledger tells of the end of an app, by its policy, beside that it is deleted."""


def note_standing(world: World) -> World:
    """Note one ledger entry for each change of an app's state."""
    for step in (_suspension, _validity, _presence, note_lost, _history):
        world = step(world)
    return world


def _suspension(world: World) -> World:
    if world.suspended == world.record.operator.suspended:
        return world
    suspend = world.spec.suspend
    world = world.with_part(replace(world.record.operator, suspended=world.suspended, resumed_at=world.resumed_at))
    if world.suspended and suspend:
        by = suspend.by or world.suspended_by.author
        return world.noting(Event.SUSPENDED, commit=world.suspended_by.commit, by=by, reason=suspend.reason)
    if suspend and suspend.until:
        return world.noting(Event.RESUMED, reason=f"it was suspended until {suspend.until:%Y-%m-%dT%H:%M:%SZ}")
    asked = world.suspended_by
    return world.noting(Event.RESUMED, commit=asked.commit, by=asked.author, reason=asked.subject)


def _validity(world: World) -> World:
    if not world.desired.knowledge.counts:
        return world
    problems = "; ".join(str(problem) for problem in world.desired.problems)[:LONGEST_REASON]
    if problems == world.record.invalid:
        return world
    world = world.with_record(replace(world.record, invalid=problems))
    event = Event.INVALID if problems else Event.VALID
    return world.noting(event, commit=world.desired.commit, reason=problems)


def _presence(world: World) -> World:
    if not world.desired.knowledge.counts:
        return world
    orphaned = not world.desired.in_git
    policy, stranded = world.spec.deletion_policy, is_stranded(world)
    leaves = (policy is not DeletionPolicy.KEEP or world.moved) and not stranded
    waits = orphaned and leaves and not is_to_go(world)
    if orphaned == world.record.orphaned or waits:
        return world
    world = world.with_record(replace(world.record, orphaned=orphaned))
    if not orphaned:
        return world.noting(Event.ADOPTED, commit=world.desired.commit, reason="the app's folder is back in main")
    if is_to_go(world):
        reason = ENDINGS.get(policy, "")
        reason = f"it is the app {successor(world)} now, which has its Services" if world.moved else reason
        return world.noting(Event.DELETED, origin=world.active, commit=world.desired.commit, reason=reason)
    why = f"it was to be the app {successor(world)}" if stranded else "without deletionPolicy: delete"
    reason = f"the app's folder has left main{', ' if stranded else ' '}{why}; it keeps serving"
    return world.noting(Event.ORPHANED, to=world.active, commit=world.desired.commit, reason=reason)


def _history(world: World) -> World:
    git, lost = world.record.git, world.record.git.lost
    told = world.desired.main.told_after(git.history, lost)
    if told == git.history:
        return world
    world = world.with_part(replace(git, history=told))
    if not lost:
        return world.noting(Event.HISTORY_ACCEPTED, commit=world.desired.commit)
    return world.noting(Event.HISTORY_REWRITTEN, commit=world.desired.commit, reason=why_noted(lost))
