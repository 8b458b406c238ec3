"""One app as JSON, for programs: the content of `tree_view`, with timestamps instead of countdowns. Reads nothing."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitops_bg.cli.views.app_view import AppView
from gitops_bg.core.model.analysis.runs import AnalysisRun, MetricRun, due_at
from gitops_bg.core.model.version import Version
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.apps import MetricJson, RunJson, VersionJson


def json_of(app_view: AppView) -> dict[str, Any]:
    """Return the app, its versions with their ReplicaSets, pods and analysis runs, its Services and its gates."""
    return {
        **app_view.row.json(),
        "versions": [_version(app_view, version) for version in app_view.record.versions],
        "services": [
            {
                "role": role,
                "name": view.name,
                "version": getattr(app_view.version_of(view.digest), "number", None),
                "readyEndpoints": view.ready_endpoints,
            }
            for role, view in app_view.services
        ],
        "gates": list(app_view.gates),
    }


def _version(app_view: AppView, version: Version) -> "VersionJson":
    replica_sets = app_view.replica_sets_of(version)
    pods = [pod for each in replica_sets for pod in app_view.pods_of(each)]
    return {
        "version": version.number,
        "digest": version.digest,
        "color": version.color,
        "stage": version.stage,
        "retiring": version.retiring,
        "live": version.digest == app_view.record.routing.traffic,
        "preview": version.digest == app_view.record.routing.preview,
        "onHold": app_view.record.held(version.digest) is not None,
        "failure": version.failure,
        "sourceCommit": version.source.commit,
        "configuration": [to_json(ref) for ref in version.snapshot.configuration],
        "configurationChanges": [to_json(each) for each in app_view.changes] if version is app_view.newest else [],
        "scaleDownAt": _moment(app_view.warm_until(version)),
        "replicaSets": [
            {"name": each.name, "replicas": each.desired, "available": each.available} for each in replica_sets
        ],
        "pods": [
            {
                "name": pod.name,
                "phase": pod.phase,
                "message": pod.message,
                "ready": pod.is_ready,
                "restarts": pod.restarts,
            }
            for pod in pods
        ],
        "analysisRuns": [_run(run) for run in app_view.all_runs_of(version)],
    }


def _run(run: AnalysisRun) -> "RunJson":
    return {
        "stage": run.stage,
        "rollout": run.rollout,
        "attempt": run.attempt,
        "phase": run.phase,
        "startedAt": _moment(run.started_at),
        "finishedAt": _moment(run.finished_at),
        "metrics": [_metric(run, one) for one in run.metrics],
    }


def _metric(run: AnalysisRun, one: MetricRun) -> "MetricJson":
    return {
        "name": one.metric.name,
        "phase": one.phase,
        "count": one.metric.count,
        "successful": one.successful,
        "failed": one.failed,
        "inconclusive": one.inconclusive,
        "error": one.error,
        "dryRun": one.metric.dry_run,
        "terminated": one.terminated,
        "nextAt": _moment(due_at(run, one)),
        "measurements": [to_json(each) for each in one.measurements],
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
