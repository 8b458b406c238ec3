"""The measurements to take now (argo-rollouts.md §3)."""

from gitops_bg.core.checks.analysis import POST
from gitops_bg.core.model.analysis.runs import MeasurementRequest, due
from gitops_bg.core.world import World


def measurements_due(world: World) -> tuple[MeasurementRequest, ...]:
    """The measurements to take now.

    A suspension stops those that lead forward, never those that may lead to a rollback.
    """
    runs = [run for run in world.record.analyses.runs if run.stage is POST or not world.suspended]
    return tuple(measure for run in runs for measure in due(run, world.record.epoch, world.now))
