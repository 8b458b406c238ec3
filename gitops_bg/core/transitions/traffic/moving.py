"""The step that notes that an app got another name, when it lost its Services for it, and that it is wanted again."""

from dataclasses import replace

from gitops_bg.core.checks.adoption.moving import is_taken_over, serves_still
from gitops_bg.core.transitions.traffic.release import begin_again
from gitops_bg.core.world import World


def note_moved(world: World) -> World:
    """Note the name, and the moment; or, with the folder back in main, begin again with whatever its file agrees to
    take over.

    What main said once counts until then: an app whose Services nobody has taken over yet must not leave by its policy
    because that line is gone.
    """
    if world.in_main_for_sure:
        return _wanted_again(world)
    return _lost(_named(world)) if world.left_main else world


def _wanted_again(world: World) -> World:
    if world.record.moved_at is not None:
        return begin_again(world)
    return world.with_record(replace(world.record, moved_to="")) if world.record.moved_to else world


def _named(world: World) -> World:
    name = world.desired.moved_to
    return world.with_record(replace(world.record, moved_to=name)) if name not in ("", world.record.moved_to) else world


def _lost(world: World) -> World:
    """Note when the Services went, and forget it once one is back: whoever leads it here by hand has it as it was."""
    record = world.record
    if record.moved_at is not None:
        return world.with_record(replace(record, moved_at=None)) if serves_still(world) else world
    if not record.routing.traffic or not is_taken_over(world):
        return world
    return world.with_record(replace(record, moved_at=world.now))
