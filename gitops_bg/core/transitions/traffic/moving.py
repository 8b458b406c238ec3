"""The step that notes when an app lost its Services to the one that it is now, and that it is wanted again."""

from dataclasses import replace

from gitops_bg.core.checks.adoption.moving import is_taken_over, serves_still
from gitops_bg.core.transitions.traffic.release import begin_again
from gitops_bg.core.world import World


def note_moved(world: World) -> World:
    """Note when the Services went, and forget it once one is back: whoever leads it here by hand has it as it was. With
    the folder back in main, begin again with whatever its file agrees to take over.
    """
    record = world.record
    if world.in_main_for_sure:
        return begin_again(world) if record.moved_at is not None else world
    if not world.left_main:
        return world
    if record.moved_at is not None:
        return world.with_record(replace(record, moved_at=None)) if serves_still(world) else world
    if not record.routing.traffic or not is_taken_over(world):
        return world
    return world.with_record(replace(record, moved_at=world.now))
