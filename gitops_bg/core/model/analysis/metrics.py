"""What an analysis measures: metrics with their limits, as one plan. Frozen data; nothing is measured or judged here.

The rules are those of Argo Rollouts (argo-rollouts.md §3).
"""

from dataclasses import dataclass, replace
from enum import StrEnum

LATEST = "{{podTemplateHash.Latest}}"
STABLE = "{{podTemplateHash.Stable}}"
"""Placeholders in a plan for the digests of the candidate and of the serving version, until a run begins."""


class AnalysisStage(StrEnum):
    """When a run measures: before traffic moves, or after."""

    PRE = "pre"
    POST = "post"

    @property
    def called(self) -> str:
        """The name of the analysis in a sentence."""
        return f"{self.value}-promotion analysis"


class AnalysisPhase(StrEnum):
    """The result of a measurement, a metric or a run; of many, the worst wins (argo-rollouts.md §3)."""

    RUNNING = "Running"
    SUCCESSFUL = "Successful"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. Times in seconds; a limit of -1 means no limit, but for the limits in a row 0 does.

    ``query`` is the provider's settings as canonical JSON: the core only carries it.
    """

    name: str
    provider: str
    query: str = "{}"
    success: str = ""
    """CEL over ``result``; empty: every value that does not fail is a success."""
    failure: str = ""
    interval: int = 0
    initial_delay: int = 0
    count: int = 1
    failure_limit: int = 0
    inconclusive_limit: int = 0
    consecutive_error_limit: int = 4
    consecutive_success_limit: int = 0
    dry_run: bool = False
    retention: int = 10

    def between(self, latest: str, stable: str) -> "Metric":
        """The metric for two versions, given by the short digests in their pods' labels."""
        texts = (self.query, self.success, self.failure)
        query, success, failure = (text.replace(LATEST, latest).replace(STABLE, stable) for text in texts)
        return replace(self, query=query, success=success, failure=failure)


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """All metrics of one stage. ``unknown`` says why they cannot be known now; no run may begin then."""

    metrics: tuple[Metric, ...] = ()
    unknown: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    """`analysisRunMetadata`: shown with the run, without effect."""
