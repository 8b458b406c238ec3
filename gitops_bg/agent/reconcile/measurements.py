"""Combines the ways to measure: providers over HTTP in a pool of their own, Jobs in the cluster. Contains no rule.

A pass asks for `results` before it decides and calls `take` after the record is saved, so a result counts once, and
only with the record that counted it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.agent.reconcile.secret_reading import secret_reader
from gitops_bg.agent.runtime.schedule import Timers
from gitops_bg.analysis.bounded import BoundedConditions
from gitops_bg.analysis.measurements import MeasurementPool, MetricEvaluator
from gitops_bg.analysis.registry import Registry
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.execution.jobs import PROVIDER as JOB
from gitops_bg.core.model.analysis import MeasurementRequest, MeasurementResult, RunRecord
from gitops_bg.core.model.version import AppOrGroup, Subject
from gitops_bg.outbound.addresses import AddressRules


class MeasurementRunner:
    """The measurements of all apps and release groups. ``wake`` has one of them looked at; ``clock`` gives UTC,
    and may be set; ``steady`` only goes on.
    """

    def __init__(  # noqa: PLR0913 - the wiring, by keyword
        self,
        *,
        cluster: Cluster,
        timers: Timers,
        metrics: Metrics,
        wake: Callable[[Subject], None],
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
        threads: int,
        addresses: AddressRules,
    ) -> None:
        self._cluster = cluster
        self._timers = timers
        self._metrics = metrics
        self._conditions = BoundedConditions(steady)
        measuring = MetricEvaluator(Registry(), secret_reader(cluster), clock, self._conditions.is_true, addresses)
        self._measurer = MeasurementPool(measuring.measure, wake, clock, threads, steady=steady)

    def results(self, subject: Subject, record: RunRecord, now: datetime) -> tuple[MeasurementResult, ...]:
        """The results that no saved record contains."""
        return self._measurer.results(subject) + self._cluster.measured(subject, record, now)

    def update(
        self, subject: AppOrGroup, record: RunRecord, measures: Sequence[MeasurementRequest], now: datetime
    ) -> None:
        """Begin the measurements that are due by the saved record; end those that it does not ask for."""
        self._cluster.measure(subject, record, measures, now)
        self._timers.schedule(subject, self._measurer.update(subject, _without_jobs(measures)), "measure")

    def counted(
        self,
        subject: AppOrGroup,
        before: RunRecord,
        results: Sequence[MeasurementResult],
        still_due: Sequence[MeasurementRequest],
    ) -> None:
        """Report the results that a saved record has counted to the metrics."""
        waiting = {measure.id for measure in still_due}
        providers = {
            (run.stage, one.metric.name): one.metric.provider for run in before.analyses.runs for one in run.metrics
        }
        for result in results:
            if result.id not in waiting:
                provider = providers.get((result.id.stage, result.id.metric), "")
                self._metrics.measured(subject, provider, result)

    def forget(self, subject: AppOrGroup) -> None:
        """End the measurements of what is deleted."""
        self._timers.schedule(subject, None, "measure")
        self._measurer.forget(subject)

    def stop(self) -> None:
        """Begin no further measurement."""
        self._measurer.stop()
        self._conditions.close()

    @property
    def idle(self) -> bool:
        """Whether no provider is being queried, and every due Job was started; Jobs take their time."""
        return self._measurer.idle and self._cluster.jobs_started


def _without_jobs(measures: Sequence[MeasurementRequest]) -> list[MeasurementRequest]:
    return [measure for measure in measures if measure.metric.provider != JOB]
