"""The steps that record the main that a decision was made from, and what main has lost (`core.model.git.main`)."""

from dataclasses import replace

from gitops_bg.core.model.record import Record
from gitops_bg.core.world import World


def note_lost(world: World) -> World:
    """Record what main lost."""
    git = world.record.git
    lost = world.desired.main.lost_after(git.lost)
    return world if lost == git.lost else world.with_part(replace(git, lost=lost))


def learn(world: World, before: Record) -> World:
    """Record the main of this decision."""
    git = world.record.git
    main = world.desired.main.learnt(git.main, saved=world.record != before)
    return world if main == git.main else world.with_part(replace(git, main=main))
