"""The analysis blocks of app.yaml and group.yaml, in the words of Argo Rollouts and of Flagger: their schemas
(argo-rollouts.md §1.2, flagger.md §3), and what Flagger's words mean in those of Argo Rollouts.

Reads no template; `plans` combines them with the templates.
"""

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_bg.core.model.analysis import Metric
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import Conflict, Positive, Text
from gitops_bg.spec.app.fields import Model, Period, SecretKeyRef, Word, whole_seconds
from gitops_bg.spec.expressions import BadExpression, compile_pattern
from gitops_bg.spec.notifications import AlertEntry, Webhook, check_alert_names

MOST_MEASUREMENTS = 100
"""The most measurements of a metric in a record; a status must stay far below the limit of etcd."""


def _pattern(text: str) -> str:
    try:
        compile_pattern(text)
    except BadExpression as error:
        raise Conflict("", str(error), 'write the name of a metric, or ".*" for all') from error
    return text


MetricPattern = Annotated[Text, AfterValidator(_pattern)]


class FieldRef(Model):
    """One field of the file that names the template."""

    field_path: Text = Field(description="Such as metadata.name, or metadata.labels['team'].")


class ArgSource(Model):
    """Where the value of an arg comes from: exactly one of these."""

    pod_template_hash_value: Literal["Latest", "Stable"] | None = Field(
        None,
        description="The short digest of the version that is measured, or of the one that serves before it. "
        "Not in a release group: its templates declare the args version and formerVersion.",
    )
    field_ref: FieldRef | None = Field(None, description="A field of app.yaml, or of group.yaml.")
    secret_key_ref: SecretKeyRef | None = Field(None, description="A Secret; never shown, logged or remembered.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [self.pod_template_hash_value, self.field_ref, self.secret_key_ref]
        if sum(each is not None for each in given) != 1:
            names = "podTemplateHashValue, fieldRef and secretKeyRef"
            raise Conflict("", f"must have exactly one of {names}", "write podTemplateHashValue: Latest")
        return self


class TemplateArg(Model):
    """An arg that a template declares; without a value, the user of the template must give one."""

    name: Word = Field(description="Written {{args.NAME}} in metrics.")
    value: str | None = Field(None, description="Its value, unless the app gives another.")
    value_from: ArgSource | None = Field(None, description="Where its value comes from.")

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.value is not None and self.value_from is not None:
            raise Conflict("", "has value and valueFrom", "keep one of them")
        return self


class Arg(TemplateArg):
    """An arg that an app gives to its templates."""

    @model_validator(mode="after")
    def _given(self) -> Self:
        if self.value is None and self.value_from is None:
            raise Conflict("", f"gives {self.name} no value", "add value, or valueFrom")
        return self


class TemplateRef(Model):
    """The template to use."""

    template_name: Text = Field(description="The name of an AnalysisTemplate in analysis/.")
    cluster_scope: bool = Field(
        False, description="As in Argo Rollouts, and without effect: templates are those of this repository."
    )


class DryRun(Model):
    """Metrics that are measured without effect on the verdict."""

    metric_name: MetricPattern = Field(description="A regular expression (RE2's syntax) that finds names of metrics.")


class MeasurementRetention(Model):
    """How many measurements of a metric are remembered."""

    metric_name: MetricPattern = Field(description="A regular expression (RE2's syntax) that finds names of metrics.")
    limit: Annotated[int, Field(ge=1, le=MOST_MEASUREMENTS)] = Field(
        description=f"The newest so many; from 1 to {MOST_MEASUREMENTS}. 10 where nothing is said."
    )


class RunMetadata(Model):
    """Labels and annotations of the runs."""

    labels: dict[str, str] | None = Field(None, description="Shown with the run in the status.")
    annotations: dict[str, str] | None = Field(None, description="Shown with the run in the status.")


class Analysis(Model):
    """The measurements before a promotion, or after it."""

    templates: list[TemplateRef] | None = Field(
        None, description="The templates whose metrics are measured, all at the same time; none: no analysis."
    )
    args: list[Arg] | None = Field(None, description="Values for the args that the templates declare.")
    dry_run: list[DryRun] | None = Field(None, description="Metrics that are measured without effect on the verdict.")
    measurement_retention: list[MeasurementRetention] | None = Field(
        None, description="How many measurements are remembered."
    )
    analysis_run_metadata: RunMetadata | None = Field(None, description="Labels and annotations of the runs.")


class ThresholdRange(Model):
    """The range of good values, as in Flagger; any other value is a failure."""

    min: float | None = Field(None, description="The least.")
    max: float | None = Field(None, description="The most.")

    @model_validator(mode="after")
    def _is_range(self) -> Self:
        if self.min is None and self.max is None:
            raise Conflict("", "has neither min nor max", "add one of them")
        if isinstance(self.min, float) and isinstance(self.max, float) and self.min > self.max:
            raise Conflict("min", f"{self.min:g} is more than max ({self.max:g})", "exchange the two")
        return self


class MetricTemplateRef(Model):
    """The template that measures a metric."""

    name: Text = Field(description="The name of an AnalysisTemplate in analysis/ that has one metric.")
    namespace: str | None = Field(
        None, description="As in Flagger, and without effect: templates are those of this repository."
    )


class FlaggerMetric(Model):
    """One metric of Flagger's analysis."""

    name: Text = Field(description="What the metric is called.")
    template_ref: MetricTemplateRef = Field(description="What measures it.")
    threshold_range: ThresholdRange | None = Field(
        None, description="The good values; in place of the conditions of the template."
    )
    interval: Period = Field("1m", description="The arg `interval` of the template: how far back a query looks.")
    template_variables: dict[Word, str] | None = Field(
        None, description="More args of the template, beside name, namespace, target, service and interval."
    )


MOST_RUNS = 50
"""The most runs of each kind; ``core.model.analysis`` limits their size as well."""

RunLimit = Annotated[int, Field(ge=0, le=MOST_RUNS)]


class FlaggerAnalysis(Model):
    """The measurements before a promotion in Flagger's words, and Argo Rollouts' limits of the history of all runs."""

    successful_run_history_limit: RunLimit = Field(
        5,
        description="How many analysis runs that ended well are remembered, with their Jobs, beside the last one "
        f"before and after promotion; at most {MOST_RUNS}. Default 5.",
    )
    unsuccessful_run_history_limit: RunLimit = Field(
        5, description="The same for runs that failed, had errors, or were inconclusive. Default 5."
    )

    interval: Period = Field("60s", description="The time between two measurements of a metric.")
    threshold: Positive = Field(
        1, description="So many failed measurements of one metric fail the analysis: failureLimit + 1."
    )
    iterations: Positive = Field(10, description="How often each metric is measured: count.")
    metrics: list[FlaggerMetric] | None = Field(None, description="What is measured.")
    webhooks: list[Webhook] | None = Field(
        None,
        description="Hooks, as strategy.blueGreen.webhooks; the interval, iterations and threshold of this analysis "
        "are theirs where they have none of their own.",
    )

    alerts: list[AlertEntry] | None = Field(
        None,
        description="Who is told what happens; instead of the alerts of gitops-bg.yaml, see docs/features/alerts.md.",
    )

    @property
    def speaks_of_measuring(self) -> bool:
        """Whether the block contains measurements of Flagger, and not only history limits and alerts."""
        return bool(
            self.model_fields_set - {"successful_run_history_limit", "unsuccessful_run_history_limit", "alerts"}
        )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.threshold > self.iterations:
            message = f"{self.threshold} is more than iterations ({self.iterations}), so nothing could fail"
            raise Conflict("threshold", message, f"write {self.iterations} or less")
        if self.iterations > 1 and whole_seconds(self.interval) == 0:
            raise Conflict("interval", "is 0, but there are several iterations", "write 30s")
        check_alert_names(self.alerts or ())
        return self


# --- what Flagger's words for measurements mean (flagger.md §3.2, §3.3) ---


def outside(good: ThresholdRange) -> str:
    """Return the CEL that is true of a value outside of Flagger's range, also for a value in a list, or in the lists of
    a range.

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
    """Return Flagger's variables as args: those that it sets itself, and ``templateVariables``."""
    own = {"name": app.name, "namespace": app.namespace, "target": app.name, "service": service}
    values = {**own, "interval": str(asked.interval), **(asked.template_variables or {})}
    return [Arg.model_validate({"name": name, "value": value}) for name, value in values.items()]
