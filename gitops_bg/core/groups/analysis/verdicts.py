"""The steps that begin analysis runs of a group, read measurements, and act on the verdicts (argo-rollouts.md §3).

As for an app (`core.transitions.verdicts.analysis`). Failed before the promotion: nothing moves (`answers`). After it:
the group goes back, as by a rollback, and Git is told. Inconclusive: nothing moves until a person decides.
"""

from gitops_bg.core.groups.analysis.answers import (
    POST,
    PRE,
    digest_of,
    latest_start,
    plan_of,
    run_after,
    run_before,
    version_of,
)
from gitops_bg.core.groups.gating.members import members_healthy
from gitops_bg.core.groups.gating.suspension import is_suspended
from gitops_bg.core.groups.hooks import have_passed, rollout_of
from gitops_bg.core.groups.model import TransitionStep, VersionStage
from gitops_bg.core.groups.record import FailedTransition, TransitionKind
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.history import MOST_RUNS
from gitops_bg.core.model.analysis.metrics import AnalysisStage, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, anew, begin, take, why
from gitops_bg.core.model.hooks import HookType


def take_measurements(world: GroupWorld) -> GroupWorld:
    """Read measurements, and act on the verdicts; a run that nobody needs any more has none."""
    world = _drop_stale(world)
    for run in world.record.analyses.runs:
        after = run
        for measured in world.observed.measurements:
            after = take(after, world.record.epoch, measured)
        if after != run:
            world = _conclude(_with_run(world, after), after)
    return _leave_bad(world)


def _leave_bad(world: GroupWorld) -> GroupWorld:
    """Leave a version that was found bad while Git asked to leave it anyway, and that Git names again."""
    run = run_after(world)
    is_known_bad = run is not None and run.bad and plan_of(world, POST) is not None
    if run is None or not is_known_bad or world.record.failed is not None or world.spec.active != version_of(run):
        return world
    can_go = world.record.state.stage(run.fallback) is VersionStage.LEGACY
    return go_back(world, version_of(run), run.fallback, _reason(run)) if can_go else world


def begin_runs(world: GroupWorld) -> GroupWorld:
    """Begin the runs that are due, now that it is known which version is on its way."""
    return _begin_post(_begin_pre(_drop_stale(world)))


def await_verdict(world: GroupWorld, version: str, source: str, kind: TransitionKind) -> GroupWorld:
    """Await the verdict on a promotion once traffic has moved. A rollback is not analysed (I6)."""
    if kind is not TransitionKind.PROMOTION:
        return world
    last = world.record.analyses.run(POST)
    if last is not None:
        world = _without_run(world, last)
    if plan_of(world, POST) is None:
        return world
    return _with_run(world, _first_run(world, POST, version, fallback=source))


def _first_run(world: GroupWorld, stage: AnalysisStage, version: str, fallback: str = "") -> AnalysisRun:
    rollout = rollout_of(world, version)
    attempt = world.record.analyses.next_attempt(stage, rollout)
    return AnalysisRun(stage, digest_of(world, version), rollout, attempt, fallback)


def _drop_stale(world: GroupWorld) -> GroupWorld:
    """End runs whose version, plan or content is another by now. One that traffic leaves begins anew if it comes back:
    the rollback may be taken back, and nobody would judge what serves then.
    """
    for run in world.record.analyses.runs:
        if _is_stale(world, run):
            world = _without_run(world, run)
        elif _is_left(world, run):
            world = _with_run(world, anew(run))
    return world


def _is_left(world: GroupWorld, run: AnalysisRun) -> bool:
    """Whether traffic leaves the version that a run after promotion measures."""
    moving = world.record.transition
    leaves = moving is not None and moving.kind is TransitionKind.ROLLBACK
    return leaves and run.stage is POST and run.started_at is not None and (run.running or run.paused)


