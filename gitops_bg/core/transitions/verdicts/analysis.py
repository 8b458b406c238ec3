"""The step that begins analysis runs, reads measurements, and acts on the verdicts (argo-rollouts.md §3).

Failed or error limit → before promotion: abort and hold; after: roll back. Inconclusive → a pause, which a promotion or
a retry answers with a new run. Nothing is measured here: `Decision.measurements` lists what is due.
"""

from dataclasses import replace

from gitops_bg.core.checks.analysis import POST, PRE, is_in_preview, is_shown, plan_of
from gitops_bg.core.checks.hooks import has_passed
from gitops_bg.core.checks.pods.draining import arrived_at
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, anew, begin, take, why
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.record import Cause, Event, SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.versions.retention import retire
from gitops_bg.core.way_back import may_return_without_gates
from gitops_bg.core.world import World


def advance_analyses(world: World) -> World:
    """Read measurements, and act on the verdicts; a run that nobody needs any more has none."""
    world = _answer_pause(drop_stale(world))
    for stage in AnalysisStage:
        world = _take_in(world, stage)
    return world


def begin_runs(world: World) -> World:
    """Begin the runs that are due, now that it is known which versions are available and on their way."""
    return _begin_post(_begin_pre(drop_stale(world)))


def await_verdict(world: World, to: Version, origin: Version | None, switch_kind: SwitchKind) -> World:
    """Await the verdict on a promotion once traffic has moved. First deployments and rollbacks are not analysed."""
    is_judged = plan_of(world, POST) is not None and world.record.operator.promote_full != to.digest
    if switch_kind is not SwitchKind.PROMOTION or origin is None or not is_judged:
        return world
    attempt = world.record.analyses.next_attempt(POST, to.rollout)
    return _with_run(world, AnalysisRun(POST, to.digest, to.rollout, attempt, origin.digest))


def skip_verdict(world: World, by: str) -> World:
    """End the analysis of the serving version early, because somebody accepts the version as it is."""
    run, active = world.record.run(POST), world.active
    if run is None or active is None or not world.record.keeps_warm(run.fallback):
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


def drop_stale(world: World) -> World:
    """Forget runs of other rollouts, and end runs whose version or plan is gone, or whose version traffic has left.

    One whose version the preview Service has left begins anew: what answered meanwhile was another version. So does
    one whose version traffic is about to leave, if it stays: the rollback may be taken back, and nobody would judge
    what serves then. That holds after a bad verdict, too.
    """
    for run in world.record.analyses.runs:
        if _is_stale(world, run):
            waited_for = world.record.keeps_warm(run.fallback)
            world = _without_run(world, run)
            world = _let_fallback_go(world, run) if waited_for else world
        elif _lost_its_preview(world, run) or _is_being_left(world, run) or _is_overruled(world, run):
            world = _with_run(world, anew(run))
    return world


def _lost_its_preview(world: World, run: AnalysisRun) -> bool:
    version = world.record.version(run.digest)
    is_measured = run.stage is PRE and run.running and run.started_at is not None
    return is_measured and version is not None and not is_shown(world, version)


def _is_being_left(world: World, run: AnalysisRun) -> bool:
    """Whether traffic is about to go back from the version that a run after promotion measures."""
    measures = run.stage is POST and run.started_at is not None and (run.running or run.paused)
    return measures and world.switch_kind is SwitchKind.ROLLBACK


def _is_overruled(world: World, run: AnalysisRun) -> bool:
    """Whether a version serves on although its verdict after promotion was bad: the hold that came with the way back is
    lifted since, before traffic left.
    """
    ended, bad = run.finished_at, run.phase in (AnalysisPhase.FAILED, AnalysisPhase.ERROR)
    if run.stage is not POST or not bad or ended is None or run.digest != world.record.routing.traffic:
        return False
    hold = world.record.objection(run.digest)
    is_kept = hold is not None and hold.lifted is not None and hold.since >= ended
    return is_kept and world.switch_kind is not SwitchKind.ROLLBACK


def _is_stale(world: World, run: AnalysisRun) -> bool:
    version = world.record.version(run.digest)
    if version is None or version.rollout != run.rollout:
        return True
    if not (run.running or run.paused):
        return False
    if run.stage is POST:
        return world.record.routing.traffic != run.digest or plan_of(world, POST) is None
    ended = world.record.routing.traffic == run.digest or version.retiring
    return ended or plan_of(world, PRE) is None or world.record.operator.promote_full == run.digest


def _begin_pre(world: World) -> World:
    """Begin the run before promotion, once the preview Service reaches exactly its pods (W4, W12).

    Earlier measurements do not matter. Never for a first deployment: there is no serving version to protect.
    """
    version, plan = _next_forward(world), plan_of(world, PRE)
    if version is None or plan is None or plan.unknown or world.frozen or not is_in_preview(world, version):
        return world
    if world.record.operator.promote_full == version.digest or not has_passed(world, version, HookType.PRE_ROLLOUT):
        return world
    run = world.record.run(PRE)
    if run and (run.digest, run.rollout) == (version.digest, version.rollout) and run.started_at:
        return world
    if run is None or (run.digest, run.rollout) != (version.digest, version.rollout):
        attempt = world.record.analyses.next_attempt(PRE, version.rollout)
        run = AnalysisRun(PRE, version.digest, version.rollout, attempt)
    return _started(world, run, plan, stable=world.record.routing.traffic)


def _next_forward(world: World) -> Version | None:
    """The version whose promotion is analysed next; a rollback never is."""
    if not world.record.routing.traffic:
        return None
    coming = world.incoming
    if coming:
        return coming if world.switch_kind is SwitchKind.PROMOTION else None
    candidate = world.candidate
    return None if candidate and world.record.held(candidate.digest) else candidate


def _begin_post(world: World) -> World:
    """Begin the run after promotion, once the endpoints have followed the Service: until then it would measure the old
    pods as well.
    """
    run, plan, arrived = world.record.run(POST), plan_of(world, POST), arrived_at(world)
    if run is None or run.started_at or plan is None or plan.unknown or arrived is None or arrived > world.now:
        return world
    if world.switch_kind is SwitchKind.ROLLBACK:
        return world
    return _started(world, run, plan, stable=run.fallback)


def _started(world: World, run: AnalysisRun, plan: Plan, stable: str) -> World:
    return _with_run(world, begin(run, plan, short(run.digest), short(stable), world.now))


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


def _take_in(world: World, stage: AnalysisStage) -> World:
    before = world.record.run(stage)
    if before is None or not before.running:
        return world
    after = before
    for measured in world.observed.measurements:
        after = take(after, world.record.epoch, measured)
    if after == before:
        return world
    after = replace(after, named=not after.running and world.primary_digest == after.digest)
    return _conclude(_with_run(world, after), after)


def _conclude(world: World, run: AnalysisRun) -> World:
    version = world.record.version(run.digest)
    if run.running or version is None:
        return world
    reason = f"{run.stage.called} {run.phase.lower()}: {why(run)}"
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
