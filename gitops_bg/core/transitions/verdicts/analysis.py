"""The steps that measure an app (`core.delivery.analyses`), and what follows from the verdicts.

Failed or error limit → before promotion: abort and hold; after: roll back. Inconclusive → a pause, which a promotion or
a retry answers with a new run (argo-rollouts.md §3).
"""

from dataclasses import replace

from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.analyses import POST, PRE, awaited, begun, found, kept, measured
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun, anew
from gitops_bg.core.model.record import Cause, Event, SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.versions.retention import retire
from gitops_bg.core.way_back import may_return_without_gates
from gitops_bg.core.world import World


def advance_analyses(world: World) -> World:
    """Read measurements, and act on the verdicts; a run that nobody needs any more has none."""
    world = _answer_pause(_drop_stale(world))
    for run in measured(round_of(world), world.observed.measurements) if world.observed.measurements else ():
        after = replace(run, named=not run.running and world.primary_digest == run.digest)
        world = _conclude(_with_run(world, after), after)
    return world


def begin_runs(world: World) -> World:
    """Begin the runs that are due, now that it is known which versions are available and on their way."""
    world = _drop_stale(world)
    strategy, coming = world.spec.strategy, world.incoming or world.candidate
    if strategy.pre_promotion_analysis or strategy.post_promotion_analysis:
        for run in begun(round_of(world), coming.digest if coming else ""):
            world = _with_run(world, run)
    return world


def await_verdict(world: World, to: Version, origin: Version | None, switch_kind: SwitchKind) -> World:
    """Await the verdict on a promotion once traffic has moved. First deployments and rollbacks are not analysed."""
    if switch_kind is not SwitchKind.PROMOTION or origin is None:
        return world
    run = awaited(round_of(world), to.digest, origin.digest)
    return _with_run(world, run) if run else world


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
    world = _let_fallback_go(_without_run(world, run), run)
    return world.noting(Event.SKIPPED, to=active, by=by, reason=f"{POST.called}: {run}")


def _let_fallback_go(world: World, run: AnalysisRun) -> World:
    """Start the scale-down delay of the former version with the end of the run, unless traffic or somebody wants it
    again.
    """
    version = world.record.version(run.fallback)
    if version is None or not version.retiring:
        return world
    return world.with_version(retire(world, version, aborted=version.aborted))


def _drop_stale(world: World) -> World:
    """Forget the runs that nobody needs any more, and begin those anew that say nothing any more. An unfinished one
    after promotion was the reason to keep the former version.
    """
    before = world.record.analyses
    if not before.runs:
        return world
    run, world = before.run(POST), world.with_part(kept(round_of(world)))
    is_gone = world.record.run(POST) is None
    return _let_fallback_go(world, run) if run is not None and run.open and is_gone else world


def _answer_pause(world: World) -> World:
    """Start a new run where ``primary.yaml`` names a version whose run before promotion was inconclusive."""
    run = world.record.run(PRE)
    if run is None or not run.paused or run.named or world.primary_digest != run.digest:
        return world
    return _with_run(world, anew(run))


def measure_again(world: World, about: tuple[str, ...]) -> World:
    """Answer a pause for an operator: start the inconclusive runs of these versions anew."""
    for run in world.record.analyses.runs:
        world = _with_run(world, anew(run)) if run.paused and run.digest in about else world
    return world


def paused_versions(world: World) -> tuple[str, ...]:
    """The digests of the versions whose analysis was inconclusive, and waits for a person."""
    return tuple(run.digest for run in world.record.analyses.runs if run.paused)


def retry_live(world: World, version: Version, by: str) -> World:
    """Retry the serving version: a new, numbered rollout that only has to pass the run after promotion."""
    run = world.record.run(POST)
    if run is None or not run.paused or run.digest != version.digest:
        return world
    retried = replace(version, rollout=world.record.rollout + 1, rollout_started_at=world.now)
    world = world.with_record(replace(world.record, rollout=retried.rollout)).with_version(retried)
    world = _with_run(world, anew(run, retried.rollout))
    return world.noting(Event.RETRIED, to=retried, by=by, commit=world.retried_by.commit)


def _conclude(world: World, run: AnalysisRun) -> World:
    version = world.record.version(run.digest)
    if run.running or version is None:
        return world
    reason = found(run)
    if run.phase is AnalysisPhase.SUCCESSFUL:
        world = world.noting(Event.ANALYSED, to=version, reason=reason)
        return _let_fallback_go(world, run) if run.stage is POST else world
    if run.paused:
        return world.noting(Event.PAUSED, to=version, reason=reason)
    if run.stage is POST:
        return _roll_back(world, run, reason)
    return abort_rollout(world, version, cause=Cause.ANALYSIS_FAILED, reason=reason)


def _roll_back(world: World, run: AnalysisRun, reason: str) -> World:
    back = _way_back(world, run)
    if back is None:
        return world.noting(Event.FAILED, to=world.active, reason=f"{reason}; there is nothing to go back to")
    return override(world, back, cause=Cause.ANALYSIS_FAILED, reason=reason, by="")


def leave(world: World, cause: Cause, reason: str, by: str) -> World:
    """Move traffic back from a version whose analysis after promotion is not over, before its verdict."""
    run = world.record.run(POST)
    back = _way_back(world, run) if run else None
    return override(world, back, cause=cause, reason=reason, by=by) if back else world


def _way_back(world: World, run: AnalysisRun) -> Version | None:
    """The version to roll back to: the one that traffic left for this one, kept warm for it (DESIGN §4.5), if traffic
    may go there.
    """
    fallback = world.record.version(run.fallback)
    usable = fallback and world.snapshot(fallback).text and may_return_without_gates(world.record, fallback)
    return fallback if usable else world.rollback_target


def _with_run(world: World, run: AnalysisRun) -> World:
    return world.with_part(world.record.analyses.with_run(run, world.now))


def _without_run(world: World, run: AnalysisRun) -> World:
    return world.with_part(world.record.analyses.without_run(run, world.now))
