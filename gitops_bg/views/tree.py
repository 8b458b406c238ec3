"""One app as a tree: what stands above it, and its branches with their cells: versions, ReplicaSets, pods, analysis
runs, Services, gates; and the same for programs, with timestamps instead of countdowns.

The columns and signs are those of `kubectl argo rollouts get rollout` (argo-rollouts.md §5.1).
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, MetricRun, due_at
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.spec.codec import to_json
from gitops_bg.views.app import AppView, Pod, ReplicaSet
from gitops_bg.views.rows import tells_branches
from gitops_bg.views.words import age, spoken, style_of, without_repeated_reason

if TYPE_CHECKING:
    from gitops_bg.views.shapes.apps import MetricJson, RunJson, VersionJson

_STAGES = {Stage.ACTIVE: "green", Stage.CANDIDATE: "cyan", Stage.LEGACY: "yellow", Stage.ARCHIVED: "dim"}
_FINDINGS = {AnalysisPhase.SUCCESSFUL: "green", AnalysisPhase.RUNNING: "cyan", AnalysisPhase.INCONCLUSIVE: "yellow"}


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of the tree, and what hangs below it."""

    name: str
    kind: str
    status: str
    age: str = ""
    info: str = ""
    style: str = ""
    children: tuple["Branch", ...] = field(default=())


def root_of(
    app_view: AppView,
    now: datetime,
    *,
    wide: bool = False,
    chosen: int | None = None,
    turned: Container[int] = (),
) -> Branch:
    """Return the whole tree: the gates, then the versions, newest first, then the Services. A version behind that
    serves nobody is one line, unless it is to be ``wide``; of the numbers in ``turned`` it is the other way round. The
    ``chosen`` one stands out.
    """
    row = app_view.row
    children = (
        *(gate_branch(gate, now, _header_lines(app_view)) for gate in app_view.gates),
        *(
            _chosen(branch) if version.number == chosen else branch
            for version in app_view.versions
            for branch in (_version(app_view, version, now, wide=wide, turned=version.number in turned),)
        ),
        *(_service(app_view, role, view) for role, view in app_view.services),
    )
    return Branch(f"⟳ {row.name}", "App", row.phase, age(row.created, now), "", "bold", children)


def _header_lines(app_view: AppView) -> tuple[str, ...]:
    """Return what stands above the tree."""
    return (app_view.row.message, *(each.message for each in app_view.row.demands))


# --- versions ---


def _chosen(branch: Branch) -> Branch:
    return replace(branch, style=f"{branch.style} reverse")


def _version(app_view: AppView, version: Version, now: datetime, *, wide: bool, turned: bool) -> Branch:
    routing = app_view.record.routing
    traffic, replica_sets = version.digest == routing.traffic, app_view.replica_sets_of(version)
    is_behind = version is not app_view.newest and version.digest not in (routing.traffic, routing.preview)
    folded = (is_behind and not wide) is not turned
    pods = (_pods(app_view, version, each, now) for each in replica_sets if each.desired or each.current)
    return Branch(
        f"# {version.name} {version.color}",
        "Version",
        stage_in_a_word(version),
        spoken((now - version.rollout_started_at).total_seconds()),
        ", ".join([*_about(app_view, version), *(pods if folded else ())]),
        "bold green" if traffic else _STAGES[version.stage],
        ()
        if folded
        else (
            *(_replica_set(app_view, version, each, now) for each in replica_sets),
            *(_run(run, now) for run in app_view.runs_of(version)),
        ),
    )


def stage_in_a_word(version: Version) -> str:
    """Return the stage of a version, in a word; a candidate that is no longer wanted is aborted or withdrawn."""
    if version.stage is Stage.CANDIDATE and version.retiring:
        return "aborted" if version.aborted else "withdrawn"
    return str(version.stage)


def _about(app_view: AppView, version: Version) -> Iterator[str]:
    hold = app_view.record.held(version.digest)
    if version.digest == app_view.record.routing.traffic:
        yield "live"
    if version.digest == app_view.record.routing.preview:
        yield "preview"
    if hold:
        yield without_repeated_reason(f"on hold: {hold.why}", _header_lines(app_view))
    if version.failure:
        yield f"failed: {version.failure}"
    if version.source.commit:
        yield f"of {version.source.commit[:10]}"
    if version is app_view.newest:
        yield from map(str, app_view.changes)


# --- what runs ---


