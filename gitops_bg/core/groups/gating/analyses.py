"""What the analyses of a group say of it so far, for its status (argo-rollouts.md §3)."""

from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.subject import POST, PRE, GroupSubject, latest_start, run_after, run_before, version_of
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun, why
from gitops_bg.core.model.decision import Condition

PASSED = "AnalysisPassed"


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
        begins = GroupSubject(world).awaits_after()
        said = f"{POST.called} of {version_of(run)} {begins}, and at {latest:%Y-%m-%d %H:%M} UTC all the same"
        return Condition(PASSED, False, "NotBegun", said)
    said = f"{run.stage.called} of {version_of(run)}: {run if run.running else why(run)}"
    return Condition(PASSED, run.phase is AnalysisPhase.SUCCESSFUL, run.phase.value, said)


def _is_candidate(world: GroupWorld, version: str) -> bool:
    return world.record.state.stage(version) is VersionStage.CANDIDATE
