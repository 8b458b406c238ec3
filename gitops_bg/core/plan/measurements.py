"""The measurements to take now (argo-rollouts.md §3)."""

from gitops_bg.core.checks.analysis import POST, is_shown
from gitops_bg.core.model.analysis.runs import AnalysisRun, MeasurementRequest, due
from gitops_bg.core.world import World


def measurements_due(world: World) -> tuple[MeasurementRequest, ...]:
    """The measurements to take now.

    A suspension stops those that lead forward, never those that may lead to a rollback.
    """
    runs = [run for run in world.record.analyses.runs if run.stage is POST or _may_be_measured(world, run)]
    return tuple(measure for run in runs for measure in due(run, world.record.epoch, world.now))


def _may_be_measured(world: World, run: AnalysisRun) -> bool:
    """Whether it is the version of a run before promotion that answers."""
    version = world.record.version(run.digest)
    return version is not None and not world.suspended and is_shown(world, version)
