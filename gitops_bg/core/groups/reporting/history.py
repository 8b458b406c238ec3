"""The main that a group was decided from, and what the ledger has and is told: that files broke, that the folder is
back, that main refuses a commit or has lost one. The steps of an app's record, for a group's.
"""

from dataclasses import replace

from gitops_bg.core.checks.git.history import why_noted
from gitops_bg.core.delivery.ledger import acknowledged
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.plan import return_of_override
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.record import Event
from gitops_bg.core.transitions.record.app_state import said_of


def acknowledge_ledger(world: GroupWorld) -> GroupWorld:
    """Forget the entries that have reached the state branch."""
    position = world.observed.ledger
    if position is None:
        return world
    return replace(world, record=acknowledged(world.record, position.epoch, position.sequence))


def note_standing(world: GroupWorld) -> GroupWorld:
    """Note one ledger entry for each change of a group's state."""
    for step in (_validity, _presence, _divergence, _history):
        world = step(world)
    return world


def _validity(world: GroupWorld) -> GroupWorld:
    problems = said_of(world.desired.problems)
    if not world.desired.main.counts or problems == world.record.invalid:
        return world
    return world.with_record(invalid=problems).noting(Event.INVALID if problems else Event.VALID, reason=problems)


def _presence(world: GroupWorld) -> GroupWorld:
    if not world.desired.main.counts or not world.record.orphaned:
        return world
    return world.with_record(orphaned=False).noting(Event.ADOPTED, reason="the group's folder is back in main")


def _divergence(world: GroupWorld) -> GroupWorld:
    """Note once that main refuses the commit of a way back, where there is one to make."""
    override, refused, wanted = world.record.override, world.observed.main_refused, return_of_override(world)
    if override is None or override.diverged or not refused or wanted is None:
        return world
    world = world.with_record(override=replace(override, diverged=True))
    instead = world.observed.not_offered(wanted.version) or "it is offered on the promotion branch"
    reason = f"main refuses the commit ({refused}); {instead}"
    return world.noting(Event.DIVERGED, to=wanted.version, by=override.by, reason=reason, asked=False)


def _history(world: GroupWorld) -> GroupWorld:
    """Record what main lost, and have the ledger told where that lasts, or is over."""
    main, record = world.desired.main, world.record
    lost = main.lost_after(record.lost)
    told = main.told_after(record.history, lost)
    world = world.with_record(lost=lost, history=told)
    if told == record.history:
        return world
    if told:
        return world.noting(Event.HISTORY_REWRITTEN, reason=why_noted(told))
    return world.noting(Event.HISTORY_ACCEPTED)


def learnt(desired: DesiredGroup, before: GroupRecord, decision: GroupDecision) -> GroupDecision:
    """The decision with the main that it was made from in its record, and silent where another agent knows more."""
    main, record = desired.main, decision.record
    is_silent = decision.silent or main.is_silent(changed=record != before)
    known = main.learnt(record.main, saved=record != before)
    return replace(decision, record=replace(record, main=known), silent=is_silent)
