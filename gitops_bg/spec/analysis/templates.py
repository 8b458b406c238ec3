"""AnalysisTemplates, the files of ``analysis/``: their schema, with the names and defaults of Argo Rollouts, and all of
a repository by name.

Every metric must end, as blue-green demands. A text with ``{{…}}`` is validated only when its args are known, by the
same schema (`plans`). The rules are those of argo-rollouts.md §3; the templates of Argo Rollouts itself are read as
they are, except for conditions that CEL would read otherwise.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.written import Conflict, DnsLabel, Text
from gitops_bg.spec import expressions
from gitops_bg.spec.analysis.block import DryRun, MeasurementRetention, TemplateArg, TemplateRef, ThresholdRange
from gitops_bg.spec.analysis.providers import ProviderFields
from gitops_bg.spec.app.fields import Limit, Model, OpenPeriod, is_open, whole_seconds
from gitops_bg.spec.app.layout import ANALYSIS_FOLDER
from gitops_bg.spec.app.shared_documents import Item, SharedDocuments, SharedMetadata, load_shared_documents
from gitops_bg.spec.expressions import misread

VARIABLES = ("result",)
"""The variables of conditions."""


def _condition(text: str) -> str:
    """Check an expression, unless it contains args to fill in; placeholders of digests are quoted texts."""
    if "{{args." not in text.replace(" ", ""):
        try:
            expressions.check(text, VARIABLES)
        except expressions.BadExpression as error:
            raise Conflict("", f"is no CEL: {error}", "write a condition such as result < 0.05") from error
    return text


Condition = Annotated[str, AfterValidator(_condition)]


def _edge(value: Any) -> float | str:
    """Return a number, also as text, or text with args to fill in."""
    if is_open(value):
        return str(value)
    try:
        number = float("no" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise PydanticCustomError("edge", "must be a number")
    return number


OpenEdge = Annotated[float, PlainValidator(_edge), WithJsonSchema({"type": ["number", "string"]})]
"""A float, possibly written with args."""


class OpenRange(ThresholdRange):
    """Flagger's range, whose bounds may contain args."""

    min: OpenEdge | None = Field(None, description="The least.")
    max: OpenEdge | None = Field(None, description="The most.")


class TemplateMetric(Model):
    """One metric: what to measure, how often, and which values are good."""

    name: Text = Field(description="What it is called wherever it is shown; no other metric of the run may be.")
    interval: OpenPeriod | None = Field(None, description="The time between two measurements.")
    initial_delay: OpenPeriod = Field(0, description="The time before the first one.")
    count: Limit | None = Field(None, description="How many measurements count; 1 where there is no interval.")
    success_condition: Condition | None = Field(None, description="CEL over result: true is good.")
    failure_condition: Condition | None = Field(None, description="CEL over result: true is bad.")
    threshold_range: OpenRange | None = Field(None, description="Flagger's: a value outside is bad.")
    failure_limit: Limit = Field(0, description="More failures than that fail the metric; -1: none does.")
    inconclusive_limit: Limit = Field(0, description="More inconclusive measurements than that: inconclusive.")
    consecutive_error_limit: Limit = Field(4, description="More errors in a row than that: an error.")
    consecutive_success_limit: Limit = Field(0, description="So many good measurements in a row suffice; 0: never.")
    provider: ProviderFields

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.threshold_range and (self.success_condition or self.failure_condition):
            raise Conflict("thresholdRange", "cannot go together with a condition", "keep one of the two")
        if not is_open(self.count) and not is_open(self.interval):
            self._comes_to_an_end()
        if not any(map(is_open, (self.count, self.failure_limit, self.consecutive_success_limit))):
            self._limits_can_be_reached()
        return self

    def _comes_to_an_end(self) -> None:
        seconds = whole_seconds(self.interval) if self.interval is not None else 0
        if self.count is None and seconds:
            raise Conflict("interval", "without count never ends, and blue-green needs a verdict", "add count: 5")
        if self.count is not None and int(self.count) < 1:
            raise Conflict("count", f"{self.count} is too small", "write 1 or more")
        if self.count is not None and int(self.count) > 1 and not seconds:
            raise Conflict("count", f"{self.count} measurements need the time between them", "add interval: 30s")

    def _limits_can_be_reached(self) -> None:
        """Check that limits are reachable: `ValidateMetric` of Argo Rollouts."""
        count, failures, successes = self.times, max(0, int(self.failure_limit)), int(self.consecutive_success_limit)
        if count < failures + successes:
            summed = "failureLimit + consecutiveSuccessLimit" if successes > 0 else "failureLimit"
            field = "count" if self.count is not None else "failureLimit" if failures else "consecutiveSuccessLimit"
            message = f"the count {count} is less than {summed} ({failures + successes})"
            raise Conflict(field, message, "raise count, or lower the limits")
        if not is_open(self.inconclusive_limit) and count < int(self.inconclusive_limit):
            message = f"{self.inconclusive_limit} is more than the count ({count})"
            raise Conflict("inconclusiveLimit", message, f"write {count} or less")

    @property
    def times(self) -> int:
        """How many measurements count (`EffectiveCount`)."""
        return 1 if self.count is None else int(self.count)


