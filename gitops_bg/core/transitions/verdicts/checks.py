"""The steps that begin the hooks and analyses of an app, and act on what they found (`core.delivery`)."""

from gitops_bg.core.delivery import analyses, hooks
from gitops_bg.core.transitions.verdicts.subject import acting_app
from gitops_bg.core.world import World


def take_results(world: World) -> World:
    """Read the answers of hooks, then measurements, and act on them."""
    return analyses.take_measurements(hooks.take_hook_answers(world, acting_app), acting_app)


def begin_checks(world: World) -> World:
    """Begin the hooks that are due, then the analyses."""
    return analyses.begin_runs(hooks.begin_hooks(world, acting_app), acting_app)
