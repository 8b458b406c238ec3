"""The main that a group was decided from, what main has lost, and what the ledger has: the steps of an app's record,
for a group's.
"""

from dataclasses import replace

from gitops_bg.core.checks.git.history import why_noted
from gitops_bg.core.delivery.ledger import acknowledged
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.record import Event


def acknowledge_ledger(world: GroupWorld) -> GroupWorld:
    """Forget the entries that have reached the state branch."""
    position = world.observed.ledger
    if position is None:
        return world
    return replace(world, record=acknowledged(world.record, position.epoch, position.sequence))


def note_lost(world: GroupWorld) -> GroupWorld:
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
