"""From analysis blocks, and the templates, to the core's plans. Problems have file and line.

`plans_of` is for apps; release groups have their own (`spec.analysis.plans`), with the same reader.

Templates are those of apps. In place of the digests of one pod template, a group gives the names of its versions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import LATEST, STABLE, MeasurementPlan
from gitops_bg.core.model.analysis import Metric as CoreMetric
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.analysis.block import Analysis, FlaggerAnalysis, RunMetadata, as_it_says, variables
from gitops_bg.spec.analysis.flatten import Flat, Given, Use, flatten, metrics_of
from gitops_bg.spec.analysis.templates import Library
from gitops_bg.spec.app import models
from gitops_bg.spec.groups.models import GroupFields
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")
FLAGGER: Path = ("spec", "analysis")

MOST_KEPT = 500
"""The most measurements of one run, each of at most 400 characters plus overhead."""
MOST_CHARACTERS = 100_000
"""The most characters of all queries and conditions of one run."""


@dataclass(frozen=True, slots=True)
class Plans:
    """The plans of an app, or a release group. ``templates``: all names that they depend on, also of missing ones."""

    before: MeasurementPlan | None = None
    after: MeasurementPlan | None = None
    templates: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
    jobs: MeasurementPlan | None = None
    """The Jobs before the pods of a version."""
    contract: MeasurementPlan | None = None
    """The Jobs once no older version can come back."""


def plans_of(app: AppKey, spec: models.AppFields, document: Document, library: Library) -> Plans:
    """Return the plans of an app; a plan that cannot be made says so, so that nothing is promoted without it."""
    blue_green = spec.strategy.blue_green
    reader = PlanReader(app.namespace, document, library, {"Latest": LATEST, "Stable": STABLE})
    before = reader.argo(blue_green.pre_promotion_analysis, (*BLUE_GREEN, "prePromotionAnalysis"))
    before = before or reader.flagger(app, spec.analysis, blue_green.live_services[0])
    after = reader.argo(blue_green.post_promotion_analysis, (*BLUE_GREEN, "postPromotionAnalysis"))
    return Plans(before, after, frozenset(reader.names), tuple(dict.fromkeys(reader.problems)))


def unknown_plans(spec: models.AppFields, reason: str) -> Plans:
    """Return the plans of an app whose templates cannot be read."""
    blue_green = spec.strategy.blue_green
    before = unknown_plan(blue_green.pre_promotion_analysis, reason) or unknown_plan(spec.analysis, reason)
    unknown, asked = MeasurementPlan(unknown=reason), spec.jobs
    jobs = unknown if asked and asked.before_pods else None
    contract = unknown if asked and asked.after_settled else None
    return Plans(before, unknown_plan(blue_green.post_promotion_analysis, reason), jobs=jobs, contract=contract)


def unknown_plan(block: Analysis | FlaggerAnalysis | None, reason: str) -> MeasurementPlan | None:
    """Return the plan of a block whose templates cannot be read; None where it asks for nothing."""
    return MeasurementPlan(unknown=reason) if _is_asked_for(block) else None


def _is_asked_for(block: Analysis | FlaggerAnalysis | None) -> bool:
    """Return whether a block asks for anything: an empty list of templates counts as no block (argo-rollouts.md
    §1.2).
    """
    items: Sequence[Any] | None = block.templates if isinstance(block, Analysis) else block.metrics if block else None
    return bool(items)


@dataclass(slots=True)
class PlanReader:
    """Reads the blocks of one file, and collects problems. ``hashes`` and ``own`` are those of `Given`."""

    namespace: str
    document: Document
    library: Library
    hashes: Mapping[str, str]
    own: Mapping[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def argo(self, block: Analysis | None, path: Path) -> MeasurementPlan | None:
        """Return the plan of ``prePromotionAnalysis`` or ``postPromotionAnalysis``."""
        if block is None or not _is_asked_for(block):
            return None
        refs = enumerate(block.templates or ())
        uses = [
            Use(ref.template_name, self.document, (*path, "templates", number, "templateName")) for number, ref in refs
        ]
        flat = flatten(uses, self.library, self.namespace)
        rules = enumerate(block.dry_run or ())
        flat.dry_run.extend((rule, self.document, (*path, "dryRun", number, "metricName")) for number, rule in rules)
        limits = enumerate(block.measurement_retention or ())
        flat.retention.extend(
            (rule, self.document, (*path, "measurementRetention", number, "metricName")) for number, rule in limits
        )
        remedy = 'add {{name: {}, value: "…"}}'
        given = Given(block.args or [], self.document, (*path, "args"), remedy, self.hashes, self.own)
        return self._plan(metrics_of(flat, given), flat, path, block.analysis_run_metadata)

    def flagger(self, app: AppKey, block: FlaggerAnalysis | None, service: str) -> MeasurementPlan | None:
        """Return the plan of ``analysis``: each metric has a template of its own (flagger.md §3.3)."""
        if block is None or not _is_asked_for(block):
            return None
        whole = Flat()
        metrics: list[CoreMetric] = []
        for number, asked in enumerate(block.metrics or ()):
            path = (*FLAGGER, "metrics", number)
            if any(asked.name == each.name for each in metrics):
                message = f"there are two metrics called {asked.name}"
                whole.problems.append(self.document.problem((*path, "name"), message, "rename one of them"))
            given = Given(
                variables(asked, app, service),
                self.document,
                (*path, "templateVariables"),
                'add {}: "…"',
                self.hashes,
            )
            found = self._one_metric(whole, Use(asked.template_ref.name, self.document, (*path, "templateRef")), given)
            metrics.extend(as_it_says(block, asked, each) for each in found)
        return self._plan(metrics, whole, FLAGGER, None)

    def _one_metric(self, whole: Flat, use: Use, given: Given) -> list[CoreMetric]:
        """Return the metric of a template with exactly one; its problems are added to ``whole``."""
        flat = flatten([use], self.library, self.namespace)
        found = metrics_of(flat, given)
        if not flat.problems and len(found) != 1:
            message = f"AnalysisTemplate {use.name} has {len(found)} metrics where one is expected"
            flat.problems.append(use.document.problem(use.path, message, "name a template with one metric"))
        whole.names |= flat.names
        whole.problems += flat.problems
        return found

    def _plan(self, metrics: list[CoreMetric], flat: Flat, path: Path, metadata: RunMetadata | None) -> MeasurementPlan:
        self.names |= flat.names
        flat.problems += self._too_large(metrics, path)
        self.problems += flat.problems
        if flat.problems:
            return MeasurementPlan(unknown=str(flat.problems[0]))
        labels, annotations = (metadata.labels, metadata.annotations) if metadata else (None, None)
        return MeasurementPlan(tuple(metrics), labels=_pairs(labels), annotations=_pairs(annotations))

    def _too_large(self, metrics: Sequence[CoreMetric], path: Path) -> Iterator[Problem]:
        """Limit the size of a run: it is in the status, twice where both stages measure, and etcd takes about 1 MiB an
        object.
        """
        kept = sum(metric.retention for metric in metrics)
        said = sum(len(metric.query) + len(metric.success) + len(metric.failure) for metric in metrics)
        if kept > MOST_KEPT:
            message = f"{kept} measurements would be remembered at a time; a status holds {MOST_KEPT}"
            yield self.document.problem(path, message, "lower measurementRetention, or measure less")
        if said > MOST_CHARACTERS:
            message = f"the metrics have more than {MOST_CHARACTERS:,} characters, which is too much for a status"
            yield self.document.problem(
                path, message, "write shorter ones, for example by putting scripts into ConfigMaps"
            )


def _pairs(values: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((values or {}).items()))


TEMPLATES_UNREAD = "the AnalysisTemplates were not read"


def plans_of_group(group: GroupKey, spec: GroupFields, document: Document, library: Library | None) -> Plans:
    """Return the plans of a group; a plan that cannot be made says so, so that nothing is promoted without it.

    Without a ``library`` every plan is unknown.
    """
    blocks = (spec.pre_promotion_analysis, spec.post_promotion_analysis)
    if library is None:
        before, after = (unknown_plan(block, TEMPLATES_UNREAD) for block in blocks)
        return Plans(before, after)
    reader = PlanReader(group.namespace, document, library, hashes={}, own=own_args(group))
    names = ("prePromotionAnalysis", "postPromotionAnalysis")
    before, after = (reader.argo(block, ("spec", name)) for block, name in zip(blocks, names, strict=True))
    return Plans(before, after, frozenset(reader.names), tuple(dict.fromkeys(reader.problems)))


def own_args(group: GroupKey) -> Mapping[str, str]:
    """Return the args that a template may declare without a value, and nobody has to give. The versions are
    placeholders, which the core fills in when a run begins.

    >>> sorted(own_args(GroupKey("shop", "store")))
    ['formerVersion', 'group', 'namespace', 'version']
    """
    return {"group": group.name, "namespace": group.namespace, "version": LATEST, "formerVersion": STABLE}
