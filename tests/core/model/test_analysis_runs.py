"""One analysis run: each limit, each verdict, the end of the count, and when to measure next (argo-rollouts.md §3)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.analysis import (
    LATEST,
    STABLE,
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    MeasurementPlan,
    MeasurementResult,
    Metric,
    begin,
    due,
    due_at,
    ends_at,
    id_of,
    moments,
    restarted,
    why,
    with_measurement,
)
from tests.core.worlds import NOW, SECOND

FINDINGS = {
    "s": AnalysisPhase.SUCCESSFUL,
    "f": AnalysisPhase.FAILED,
    "i": AnalysisPhase.INCONCLUSIVE,
    "e": AnalysisPhase.ERROR,
}
GOOD, BAD, OPEN, BROKEN = FINDINGS["s"], FINDINGS["f"], FINDINGS["i"], FINDINGS["e"]


def metric(name: str = "errors", **changes) -> Metric:
    return Metric(name, "web", **{"count": 1, "interval": 60, **changes})


def run_of(*metrics: Metric) -> AnalysisRun:
    return begin(AnalysisRun(AnalysisStage.PRE, "v1:ab", 7), MeasurementPlan(metrics), "ab", "cd", NOW)


def measured(run: AnalysisRun, phase: AnalysisPhase, name: str = "errors", at=NOW, message: str = "") -> AnalysisRun:
    one = next(each for each in run.metrics if each.metric.name == name)
    return with_measurement(run, "5eed", MeasurementResult(id_of(run, "5eed", one), phase, at, "0.5", message))


def after(findings: str, **limits) -> AnalysisRun:
    """A run of one metric after measurements, a letter each."""
    run = run_of(metric(**limits))
    for letter in findings:
        run = measured(run, FINDINGS[letter])
    return run


R, S, F, I, E = AnalysisPhase.RUNNING, GOOD, BAD, OPEN, BROKEN  # noqa: E741
UNLIMITED = {"failure_limit": -1}
VERDICTS = [
    ("", {}, R),
    ("s", {}, S),
    ("f", {}, F),
    ("i", {}, I),
    ("e", {}, R),
    # the count, of which errors are no part
    ("ss", {"count": 3}, R),
    ("sess", {"count": 3}, S),
    # failureLimit: more than so many
    ("sf", {"count": 5, "failure_limit": 1}, R),
    ("sff", {"count": 5, "failure_limit": 1}, F),
    ("fsssf", {"count": 5, "failure_limit": 1}, F),
    ("fssss", {"count": 5, "failure_limit": 1}, S),
    ("fffff", {"count": 5, **UNLIMITED}, S),
    # inconclusiveLimit
    ("i", {"count": 3, "inconclusive_limit": 1}, R),
    ("ii", {"count": 3, "inconclusive_limit": 1}, I),
    ("iii", {"count": 3, "inconclusive_limit": -1}, S),
    # consecutiveErrorLimit: in a row only; whatever else comes breaks the row
    ("eeee", {}, R),
    ("eeeee", {}, E),
    ("eesees", {"count": 2, "consecutive_error_limit": 2}, S),
    ("eesee", {"count": 9, "consecutive_error_limit": 2}, R),
    ("eefeee", {"count": 9, "consecutive_error_limit": 2, "failure_limit": 3}, E),
    ("eeeeeeeees", {"consecutive_error_limit": -1}, S),
    ("e", {"consecutive_error_limit": 0}, E),
    # consecutiveSuccessLimit: in a row only
    ("ss", {"count": 9, "consecutive_success_limit": 2}, S),
    ("sfs", {"count": 9, "consecutive_success_limit": 2, "failure_limit": 3}, R),
    ("sfss", {"count": 9, "consecutive_success_limit": 2, "failure_limit": 3}, S),
    ("ses", {"count": 9, "consecutive_success_limit": 2}, R),
    ("s", {"count": 9, "consecutive_success_limit": 1}, S),
    # the end of the count, with one or both limits in play
    ("sfsf", {"count": 4, "consecutive_success_limit": 2, **UNLIMITED}, F),
    ("sfsf", {"count": 4, "consecutive_success_limit": 2, "failure_limit": 2}, I),
    ("ff", {"count": 2, "consecutive_success_limit": 1, **UNLIMITED}, F),
    ("sis", {"count": 3, "consecutive_success_limit": 2, "inconclusive_limit": 3}, I),
    # nothing counts after the end
    ("fs", {"count": 3}, F),
]


@pytest.mark.parametrize(("findings", "limits", "verdict"), VERDICTS)
def test_verdict_of_one_metric(findings, limits, verdict):
    run = after(findings, **limits)
    assert run.phase is verdict
    assert run.running == (run.finished_at is None)


# The findings of two metrics that may fail, and of a dry run: the phase of the run.
WORST = [
    ("s", "s", "s", S),
    ("s", "", "s", R),
    ("s", "s", "", R),
    ("s", "s", "f", S),
    ("s", "s", "i", S),
    ("s", "i", "s", I),
    ("", "i", "", I),
    ("", "f", "", F),
    ("s", "e", "s", E),
]


@pytest.mark.parametrize(("first", "second", "dry", "verdict"), WORST)
def test_verdict_of_a_run_is_the_worst_of_those_that_count(first, second, dry, verdict):
    run = run_of(metric("a"), metric("b", consecutive_error_limit=0), metric("d", dry_run=True))
    for name, phase in (("a", first), ("d", dry), ("b", second)):
        run = measured(run, FINDINGS[phase], name) if phase else run
    assert run.phase is verdict


def test_dry_runs_alone_never_fail_a_run():
    run = run_of(metric(dry_run=True))
    assert run.running
    assert measured(run, BAD).phase is GOOD


def test_metrics_that_still_measure_when_the_run_ends_are_terminated_and_say_nothing_against_it():
    run = measured(run_of(metric("a", count=9), metric("b"), metric("c")), GOOD, "a")
    run = measured(measured(run, GOOD, "c"), BAD, "b")
    assert [(one.phase, one.terminated) for one in run.metrics] == [(GOOD, True), (BAD, False), (GOOD, False)]
    assert str(run.metrics[0]) == "a ✔1 ✖0 ?0 ⚠0 of 9 (terminated)"
    assert why(run).startswith("b ")


def test_counts_are_for_people():
    run = after("sfie", count=9, failure_limit=3, inconclusive_limit=3)
    assert str(run) == "errors ✔1 ✖1 ?1 ⚠1 of 9"
    assert str(run_of()) == "waiting for its metrics"
    failed = measured(run_of(metric(), metric("b")), BAD, "b", message="0.5 is not < 0.1")
    assert why(failed) == "b ✔0 ✖1 ?0 ⚠0 of 1: 0.5 is not < 0.1 (measured 0.5)"


def test_measurement_counts_once():
    run = run_of(metric(count=3))
    result = MeasurementResult(id_of(run, "5eed", run.metrics[0]), GOOD, NOW)
    once = with_measurement(run, "5eed", result)
    assert with_measurement(once, "5eed", result) == once
    assert with_measurement(run, "another life", result) == run
    assert with_measurement(replace(run, attempt=2), "5eed", result) == replace(run, attempt=2)


@pytest.mark.parametrize(("retention", "kept"), [(0, [4]), (1, [4]), (2, [3, 4])])
def test_only_the_newest_measurements_are_kept_and_the_last_always(retention, kept):
    run = run_of(metric(count=99, retention=retention))
    for minute in range(5):
        run = measured(run, GOOD, at=NOW + timedelta(minutes=minute))
    assert [one.at for one in run.metrics[0].measurements] == [NOW + timedelta(minutes=minute) for minute in kept]


def test_first_measurement_is_due_after_the_initial_delay():
    run = run_of(metric(initial_delay=30), metric("b"))
    assert [measure.id.metric for measure in due(run, "5eed", NOW)] == ["b"]
    assert due_at(run, run.metrics[0]) == NOW + 30 * SECOND
    assert sorted(moments(run)) == [NOW, NOW + 30 * SECOND]


def test_next_measurement_is_due_after_the_interval_and_after_an_error_soon():
    assert list(moments(after("s", count=5))) == [NOW + 60 * SECOND]
    assert list(moments(after("se", count=5))) == [NOW + 10 * SECOND]
    assert list(moments(after("f", count=5))) == []


def test_end_is_foretold():
    assert ends_at(run_of(metric(count=5, initial_delay=10))) == NOW + 250 * SECOND
    assert ends_at(after("s", count=5)) == NOW + 240 * SECOND
    assert ends_at(after("f")) is None
    assert ends_at(run_of(metric("a", count=9), metric("b", count=5))) == NOW + 480 * SECOND


def test_measurements_are_numbered_errors_too():
    assert [after("sees"[:many], count=5).metrics[0].index for many in range(5)] == [0, 1, 2, 3, 4]


def test_attempts_are_counted_within_a_rollout():
    second = restarted(run_of(metric()))
    assert (second.rollout, second.attempt, second.metrics) == (7, 2, ())
    assert (restarted(second, 8).rollout, restarted(second, 8).attempt) == (8, 1)


def test_hashes_stand_in_every_text():
    asked = metric(query=f'{{"query": "{LATEST}"}}', success=f"result != '{STABLE}'", failure=f"'{LATEST}' == result")
    (one,) = run_of(asked).metrics
    assert (one.metric.query, one.metric.success, one.metric.failure) == (
        '{"query": "ab"}',
        "result != 'cd'",
        "'ab' == result",
    )


@pytest.mark.parametrize(("said", "kept"), [("x" * 200, "x" * 200), ("x" * 201, "x" * 199 + "…")])
def test_what_a_measurement_says_is_remembered_in_short(said: str, kept: str) -> None:
    (one,) = measured(run_of(metric()), BAD, message=said).metrics
    assert one.measurements[-1].message == kept
