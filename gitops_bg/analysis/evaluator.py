"""Takes one measurement from beginning to end: Secrets, provider, conditions; the result contains no secret."""

import json
import logging
import math
import traceback
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.registry import Registry
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementRequest, MeasurementResult, Metric, shortened
from gitops_bg.core.model.version import Subject
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.http import MeasuringFailed, ask
from gitops_bg.outbound.quoting import quoted
from gitops_bg.outbound.secrets import NoSuchKey, ReadSecret, Secrets
from gitops_bg.spec.analysis.expressions import BadExpression, NoAnswer, NoValue, is_true

Judgement = tuple[AnalysisPhase, str]
"""A phase, and the reason for it; empty for a good one."""


IsTrue = Callable[[str, Mapping[str, Any]], bool]
"""Whether a condition is true of values. Raises as `expressions.is_true`."""


def evaluate(metric: Metric, reading: Reading, is_true: IsTrue = is_true) -> Judgement:
    """Evaluate the conditions of a metric, in CEL over ``result``, on a reading (argo-rollouts.md §3,
    `evaluate.EvaluateResult` of Argo Rollouts).

    Unlike there, missing data is always inconclusive; a condition that cannot be evaluated on existing data is an
    error.
    """
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


IsTrueOf = Callable[[Subject, str, Mapping[str, Any]], bool]
"""Whether a condition of an app or a group is true of values. Raises as `expressions.is_true`."""

LOGGER = logging.getLogger(__name__)


class MetricEvaluator:
    """Takes one measurement per call; thread-safe. ``clock`` gives UTC, ``is_true`` evaluates conditions, ``rules`` say
    where requests may go.
    """

    def __init__(
        self,
        registry: Registry,
        read_secret: ReadSecret,
        clock: Callable[[], datetime],
        is_true: IsTrueOf = lambda _, text, values: is_true(text, values),
        rules: AddressRules = EVERYWHERE,
    ) -> None:
        self._registry = registry
        self._read_secret = read_secret
        self._clock = clock
        self._is_true = is_true
        self._ask = partial(ask, rules=rules)

    def measure(self, subject: Subject, measure: MeasurementRequest) -> MeasurementResult:
        """Measure. Any error is an error of the measurement, never of the agent: providers may be foreign code."""
        secrets = Secrets(subject.namespace, self._read_secret)
        value = ""
        try:
            reading = self._reading(subject, measure, secrets)
            value = _text(reading)
            phase, message = evaluate(measure.metric, reading, partial(self._is_true, subject))
        except MeasuringFailed as error:
            phase, message = AnalysisPhase.ERROR, error.shown(secrets.clean)
        except (NoSuchKey, GitopsBgError) as error:
            phase, message = AnalysisPhase.ERROR, str(error)
        except Exception as error:
            LOGGER.exception("%s", secrets.clean(traceback.format_exc()), exc_info=False)
            phase, message = (
                AnalysisPhase.ERROR,
                f"the provider broke: {type(error).__name__}: {quoted(str(error), secrets.clean)}",
            )
        return MeasurementResult(
            measure.id, phase, self._clock(), shortened(secrets.clean(value)), shortened(secrets.clean(message))
        )

    def _reading(self, subject: Subject, measure: MeasurementRequest, secrets: Secrets) -> Reading:
        provider = self._registry.provider(measure.metric.provider)
        block = secrets.fill(reread_json(measure.metric.query))
        return provider.measure(block, Context(subject, self._clock(), secrets, self._ask))


def _text(reading: Reading) -> str:
    return json.dumps(reading.result, ensure_ascii=False, default=_odd) if isinstance(reading, Value) else ""


def _odd(value: Any) -> str:
    raise MeasuringFailed(f"the provider gave a {type(value).__name__}, which is no JSON")
