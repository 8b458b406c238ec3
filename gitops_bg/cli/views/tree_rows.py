"""What the tree of an app shows, as branches with their cells: versions, ReplicaSets, pods, analysis runs, gates.

The columns and signs are those of `kubectl argo rollouts get rollout` (argo-rollouts.md §5.1). Draws nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.views.app_row import age
from gitops_bg.cli.views.app_view import AppView
from gitops_bg.cli.views.listing import without_what_was_told
from gitops_bg.cli.views.pods import Pod
from gitops_bg.cli.views.replica_sets import ReplicaSet
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun, MetricRun, due_at
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.version import Stage, Version

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


def root_of(app_view: AppView, now: datetime) -> Branch:
    """Return the whole tree: versions newest first, then the Services, then the gates."""
    row = app_view.row
    children = (
        *(_version(app_view, version, now) for version in app_view.versions),
        *(_service(app_view, role, view) for role, view in app_view.services),
        *(gate_branch(gate, now, _told(app_view)) for gate in app_view.gates),
    )
    return Branch(f"⟳ {row.name}", "App", row.phase, age(row.created, now), "", "bold", children)


def _told(app_view: AppView) -> tuple[str, ...]:
    """What stands above the tree."""
    return (app_view.row.message, *(each.message for each in app_view.row.demands))


# --- versions ---


def _version(app_view: AppView, version: Version, now: datetime) -> Branch:
    traffic = version.digest == app_view.record.routing.traffic
    return Branch(
        f"# v{version.number} ({short(version.digest)}) {version.color}",
        "Version",
        standing_of(version),
        spoken((now - version.rollout_started_at).total_seconds()),
        ", ".join(_about(app_view, version)),
        "bold green" if traffic else _STAGES[version.stage],
        (
            *(_replica_set(app_view, version, each, now) for each in app_view.replica_sets_of(version)),
            *(_run(run, now) for run in app_view.runs_of(version)),
        ),
    )


def standing_of(version: Version) -> str:
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
        yield without_what_was_told(f"on hold: {hold.why}", _told(app_view))
    if version.failure:
        yield f"failed: {version.failure}"
    if version.source.commit:
        yield f"of {version.source.commit[:10]}"
    if version is app_view.newest:
        yield from map(str, app_view.changes)


# --- what runs ---


def _replica_set(app_view: AppView, version: Version, each: ReplicaSet, now: datetime) -> Branch:
    failed = version.failure and each.status == "Progressing"
    about = [f"{each.available}/{each.desired} available", *_delay(app_view, version, now)]
    return Branch(
        f"⧉ {each.name}",
        each.kind,
        "Degraded" if failed else each.status,
        age(each.created, now),
        ", ".join(about),
        "red" if failed else {"ScaledDown": "dim", "Progressing": "cyan"}.get(each.status, ""),
        tuple(_pod(pod, now) for pod in app_view.pods_of(each)),
    )


def _delay(app_view: AppView, version: Version, now: datetime) -> list[str]:
    """Return how long an old version keeps its pods."""
    if version.stage is Stage.ARCHIVED or not version.retiring or app_view.strategy is None:
        return []
    until = app_view.warm_until(version)
    if until is None:
        return ["delay:none"]
    left = (until - now).total_seconds()
    return [f"delay:{spoken(left)}" if left > 0 else "delay:passed"]


def _pod(pod: Pod, now: datetime) -> Branch:
    info = f"ready:{pod.ready}/{pod.containers}" + (f", restarts:{pod.restarts}" if pod.restarts else "")
    info += f", {pod.message}" if pod.message else ""
    return Branch(f"□ {pod.name}", "Pod", pod.phase, age(pod.created, now), info, "" if pod.is_ready else "yellow")


def _service(app_view: AppView, role: str, view: ServiceView) -> Branch:
    named = app_view.version_of(view.digest)
    goal = f"v{named.number} ({named.color})" if named else (view.digest or "somebody else's selector")
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
    shut, reason = not gate["open"], without_what_was_told(gate["reason"], told)
    until = datetime.fromisoformat(gate["until"]) if shut and gate.get("until") else now
    left = f", {spoken((until - now).total_seconds())} left" if until > now else ""
    return Branch(f"⊞ {gate['kind']}", "Gate", "shut" if shut else "open", "", f"{reason}{left}", "red" if shut else "")
