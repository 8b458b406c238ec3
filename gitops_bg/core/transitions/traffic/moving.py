"""The step that notes when an app lost its Services to the one that it is now, and that it is wanted again."""

from dataclasses import replace

from gitops_bg.core.checks.adoption.moving import serves_still
from gitops_bg.core.transitions.traffic.release import begin_again
from gitops_bg.core.world import World


def note_moved(world: World) -> World:
    """Note the moment; or, with the folder back in main, begin again with whatever its file agrees to take over."""
    if world.record.moved_at is not None:
        return begin_again(world) if world.in_main_for_sure else world
    moves = world.desired.moved_to and world.left_main and world.record.routing.traffic
    if not moves or serves_still(world):
        return world
    return world.with_record(replace(world.record, moved_at=world.now))