def _is_stale(world: GroupWorld, run: AnalysisRun) -> bool:
    """A verdict before promotion is for one content, and only until group.yaml names another version: to name it
    again measures again. A verdict after it is for as long as the version serves.
    """
    version, open_ended = version_of(run), run.running or run.paused
    if run.stage is PRE:
        is_asked_for = world.spec.active == version and run.digest == digest_of(world, version)
        return not is_asked_for or (open_ended and plan_of(world, PRE) is None)
    is_active = world.record.state.stage(version) is VersionStage.ACTIVE
    return open_ended and (not is_active or plan_of(world, POST) is None)


def _begin_pre(world: GroupWorld) -> GroupWorld:
    """Begin the run before promotion, once every service of the version is healthy. Earlier measurements would be of
    other pods (W4).
    """
    version, plan = world.wanted, plan_of(world, PRE)
    if plan is None or plan.unknown or world.record.state.stage(version) is not VersionStage.CANDIDATE:
        return world
    is_free = run_before(world, version) is None and _may_still_stop(world, version)
    is_ready = members_healthy(world, version).open and have_passed(world, version, HookType.PRE_ROLLOUT)
    if not is_free or is_suspended(world) or not is_ready:
        return world
    active = world.record.state.only(VersionStage.ACTIVE)
    return _begun(world, _first_run(world, PRE, version), plan, stable=active)


def _may_still_stop(world: GroupWorld, version: str) -> bool:
    """Whether a verdict still counts: traffic has not begun to move to the version."""
    moving = world.record.transition
    return moving is None or (moving.target == version and moving.step is TransitionStep.PREPARE)


def _begin_post(world: GroupWorld) -> GroupWorld:
    """Begin the run after promotion, once the Gateway has taken the routes that follow it: until then it might measure
    the former version as well. It does not wait for ever: requests moved when the step before was taken.
    """
    run, plan = world.record.analyses.run(POST), plan_of(world, POST)
    if run is None or run.started_at or plan is None or plan.unknown or world.wanted == run.fallback:
        return world
    latest = latest_start(world)
    may_begin = world.record.left_at is None or (latest is not None and world.now >= latest)
    is_settled = world.record.transition is None and may_begin
    return _begun(world, run, plan, stable=run.fallback) if is_settled else world


def _begun(world: GroupWorld, run: AnalysisRun, plan: Plan, stable: str) -> GroupWorld:
    version = version_of(run)
    world = world.with_record(epoch=world.record.epoch or world.observed.uid[:8] or "0")
    world = world.with_event(GroupEvent.ANALYSIS_RUNNING, f"{run.stage.called} of {version} has begun")
    return _with_run(world, begin(run, plan, version, stable, world.now))


def _with_run(world: GroupWorld, run: AnalysisRun) -> GroupWorld:
    analyses = world.record.analyses.with_run(run, world.now).within(MOST_RUNS, MOST_RUNS)
    return world.with_record(analyses=analyses, rollout=max(world.record.rollout, run.rollout))


def _without_run(world: GroupWorld, run: AnalysisRun) -> GroupWorld:
    return world.with_record(analyses=world.record.analyses.without_run(run, world.now).within(MOST_RUNS, MOST_RUNS))


def _conclude(world: GroupWorld, run: AnalysisRun) -> GroupWorld:
    if run.running:
        return world
    reason = _reason(run)
    world = world.with_event(GroupEvent(f"AnalysisRun{run.phase}"), f"{version_of(run)}: {reason}")
    return go_back(world, version_of(run), run.fallback, reason) if run.stage is POST and run.bad else world


def _reason(run: AnalysisRun) -> str:
    return f"{run.stage.called} {run.phase.lower()}: {why(run)}"


def go_back(world: GroupWorld, version: str, fallback: str, reason: str) -> GroupWorld:
    """Have the group leave a version for the one that traffic left for it, unless Git asks for that already.

    That one is there: none leaves while it may be needed (`GroupWorld.fallback`).
    """
    if world.wanted == fallback:
        return world
    failed = FailedTransition(
        version, fallback, world.content(version), reason, world.now, moved=True, named=world.spec.active
    )
    return world.with_record(failed=failed)
