"""The step that notes in the ledger when an app begins or ceases to be suspended, invalid, orphaned or rewritten."""

from collections.abc import Iterable
from dataclasses import replace

from gitops_bg.core.checks.adoption.moving import is_stranded, successor
from gitops_bg.core.checks.git.history import why_noted
from gitops_bg.core.checks.phase import is_to_go
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import DeletionPolicy, Suspension
from gitops_bg.core.model.version import Source
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
    suspend, asked = world.spec.suspend, world.suspended_by
    world = world.with_part(replace(world.record.operator, suspended=world.suspended, resumed_at=world.resumed_at))
    event, by, reason = told_of_suspension(suspend, asked, suspended=world.suspended)
    has_ended_by_itself = not world.suspended and suspend is not None
    return world.noting(event, commit="" if has_ended_by_itself else asked.commit, by=by, reason=reason)


def told_of_suspension(suspend: Suspension | None, asked: Source | None, *, suspended: bool) -> tuple[Event, str, str]:
    """What the ledger is told where a suspension begins or ends, of an app or a group: the event, who, and why.

    ``suspend`` is what the file says now, ``asked`` the commit since which it does.
    """
    author, subject = (asked.author, asked.subject) if asked is not None else ("", "")
    if suspended and suspend is not None:
        return Event.SUSPENDED, suspend.by or author, suspend.reason
    if suspend is not None and suspend.until is not None:
        return Event.RESUMED, "", f"it was suspended until {suspend.until:%Y-%m-%dT%H:%M:%SZ}"
    return Event.RESUMED, author, subject


def said_of(problems: Iterable[Problem]) -> str:
    """The mistakes of files as the ledger is told of them."""
    return "; ".join(map(str, problems))[:LONGEST_REASON]


def _validity(world: World) -> World:
    if not world.desired.knowledge.counts:
        return world
    problems = said_of(world.desired.problems)
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
