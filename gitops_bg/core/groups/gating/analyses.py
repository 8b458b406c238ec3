"""Gates on the analyses of a group, and what they say of it so far, for its status (argo-rollouts.md §3)."""

from gitops_bg.core.delivery.analyses import verdict_of
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.subject import (
    POST,
    PRE,
    GroupSubject,
    asked_anew,
    latest_start,
    run_after,
    run_before,
    version_of,
)
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun, why
from gitops_bg.core.model.decision import Condition, GateKind, GateResult

PASSED = "AnalysisPassed"
_BEGINS = "begins when the Gateway has taken the routes"


def pre_promotion(world: GroupWorld, version: str) -> GateResult | None:
    """What the analysis before the promotion of a version says; None where the group asks for none."""
    plan, run = world.spec.pre_promotion_analysis, run_before(world, version)
    if plan is None:
        return None
    anew = asked_anew(world, version)
    if run is not None:
        return verdict_of(run, f"to measure anew, {anew}", remedy=anew)
    begins = plan.unknown or "begins when every service is healthy, and nobody suspends the group"
    return GateResult(GateKind.ANALYSIS, False, f"{PRE.called}: {begins}")


def live_version_not_being_measured(world: GroupWorld, _: str) -> GateResult | None:
    """Keep the version that serves while its analysis runs; None once it is over.

    A paused one does not: who promotes another version while it is paused has seen it.
    """
    run, verdict = run_after(world), live_verdict(world)
    if run is None or verdict is None or not run.running:
        return None
    return GateResult(GateKind.ANALYSIS, False, f"of what serves now: {verdict.reason}", verdict.until)


def live_verdict(world: GroupWorld) -> GateResult | None:
    """What the analysis after promotion says of the version that serves; None where there was none."""
    run, plan = run_after(world), world.spec.post_promotion_analysis
    if run is None:
        return None
    if run.started_at is not None:
        answer = f"set active: {run.fallback} to go back, promote another version, or remove postPromotionAnalysis"
        return verdict_of(run, answer)
    if GroupSubject(world).goes_back():
        return GateResult(GateKind.ANALYSIS, False, f"{POST.called}: begins anew if the group stays after all")
    begins = (plan.unknown if plan else "") or _BEGINS
    return GateResult(GateKind.ANALYSIS, False, f"{POST.called}: {begins}", latest_start(world))


def judged(world: GroupWorld) -> tuple[AnalysisRun, ...]:
    """The runs of the version that serves, and of the one that shall serve next."""
    coming = run_before(world, world.wanted) if _is_candidate(world, world.wanted) else None
    return tuple(run for run in (run_after(world), coming) if run is not None)


def passed(world: GroupWorld) -> Condition:
    """The condition that says how the last analysis ended."""
    run = world.record.analyses.newest()
    if _is_candidate(world, world.wanted) and world.spec.pre_promotion_analysis is not None:
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
