"""The steps that note in the ledger when an app or a group begins or ceases to be suspended, invalid or rewritten, and
that its folder is back in main. One entry for each change.
"""

from collections.abc import Iterable
from dataclasses import replace

from gitops_bg.core.delivery.world import W, with_record
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Source

# Enough for a person to find the line; the condition and `gitops-bg check` show all of it.
LONGEST_REASON = 500


def note_suspension(world: W) -> W:
    """Remember whether it is suspended, and when that ended: who is asked after it has the whole time that a hook
    gives.
    """
    record, suspended = world.record, world.suspended
    if suspended is record.operator.suspended:
        return world
    suspend, asked = world.spec.suspend, world.suspended_by
    operator = replace(record.operator, suspended=suspended, resumed_at=world.resumed_at)
    event, by, reason = _told_of(suspend, asked, suspended=suspended)
    has_ended_by_itself = not suspended and suspend is not None
    commit = "" if has_ended_by_itself else asked.commit
    return with_record(world, record.with_part(operator)).noting_of(event, by=by, reason=reason, commit=commit)


def _told_of(suspend: Suspension | None, asked: Source, *, suspended: bool) -> tuple[Event, str, str]:
    """What the ledger is told where a suspension begins or ends: the event, who, and why.

    ``suspend`` is what the file says now, ``asked`` the commit since which it does.
    """
    if suspended and suspend is not None:
        return Event.SUSPENDED, suspend.by or asked.author, suspend.reason
    if suspend is not None and suspend.until is not None:
        return Event.RESUMED, "", f"it was suspended until {suspend.until:%Y-%m-%dT%H:%M:%SZ}"
    return Event.RESUMED, asked.author, asked.subject


def note_standing(world: W) -> W:
    """Note one ledger entry for each change of its state."""
    for step in (note_suspension, _validity, _return, _history):
        world = step(world)
    return world


def _validity(world: W) -> W:
    problems = _as_told(world.desired.problems)
    if not world.desired.main.counts or problems == world.record.invalid:
        return world
    event = Event.INVALID if problems else Event.VALID
    world = with_record(world, replace(world.record, invalid=problems))
    return world.noting_of(event, reason=problems, commit=world.desired.commit)


def _as_told(problems: Iterable[Problem]) -> str:
    return "; ".join(map(str, problems))[:LONGEST_REASON]


def _return(world: W) -> W:
    """Note that its folder is back in main."""
    if not (world.record.orphaned and world.is_in_main and world.desired.main.counts):
        return world
    world = with_record(world, replace(world.record, orphaned=False))
    reason = f"the {world.kind.value}'s folder is back in main"
    return world.noting_of(Event.ADOPTED, reason=reason, commit=world.desired.commit)


def _history(world: W) -> W:
    """Record what main lost, and have the ledger told where that lasts, or is over."""
    (before, known), main = world.history, world.desired.main
    lost = main.lost_after(before)
    told = main.told_after(known, lost)
    world = world.with_history(lost, told)
    if told == known:
        return world
    if not told:
        return world.noting_of(Event.HISTORY_ACCEPTED, commit=world.desired.commit)
    reason = f"main no longer contains {told[:10]}; it moves nothing until that is back or accepted"
    return world.noting_of(Event.HISTORY_REWRITTEN, reason=reason, commit=world.desired.commit)
