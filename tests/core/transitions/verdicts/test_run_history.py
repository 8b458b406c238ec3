"""The history of analysis runs: which are remembered, how long, and how little of each (argo-rollouts.md §1.3)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.analysis.history import MOST_CHARACTERS, Analyses
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage, Metric, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, MeasurementResult, MetricRun
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.spec.codec import to_json
from tests.core.simulation import APP, Simulation, manual
from tests.core.transitions.test_analysis import (
    BAD,
    BROKEN,
    GOOD,
    OPEN,
    PLAN,
    POST,
    PRE,
    analysed,
    measure,
    pass_analysis,
)
from tests.core.worlds import EARLIER, digest

ONCE = Plan((Metric("errors", "web", '{"url": "http://web"}', "result < 1", consecutive_error_limit=0),))


def limited(world: Simulation, good: int, bad: int) -> None:
    world.spec = replace(world.spec, successful_run_history_limit=good, unsuccessful_run_history_limit=bad)


def history(world: Simulation) -> list[tuple[int, str, AnalysisPhase]]:
    return [(run.rollout, str(run.stage), run.phase) for run in world.record.analyses.past]


def roll(world: Simulation, *findings: AnalysisPhase) -> None:
    """One version after the other, each with a verdict before promotion."""
    for phase in findings:
        world.push(str(world.record.last_version + 1))
        world.settle()
        measure(world, phase)


def test_the_last_run_of_each_stage_is_no_history():
    world = analysed(pre=ONCE, post=ONCE)
    roll(world, GOOD)
    measure(world, GOOD)
    assert history(world) == []
    assert {run.stage for run in world.record.analyses.runs} == {PRE, POST}


def test_the_newest_five_of_each_kind_are_remembered():
    world = analysed(pre=ONCE)
    roll(world, *[GOOD, BAD] * 7)
    assert [phase for _, _, phase in history(world)].count(GOOD) == 5
    assert [phase for _, _, phase in history(world)].count(BAD) == 5
    assert [rollout for rollout, _, _ in history(world)] == list(range(5, 15))


@pytest.mark.parametrize("phase", [BAD, BROKEN, OPEN])
def test_failed_errors_and_inconclusive_count_as_unsuccessful(phase):
    world = analysed(pre=ONCE)
    limited(world, good=9, bad=1)
    roll(world, phase, phase, phase)
    assert [(rollout, kind) for rollout, _, kind in history(world)] == [(3, phase)]


def test_limit_of_zero_leaves_the_last_run_only():
    world = analysed(pre=ONCE)
    limited(world, good=0, bad=0)
    roll(world, GOOD, BAD, GOOD)
    assert history(world) == []
    assert world.record.run(PRE).rollout == 4


def test_lowered_limit_holds_at_once():
    world = analysed(pre=ONCE)
    roll(world, *[GOOD] * 4)
    limited(world, good=1, bad=1)
    world.settle()
    assert [rollout for rollout, _, _ in history(world)] == [4]


def test_runs_of_forgotten_versions_are_forgotten():
    world = analysed(pre=ONCE)
    world.spec = replace(world.spec, revision_history_limit=0)
    for _ in range(4):
        roll(world, GOOD)
        world.later(seconds=301)
        world.settle()
    kept = {version.rollout for version in world.record.versions}
    assert {rollout for rollout, _, _ in history(world)} <= kept


def test_every_attempt_at_an_answer_is_remembered():
    world = analysed(manual(), pre=ONCE)
    world.push("2")
    world.settle()
    for _ in range(2):
        measure(world, OPEN)
        world.ask(OperatorCommand.PROMOTE)
        world.settle()
    assert [(run.attempt, run.phase) for run in world.record.analyses.past] == [(1, OPEN), (2, OPEN)]


def test_run_that_is_stopped_is_remembered_as_terminated():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    measure(world, GOOD)
    world.push("3")
    world.settle()
    (past,) = world.record.analyses.past
    assert (past.phase, past.finished_at, past.metrics[0].terminated) == (GOOD, world.now, True)


def test_run_that_never_began_leaves_nothing():
    world = analysed(post=Plan(unknown="no template"))
    world.push("2")
    world.settle()
    world.set_primary("1", "revert")
    world.settle()
    assert (world.live, history(world)) == ("1", [])


def test_of_a_past_run_only_verdict_counts_and_last_answers_stay():
    world = analysed(pre=PLAN)
    world.push("2")
    world.settle()
    pass_analysis(world)
    roll(world, GOOD)
    (one,) = world.record.analyses.past[0].metrics
    assert (one.metric.query, one.metric.success, one.successful, len(one.measurements)) == ("{}", "", 2, 1)


def test_history_stays_small_whatever_backends_say():
    """An object of the cluster takes about 1 MiB; the newest runs stay."""
    many = Plan(tuple(Metric(f"metric-{number}", "web", failure_limit=-1) for number in range(40)))
    world = analysed(pre=many)
    limited(world, good=50, bad=50)
    for _ in range(8):
        world.push(str(world.record.last_version + 1))
        world.settle()
        due = world.decide().measurements
        world.measured = tuple(MeasurementResult(one.id, BAD, world.now, "v" * 999, "m" * 999) for one in due)
        world.settle()
        world.measured = ()
    assert 0 < len(str(to_json(world.record)["analyses"]["past"])) <= MOST_CHARACTERS
    assert max(rollout for rollout, _, _ in history(world)) == world.record.rollout - 1


def test_history_is_quiet():
    world = analysed(pre=ONCE)
    roll(world, GOOD, BAD, GOOD)
    world.later(days=1)
    world.settle()
    assert world.settle() == 0
    assert world.record.analyses.past[-1].finished_at < world.now - timedelta(hours=1)


def test_of_a_run_that_is_over_nobody_remembers_what_was_asked() -> None:
    metric = Metric("errors", "web", query='{"query": "rate"}', success="result < 1", failure="result > 9")
    run = AnalysisRun(AnalysisStage.PRE, digest(1), 1, started_at=EARLIER, phase=AnalysisPhase.SUCCESSFUL)
    (past,) = Analyses().without_run(replace(run, metrics=(MetricRun(metric),)), EARLIER).past
    assert past.metrics == (MetricRun(Metric("errors", "web")),)


# --- a run that begins a second time in one rollout ---


@pytest.mark.parametrize("remembered", [5, 0], ids=["the first is remembered", "it is forgotten"])
def test_a_run_that_begins_again_takes_no_measurement_of_the_first_for_its_own(remembered):
    """Found so: its Job had the name of the first run's, which had ended well, and so nothing was measured."""
    world = analysed(manual(), pre=ONCE)
    limited(world, good=remembered, bad=remembered)
    world.push("2")
    world.settle()
    (first,) = world.decide().measurements
    measure(world, GOOD)
    world.set_primary("9", "somebody promotes another version")
    world.settle()
    better = replace(ONCE.metrics[0], query='{"url": "http://web/better"}')
    world.spec = replace(world.spec, strategy=replace(world.spec.strategy, pre_promotion_analysis=Plan((better,))))
    world.later(seconds=60)
    measure(world, BAD)
    world.settle()
    (second,) = world.decide().measurements
    assert second.metric.query == better.query
    assert (second.id.rollout, second.id.stage) == (first.id.rollout, first.id.stage)
    assert names.job_name(APP, second.id) != names.job_name(APP, first.id)
    assert second.id.attempt == (2 if remembered else 1)


def test_a_plan_that_is_taken_out_and_put_back_is_measured_anew():
    world = analysed(manual(), pre=ONCE)
    world.push("2")
    world.settle()
    (first,) = world.decide().measurements
    for plan in (None, ONCE):
        world.spec = replace(world.spec, strategy=replace(world.spec.strategy, pre_promotion_analysis=plan))
        world.settle()
    (second,) = world.decide().measurements
    assert second.id != first.id