def _replica_set(app_view: AppView, version: Version, each: ReplicaSet, now: datetime) -> Branch:
    failed = version.failure and each.status == "Progressing"
    return Branch(
        f"⧉ {each.name}",
        each.kind,
        "Degraded" if failed else each.status,
        age(each.created, now),
        _pods(app_view, version, each, now),
        "red" if failed else {"ScaledDown": "dim", "Progressing": "cyan"}.get(each.status, ""),
        tuple(_pod(pod, now, _header_lines(app_view)) for pod in app_view.pods_of(each)),
    )


def _pods(app_view: AppView, version: Version, each: ReplicaSet, now: datetime) -> str:
    return ", ".join([f"{each.available}/{each.desired} available", *_delay(app_view, version, now)])


def _delay(app_view: AppView, version: Version, now: datetime) -> list[str]:
    """Return how long an old version keeps its pods."""
    if version.stage is Stage.ARCHIVED or not version.retiring or app_view.strategy is None:
        return []
    until = app_view.warm_until(version)
    if until is None:
        return ["delay:none"]
    left = (until - now).total_seconds()
    return [f"delay:{spoken(left)}" if left > 0 else "delay:passed"]


def _pod(pod: Pod, now: datetime, told: Iterable[str]) -> Branch:
    info = f"ready:{pod.ready}/{pod.containers}" + (f", restarts:{pod.restarts}" if pod.restarts else "")
    info += f", {pod.message}" if pod.message and not any(pod.message in each for each in told) else ""
    return Branch(f"□ {pod.name}", "Pod", pod.phase, age(pod.created, now), info, "" if pod.is_ready else "yellow")


def _service(app_view: AppView, role: str, view: ServiceView) -> Branch:
    named = app_view.version_of(view.digest)
    goal = f"{named.name} {named.color}" if named else (view.digest or "somebody else's selector")
    return Branch(f"⇄ {view.name}", "Service", role, "", f"→ {goal}, {view.ready_endpoints} ready endpoints")


# --- what is waited for ---


def _run(run: AnalysisRun, now: datetime) -> Branch:
    attempt = f" #{run.attempt}" if run.attempt > 1 else ""
    return Branch(
        f"α {run.stage.called}{attempt}",
        "AnalysisRun",
        str(run.phase),
        spoken((now - run.started_at).total_seconds()) if run.started_at else "-",
        _counts(*run.metrics) if run.metrics else "waiting for its metrics",
        _FINDINGS.get(run.phase, "red"),
        tuple(_metric(run, one, now) for one in run.metrics),
    )


def _counts(*metrics: MetricRun) -> str:
    """Count passed, failed, inconclusive and erroneous measurements."""
    good, bad = sum(one.successful for one in metrics), sum(one.failed for one in metrics)
    unclear, wrong = sum(one.inconclusive for one in metrics), sum(one.error for one in metrics)
    return f"✔{good} ✖{bad} ?{unclear} ⚠{wrong}"


def _metric(run: AnalysisRun, one: MetricRun, now: datetime) -> Branch:
    due = due_at(run, one)
    last = one.measurements[-1] if one.measurements else None
    about = [f"{_counts(one)} of {one.metric.count}"]
    about += [f"last {last.value or last.message}"] if last and (last.value or last.message) else []
    about += [_next(due, now)] if due else []
    about += ["dry run"] if one.metric.dry_run else []
    return Branch(one.metric.name, "Metric", str(one.phase), "", ", ".join(about), _FINDINGS.get(one.phase, "red"))


def _next(due: datetime, now: datetime) -> str:
    left = (due - now).total_seconds()
    return f"next in {spoken(left)}" if left > 0 else "measuring"


def gate_branch(gate: Mapping[str, Any], now: datetime, told: Iterable[str] = ()) -> Branch:
    """Return a gate of a status, open or shut; without its reason where that was ``told`` above."""
    shut, reason = not gate["open"], without_repeated_reason(gate["reason"], told)
    until = datetime.fromisoformat(gate["until"]) if shut and gate.get("until") else now
    left = f", {spoken((until - now).total_seconds())} left" if until > now else ""
    return Branch(f"⊞ {gate['kind']}", "Gate", "shut" if shut else "open", "", f"{reason}{left}", "red" if shut else "")


_SIGNS = {
    Phase.HEALTHY: "✔",
    Phase.DEGRADED: "✖",
    Phase.INVALID: "✖",
    Phase.SCALED_TO_ZERO: "॥",
    Phase.PAUSED: "॥",
    Phase.WAITING: "॥",
    Phase.SUSPENDED: "॥",
    Phase.AWAITING_PROMOTION: "॥",
    Phase.HELD: "॥",
}
"""The signs of Argo Rollouts; phases in progress have another."""


