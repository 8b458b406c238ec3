"""What an analysis run says, as a gate: one text for apps and for release groups."""

from gitops_bg.core.model.analysis.runs import AnalysisRun, ends_at, why
from gitops_bg.core.model.decision import GateKind, GateResult


def verdict_of(run: AnalysisRun, when_paused: str, remedy: str = "") -> GateResult:
    """The gate of a run that has begun; ``when_paused`` says how a person answers one that could not tell."""
    title = run.stage.called
    if run.running:
        return GateResult(GateKind.ANALYSIS, False, f"{title}: {run}", ends_at(run))
    if run.paused:
        return GateResult(GateKind.ANALYSIS, False, f"{title} inconclusive: {why(run)}; {when_paused}", remedy=remedy)
    return GateResult(GateKind.ANALYSIS, not run.bad, f"{title} {run.phase.lower()}: {why(run)}", remedy=remedy)
