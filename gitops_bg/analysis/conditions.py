"""Evaluates a reading: the conditions of a metric, in CEL over ``result``, give a phase (argo-rollouts.md §3).

Missing data is always inconclusive; a condition that cannot be evaluated on existing data is an error.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from gitops_bg.analysis.provider import NoData, Reading
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, Metric
from gitops_bg.spec.analysis.expressions import BadExpression, NoAnswer, NoValue, is_true

Judgement = tuple[AnalysisPhase, str]
"""A phase, and the reason for it; empty for a good one."""


IsTrue = Callable[[str, Mapping[str, Any]], bool]
"""Whether a condition is true of values. Raises as `expressions.is_true`."""


def evaluate(metric: Metric, reading: Reading, is_true: IsTrue = is_true) -> Judgement:
    """Evaluate the metric's conditions on a reading: `evaluate.EvaluateResult`, except for missing data."""
    result = None if isinstance(reading, NoData) else reading.result
    if result is None or _has_nan(result):
        why = reading.why if isinstance(reading, NoData) else "the value is null or NaN"
        return AnalysisPhase.INCONCLUSIVE, f"no data: {why}"
    try:
        return _conditions(metric, result, is_true)
    except NoValue as missing:
        return AnalysisPhase.INCONCLUSIVE, f"no data: {missing}"
    except NoAnswer as error:
        missing_part = _has_null(result)
        return (
            (AnalysisPhase.INCONCLUSIVE, f"no data: null in it: {error}")
            if missing_part
            else (AnalysisPhase.ERROR, str(error))
        )
    except BadExpression as error:
        return AnalysisPhase.ERROR, str(error)


def _conditions(metric: Metric, result: Any, is_true: IsTrue) -> Judgement:
    failed = bool(metric.failure) and is_true(metric.failure, {"result": result})
    if failed:
        return AnalysisPhase.FAILED, f"failureCondition {metric.failure} is true"
    if not metric.success or is_true(metric.success, {"result": result}):
        return AnalysisPhase.SUCCESSFUL, ""
    if metric.failure:
        return AnalysisPhase.INCONCLUSIVE, "neither successCondition nor failureCondition is true"
    return AnalysisPhase.FAILED, f"successCondition {metric.success} is false"


def _has_nan(value: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or any(map(_has_nan, _parts(value)))


def _has_null(value: Any) -> bool:
    return value is None or any(map(_has_null, _parts(value)))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []
