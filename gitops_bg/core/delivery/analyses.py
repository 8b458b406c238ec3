"""The analyses of a version, before its promotion and after it, and its Jobs before its pods: which run begins, begins
anew or is over, and what is measured (argo-rollouts.md §3).

Nothing is measured here. Failed, or too many errors: before the promotion the version is on hold, after it traffic goes
back. Inconclusive: a pause, which a promotion or a retry answers with a new run.

Jobs before pods are a run like the others (decision 114), with three rules of their own: they run once for a version,
whatever the rollout; one that has begun is never ended for a newer version, which waits for it, because half a
migration, or two at a time, is worse than a late one; and nothing but their success, or a retry, answers them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.subject import Round, Rounds, Subject, W
from gitops_bg.core.model.analysis import (
    NOT_STARTED,
    Analyses,
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    MeasurementPlan,
    MeasurementRequest,
    MeasurementResult,
    begin,
    id_of,
    restarted,
    why,
    with_measurement,
)
from gitops_bg.core.model.analysis import due as due_of
from gitops_bg.core.model.analysis import moments as moments_of
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.statements import Cause

JOBS, PRE, POST = AnalysisStage.BEFORE_PODS, AnalysisStage.PRE, AnalysisStage.POST
SETTLED = AnalysisStage.AFTER_SETTLED


# --- steps ---


def process_results(world: W, rounds: Rounds[W]) -> W:
    """Read the answers of hooks, then measurements, and act on them."""
    return process_measurements(hooks.process_hook_results(world, rounds), rounds)


def begin_checks(world: W, rounds: Rounds[W]) -> W:
    """Begin the hooks that are due, then the analyses."""
    return begin_runs(hooks.begin_hooks(world, rounds), rounds)


def process_measurements(world: W, rounds: Rounds[W]) -> W:
    """Read measurements, and act on the verdicts; a run that nobody needs any more has none."""
    world = _answer_pause(_without_stale(world, rounds), rounds)
    asked = rounds(world)
    for run in measured(asked, asked.measurements) if asked.measurements else ():
        after = replace(run, named=not run.running and rounds(world).of.is_named(run.digest))
        world = _conclude(_with_run(world, after, rounds), after, rounds)
    return world


def begin_runs(world: W, rounds: Rounds[W]) -> W:
    """Begin the runs that are due, now that it is known which versions can be asked, and are on their way."""
    world = _without_stale(world, rounds)
    asked = rounds(world)
    asks = asked.jobs or asked.before or asked.after
    for run in begun(asked, asked.of.coming()) if asks else ():
        world = _with_run(world, run, rounds)
    return _begin_contract(world, rounds)


def _begin_contract(world: W, rounds: Rounds[W]) -> W:
    """Close the way back first, in the same record: no Job of a contract runs while an older version can come back."""
    asked = rounds(world)
    plan, digest, last = asked.contract, asked.of.serving(), asked.analyses.run(SETTLED)
    if plan is None or plan.unknown or asked.frozen or not digest or asked.of.is_contracted(digest):
        return world
    own = last if last is not None and last.digest == digest else None
    if (own is not None and own.started_at is not None) or is_busy(asked, "") or asked.of.awaits_contract():
        return world
    world = asked.of.closing(digest)
    asked = rounds(world)
    if asked.of.awaits_contract():  # the ledger is told first: a record that is lost learns it there
        return world
    attempt = asked.analyses.next_attempt_for(SETTLED, digest)
    run = own or AnalysisRun(SETTLED, digest, asked.of.rollout(digest), attempt)
    return _with_run(world, _started(asked, run, plan, asked.serving), rounds)


def await_verdict(world: W, digest: str, fallback: str, rounds: Rounds[W]) -> W:
    """Await the verdict on a promotion once traffic has moved; nobody asks for one on a way back (I6). One on a former
    try of the same version ends.
    """
    asked = rounds(world)
    last = asked.analyses.run(POST)
    if last is not None and last.digest == digest:
        world = asked.of.with_part(asked.analyses.without_run(last, asked.now))
        asked = rounds(world)
    if asked.after is None or asked.is_in_full(digest):
        return world
    return _with_run(world, _first_run(asked, POST, digest, fallback), rounds)


def _without_stale(world: W, rounds: Rounds[W]) -> W:
    """Forget the runs that nobody needs any more, and begin those anew that say nothing any more. An unfinished one
    after promotion was the reason to keep the former version.
    """
    asked = rounds(world)
    if not asked.analyses.runs:
        return world
    run, world = asked.analyses.run(POST), asked.of.with_part(kept(asked))
    asked = rounds(world)
    return asked.of.release(run) if run is not None and run.open and asked.analyses.run(POST) is None else world


def _answer_pause(world: W, rounds: Rounds[W]) -> W:
    """Start a new run where Git names a version since its run before promotion was inconclusive."""
    asked = rounds(world)
    run = asked.analyses.run(PRE)
    if run is None or not run.paused or run.named or not asked.of.is_named(run.digest):
        return world
    return _with_run(world, restarted(run), rounds)


def _with_run(world: W, run: AnalysisRun, rounds: Rounds[W]) -> W:
    asked = rounds(world)
    return asked.of.with_part(asked.analyses.with_run(run, asked.now))


def _conclude(world: W, run: AnalysisRun, rounds: Rounds[W]) -> W:
    """Act on the verdict of a run, if it has one."""
    if run.running:
        return world
    of, reason = rounds(world).of, found(run)
    if run.paused:
        return of.with_ledger_entry(Event.PAUSED, run.digest, reason)
    if run.phase is AnalysisPhase.SUCCESSFUL:
        event = Event.CONTRACTED if run.stage is SETTLED else Event.ANALYSED
        return _passed(of.with_ledger_entry(event, run.digest, reason), run, rounds)
    cause = Cause.JOB_FAILED if run.stage is JOBS else Cause.ANALYSIS_FAILED
    if run.stage not in (POST, SETTLED):
        return of.stop(run.digest, cause, reason)
    if run.stage is POST and (back := of.way_back(run)):
        return of.go_back(back, Cause.ANALYSIS_FAILED, reason)
    return of.with_ledger_entry(Event.FAILED, run.digest, f"{reason}; there is nothing to go back to")


def _passed(world: W, run: AnalysisRun, rounds: Rounds[W]) -> W:
    of = rounds(world).of
    if run.stage.is_job:
        return of.prepared(run.digest) if run.stage is JOBS else of.contracted(run.digest)
    return of.release(run) if run.stage is POST else world


# --- runs that are over, or begin anew ---


def kept(asked: Round[Subject]) -> Analyses:
    """Return the runs without those that nobody needs any more, and with those that begin anew."""
    analyses = asked.analyses
    for run in asked.analyses.runs:
        if run.stage is SETTLED:
            analyses = _kept_contract(asked, analyses, run)
        elif run.stage is JOBS:
            analyses = _kept_jobs(asked, analyses, run)
        elif _is_stale(asked, run):
            analyses = analyses.without_run(run, asked.now)
        elif _is_obsolete(asked, run):
            analyses = analyses.with_run(restarted(run), asked.now)
    return analyses


def _kept_jobs(asked: Round[Subject], analyses: Analyses, run: AnalysisRun) -> Analyses:
    """Return the runs with that of Jobs before pods as it is to be: what runs goes on, also for a version that nobody
    wants any more; what failed runs anew in another rollout.
    """
    rollout, is_asked = asked.of.rollout(run.digest), asked.of.may_prepare(run.digest)
    if asked.jobs is None or not rollout:
        return analyses.without_run(run, asked.now)
    if run.phase is AnalysisPhase.SUCCESSFUL:
        return analyses
    if run.running and run.started_at is not None:
        is_idle = not (is_asked or asked.suspended) and _has_not_begun(asked, run)
        return analyses.without_run(run, asked.now) if is_idle else analyses
    if run.rollout == rollout:
        return analyses if run.bad or is_asked else analyses.without_run(run, asked.now)
    again = replace(restarted(run), rollout=rollout)
    return analyses.with_run(again, asked.now) if is_asked else analyses.without_run(run, asked.now)


def _kept_contract(asked: Round[Subject], analyses: Analyses, run: AnalysisRun) -> Analyses:
    """Return the runs with that of a contract as it is to be: what runs goes on, whatever serves by then."""
    if run.running and run.started_at is not None:
        return analyses
    is_over = run.digest != asked.of.serving() or (asked.contract is None and run.phase is not AnalysisPhase.SUCCESSFUL)
    return analyses.without_run(run, asked.now) if is_over else analyses


def _has_not_begun(asked: Round[Subject], run: AnalysisRun) -> bool:
    """Return whether none of the Jobs of a run that have not ended has run yet: there is nothing to break off."""
    idle = {each.id for each in asked.measurements if each.value == NOT_STARTED}
    waiting = [one for one in run.metrics if one.phase is AnalysisPhase.RUNNING]
    return all(one.consecutive_errors or id_of(run, asked.epoch, one) in idle for one in waiting)


def _is_stale(asked: Round[Subject], run: AnalysisRun) -> bool:
    """Return whether nobody needs a run any more: it is about something else; or it has no verdict, and its plan is
    gone, or its version has left its way, or live traffic.
    """
    if not asked.of.is_current(run):
        return True
    if not run.open:
        return False
    is_there = serves(asked, run) if run.stage is POST else _goes_forward(asked, run.digest)
    return not is_there or asked.plan(run.stage) is None


def _is_obsolete(asked: Round[Subject], run: AnalysisRun) -> bool:
    """Return whether what was measured says nothing any more.

    Before promotion: the preview left the version, and another one answered meanwhile. After it: traffic is about to
    leave the version. If it stays after all, nobody would judge what serves; also where it was found bad.
    """
    if run.started_at is None:
        return False
    if run.stage is PRE:
        return run.running and not asked.of.is_shown(run.digest)
    return asked.of.goes_back() if run.open else _is_overruled(asked, run)


def _is_overruled(asked: Round[Subject], run: AnalysisRun) -> bool:
    is_live = run.bad and serves(asked, run) and not asked.of.goes_back()
    return is_live and asked.of.is_overruled(run)


def serves(asked: Round[Subject], run: AnalysisRun) -> bool:
    """Return whether the version that a run is about serves."""
    return asked.of.name(run.digest) == asked.serving


def _goes_forward(asked: Round[Subject], digest: str) -> bool:
    """Return whether a version is on its way, and nobody has its analysis skipped."""
    return not asked.is_in_full(digest) and asked.of.goes_forward(digest)


# --- runs that begin ---


def begun(asked: Round[Subject], digest: str) -> tuple[AnalysisRun, ...]:
    """Return the runs that begin now: before the pods of a version, before its promotion, and after that of the one
    that serves.
    """
    return (*_begun_jobs(asked, digest), *_begun_before(asked, digest), *_begun_after(asked))


def _begun_jobs(asked: Round[Subject], digest: str) -> Iterator[AnalysisRun]:
    """Begin before a version has pods: also at the first deployment, which may need a schema. One version at a time."""
    plan, last = asked.jobs, asked.analyses.run(JOBS)
    if plan is None or plan.unknown or asked.frozen:
        return
    if not (awaits_jobs(asked, digest) and asked.of.may_prepare(digest)) or is_busy(asked, digest):
        return
    run = last if last is not None and last.digest == digest else _first_jobs(asked, digest)
    if run.started_at is None:
        yield _started(asked, run, plan, asked.serving)


def _first_jobs(asked: Round[Subject], digest: str) -> AnalysisRun:
    return AnalysisRun(JOBS, digest, asked.of.rollout(digest), asked.analyses.next_attempt_for(JOBS, digest))


def is_busy(asked: Round[Subject], digest: str) -> bool:
    """Return whether Jobs of another version run, which are not broken off, or of a contract."""
    return any(
        run.running and run.started_at is not None and (run.stage is SETTLED or run.digest != digest)
        for run in asked.analyses.runs
        if run.stage.is_job
    )


def awaits_jobs(asked: Round[Subject], digest: str) -> bool:
    """Return whether a version must not have pods yet, because its Jobs have not succeeded."""
    return asked.jobs is not None and asked.of.is_new(digest) and not asked.of.is_prepared(digest)


def _begun_before(asked: Round[Subject], digest: str) -> Iterator[AnalysisRun]:
    """Begin once the preview reaches exactly its pods (W4, W12): earlier measurements do not matter. Never before a
    first deployment, as there is no serving version to protect.
    """
    plan = asked.before
    if plan is None or plan.unknown or asked.frozen or not _goes_forward(asked, digest):
        return
    run = asked.analysis_of(digest) or _first_run(asked, PRE, digest)
    if run.started_at is None and _can_be_asked(asked, digest):
        yield _started(asked, run, plan, asked.serving)


def _can_be_asked(asked: Round[Subject], digest: str) -> bool:
    is_there = asked.of.is_ready(digest) and asked.of.is_in_preview(digest)
    return is_there and hooks.has_passed(asked, digest, HookType.PRE_ROLLOUT)


def _begun_after(asked: Round[Subject]) -> Iterator[AnalysisRun]:
    """Begin once traffic has arrived: until then it would measure the version before as well."""
    run, plan = asked.analyses.run(POST), asked.after
    if run is None or run.started_at or plan is None or plan.unknown:
        return
    if not asked.of.goes_back() and asked.of.has_arrived():
        yield _started(asked, run, plan, asked.of.name(run.fallback))


def _first_run(asked: Round[Subject], stage: AnalysisStage, digest: str, fallback: str = "") -> AnalysisRun:
    rollout = asked.of.rollout(digest)
    return AnalysisRun(stage, digest, rollout, asked.analyses.next_attempt(stage, rollout), fallback)


def _started(asked: Round[Subject], run: AnalysisRun, plan: MeasurementPlan, stable: str) -> AnalysisRun:
    return begin(run, plan, asked.of.name(run.digest), stable, asked.now)


# --- measurements ---


def measured_now(asked: Round[Subject], run: AnalysisRun) -> Iterator[str]:
    """Yield what is known of the measurements of a run that have not ended."""
    ids = {id_of(run, asked.epoch, one) for one in run.metrics}
    for result in asked.measurements:
        if result.phase is AnalysisPhase.RUNNING and result.id in ids:
            yield result.message


def due(asked: Round[Subject]) -> tuple[MeasurementRequest, ...]:
    """Return the measurements to take now."""
    return tuple(
        replace(request, version=asked.of.snapshot(run.digest)) if run.stage.is_job else request
        for run in _going_on(asked)
        for request in due_of(run, asked.epoch, asked.now)
    )


def moments(asked: Round[Subject]) -> Iterator[datetime]:
    """Return when measurements become due."""
    return (moment for run in _going_on(asked) for moment in moments_of(run))


def _going_on(asked: Round[Subject]) -> Iterator[AnalysisRun]:
    """Yield the runs that are measured: a suspension stops those that lead forward, never those that may lead back."""
    for run in asked.analyses.runs:
        is_asked = run.stage.is_job or asked.of.is_shown(run.digest)
        if run.stage is POST or (not asked.suspended and is_asked):
            yield run


def measured(asked: Round[Subject], results: Iterable[MeasurementResult]) -> tuple[AnalysisRun, ...]:
    """Return the runs that measurements change, with these."""
    running = (run for stage in AnalysisStage if (run := asked.analyses.run(stage)) and run.running)
    return tuple(after for run in running if (after := _with_results(asked, run, results)) != run)


def _with_results(asked: Round[Subject], run: AnalysisRun, results: Iterable[MeasurementResult]) -> AnalysisRun:
    for result in results:
        run = with_measurement(run, asked.epoch, result)
    return run


def found(run: AnalysisRun) -> str:
    """Return what a run that has ended found, and why."""
    return f"{run.stage.called} {run.phase.lower()}: {why(run)}"