class TemplateSpec(Model):
    """The spec of an AnalysisTemplate."""

    args: list[TemplateArg] | None = None
    metrics: list[TemplateMetric] | None = None
    templates: list[TemplateRef] | None = Field(None, description="Templates whose metrics belong to this one, too.")
    dry_run: list[DryRun] | None = None
    measurement_retention: list[MeasurementRetention] | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.metrics and not self.templates:
            raise Conflict("", "has neither metrics nor templates", "add metrics")
        _refuse_twins("metrics", [metric.name for metric in self.metrics or ()])
        _refuse_twins("args", [arg.name for arg in self.args or ()])
        return self


def _refuse_twins(field: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise Conflict(f"{field}.{number}.name", f"there are two {field} called {name}", "rename one of them")


ARGO = "argoproj.io/v1alpha1"
"""The API version of Argo Rollouts."""


def _refuse_what_is_misread(spec: TemplateSpec) -> None:
    """Raise ``Conflict`` at a condition that Argo Rollouts and CEL answer differently."""
    for number, metric in enumerate(spec.metrics or ()):
        conditions = {"successCondition": metric.success_condition, "failureCondition": metric.failure_condition}
        for field, text in conditions.items():
            if text and (found := misread(text)):
                raise Conflict(f"spec.metrics.{number}.{field}", *found)


class AnalysisTemplate(Model):
    """A document of a file of ``analysis/``. One of Argo Rollouts is accepted unchanged."""

    api_version: Literal["gitops-bg.dev/v1alpha1", "argoproj.io/v1alpha1"]
    kind: Literal["AnalysisTemplate"]
    metadata: SharedMetadata
    spec: TemplateSpec

    @model_validator(mode="after")
    def _means_the_same(self) -> Self:
        if self.api_version == ARGO:
            _refuse_what_is_misread(self.spec)
        return self


class ClusterMetadata(Model):
    """The name of a template for all namespaces."""

    name: DnsLabel
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None

    @property
    def namespace(self) -> None:
        """It is of no namespace."""


class ClusterAnalysisTemplate(Model):
    """Argo Rollouts' template for all namespaces, which is an AnalysisTemplate without a namespace here."""

    api_version: Literal["argoproj.io/v1alpha1"]
    kind: Literal["ClusterAnalysisTemplate"]
    metadata: ClusterMetadata
    spec: TemplateSpec

    @model_validator(mode="after")
    def _means_the_same(self) -> Self:
        _refuse_what_is_misread(self.spec)
        return self


TEMPLATES: Mapping[str, type[AnalysisTemplate | ClusterAnalysisTemplate]] = {
    "AnalysisTemplate": AnalysisTemplate,
    "ClusterAnalysisTemplate": ClusterAnalysisTemplate,
}
"""The model of each kind of a document of ``analysis/``."""


Template = Item[TemplateSpec]
Library = SharedDocuments[TemplateSpec]


def load_templates(files: Mapping[str, bytes | Problem]) -> Library:
    """Return the templates in the files of ``analysis/``, by path. A Problem stands for a file that Git found
    unusable.
    """
    return load_shared_documents(files, ANALYSIS_FOLDER, TEMPLATES)
