"""The step that remembers whether a group is suspended: who is asked after it has the whole time that a hook gives."""

from dataclasses import replace

from gitops_bg.core.groups.world import GroupWorld


def note_suspension(world: GroupWorld) -> GroupWorld:
    """Remember whether the group is suspended, and when that ended."""
    operator = replace(world.record.operator, suspended=world.suspended, resumed_at=world.resumed_at)
    return world.with_record(operator=operator)
