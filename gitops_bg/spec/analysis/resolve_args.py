"""From flattened templates, and the args given to them, to the core's metrics. Problems go to `Flat.problems`."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitops_bg.core.model.analysis.metrics import Metric as CoreMetric
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.analysis.args import SECRET, NoValue, filled, left_open, value_of
from gitops_bg.spec.analysis.block import Arg, DryRun, MeasurementRetention
from gitops_bg.spec.analysis.flagger import outside
from gitops_bg.spec.analysis.flatten import Flat, Placed
from gitops_bg.spec.analysis.templates import Metric
from gitops_bg.spec.app.fields import is_open, whole_seconds
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.patterns import compile_pattern
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document

RETENTION = 10
"""How many measurements are remembered by default (argo-rollouts.md §3)."""
_TYPED = (
    "interval",
    "initialDelay",
    "count",
    "failureLimit",
    "inconclusiveLimit",
    "consecutiveErrorLimit",
    "consecutiveSuccessLimit",
)
"""Fields of a metric that are no text once its args are filled in."""


@dataclass(frozen=True, slots=True)
class Given:
    """The args that an app, or a release group, gives, and their place, where problems with them are reported."""

    args: Sequence[Arg]
    document: Document
    path: Path
    remedy: str
    """How to give a missing arg; {} stands for its name."""
    hashes: Mapping[str, str]
    """The values of ``podTemplateHashValue``."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Values of args that have none otherwise."""

    def problem(self, message: str, remedy: str, *path: str | int) -> Problem:
        """A problem with the given args, or with one of them."""
        return self.document.problem((*self.path, *path), message, remedy)


def metrics_of(flat: Flat, given: Given) -> list[CoreMetric]:
    """The metrics with their args filled in; none where one of them cannot be used."""
    args = _args(flat, given)
    if flat.problems:
        return []
    found = [_filled(flat, placed, args, given) for placed in flat.metrics]
    metrics = [metric for metric in found if metric]
    _refuse_twins(flat, metrics, given)
    return _retained(flat, _dry(flat, metrics))


def _refuse_twins(flat: Flat, metrics: list[CoreMetric], given: Given) -> None:
    """Report metrics whose names became equal by their args."""
    for name, number in Counter(metric.name for metric in metrics).items():
        if number > 1:
            message = f"with these args there are two metrics called {name}"
            flat.problems.append(given.problem(message, "give the args other values"))


def _args(flat: Flat, given: Given) -> dict[str, str]:
    """The values of the args that the templates declare; others are dropped, as in Argo."""
    named: dict[str, int] = {}
    for number, one in enumerate(given.args):
        if named.setdefault(one.name, number) != number:
            message = f"there are two args called {one.name}"
            flat.problems.append(given.problem(message, "keep one of them", number, "name"))
    values = {}
    for name, declared in flat.args.items():
        arg = given.args[named[name]] if name in named else declared
        if arg.value is None and arg.value_from is None and name in given.own:
            values[name] = given.own[name]
            continue
        if arg.value is None and arg.value_from is None:
            flat.problems.append(given.problem(f"the arg {name} has no value", given.remedy.format(name)))
            continue
        try:
            values[name] = value_of(arg, given.document, given.hashes)
        except NoValue as error:
            place = (named[name],) if name in named else ()
            flat.problems.append(given.problem(f"the arg {name}: {error}", error.remedy, *place))
    return values


def _filled(flat: Flat, placed: Placed, args: Mapping[str, str], given: Given) -> CoreMetric | None:
    written = placed.template.document.value["spec"]["metrics"][placed.number]
    whole = filled(written, args)
    missing, name = left_open(whole), placed.metric.name
    if missing:
        remedy = f"add {{name: {missing}}} to the args of the template"
        flat.problems.append(placed.problem(f"asks for an arg {missing} that no template declares", remedy))
        return None
    if any(SECRET.search(str(item)) for key, item in whole.items() if key != "provider"):
        flat.problems.append(placed.problem("uses a secret outside of provider", "use it in the provider only"))
        return None
    if odd := next((field for field in _TYPED if is_open(whole.get(field))), ""):
        flat.problems.append(placed.problem(f"{whole[odd]!r} names no arg", "write {{args.NAME}}", odd))
        return None
    metric, problems = validate(Metric, Document("", whole))
    if metric is None:
        said = "; ".join(f"{each.field}: {each.message}" if each.field else each.message for each in problems)
        message = f"with these args the metric {name} of AnalysisTemplate {placed.template.name} is wrong: {said}"
        flat.problems.append(given.problem(message, problems[0].remedy))
        return None
    return _metric(metric)


def _metric(metric: Metric) -> CoreMetric:
    success, failure = metric.success_condition or "", metric.failure_condition or ""
    if metric.threshold_range:
        success, failure = "", outside(metric.threshold_range)
    return CoreMetric(
        name=metric.name,
        provider=metric.provider.name,
        query=json.dumps(metric.provider.block, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
        success=success,
        failure=failure,
        interval=whole_seconds(metric.interval or 0),
        initial_delay=whole_seconds(metric.initial_delay),
        count=metric.times,
        failure_limit=int(metric.failure_limit),
        inconclusive_limit=int(metric.inconclusive_limit),
        consecutive_error_limit=int(metric.consecutive_error_limit),
        consecutive_success_limit=max(0, int(metric.consecutive_success_limit)),
        retention=RETENTION,
    )


def _dry(flat: Flat, metrics: list[CoreMetric]) -> list[CoreMetric]:
    for rule, document, path in flat.dry_run:
        found = _found(flat, rule, document, path, metrics)
        metrics = [replace(metric, dry_run=metric.dry_run or metric.name in found) for metric in metrics]
    return metrics


def _retained(flat: Flat, metrics: list[CoreMetric]) -> list[CoreMetric]:
    for rule, document, path in flat.retention:
        found = _found(flat, rule, document, path, metrics)
        metrics = [replace(each, retention=rule.limit) if each.name in found else each for each in metrics]
    return metrics


def _found(
    flat: Flat, rule: DryRun | MeasurementRetention, document: Document, path: Path, metrics: list[CoreMetric]
) -> set[str]:
    """The metrics whose names match a rule anywhere (`GetDryRunMetrics`); a rule without a match is a mistake."""
    matches = compile_pattern(rule.metric_name)
    found = {metric.name for metric in metrics if matches(metric.name)}
    if not found and metrics:
        known = ", ".join(metric.name for metric in metrics)
        message = f"{rule.metric_name!r} finds none of the metrics"
        flat.problems.append(document.problem(path, message, f"known: {known}"))
    return found
