"""From conditions to findings, row by row as in Argo Rollouts (argo-rollouts.md §3); missing data is inconclusive."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gitops_bg.analysis.measurements import evaluate
from gitops_bg.analysis.provider import NoData, Value
from gitops_bg.core.model.analysis import AnalysisPhase, Metric

GOOD, BAD, UNCLEAR, BROKEN = (
    AnalysisPhase.SUCCESSFUL,
    AnalysisPhase.FAILED,
    AnalysisPhase.INCONCLUSIVE,
    AnalysisPhase.ERROR,
)
YES, NO, ODD = "result == 1", "result == 2", "result.missing == 1"

TABLE: list[tuple[str, str, Any, AnalysisPhase]] = [
    # success, failure, result, phase
    ("", "", 1, GOOD),
    (YES, "", 1, GOOD),
    (NO, "", 1, BAD),
    ("", YES, 1, BAD),
    ("", NO, 1, GOOD),
    (YES, NO, 1, GOOD),
    (NO, YES, 1, BAD),
    (YES, YES, 1, BAD),
    (NO, NO, 1, UNCLEAR),
    ("result[0] < 0.05", "", [0.01], GOOD),
    ("result[0] < 1", "", [0.01], GOOD),
    ("result[0] == 1", "", [1.0], GOOD),
    ("size(result) == 0", "", [], GOOD),
    ("result == ''", "", "", GOOD),
    ("result.all(each, each < 3)", "", [1, 2], GOOD),
    # what is missing
    ("", "", None, UNCLEAR),
    ("", "", math.nan, UNCLEAR),
    ("true", "", [1.0, math.nan], UNCLEAR),
    ("result.a.b == 1", "", {"a": {}}, UNCLEAR),
    ("result[3] == 1", "", [1], UNCLEAR),
    ("result.a > 1", "", {"a": None}, UNCLEAR),
    ("", "result.a > 1", {"a": None}, UNCLEAR),
    # what cannot be evaluated
    ("result > 'a'", "", 1, BROKEN),
    ("result", "", 1, BROKEN),
    ("result ==", "", 1, BROKEN),
    ("result.a == 1", "", 1, BROKEN),
]


@pytest.mark.parametrize(("success", "failure", "result", "phase"), TABLE)
def test_the_conditions_say_what_a_value_means(success: str, failure: str, result: Any, phase: AnalysisPhase) -> None:
    found, why = evaluate(Metric("rate", "web", "{}", success, failure), Value(result))
    assert found is phase, why
    assert bool(why) is (phase is not GOOD)


@pytest.mark.parametrize("conditions", [("", ""), ("true", ""), ("", "true"), ("true", "true")])
def test_no_data_is_inconclusive_whatever_the_conditions(conditions: tuple[str, str]) -> None:
    assert evaluate(Metric("rate", "web", "{}", *conditions), NoData("empty")) == (UNCLEAR, "no data: empty")
