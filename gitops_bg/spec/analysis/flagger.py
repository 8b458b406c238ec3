"""Translates Flagger's words for measurements (flagger.md §3.2, §3.3). Reads no template."""

from dataclasses import replace

from gitops_bg.core.model.analysis.metrics import Metric
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.analysis.block import Arg, FlaggerAnalysis, FlaggerMetric, ThresholdRange
from gitops_bg.spec.app.fields import whole_seconds


def outside(good: ThresholdRange) -> str:
    """The CEL that is true of a value outside of Flagger's range, also for a value in a list, or in the lists of a
    range.

    >>> outside(ThresholdRange(min=99)).rpartition(" : ")[2]
    'result < 99.0'
    """
    sides = [f"{{0}} {sign} {float(edge)!r}" for sign, edge in (("<", good.min), (">", good.max)) if edge is not None]
    test = " || ".join(sides)
    each = f"type(each) == list ? each.exists(point, {test.format('point')}) : {test.format('each')}"
    return f"type(result) == list ? result.exists(each, {each}) : {test.format('result')}"


def as_it_says(block: FlaggerAnalysis, asked: FlaggerMetric, metric: Metric) -> Metric:
    """Map iterations → count, threshold → the first failure too many, interval → interval (flagger.md §3.2)."""
    good = asked.threshold_range
    return replace(
        metric,
        name=asked.name,
        interval=whole_seconds(block.interval),
        count=block.iterations,
        failure_limit=block.threshold - 1,
        consecutive_success_limit=0,
        success="" if good else metric.success,
        failure=outside(good) if good else metric.failure,
    )


def variables(asked: FlaggerMetric, app: AppKey, service: str) -> list[Arg]:
    """Flagger's variables as args: those that it sets itself, and ``templateVariables``."""
    own = {"name": app.name, "namespace": app.namespace, "target": app.name, "service": service}
    values = {**own, "interval": str(asked.interval), **(asked.template_variables or {})}
    return [Arg.model_validate({"name": name, "value": value}) for name, value in values.items()]
