"""What analyses say of a group so far, for its gates and its status. World in, answer out (argo-rollouts.md §3)."""

from datetime import datetime, timedelta

from gitops_bg.core.checks.gating.verdict import verdict_of
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, MeasurementRequest, due, why
from gitops_bg.core.model.decision import Condition, GateKind, GateResult
from gitops_bg.core.model.hooks import HookRun

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
PASSED = "AnalysisPassed"
_BEGINS = "begins when the Gateway has taken the routes"


def plan_of(world: GroupWorld, stage: AnalysisStage) -> Plan | None:
    """The measurements that the group asks for in a stage; None where it asks for none."""
    return world.spec.pre_promotion_analysis if stage is PRE else world.spec.post_promotion_analysis


def digest_of(world: GroupWorld, version: str) -> str:
    """What a run is about: the version, and what its folder says."""
    return f"{version}-{world.content(version)}"


def version_in(digest: str) -> str:
    """The version of what a run is about (`digest_of`).

    >>> version_in("v2-3f9c")
    'v2'
    """
    return digest.partition("-")[0]


def version_of(run: AnalysisRun | HookRun) -> str:
    """The version that a run is about."""
    return version_in(run.digest)


def run_before(world: GroupWorld, version: str) -> AnalysisRun | None:
    """The analysis before the promotion of a version with what its folder says now; None: it has not begun."""
    run = world.record.analyses.run(PRE)
    return run if run is not None and run.digest == digest_of(world, version) else None


def run_after(world: GroupWorld) -> AnalysisRun | None:
    """The analysis after the promotion of the version that serves."""
    run = world.record.analyses.run(POST)
    is_active = run is not None and world.record.state.stage(version_of(run)) is VersionStage.ACTIVE
    return run if is_active else None


def pre_promotion(world: GroupWorld, version: str) -> GateResult | None:
    """What the analysis before the promotion of a version says; None where the group asks for none."""
    plan, run = plan_of(world, PRE), run_before(world, version)
    if plan is None:
        return None
    anew = asked_anew(world, version)
    if run is not None:
        return verdict_of(run, f"to measure anew, {anew}", remedy=anew)
    begins = plan.unknown or "begins when every service is healthy, and nobody suspends the group"
    return GateResult(GateKind.ANALYSIS, False, f"{PRE.called}: {begins}")


def asked_anew(world: GroupWorld, version: str) -> str:
    """What a person does to have a version measured, or asked about, once more."""
    return f"change a file in {version}/, or set active: {world.record.state.only(VersionStage.ACTIVE)} and back"


def live_version_not_being_measured(world: GroupWorld, _: str) -> GateResult | None:
    """Keep the version that serves while its analysis runs; None once it is over.

    A paused one does not: who promotes another version while it is paused has seen it.
    """
    run, verdict = run_after(world), live_verdict(world)
    if run is None or verdict is None or not run.running:
        return None
    return GateResult(GateKind.ANALYSIS, False, f"of what serves now: {verdict.reason}", verdict.until)


def latest_start(world: GroupWorld) -> datetime | None:
    """When the analysis after promotion begins though the Gateway has not taken all routes: it may refuse them for
    ever, and nobody would judge what serves. None where nothing waits for that.
    """
    run, left = run_after(world), world.record.left_at
    if run is None or run.started_at is not None or left is None or plan_of(world, POST) is None:
        return None
    return left + timedelta(seconds=world.spec.progress_deadline_seconds)


def live_verdict(world: GroupWorld) -> GateResult | None:
    """What the analysis after promotion says of the version that serves; None where there was none."""
    run, plan = run_after(world), plan_of(world, POST)
    if run is None:
        return None
    if run.started_at is not None:
        answer = f"set active: {run.fallback} to go back, promote another version, or remove postPromotionAnalysis"
        return verdict_of(run, answer)
    begins = (plan.unknown if plan else "") or _BEGINS
    return GateResult(GateKind.ANALYSIS, False, f"{POST.called}: {begins}", latest_start(world))


def measurements_due(world: GroupWorld, *, suspended: bool) -> tuple[MeasurementRequest, ...]:
    """The measurements to take now; a suspension stops those that lead forward, never those that may lead back."""
    runs = (run for run in world.record.analyses.runs if run.stage is POST or not suspended)
    return tuple(measure for run in runs for measure in due(run, world.record.epoch, world.now))


def judged(world: GroupWorld) -> tuple[AnalysisRun, ...]:
    """The runs of the version that serves, and of the one that shall serve next."""
    coming = run_before(world, world.wanted) if _is_candidate(world, world.wanted) else None
    return tuple(run for run in (run_after(world), coming) if run is not None)


def passed(world: GroupWorld) -> Condition:
    """The condition that says how the last analysis ended."""
    run = world.record.analyses.newest()
    if _is_candidate(world, world.wanted) and plan_of(world, PRE) is not None:
        run = run_before(world, world.wanted)
        if run is None:
            return Condition(PASSED, False, "NotBegun", f"{PRE.called} of {world.wanted} has not begun")
    if run is None:
        return Condition(PASSED, False, "NoAnalysis", "nothing was analysed")
    latest = latest_start(world)
    if run == run_after(world) and latest is not None:
        said = f"{POST.called} of {version_of(run)} {_BEGINS}, and at {latest:%Y-%m-%d %H:%M} UTC all the same"
        return Condition(PASSED, False, "NotBegun", said)
    said = f"{run.stage.called} of {version_of(run)}: {run if run.running else why(run)}"
    return Condition(PASSED, run.phase is AnalysisPhase.SUCCESSFUL, run.phase.value, said)


def _is_candidate(world: GroupWorld, version: str) -> bool:
    return world.record.state.stage(version) is VersionStage.CANDIDATE
