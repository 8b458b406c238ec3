"""What people and limits do to the analyses of an app; `core.delivery.analyses` has the steps that measure it."""

from dataclasses import replace

from gitops_bg.core.delivery.analyses import POST
from gitops_bg.core.model.analysis.runs import AnalysisRun, restarted
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import Version
from gitops_bg.core.transitions.versions.retention import retire
from gitops_bg.core.world import World


def forget_runs(world: World) -> World:
    """Forget the oldest runs beyond the limits, also after the limits were lowered, and runs of forgotten versions."""
    spec, before = world.spec, world.record.analyses
    kept_ones = before.within(
        spec.successful_run_history_limit,
        spec.unsuccessful_run_history_limit,
        lambda run: world.record.version(run.digest) is not None,
    )
    return world if kept_ones is before else world.with_part(kept_ones)


def skip_verdict(world: World, by: str) -> World:
    """End the analysis of the serving version early, because somebody accepts the version as it is."""
    run, active = world.record.run(POST), world.active
    if run is None or active is None or not run.open:
        return world
    world = release_fallback(_without_run(world, run), run)
    return world.with_ledger_entry(Event.SKIPPED, to=active, by=by, reason=f"{POST.called}: {run}")


def release_fallback(world: World, run: AnalysisRun) -> World:
    """Start the scale-down delay of the former version with the end of the run, unless traffic or somebody wants it
    again.
    """
    version = world.record.version(run.fallback)
    if version is None or not version.retiring:
        return world
    return world.with_version(retire(world, version, aborted=version.aborted))


def measure_again(world: World, about: tuple[str, ...]) -> World:
    """Answer a pause for an operator: start the inconclusive runs of these versions anew."""
    for run in world.record.analyses.runs:
        world = _with_run(world, restarted(run)) if run.paused and run.digest in about else world
    return world


def paused_versions(world: World) -> tuple[str, ...]:
    """The digests of the versions whose analysis was inconclusive, and waits for a person."""
    return tuple(run.digest for run in world.record.analyses.runs if run.paused)


def retry_live(world: World, version: Version, by: str, commit: str) -> World:
    """Retry the serving version: a new, numbered rollout that only has to pass the run after promotion."""
    run = world.record.run(POST)
    if run is None or not run.paused or run.digest != version.digest:
        return world
    retried = replace(version, rollout=world.record.rollout + 1, rollout_started_at=world.now)
    world = world.with_record(replace(world.record, rollout=retried.rollout)).with_version(retried)
    world = _with_run(world, restarted(run, retried.rollout))
    return world.with_ledger_entry(Event.RETRIED, to=retried, by=by, commit=commit)


def _with_run(world: World, run: AnalysisRun) -> World:
    return world.with_part(world.record.analyses.with_run(run, world.now))


def _without_run(world: World, run: AnalysisRun) -> World:
    return world.with_part(world.record.analyses.without_run(run, world.now))
