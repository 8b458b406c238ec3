"""From what app.yaml says about analysis, and the templates, to the core's plans. Mistakes have file and line."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gitops_bg.core.desired import Problem
from gitops_bg.core.metrics import Metric as CoreMetric
from gitops_bg.core.metrics import Plan
from gitops_bg.core.model import AppKey
from gitops_bg.spec import models
from gitops_bg.spec.analysis_block import (
    Analysis,
    Arg,
    DryRun,
    FlaggerAnalysis,
    FlaggerMetric,
    MeasurementRetention,
    RunMetadata,
    ThresholdRange,
)
from gitops_bg.spec.args import SECRET, NoValue, filled, left_open, value_of
from gitops_bg.spec.fields import whole_seconds
from gitops_bg.spec.flatten import Flat, Placed, Use, flatten
from gitops_bg.spec.library import Library
from gitops_bg.spec.paths import Path
from gitops_bg.spec.templates import Metric
from gitops_bg.spec.validation import validate
from gitops_bg.spec.yamlio import Document

BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")
FLAGGER: Path = ("spec", "analysis")
RETENTION = 10
"""Measurements that are remembered where nothing else is said (argo-rollouts.md §3)."""


@dataclass(frozen=True, slots=True)
class Plans:
    """What an app has measured. ``templates``: all names that this depends on, also of templates that are missing."""

    before: Plan | None = None
    after: Plan | None = None
    templates: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def plans_of(app: AppKey, spec: models.AppSpec, document: Document, library: Library) -> Plans:
    """The plans of an app; one that cannot be made says so, so that nothing is promoted without it."""
    blue_green = spec.strategy.blue_green
    reader = _Reader(app, document, library)
    before = reader.argo(blue_green.pre_promotion_analysis, (*BLUE_GREEN, "prePromotionAnalysis"))
    before = before or reader.flagger(spec.analysis, blue_green.active_service)
    after = reader.argo(blue_green.post_promotion_analysis, (*BLUE_GREEN, "postPromotionAnalysis"))
    return Plans(before, after, frozenset(reader.names), tuple(dict.fromkeys(reader.problems)))


def unknown_plans(spec: models.AppSpec, reason: str) -> Plans:
    """The plans of an app whose templates are out of reach."""
    blue_green = spec.strategy.blue_green
    before = _is_asked_for(blue_green.pre_promotion_analysis) or _is_asked_for(spec.analysis)
    after = _is_asked_for(blue_green.post_promotion_analysis)
    return Plans(Plan(unknown=reason) if before else None, Plan(unknown=reason) if after else None)


def _is_asked_for(block: Analysis | FlaggerAnalysis | None) -> bool:
    """An empty list of templates is as if nothing was said (argo-rollouts.md §1.2)."""
    items: Sequence[Any] | None = block.templates if isinstance(block, Analysis) else block.metrics if block else None
    return bool(items)


@dataclass(slots=True)
class _Reader:
    """Reads the blocks of one app, and collects what is wrong on the way."""

    app: AppKey
    document: Document
    library: Library
    names: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def argo(self, block: Analysis | None, path: Path) -> Plan | None:
        """The plan of ``prePromotionAnalysis`` or ``postPromotionAnalysis``."""
        if block is None or not _is_asked_for(block):
            return None
        refs = enumerate(block.templates or ())
        uses = [
            Use(ref.template_name, self.document, (*path, "templates", number, "templateName")) for number, ref in refs
        ]
        flat = flatten(uses, self.library, self.app.namespace)
        rules = enumerate(block.dry_run or ())
        flat.dry_run.extend((rule, self.document, (*path, "dryRun", number, "metricName")) for number, rule in rules)
        limits = enumerate(block.measurement_retention or ())
        flat.retention.extend(
            (rule, self.document, (*path, "measurementRetention", number, "metricName")) for number, rule in limits
        )
        metrics = self._metrics(flat, block.args or [], path)
        return self._plan(metrics, flat, block.analysis_run_metadata)

    def flagger(self, block: FlaggerAnalysis | None, service: str) -> Plan | None:
        """The plan of ``analysis``: each metric has a template of its own (flagger.md §3.3)."""
        if block is None or not _is_asked_for(block):
            return None
        whole = Flat()
        metrics: list[CoreMetric] = []
        for number, asked in enumerate(block.metrics or ()):
            path = (*FLAGGER, "metrics", number)
            use = Use(asked.template_ref.name, self.document, (*path, "templateRef", "name"))
            flat = flatten([use], self.library, self.app.namespace)
            found = self._metrics(flat, _variables(asked, self.app, service), (*path, "templateVariables"))
            if not flat.problems and len(flat.metrics) != 1:
                message = f"AnalysisTemplate {use.name} has {len(flat.metrics)} metrics where one is expected"
                flat.problems.append(self.document.problem(use.path, message, "name a template with one metric"))
            if any(asked.name == each.name for each in metrics):
                message = f"there are two metrics called {asked.name}"
                flat.problems.append(self.document.problem((*path, "name"), message, "rename one of them"))
            metrics.extend(_as_flagger_says(block, asked, each) for each in found)
            whole.names |= flat.names
            whole.problems += flat.problems
        return self._plan(metrics, whole, None)

    def _plan(self, metrics: list[CoreMetric], flat: Flat, metadata: RunMetadata | None) -> Plan:
        self.names |= flat.names
        self.problems += flat.problems
        if flat.problems:
            return Plan(unknown=str(flat.problems[0]))
        labels, annotations = (metadata.labels, metadata.annotations) if metadata else (None, None)
        return Plan(tuple(metrics), labels=_pairs(labels), annotations=_pairs(annotations))

    def _metrics(self, flat: Flat, given: Sequence[Arg], path: Path) -> list[CoreMetric]:
        """The metrics with their args filled in; none where one of them cannot be used."""
        args = self._args(flat, given, path)
        if flat.problems:
            return []
        found = [self._filled(flat, placed, args, path) for placed in flat.metrics]
        metrics = [metric for metric in found if metric]
        return _retained(flat, _dry(flat, metrics))

    def _args(self, flat: Flat, given: Sequence[Arg], path: Path) -> dict[str, str]:
        """The values of the args that the templates declare; others that were given are dropped, as in Argo."""
        named = {arg.name: (number, arg) for number, arg in enumerate(given)}
        values = {}
        for name, declared in flat.args.items():
            number, arg = named.get(name, (0, declared))
            place = (*path, "args", number) if name in named else (*path, "args")
            if arg.value is None and arg.value_from is None:
                message, remedy = f"the arg {name} has no value", f'add {{name: {name}, value: "…"}}'
                flat.problems.append(self.document.problem(place, message, remedy))
                continue
            try:
                values[name] = value_of(arg, self.document.value)
            except NoValue as error:
                flat.problems.append(
                    self.document.problem(place, f"the arg {name}: {error}", "name a field that is there")
                )
        return values

    def _filled(self, flat: Flat, placed: Placed, args: Mapping[str, str], path: Path) -> CoreMetric | None:
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
        metric, problems = validate(Metric, Document("", whole))
        if metric is None:
            said = "; ".join(f"{each.field}: {each.message}" if each.field else each.message for each in problems)
            message = f"with these args the metric {name} of AnalysisTemplate {placed.template.name} is wrong: {said}"
            flat.problems.append(self.document.problem(path, message, problems[0].remedy))
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


def outside(good: ThresholdRange) -> str:
    """The CEL that is true of a value outside of Flagger's range, also of one in a list, or in the lists of a range.

    >>> outside(ThresholdRange(min=99)).rpartition(" : ")[2]
    'result < 99.0'
    """
    sides = [f"{{0}} {sign} {float(edge)!r}" for sign, edge in (("<", good.min), (">", good.max)) if edge is not None]
    test = " || ".join(sides)
    each = f"type(each) == list ? each.exists(point, {test.format('point')}) : {test.format('each')}"
    return f"type(result) == list ? result.exists(each, {each}) : {test.format('result')}"


def _as_flagger_says(block: FlaggerAnalysis, asked: FlaggerMetric, metric: CoreMetric) -> CoreMetric:
    """iterations → count, threshold → the failure that is one too many, interval → interval (flagger.md §3.2)."""
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


def _variables(asked: FlaggerMetric, app: AppKey, service: str) -> list[Arg]:
    """Flagger's variables as args: those that it sets itself, and ``templateVariables``."""
    own = {"name": app.name, "namespace": app.namespace, "target": app.name, "service": service}
    values = {**own, "interval": str(asked.interval), **(asked.template_variables or {})}
    return [Arg.model_validate({"name": name, "value": value}) for name, value in values.items()]


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
    """The metrics whose name a rule finds anywhere in it (`GetDryRunMetrics`); one that finds none is a mistake."""
    found = {metric.name for metric in metrics if re.search(rule.metric_name, metric.name)}
    if not found and metrics:
        known = ", ".join(metric.name for metric in metrics)
        message = f"{rule.metric_name!r} finds none of the metrics"
        flat.problems.append(document.problem(path, message, f"known: {known}"))
    return found


def _pairs(values: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((values or {}).items()))
