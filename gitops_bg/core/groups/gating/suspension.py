"""The step that remembers whether a group is suspended: who is asked after it has the whole time that a hook gives."""

from dataclasses import replace

from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.transitions.record.app_state import told_of_suspension


def note_suspension(world: GroupWorld) -> GroupWorld:
    """Remember whether the group is suspended, and when that ended; the ledger gets an entry of each."""
    before, suspended = world.record.operator, world.suspended
    world = world.with_record(operator=replace(before, suspended=suspended, resumed_at=world.resumed_at))
    if suspended is before.suspended:
        return world
    event, by, reason = told_of_suspension(world.spec.suspend, world.desired.suspended_by, suspended=suspended)
    has_ended_by_itself = not suspended and world.spec.suspend is not None
    return world.noting(event, by=by, reason=reason, source=world.desired.suspended_by, asked=not has_ended_by_itself)
