"""Analyses as the engine's tables write them: verdicts, a plan, and how what is due is measured."""

from dataclasses import replace

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementPlan, MeasurementResult, Metric
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.spec import AppSpec
from tests.core.simulation import Simulation, automatic, deployed
from tests.core.stories import promote, push

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
GOOD, BAD, OPEN, BROKEN = (
    AnalysisPhase.SUCCESSFUL,
    AnalysisPhase.FAILED,
    AnalysisPhase.INCONCLUSIVE,
    AnalysisPhase.ERROR,
)
PLAN = MeasurementPlan((Metric("errors", "web", interval=60, count=2, consecutive_error_limit=0),))
"""Good twice, a minute apart; bad at once."""


def analysed(
    spec: AppSpec | None = None, pre: MeasurementPlan | None = None, post: MeasurementPlan | None = None
) -> Simulation:
    """Version 1 is live, and the strategy asks for analyses."""
    spec = spec or automatic()
    return deployed(
        replace(spec, strategy=replace(spec.strategy, pre_promotion_analysis=pre, post_promotion_analysis=post))
    )


def analysing(
    spec: AppSpec | None = None, pre: MeasurementPlan | None = None, post: MeasurementPlan | None = None
) -> Simulation:
    """The same, and version 2 was pushed: its first analysis runs."""
    sim = analysed(spec, pre, post)
    push(sim, "2")
    return sim


def judged(spec: AppSpec, post: MeasurementPlan = PLAN) -> Simulation:
    """Version 2 was merged and serves; its analysis after promotion runs."""
    sim = analysed(spec, post=post)
    promote(sim, "2")
    assert sim.live == "2"
    return sim


def replan(sim: Simulation, **plans: MeasurementPlan | None) -> None:
    """Somebody changes the analyses that the strategy asks for."""
    sim.spec = replace(sim.spec, strategy=replace(sim.spec.strategy, **plans))
    sim.settle()


def measure(sim: Simulation, phase: AnalysisPhase, message: str = "") -> None:
    """Every measurement that is due comes out so."""
    due = sim.decide().measurements
    assert due, "nothing is due"
    sim.measured = tuple(MeasurementResult(one.id, phase, sim.now, "1", message) for one in due)
    sim.settle()
    sim.measured = ()


def pass_analysis(sim: Simulation) -> None:
    """`PLAN` comes out well."""
    measure(sim, GOOD)
    sim.later(seconds=60)
    measure(sim, GOOD)


def phase(sim: Simulation, stage: AnalysisStage) -> AnalysisPhase | None:
    run = sim.record.run(stage)
    return run.phase if run else None


def shut(sim: Simulation) -> list[tuple[GateKind, str]]:
    return [(gate.kind, gate.reason) for gate in sim.decide().gates if not gate.open]
