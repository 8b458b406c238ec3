"""The analyses of a version, before its promotion and after it: which run begins, begins anew or is over, and what is
measured (argo-rollouts.md §3).

Nothing is measured here. What follows from a verdict is the caller's: an app aborts, holds and goes back, a group stays
or goes back.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.subject import Round, Subject
from gitops_bg.core.model.analysis.history import Analyses
from gitops_bg.core.model.analysis.metrics import AnalysisStage, Plan
from gitops_bg.core.model.analysis.runs import (
    AnalysisRun,
    MeasurementRequest,
    MeasurementResult,
    anew,
    begin,
    take,
    why,
)
from gitops_bg.core.model.analysis.runs import due as due_of
from gitops_bg.core.model.analysis.runs import moments as moments_of
from gitops_bg.core.model.hooks import HookType

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST


# --- runs that are over, or begin anew ---


def kept(asked: Round[Subject]) -> Analyses:
    """The runs without those that nobody needs any more, and with those that begin anew."""
    analyses = asked.analyses
    for run in asked.analyses.runs:
        if _is_stale(asked, run):
            analyses = analyses.without_run(run, asked.now)
        elif _begins_anew(asked, run):
            analyses = analyses.with_run(anew(run), asked.now)
    return analyses


def _is_stale(asked: Round[Subject], run: AnalysisRun) -> bool:
    """Whether nobody needs a run any more: it is about something else; or it has no verdict, and its plan is gone, or
    its version has left its way, or live traffic.
    """
    if not asked.of.is_current(run):
        return True
    if not run.open:
        return False
    is_there = serves(asked, run) if run.stage is POST else _goes_forward(asked, run.digest)
    return not is_there or asked.plan(run.stage) is None


def _begins_anew(asked: Round[Subject], run: AnalysisRun) -> bool:
    """Whether what was measured says nothing any more.

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
    """Whether the version that a run is about serves."""
    return asked.of.name(run.digest) == asked.serving


def _goes_forward(asked: Round[Subject], digest: str) -> bool:
    """Whether a version is on its way, and nobody has its analysis skipped."""
    return asked.in_full != digest and asked.of.goes_forward(digest)


# --- runs that begin ---


def begun(asked: Round[Subject], digest: str) -> tuple[AnalysisRun, ...]:
    """The runs that begin now: before the promotion of a version, and after that of the one that serves."""
    return (*_begun_before(asked, digest), *_begun_after(asked))


def _begun_before(asked: Round[Subject], digest: str) -> Iterator[AnalysisRun]:
    """Once the preview reaches exactly its pods (W4, W12): earlier measurements do not matter. Never before a first
    deployment, as there is no serving version to protect.
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
    """Once traffic has arrived: until then it would measure the version before as well."""
    run, plan = asked.analyses.run(POST), asked.after
    if run is None or run.started_at or plan is None or plan.unknown:
        return
    if not asked.of.goes_back() and asked.of.has_arrived():
        yield _started(asked, run, plan, asked.of.name(run.fallback))


def awaited(asked: Round[Subject], digest: str, fallback: str) -> AnalysisRun | None:
    """The run after a promotion that traffic has just moved for; None where nobody asks for one."""
    is_judged = asked.after is not None and asked.in_full != digest
    return _first_run(asked, POST, digest, fallback) if is_judged else None


def _first_run(asked: Round[Subject], stage: AnalysisStage, digest: str, fallback: str = "") -> AnalysisRun:
    rollout = asked.of.rollout(digest)
    return AnalysisRun(stage, digest, rollout, asked.analyses.next_attempt(stage, rollout), fallback)


def _started(asked: Round[Subject], run: AnalysisRun, plan: Plan, stable: str) -> AnalysisRun:
    return begin(run, plan, asked.of.name(run.digest), stable, asked.now)


# --- measurements ---


def due(asked: Round[Subject]) -> tuple[MeasurementRequest, ...]:
    """The measurements to take now."""
    return tuple(request for run in _going_on(asked) for request in due_of(run, asked.epoch, asked.now))


def moments(asked: Round[Subject]) -> Iterator[datetime]:
    """When measurements become due."""
    return (moment for run in _going_on(asked) for moment in moments_of(run))


def _going_on(asked: Round[Subject]) -> Iterator[AnalysisRun]:
    """The runs that are measured: a suspension stops those that lead forward, never those that may lead back."""
    for run in asked.analyses.runs:
        if run.stage is POST or (not asked.suspended and asked.of.is_shown(run.digest)):
            yield run


def measured(asked: Round[Subject], results: Iterable[MeasurementResult]) -> tuple[AnalysisRun, ...]:
    """The runs that measurements change, with these."""
    running = (run for stage in (PRE, POST) if (run := asked.analyses.run(stage)) and run.running)
    return tuple(after for run in running if (after := _taken(asked, run, results)) != run)


def _taken(asked: Round[Subject], run: AnalysisRun, results: Iterable[MeasurementResult]) -> AnalysisRun:
    for result in results:
        run = take(run, asked.epoch, result)
    return run


def found(run: AnalysisRun) -> str:
    """What a run that has ended found, and why."""
    return f"{run.stage.called} {run.phase.lower()}: {why(run)}"
