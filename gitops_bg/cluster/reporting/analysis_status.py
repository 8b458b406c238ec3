"""The analysis runs in the status, for kubectl: counts, verdicts and last answers, without the agent's own fields."""

from typing import Any

from gitops_bg.core.model.analysis import Analyses, AnalysisRun, MetricRun
from gitops_bg.core.model.record import Record
from gitops_bg.spec import status as shown
from gitops_bg.spec.status import moment_of


def runs_of(record: Record) -> tuple[shown.AnalysisRun, ...]:
    """`status.analysisRuns`: the last run of each stage and the remembered ones before, the newest first."""

    def shown_of(run: AnalysisRun) -> shown.AnalysisRun:
        version = record.version(run.digest)
        return shown.AnalysisRun(version=version.number if version else None, **facts_of(run))

    return tuple(map(shown_of, newest_first(record.analyses)))


def newest_first(analyses: Analyses) -> list[AnalysisRun]:
    """The last run of each stage, and those before."""
    return sorted((*analyses.runs, *analyses.past), key=_newest_first)


def _newest_first(run: AnalysisRun) -> tuple[int, str, int]:
    return -run.rollout, run.stage, -run.attempt


def facts_of(run: AnalysisRun) -> dict[str, Any]:
    """The fields of a run in the status, but for its version."""
    return {
        "stage": str(run.stage),
        "rollout": run.rollout,
        "attempt": run.attempt,
        "phase": str(run.phase),
        "started_at": moment_of(run.started_at),
        "finished_at": moment_of(run.finished_at),
        "labels": dict(run.labels) or None,
        "annotations": dict(run.annotations) or None,
        "metrics": tuple(_metric(one) for one in run.metrics),
    }


def _metric(one: MetricRun) -> shown.Metric:
    last = one.measurements[-1] if one.measurements else None
    return shown.Metric(
        name=one.metric.name,
        phase=str(one.phase),
        count=one.metric.count,
        successful=one.successful,
        failed=one.failed,
        inconclusive=one.inconclusive,
        error=one.error,
        dry_run=one.metric.dry_run or None,
        terminated=one.terminated or None,
        value=(last.value if last else "") or None,
        message=(last.message if last else "") or None,
        measured_at=moment_of(one.last_at),
    )
