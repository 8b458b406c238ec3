"""Argo Rollouts with its blue-green strategy, as its manifests install it, but for leader election.

Its users are played by the requests that `kubectl argo rollouts` sends. It knows no Git.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from tests.bench.apps import FIRST, BenchApp
from tests.bench.peers.contender import Moments, Sizes, at_once
from tests.bench.peers.given import ARGO_ROLLOUTS
from tests.bench.peers.process import account, controller, install, wait_for_quiet
from tests.bench.watching import Seen, Watching, image_of
from tests.fixtures.repos import texts
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.control_plane import free_ports
from tests.support.cluster.paths import collection, replica_sets, services
from tests.support.cluster.rawapi import Json
from tests.support.waiting import eventually

_VERSION = "argoproj.io/v1alpha1"
_HASH = "rollouts-pod-template-hash"
_FASTER = ("--qps=2000", "--burst=4000")
"""Without the limits of its client, which are 40 and 80."""
_CYCLES, _CROWD = "argo-cycles", "argo-crowd"
_LONG = 900.0


class ArgoRollouts:
    """See `Contender`."""

    def __init__(self, cluster: ControlPlaneCluster, seen: Watching, folder: Path, *, size: Sizes) -> None:
        self.name = ARGO_ROLLOUTS.with_version(folder)
        self.cycles = size.cycles
        self.releases = size.releases
        self.crowd: Sequence[BenchApp] = [BenchApp(_CROWD, f"app-{n:03}", auto=True) for n in range(size.crowd)]
        self.pid = 0
        self._apps = [BenchApp(_CYCLES, f"app-{n:03}") for n in range(size.cycles)]
        self._cluster = cluster
        self._seen = seen
        self._folder = folder
        self._kubeconfig, self.user = account(cluster, "argo-rollouts")
        self._process = ExitStack()

    @classmethod
    @contextmanager
    def run(cls, cluster: ControlPlaneCluster, folder: Path, size: Sizes) -> Iterator[Self]:
        """Install its kinds, and run it."""
        install(cluster, folder)
        for namespace in (_CYCLES, _CROWD):
            cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        with Watching(cluster, labels="") as seen:
            contender = cls(cluster, seen, folder, size=size)
            with contender._process:
                contender._start()
                yield contender

    def deploy(self) -> None:
        self._deploy(self._apps)

    def app(self, number: int) -> BenchApp:
        return self._apps[number]

    def pause(self, action: str, part: float) -> None:
        pass

    def change(self, app: BenchApp, tag: str) -> Moments:
        self._seen.forget()
        asked = time.monotonic()
        self._set_image(app, tag)
        return Moments(asked, self._seen.first(lambda seen: _is_candidate(seen, app, tag)))

    def await_offer(self, app: BenchApp, tag: str) -> None:
        eventually(lambda: self._status(app).get("phase") == "Paused", what=f"{app.name} is paused")
        wait_for_quiet(self._cluster, self.user, app.namespace)  # a pass on what it knew before would pause it again

    def promote(self, app: BenchApp, tag: str) -> Moments:
        is_live = self._is_live([app], tag)
        self._seen.forget()
        asked = time.monotonic()
        self._cluster.patch(f"{_path(app)}/status", {"status": {"pauseConditions": None}})
        return Moments(asked, self._seen.first(is_live))

    def roll_back(self, app: BenchApp) -> Moments:
        is_live = self._is_live([app], FIRST)
        self._seen.forget()
        asked = time.monotonic()
        self._set_image(app, FIRST)
        return Moments(asked, self._seen.first(is_live))

    def rest(self, app: BenchApp) -> None:
        self._await_health([app])
        wait_for_quiet(self._cluster, self.user, app.namespace)

    def deploy_crowd(self) -> None:
        self._deploy(self.crowd)

    def release(self, app: BenchApp, tag: str) -> Moments:
        return self._change([app], tag)

    def change_crowd(self, tag: str) -> tuple[Moments, str]:
        installed = self._change(self.crowd, tag)
        self._await_health(self.crowd)
        self._process.close()
        self._start(*_FASTER)
        wait_for_quiet(self._cluster, self.user, _CROWD)
        faster = self._change(self.crowd, f"{tag}-again")
        return installed, f"{faster.there - faster.asked:.1f} s with {' '.join(_FASTER)}"

    def _start(self, *options: str) -> None:
        metrics, health = free_ports(2)
        command = [
            str(self._folder / "bin" / ARGO_ROLLOUTS.binary),
            f"--kubeconfig={self._kubeconfig}",
            "--leader-elect=false",
            f"--metricsPort={metrics}",
            f"--healthzPort={health}",
            *options,
        ]
        self.pid = self._process.enter_context(controller(command, self._cluster.folder / "argo-rollouts.log"))

    def _deploy(self, apps: Sequence[BenchApp]) -> None:
        def create(app: BenchApp) -> None:
            for name in (app.name, f"{app.name}-preview"):
                spec = {"selector": {"app": app.name}, "ports": [{"port": 80, "targetPort": 8080}]}
                self._cluster.create(services(app.namespace), {"metadata": {"name": name}, "spec": spec})
            self._cluster.create(collection(_VERSION, "Rollout", app.namespace), _rollout(app))

        at_once(create, apps)
        self._await_health(apps)

    def _await_health(self, apps: Sequence[BenchApp]) -> None:
        for app in apps:
            eventually(lambda app=app: self._is_healthy(app), _LONG, what=f"{app.name} is healthy")  # type: ignore[misc]

    def _is_healthy(self, app: BenchApp) -> bool:
        return self._status(app).get("phase") == "Healthy"

    def _status(self, app: BenchApp) -> Json:
        status: Json = self._cluster.get(_path(app)).get("status") or {}
        return status

    def _change(self, apps: Sequence[BenchApp], tag: str) -> Moments:
        self._seen.forget()
        asked = time.monotonic()
        at_once(lambda app: self._set_image(app, tag), apps)
        self._seen.each(lambda seen: seen.kind == "ReplicaSet" and _has(seen, tag), len(apps), _LONG)
        return Moments(asked, self._seen.each(self._is_live(apps, tag), len(apps), _LONG)[-1])

    def _set_image(self, app: BenchApp, tag: str) -> None:
        """As `kubectl argo rollouts set image`, and as the template of a revision that `undo` brings back."""
        self._cluster.patch(_path(app), {"spec": {"template": texts.template(app.name, tag)}})

    def _is_live(self, apps: Sequence[BenchApp], tag: str) -> Callable[[Seen], bool]:
        """Whether an active Service leads to the version with a tag, whose ReplicaSet is there."""
        where = apps[0].namespace
        sets = [each for each in self._cluster.list(replica_sets(where)) if image_of(each).endswith(f":{tag}")]
        labels = (each["metadata"]["labels"] for each in sets)
        hashes = {each["app"]: each[_HASH] for each in labels}
        wanted = {(where, app.name): hashes[app.name] for app in apps}
        return lambda seen: seen.kind == "Service" and seen.key in wanted and _selected(seen) == wanted[seen.key]


def _rollout(app: BenchApp) -> Json:
    services = {"activeService": app.name, "previewService": f"{app.name}-preview"}
    strategy = {**services, "autoPromotionEnabled": app.auto, "scaleDownDelaySeconds": 300}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": app.name}},
        "template": texts.template(app.name, FIRST),
        "strategy": {"blueGreen": strategy},
    }
    return {"apiVersion": _VERSION, "kind": "Rollout", "metadata": {"name": app.name}, "spec": spec}


def _path(app: BenchApp) -> str:
    return f"{collection(_VERSION, 'Rollout', app.namespace)}/{app.name}"


def _has(seen: Seen, tag: str) -> bool:
    return seen.image.endswith(f":{tag}")


def _is_candidate(seen: Seen, app: BenchApp, tag: str) -> bool:
    its = seen.kind == "ReplicaSet" and seen.object["metadata"]["labels"].get("app") == app.name
    return its and _has(seen, tag) and seen.key[0] == app.namespace and seen.object["spec"]["replicas"] > 0


def _selected(seen: Seen) -> str:
    return str((seen.object["spec"].get("selector") or {}).get(_HASH, ""))
