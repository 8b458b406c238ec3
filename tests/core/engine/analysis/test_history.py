"""The history of analysis runs: which are remembered, how long, and how little of each (argo-rollouts.md §1.3)."""

from dataclasses import replace

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.analysis import MOST_CHARACTERS, AnalysisPhase, MeasurementPlan, MeasurementResult, Metric
from gitops_bg.core.model.observed import OperatorCommand
from tests.core.engine.analysis.notation import (
    BAD,
    BROKEN,
    GOOD,
    OPEN,
    PLAN,
    POST,
    PRE,
    analysed,
    analysing,
    measure,
    pass_analysis,
    replan,
)
from tests.core.records import stored
from tests.core.simulation import APP, Simulation, manual
from tests.core.stories import ask, name, push, wait

ONCE = MeasurementPlan((Metric("errors", "web", '{"url": "http://web"}', "result < 1", consecutive_error_limit=0),))


def limited(sim: Simulation, good: int, bad: int) -> None:
    sim.spec = replace(sim.spec, successful_run_history_limit=good, unsuccessful_run_history_limit=bad)


def history(sim: Simulation) -> list[tuple[int, AnalysisPhase]]:
    """The rollout and the verdict of each past run."""
    return [(run.rollout, run.phase) for run in sim.record.analyses.past]


def roll(sim: Simulation, *findings: AnalysisPhase) -> None:
    """One version after the other, each with a verdict before promotion."""
    for phase in findings:
        push(sim, str(sim.record.last_version + 1))
        measure(sim, phase)


def test_the_last_run_of_each_stage_is_no_history():
    sim = analysed(pre=ONCE, post=ONCE)
    roll(sim, GOOD)
    measure(sim, GOOD)
    assert history(sim) == []
    assert {run.stage for run in sim.record.analyses.runs} == {PRE, POST}


def test_the_newest_five_of_each_kind_are_remembered_and_nothing_changes_them():
    sim = analysed(pre=ONCE)
    roll(sim, *[GOOD, BAD] * 7)
    assert history(sim) == [(rollout, BAD if rollout % 2 else GOOD) for rollout in range(5, 15)]
    wait(sim, days=1)
    assert sim.settle() == 0


LIMITS = {
    "failed counts as unsuccessful": ((9, 1), [BAD, BAD, BAD], [(3, BAD)]),
    "so does an error": ((9, 1), [BROKEN, BROKEN, BROKEN], [(3, BROKEN)]),
    "so does an inconclusive one": ((9, 1), [OPEN, OPEN, OPEN], [(3, OPEN)]),
    "zero leaves the last run only": ((0, 0), [GOOD, BAD, GOOD], []),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_the_history(name):
    (good, bad), verdicts, expected = LIMITS[name]
    sim = analysed(pre=ONCE)
    limited(sim, good, bad)
    roll(sim, *verdicts)
    assert history(sim) == expected
    assert sim.record.run(PRE).rollout == 4


def test_a_lowered_limit_holds_at_once():
    sim = analysed(pre=ONCE)
    roll(sim, *[GOOD] * 4)
    limited(sim, good=1, bad=1)
    sim.settle()
    assert history(sim) == [(4, GOOD)]


def test_runs_of_forgotten_versions_are_forgotten():
    sim = analysed(pre=ONCE)
    sim.spec = replace(sim.spec, revision_history_limit=0)
    for _ in range(4):
        roll(sim, GOOD)
        wait(sim, seconds=301)
    assert {rollout for rollout, _ in history(sim)} <= {version.rollout for version in sim.record.versions}


def test_every_attempt_at_an_answer_is_remembered():
    sim = analysing(manual(), pre=ONCE)
    for _ in range(2):
        measure(sim, OPEN)
        ask(sim, OperatorCommand.PROMOTE)
    assert [(run.attempt, run.phase) for run in sim.record.analyses.past] == [(1, OPEN), (2, OPEN)]


def test_a_run_that_is_stopped_is_remembered_as_terminated():
    sim = analysing(pre=PLAN)
    measure(sim, GOOD)
    push(sim, "3")
    (past,) = sim.record.analyses.past
    assert (past.phase, past.finished_at, past.metrics[0].terminated) == (GOOD, sim.now, True)


def test_a_run_that_never_began_leaves_nothing():
    sim = analysing(post=MeasurementPlan(unknown="no template"))
    name(sim, "1", "revert")
    assert (sim.live, history(sim)) == ("1", [])


def test_of_a_past_run_the_verdict_counts_and_the_last_answers_stay_and_nothing_of_what_was_asked():
    sim = analysing(pre=replace(PLAN, metrics=(replace(PLAN.metrics[0], query='{"q": 1}', success="a", failure="b"),)))
    pass_analysis(sim)
    roll(sim, GOOD)
    (one,) = sim.record.analyses.past[0].metrics
    assert (one.successful, len(one.measurements)) == (2, 1)
    assert (one.metric.query, one.metric.success, one.metric.failure) == ("{}", "", "")


def test_the_history_stays_small_whatever_backends_say():
    """An object of the cluster takes about 1 MiB; the newest runs stay."""
    many = MeasurementPlan(tuple(Metric(f"metric-{number}", "web", failure_limit=-1) for number in range(40)))
    sim = analysed(pre=many)
    limited(sim, good=50, bad=50)
    for _ in range(8):
        push(sim, str(sim.record.last_version + 1))
        due = sim.decide().measurements
        sim.measured = tuple(MeasurementResult(one.id, BAD, sim.now, "v" * 999, "m" * 999) for one in due)
        sim.settle()
        sim.measured = ()
    assert 0 < len(str(stored(sim.record)["analyses"]["past"])) <= MOST_CHARACTERS
    assert max(rollout for rollout, _ in history(sim)) == sim.record.rollout - 1


# --- a run that begins a second time in one rollout ---


@pytest.mark.parametrize("remembered", [5, 0], ids=["the first is remembered", "it is forgotten"])
def test_a_run_that_begins_again_takes_no_measurement_of_the_first_for_its_own(remembered):
    """Found so: its Job had the name of the first run's, which had ended well, and so nothing was measured."""
    sim = analysed(manual(), pre=ONCE)
    limited(sim, good=remembered, bad=remembered)
    push(sim, "2")
    (first,) = sim.decide().measurements
    measure(sim, GOOD)
    name(sim, "9", "somebody promotes another version")
    better = replace(ONCE.metrics[0], query='{"url": "http://web/better"}')
    sim.spec = replace(sim.spec, strategy=replace(sim.spec.strategy, pre_promotion_analysis=MeasurementPlan((better,))))
    sim.later(seconds=60)
    measure(sim, BAD)
    (second,) = sim.decide().measurements
    assert second.metric.query == better.query
    assert (second.id.rollout, second.id.stage) == (first.id.rollout, first.id.stage)
    assert names.job_name(APP, second.id) != names.job_name(APP, first.id)
    assert second.id.attempt == (2 if remembered else 1)


def test_a_plan_that_is_taken_out_and_put_back_is_measured_anew():
    sim = analysing(manual(), pre=ONCE)
    (first,) = sim.decide().measurements
    for plan in (None, ONCE):
        replan(sim, pre_promotion_analysis=plan)
    (second,) = sim.decide().measurements
    assert second.id != first.id
