"""The step that records the main that a decision was made from (`core.model.git.main`)."""

from dataclasses import replace

from gitops_bg.core.model.record import Record
from gitops_bg.core.world import World


def learn(world: World, before: Record) -> World:
    """Record the main of this decision."""
    git = world.record.git
    main = world.desired.main.learnt(git.main, saved=world.record != before)
    return world if main == git.main else world.with_part(replace(git, main=main))
