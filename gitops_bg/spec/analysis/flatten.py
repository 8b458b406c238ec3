"""From the templates that an analysis names, and the args given to them, to the core's metrics: nested templates
included, args filled in. Reads no Secret; problems go to `Flat.problems`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import Metric
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.analysis.block import Arg, ArgSource, DryRun, MeasurementRetention, TemplateArg, outside
from gitops_bg.spec.analysis.templates import Library, Template, TemplateMetric
from gitops_bg.spec.app.fields import is_open, whole_seconds
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.expressions import compile_pattern
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

# --- args: ``{{args.NAME}}`` in every text of a metric ---
# A secret stays a reference, ``{{secret:NAME/KEY}}``, which is resolved only when the metric is measured; digests stay
# placeholders, which the core fills in when a run begins.

SECRET = re.compile(r"\{\{secret:[^}]*\}\}")
_ARG = re.compile(r"\{\{\s*args\.([A-Za-z0-9_-]+)\s*\}\}", re.ASCII)
_STEP = re.compile(r"""\.?(?P<name>[A-Za-z_][\w-]*)|\[(?P<number>\d+)\]|\[(["'])(?P<key>[^"']+)\3\]""", re.ASCII)


class MissingArg(Exception):
    """An arg has no value; says why, and what would be right."""

    def __init__(self, message: str, remedy: str = "name a field that is there") -> None:
        super().__init__(message)
        self.remedy = remedy


def value_of(arg: TemplateArg, document: Document, hashes: Mapping[str, str]) -> str:
    """Return the text of an arg. ``document`` is app.yaml or group.yaml, ``hashes`` the values of
    ``podTemplateHashValue``.

    Raises ``MissingArg``.
    """
    if arg.value_from is None:
        return arg.value or ""
    return _from(arg.value_from, document, hashes)


def _from(source: ArgSource, document: Document, hashes: Mapping[str, str]) -> str:
    if source.secret_key_ref is not None:
        return f"{{{{secret:{source.secret_key_ref.name}/{source.secret_key_ref.key}}}}}"
    if source.field_ref is not None:
        return field_of(document.value, source.field_ref.field_path, document.file.rpartition("/")[2])
    name = source.pod_template_hash_value or ""
    if name not in hashes:
        remedy = "let the template declare the args version and formerVersion, without a value"
        raise MissingArg("a release group has no pod template of its own, so no podTemplateHashValue", remedy)
    return hashes[name]


def field_of(written: Mapping[str, Any], path: str, file: str) -> str:
    """Return the text of one field of a file. Raises ``MissingArg`` where the field does not exist.

    >>> field_of({"metadata": {"labels": {"app.io/team": "blue"}}}, "metadata.labels['app.io/team']", "app.yaml")
    'blue'
    >>> field_of({"spec": {"list": [1, True]}}, "spec.list[1]", "app.yaml")
    'true'
    """
    steps = list(_STEP.finditer(path))
    if "".join(step[0] for step in steps) != path:
        raise MissingArg(f"{path!r} is no path such as metadata.labels['team']")
    value: Any = written
    for step in steps:
        try:
            value = value[int(step["number"])] if step["number"] else value[step["key"] or step["name"]]
        except (KeyError, IndexError, TypeError) as error:
            raise MissingArg(f"{file} has no field {path}") from error
    if isinstance(value, dict | list) or value is None:
        raise MissingArg(f"the field {path} of {file} is not one text, number or truth value")
    return str(value).lower() if isinstance(value, bool) else str(value)


def filled(value: Any, args: Mapping[str, str]) -> Any:
    """Fill the args in a JSON value; args without a value stay as they are.

    >>> filled({"url": "http://{{args.host}}/{{ args.path }}"}, {"host": "web", "path": "ready"})
    {'url': 'http://web/ready'}
    """
    if isinstance(value, str):
        return _ARG.sub(lambda found: args.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return {key: filled(item, args) for key, item in value.items()}
    return [filled(item, args) for item in value] if isinstance(value, list) else value


def left_open(value: Any) -> str:
    """Return the name of an arg that a JSON value still contains, or empty."""
    if isinstance(value, str):
        found = _ARG.search(value)
        return found[1] if found else ""
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((name for item in items if (name := left_open(item))), "")


# --- many templates as one ---
# The rules are those of Argo Rollouts (`FlattenTemplates`, argo-rollouts.md §3): every template counts once, names of
# metrics are unique, two different defaults of an arg are refused.


@dataclass(frozen=True, slots=True)
class Use:
    """A place that names a template; problems with the template are reported there."""

    name: str
    document: Document
    path: Path


@dataclass(frozen=True, slots=True)
class Placed:
    """A metric with its place."""

    metric: TemplateMetric
    template: Template
    number: int

    def problem(self, message: str, remedy: str = "", *path: str | int) -> Problem:
        """Return a problem with the metric, in its own file."""
        return self.template.document.problem(("spec", "metrics", self.number, *path), message, remedy)


@dataclass(slots=True)
class Flat:
    """The result so far. ``names`` includes missing templates: the app waits for those as well."""

    names: set[str] = field(default_factory=set)
    args: dict[str, TemplateArg] = field(default_factory=dict)
    metrics: list[Placed] = field(default_factory=list)
    dry_run: list[tuple[DryRun, Document, Path]] = field(default_factory=list)
    retention: list[tuple[MeasurementRetention, Document, Path]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def flatten(uses: Sequence[Use], library: Library, namespace: str) -> Flat:
    """Flatten the templates that ``uses`` name, and those that they name, into one."""
    flat = Flat()
    for use in uses:
        _add(flat, use, library, namespace)
    return flat


def _add(flat: Flat, use: Use, library: Library, namespace: str) -> None:
    if use.name in flat.names:
        return
    flat.names.add(use.name)
    template = library.items.get(use.name)
    refused = list(_refused(use, template, library, namespace))
    flat.problems.extend(refused)
    if template is None or template.spec is None or refused:
        return
    _add_content(flat, template, use)
    for number, nested in enumerate(template.spec.templates or ()):
        path = ("spec", "templates", number, "templateName")
        _add(flat, Use(nested.template_name, template.document, path), library, namespace)


def _refused(use: Use, template: Template | None, library: Library, namespace: str) -> Iterator[Problem]:
    if template is None:
        known = ", ".join(sorted(library.items)) or "none"
        yield use.document.problem(
            use.path, f"there is no AnalysisTemplate {use.name} in analysis/", f"add it; known: {known}"
        )
        yield from library.problems
    elif template.problems:
        yield from template.problems
    elif template.namespace not in (None, namespace):
        message = f"AnalysisTemplate {use.name} is for the namespace {template.namespace} only"
        yield use.document.problem(use.path, message, "remove the namespace from its metadata, or use another")


def _add_content(flat: Flat, template: Template, use: Use) -> None:
    spec, document = template.spec, template.document
    if spec is None:
        return
    for arg in spec.args or ():
        _add_arg(flat, arg, use)
    for number, metric in enumerate(spec.metrics or ()):
        _add_metric(flat, Placed(metric, template, number), use)
    for number, rule in enumerate(spec.dry_run or ()):
        flat.dry_run.append((rule, document, ("spec", "dryRun", number, "metricName")))
    for number, kept in enumerate(spec.measurement_retention or ()):
        flat.retention.append((kept, document, ("spec", "measurementRetention", number, "metricName")))


def _add_arg(flat: Flat, arg: TemplateArg, use: Use) -> None:
    known = flat.args.get(arg.name)
    if known is None or not _has_value(known):
        flat.args[arg.name] = arg
    elif _has_value(arg) and arg != known:
        message = f"the arg {arg.name} of AnalysisTemplate {use.name} has another default than before"
        flat.problems.append(
            use.document.problem(use.path, message, "rename one of the args, or give both one default")
        )


def _has_value(arg: TemplateArg) -> bool:
    return arg.value is not None or arg.value_from is not None


def _add_metric(flat: Flat, placed: Placed, use: Use) -> None:
    name = placed.metric.name
    if any(each.metric.name == name for each in flat.metrics):
        message = f"the metric {name} of AnalysisTemplate {use.name} is there already"
        flat.problems.append(use.document.problem(use.path, message, "rename one of the metrics"))
        return
    flat.metrics.append(placed)


# --- the core's metrics ---

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
        """Return a problem with the given args, or with one of them."""
        return self.document.problem((*self.path, *path), message, remedy)


def metrics_of(flat: Flat, given: Given) -> list[Metric]:
    """Return the metrics with their args filled in; none where one of them cannot be used."""
    args = _args(flat, given)
    if flat.problems:
        return []
    found = [_filled(flat, placed, args, given) for placed in flat.metrics]
    metrics = [metric for metric in found if metric]
    _refuse_twins(flat, metrics, given)
    return _retained(flat, _dry(flat, metrics))


def _refuse_twins(flat: Flat, metrics: list[Metric], given: Given) -> None:
    """Report metrics whose names became equal by their args."""
    for name, number in Counter(metric.name for metric in metrics).items():
        if number > 1:
            message = f"with these args there are two metrics called {name}"
            flat.problems.append(given.problem(message, "give the args other values"))


def _args(flat: Flat, given: Given) -> dict[str, str]:
    """Return the values of the args that the templates declare; others are dropped, as in Argo."""
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
        except MissingArg as error:
            place = (named[name],) if name in named else ()
            flat.problems.append(given.problem(f"the arg {name}: {error}", error.remedy, *place))
    return values


def _filled(flat: Flat, placed: Placed, args: Mapping[str, str], given: Given) -> Metric | None:
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
    metric, problems = validate(TemplateMetric, Document("", whole))
    if metric is None:
        said = "; ".join(f"{each.field}: {each.message}" if each.field else each.message for each in problems)
        message = f"with these args the metric {name} of AnalysisTemplate {placed.template.name} is wrong: {said}"
        flat.problems.append(given.problem(message, problems[0].remedy))
        return None
    return _metric(metric)


def _metric(metric: TemplateMetric) -> Metric:
    success, failure = metric.success_condition or "", metric.failure_condition or ""
    if metric.threshold_range:
        success, failure = "", outside(metric.threshold_range)
    return Metric(
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


def _dry(flat: Flat, metrics: list[Metric]) -> list[Metric]:
    for rule, document, path in flat.dry_run:
        found = _found(flat, rule, document, path, metrics)
        metrics = [replace(metric, dry_run=metric.dry_run or metric.name in found) for metric in metrics]
    return metrics


def _retained(flat: Flat, metrics: list[Metric]) -> list[Metric]:
    for rule, document, path in flat.retention:
        found = _found(flat, rule, document, path, metrics)
        metrics = [replace(each, retention=rule.limit) if each.name in found else each for each in metrics]
    return metrics


def _found(
    flat: Flat, rule: DryRun | MeasurementRetention, document: Document, path: Path, metrics: list[Metric]
) -> set[str]:
    """Return the metrics whose names match a rule anywhere (`GetDryRunMetrics`); a rule without a match is a
    mistake.
    """
    matches = compile_pattern(rule.metric_name)
    found = {metric.name for metric in metrics if matches(metric.name)}
    if not found and metrics:
        known = ", ".join(metric.name for metric in metrics)
        message = f"{rule.metric_name!r} finds none of the metrics"
        flat.problems.append(document.problem(path, message, f"known: {known}"))
    return found
