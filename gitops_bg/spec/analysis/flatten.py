"""Flattens the templates that an analysis names into one: nested ones included, args and metrics merged.

The rules are those of Argo Rollouts (`FlattenTemplates`, argo-rollouts.md §3): every template counts once, names of
metrics are unique, two different defaults of an arg are refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.analysis.block import DryRun, MeasurementRetention, TemplateArg
from gitops_bg.spec.analysis.template_index import Library, Template
from gitops_bg.spec.analysis.templates import Metric
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document


@dataclass(frozen=True, slots=True)
class Use:
    """A place that names a template; problems with the template are reported there."""

    name: str
    document: Document
    path: Path


@dataclass(frozen=True, slots=True)
class Placed:
    """A metric with its place."""

    metric: Metric
    template: Template
    number: int

    def problem(self, message: str, remedy: str = "", *path: str | int) -> Problem:
        """A problem with the metric, in its own file."""
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