def header_of(app_view: AppView) -> Iterator[tuple[str, str, str]]:
    """Yield what stands above the tree of an app: a title, the text, its style."""
    row = app_view.row
    yield "Name:", f"{row.namespace}/{row.name}", "bold"
    if tells_branches((row.branch,)):
        yield "Branch:", row.branch, ""
    yield "Phase:", f"{sign_of(row.phase)} {row.phase}", style_of(row.phase)
    if row.message:
        yield "Message:", row.message, ""
    if row.pull_request:
        yield "Pull request:", row.pull_request, ""
    if app_view.strategy:
        yield "Strategy:", ", ".join(_strategy(app_view.strategy)), ""
    for title, image in zip(_titles("Images:"), _images(app_view), strict=False):
        yield title, image, ""
    yield "Replicas:", _replicas(app_view), ""


def sign_of(phase: str) -> str:
    """Return the sign of a phase, as Argo Rollouts shows it; that of progress for one that nobody knows."""
    return _SIGNS.get(Phase(phase), "◌") if phase in set(Phase) else "◌"


def _titles(first: str) -> Iterator[str]:
    """Yield the title for the first of several rows, then blanks."""
    yield first
    while True:
        yield ""


def _strategy(strategy: Strategy) -> Iterator[str]:
    yield "blue-green"
    if not strategy.auto_promotion_enabled:
        yield "promoted by a person"
    elif strategy.auto_promotion_seconds:
        yield f"promoted by itself after {strategy.auto_promotion_seconds} s"
    else:
        yield "promoted by itself"


def _images(app_view: AppView) -> Iterator[str]:
    """Yield the running images, with their roles: ``active``, ``preview``; of other versions those that differ."""
    live = set(images_of(app_view.active)) if app_view.active else set()
    for version in app_view.versions:
        roles = [role for role, digest in _roles(app_view) if digest == version.digest]
        for image in images_of(version):
            differs = version is app_view.active or image not in live
            if differs and (roles or any(each.desired for each in app_view.replica_sets_of(version))):
                yield f"{image} ({', '.join([*roles, str(version.color)])})"


def _roles(app_view: AppView) -> Iterator[tuple[str, str]]:
    yield "active", app_view.record.routing.traffic
    yield "preview", app_view.record.routing.preview


def images_of(version: Version) -> Iterator[str]:
    """Yield the images of a version's containers; none where the template is only in its ReplicaSet."""
    template = reread_json(version.snapshot.text) if version.snapshot.text else {}
    for container in (template.get("spec") or {}).get("containers") or []:
        yield str(container.get("image", ""))


def _replicas(app_view: AppView) -> str:
    """Count as Argo Rollouts does: ready and available pods of the active version, updated pods of the newest."""
    active, newest = app_view.replica_sets_of(app_view.active), app_view.replica_sets_of(app_view.newest)
    autoscaler = app_view.record.last_read.autoscaler
    counts = {
        "desired": sum(each.desired for each in active) if autoscaler else app_view.record.last_read.replicas or 0,
        "current": sum(each.current for each in app_view.replica_sets),
        "updated": sum(each.current for each in newest),
        "ready": sum(each.ready for each in active),
        "available": sum(each.available for each in active),
    }
    listed = "  ".join(f"{name} {count}" for name, count in counts.items())
    by = f" ({autoscaler.minimum} to {autoscaler.maximum} by {autoscaler.copy})" if autoscaler else ""
    return listed + by


def json_tree_of_app(app_view: AppView) -> dict[str, Any]:
    """Return the app, its versions with their ReplicaSets, pods and analysis runs, its Services and its gates."""
    return {
        **app_view.row.json(),
        "versions": [_json_version(app_view, version) for version in app_view.record.versions],
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


def _json_version(app_view: AppView, version: Version) -> "VersionJson":
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
        "analysisRuns": [_json_run(run) for run in app_view.all_runs_of(version)],
    }


def _json_run(run: AnalysisRun) -> "RunJson":
    return {
        "stage": run.stage,
        "rollout": run.rollout,
        "attempt": run.attempt,
        "phase": run.phase,
        "startedAt": _moment(run.started_at),
        "finishedAt": _moment(run.finished_at),
        "metrics": [_json_metric(run, one) for one in run.metrics],
    }


def _json_metric(run: AnalysisRun, one: MetricRun) -> "MetricJson":
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
