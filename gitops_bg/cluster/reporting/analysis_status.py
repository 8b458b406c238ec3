"""The analysis runs as kubectl shows them: counts, verdicts and last answers, without what is only for the agent."""

from collections.abc import Iterable
from datetime import datetime

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.model.analysis_runs import AnalysisRun, MetricRun
from gitops_bg.core.model.record import Record


def runs_of(record: Record) -> list[Object]:
    """`status.analysisRuns`: the last run of each stage and those before that are remembered, the newest first."""
    runs = sorted((*record.analyses.runs, *record.analyses.past), key=_newest_first)
    return [_run(record, run) for run in runs]


def _newest_first(run: AnalysisRun) -> tuple[int, str, int]:
    return -run.rollout, run.stage, -run.attempt


def _run(record: Record, run: AnalysisRun) -> Object:
    version = record.version(run.digest)
    shown: Object = {
        "stage": str(run.stage),
        "version": version.number if version else None,
        "rollout": run.rollout,
        "attempt": run.attempt,
        "finding": str(run.finding),
        "startedAt": _time(run.started_at),
        "finishedAt": _time(run.finished_at),
        "labels": dict(run.labels) or None,
        "annotations": dict(run.annotations) or None,
        "metrics": [_metric(one) for one in run.metrics],
    }
    return _present(shown.items())


def _metric(one: MetricRun) -> Object:
    last = one.measurements[-1] if one.measurements else None
    shown: Object = {
        "name": one.metric.name,
        "finding": str(one.finding),
        "count": one.metric.count,
        "successful": one.successful,
        "failed": one.failed,
        "inconclusive": one.inconclusive,
        "error": one.error,
        "dryRun": one.metric.dry_run or None,
        "terminated": one.terminated or None,
        "value": (last.value if last else "") or None,
        "message": (last.message if last else "") or None,
        "measuredAt": _time(one.last_at),
    }
    return _present(shown.items())


def _present(items: Iterable[tuple[str, object]]) -> Object:
    return {key: value for key, value in items if value is not None}


def _time(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None
