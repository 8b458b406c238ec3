"""What an analysis is to measure: metrics with their limits, as one plan. Frozen data; it measures and judges nothing.

The rules are those of Argo Rollouts (argo-rollouts.md §3).
"""

from dataclasses import dataclass, replace
from enum import StrEnum

LATEST = "{{podTemplateHash.Latest}}"
STABLE = "{{podTemplateHash.Stable}}"
"""What stands in a plan for the digests of the candidate and of what serves, until a run begins."""


class AnalysisStage(StrEnum):
    """When a run measures: before traffic moves, or after."""

    PRE = "pre"
    POST = "post"

    @property
    def called(self) -> str:
        """How sentences name it."""
        return f"{self.value}-promotion analysis"


class AnalysisPhase(StrEnum):
    """What a measurement, a metric or a run came to; of many, the worst wins (argo-rollouts.md §3)."""

    RUNNING = "Running"
    SUCCESSFUL = "Successful"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. Times in seconds; a limit of -1 is none, except for the limits in a row, where 0 is none.

    ``query`` is the provider's settings as canonical JSON: the core only carries it.
    """

    name: str
    provider: str
    query: str = "{}"
    success: str = ""
    """CEL over ``result``; empty: anything that does not fail is good."""
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
        """The metric for two versions, known by the short digests that their pods are labelled with."""
        texts = (self.query, self.success, self.failure)
        query, success, failure = (text.replace(LATEST, latest).replace(STABLE, stable) for text in texts)
        return replace(self, query=query, success=success, failure=failure)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one stage measures. ``unknown`` says why that is not known just now; then nothing may begin."""

    metrics: tuple[Metric, ...] = ()
    unknown: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    """`analysisRunMetadata`: shown with the run, and without effect."""
