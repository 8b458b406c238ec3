"""`tree`: an app with its versions, ReplicaSets, pods, Services and gates. Reads the live objects; decides nothing."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text
from rich.tree import Tree

from gitops_bg.cli.durations import spoken
from gitops_bg.cli.errors import NoSuch
from gitops_bg.cli.glance import Row, age, row_of
from gitops_bg.cli.options import App, LiveOptions
from gitops_bg.cli.output import Output, said
from gitops_bg.cli.pods import Pod, pods_of
from gitops_bg.cli.session import Session
from gitops_bg.cluster.kinds import APPS
from gitops_bg.core.digest import short
from gitops_bg.core.model import AppKey, Stage, Version
from gitops_bg.core.observed import Observed, ServiceView
from gitops_bg.core.record import Record
from gitops_bg.spec.load import app_config_from_live

_STAGES = {Stage.ACTIVE: "green", Stage.CANDIDATE: "cyan", Stage.LEGACY: "yellow", Stage.ARCHIVED: "dim"}


class _Sight:
    """All that the tree shows of one app, read once."""

    def __init__(self, session: Session, app: AppKey) -> None:
        body = session.cluster.client.get(APPS, app.namespace, app.name)
        if body is None:
            raise NoSuch(f"the cluster runs no app {app}")
        self.now: datetime = session.now
        self.row: Row = row_of(body)
        self.gates: list[dict[str, Any]] = (body.get("status") or {}).get("gates") or []
        self.record: Record = session.cluster.record(app)
        config = app_config_from_live(app, body)
        self.observed: Observed = session.cluster.observe(app, config, self.record)
        self.pods: list[Pod] = pods_of(session.cluster, app)

    def services(self) -> Iterator[tuple[str, ServiceView]]:
        """The Services by role."""
        for role, view in (("active", self.observed.active_service), ("preview", self.observed.preview_service)):
            if view is not None:
                yield role, view

    def version_of(self, short_digest: str) -> Version | None:
        """The version that a selector names."""
        return next((each for each in self.record.versions if short(each.digest) == short_digest), None)


def tree(app: App, at: LiveOptions) -> None:
    """Show an app as a tree: versions with their ReplicaSets and pods, Services, gates.

    Example: gitops-bg tree shop/web
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        sight = _Sight(session, session.app(app))
    if output.json:
        output.data(_json(sight))
    else:
        output.show(_tree(sight))


def _tree(sight: _Sight) -> Tree:
    row = sight.row
    root = Tree(said(f"{row.namespace}/{row.name}  {row.phase}  {row.message}", "bold"))
    for version in sorted(sight.record.versions, key=lambda each: -each.number):
        _add_version(root, sight, version)
    for role, view in sight.services():
        named = sight.version_of(view.digest)
        goal = f"v{named.number} ({named.color})" if named else (view.digest or "somebody else's selector")
        root.add(said(f"Service {view.name} ({role}) → {goal}, {view.ready_endpoints} ready endpoints"))
    if sight.gates:
        branch = root.add(said("gates"))
        for gate in sight.gates:
            branch.add(said(f"{'open' if gate['open'] else 'shut'} {gate['kind']}: {gate['reason']}"))
    return root


def _add_version(root: Tree, sight: _Sight, version: Version) -> None:
    branch = root.add(_headline(sight, version))
    for view in sight.observed.replica_sets:
        if view.snapshot.digest == version.digest:
            leaf = branch.add(said(f"ReplicaSet {view.name}  {view.available}/{view.replicas} available"))
            for pod in sight.pods:
                if pod.digest == short(version.digest):
                    leaf.add(_pod(pod, sight.now))


def _headline(sight: _Sight, version: Version) -> Text:
    traffic = version.digest == sight.record.traffic
    facts = [f"v{version.number} ({short(version.digest)})", str(version.color), str(version.stage)]
    facts += ["live"] if traffic else []
    facts += _deadline(version, sight.now)
    facts += ["on hold"] if sight.record.held(version.digest) else []
    facts += [f"failed: {version.failure}"] if version.failure else []
    facts += [f"of {version.source.commit[:10]}"] if version.source.commit else []
    return said("  ".join(facts), "bold green" if traffic else _STAGES[version.stage])


def _deadline(version: Version, now: datetime) -> list[str]:
    if version.scale_down_at is None or version.stage is Stage.ARCHIVED:
        return []
    return [f"warm for {spoken((version.scale_down_at - now).total_seconds())} more"]


def _pod(pod: Pod, now: datetime) -> Text:
    restarts = f", {pod.restarts} restarts" if pod.restarts else ""
    text = f"Pod {pod.name}  {pod.phase}  {pod.ready}/{pod.containers} ready{restarts}  {age(pod.created, now)}"
    return said(text, "" if pod.is_ready else "yellow")


def _json(sight: _Sight) -> dict[str, Any]:
    return {
        **sight.row.json(),
        "versions": [_version_json(sight, version) for version in sight.record.versions],
        "services": [
            {
                "role": role,
                "name": view.name,
                "version": getattr(sight.version_of(view.digest), "number", None),
                "readyEndpoints": view.ready_endpoints,
            }
            for role, view in sight.services()
        ],
        "gates": sight.gates,
    }


def _version_json(sight: _Sight, version: Version) -> dict[str, Any]:
    sets = [view for view in sight.observed.replica_sets if view.snapshot.digest == version.digest]
    pods = [pod for pod in sight.pods if pod.digest == short(version.digest)]
    return {
        "version": version.number,
        "digest": version.digest,
        "color": version.color,
        "stage": version.stage,
        "live": version.digest == sight.record.traffic,
        "onHold": sight.record.held(version.digest) is not None,
        "failure": version.failure,
        "sourceCommit": version.source.commit,
        "scaleDownAt": version.scale_down_at.isoformat() if version.scale_down_at else None,
        "replicaSets": [{"name": each.name, "replicas": each.replicas, "available": each.available} for each in sets],
        "pods": [{"name": pod.name, "phase": pod.phase, "ready": pod.is_ready} for pod in pods],
    }
