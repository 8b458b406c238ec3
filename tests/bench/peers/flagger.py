"""Flagger with the provider `kubernetes`: its Blue/Green, which replaces the pods that serve by those of the new one.

It works at ticks of 10 s, the least that it takes. A promotion is its user's word at a `confirm-promotion` webhook,
after one iteration of an analysis without metrics. Live traffic has moved when all pods of its primary are of the new
version. The fastest way back is the old image together with `skipAnalysis`; a crowd goes live that way, too. No Git.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.bench.apps import FIRST, BenchApp
from tests.bench.peers.contender import Moments, Sizes, at_once
from tests.bench.peers.given import FLAGGER
from tests.bench.peers.process import account, controller, install
from tests.bench.watching import Seen, Watching
from tests.fixtures.repos import texts
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.control_plane import free_ports
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import Json
from tests.support.waiting import eventually

_VERSION = "flagger.app/v1beta1"
_TICK = 10.0
_TICKS_BETWEEN = {"promotion": 2}
"""Its webhook is asked at every second tick."""
_KINDS = (("apps/v1", "ReplicaSet"), ("apps/v1", "Deployment"))
_CYCLES, _CROWD = "flagger-cycles", "flagger-crowd"
_LONG = 900.0


class Flagger:
    """See `Contender`. One app goes through all cycles: every other one would add its ticks to what they cost."""

    def __init__(self, cluster: ControlPlaneCluster, seen: Watching, gate: _Gate, name: str, size: Sizes) -> None:
        self.name = name
        self.cycles = size.cycles
        self.releases = size.releases
        self.crowd: Sequence[BenchApp] = [BenchApp(_CROWD, f"app-{n:03}", auto=True) for n in range(size.crowd)]
        self.pid = 0
        self._app = BenchApp(_CYCLES, "app")
        self._cluster = cluster
        self._seen = seen
        self._gate = gate
        self._kubeconfig, self.user = account(cluster, "flagger")

    @classmethod
    @contextmanager
    def run(cls, cluster: ControlPlaneCluster, folder: Path, size: Sizes) -> Iterator[Self]:
        """Install its kinds, and run it."""
        install(cluster, folder)
        for namespace in (_CYCLES, _CROWD):
            cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        with Watching(cluster, _KINDS, labels="") as seen, _Gate() as gate:
            contender = cls(cluster, seen, gate, FLAGGER.with_version(folder), size)
            command = [
                str(folder / "bin" / FLAGGER.binary),
                f"-kubeconfig={contender._kubeconfig}",
                "-mesh-provider=kubernetes",
                "-metrics-server=http://127.0.0.1:9",  # asked for nothing: no Canary has metrics
                "-log-level=info",
                f"-port={free_ports(1)[0]}",
            ]
            with controller(command, cluster.folder / "flagger.log") as contender.pid:
                yield contender

    def deploy(self) -> None:
        self._deploy([self._app])

    def app(self, number: int) -> BenchApp:
        return self._app

    def pause(self, action: str, part: float) -> None:
        time.sleep(part * _TICK * _TICKS_BETWEEN.get(action, 1))

    def change(self, app: BenchApp, tag: str) -> Moments:
        self._gate.is_open = False
        self._seen.forget()
        asked = time.monotonic()
        self._set_image(app, tag)
        return Moments(asked, self._seen.first(lambda seen: _is_candidate(seen, app, tag)))

    def await_offer(self, app: BenchApp, tag: str) -> None:
        eventually(lambda: self._phase(app) == "WaitingPromotion", what=f"{app.name} waits for its promotion")

    def promote(self, app: BenchApp, tag: str) -> Moments:
        self._seen.forget()
        asked = time.monotonic()
        self._gate.is_open = True
        return Moments(asked, self._seen.first(_is_live([app], tag)))

    def roll_back(self, app: BenchApp) -> Moments:
        self._seen.forget()
        asked = time.monotonic()
        self._skip_analysis(app, True)
        self._set_image(app, FIRST)
        return Moments(asked, self._seen.first(_is_live([app], FIRST)))

    def rest(self, app: BenchApp) -> None:
        eventually(lambda: self._phase(app) in {"Initialized", "Succeeded"}, what=f"{app.name} has succeeded")
        self._skip_analysis(app, app.auto)

    def deploy_crowd(self) -> None:
        self._deploy(self.crowd)

    def release(self, app: BenchApp, tag: str) -> Moments:
        return self._change([app], tag)

    def change_crowd(self, tag: str) -> tuple[Moments, str]:
        return self._change(self.crowd, tag), ""

    def _change(self, apps: Sequence[BenchApp], tag: str) -> Moments:
        self._seen.forget()
        asked = time.monotonic()
        at_once(lambda app: self._set_image(app, tag), apps)
        return Moments(asked, self._seen.each(_is_live(apps, tag), len(apps), _LONG)[-1])

    def _deploy(self, apps: Sequence[BenchApp]) -> None:
        def create(app: BenchApp) -> None:
            self._cluster.create(collection("apps/v1", "Deployment", app.namespace), _deployment(app))
            self._cluster.create(collection(_VERSION, "Canary", app.namespace), _canary(app, self._gate.url))

        at_once(create, apps)
        for app in apps:
            eventually(lambda app=app: self._phase(app) == "Initialized", _LONG, what=f"{app.name} is initialised")  # type: ignore[misc]

    def _set_image(self, app: BenchApp, tag: str) -> None:
        path = f"{collection('apps/v1', 'Deployment', app.namespace)}/{app.name}"
        self._cluster.patch(path, {"spec": {"template": texts.template(app.name, tag)}})

    def _skip_analysis(self, app: BenchApp, skipped: bool) -> None:
        self._cluster.patch(_path(app), {"spec": {"skipAnalysis": skipped}})

    def _phase(self, app: BenchApp) -> str:
        return str((self._cluster.get(_path(app)).get("status") or {}).get("phase", ""))


class _Gate:
    """The webhook at which a person says yes."""

    def __init__(self) -> None:
        self.is_open = False
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200 if gate.is_open else 403)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _deployment(app: BenchApp) -> Json:
    template = texts.template(app.name, FIRST)
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": app.name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app.name}, "spec": spec}


def _canary(app: BenchApp, gate: str) -> Json:
    approval = {"name": "approval", "type": "confirm-promotion", "url": gate}
    analysis = {
        "interval": f"{_TICK:.0f}s",
        "threshold": 2,
        "iterations": 1,
        "webhooks": [] if app.auto else [approval],
    }
    spec = {
        "provider": "kubernetes",
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.name},
        "service": {"port": 80, "targetPort": 8080},
        "analysis": analysis,
        "skipAnalysis": app.auto,
    }
    return {"apiVersion": _VERSION, "kind": "Canary", "metadata": {"name": app.name}, "spec": spec}


def _path(app: BenchApp) -> str:
    return f"{collection(_VERSION, 'Canary', app.namespace)}/{app.name}"


def _is_candidate(seen: Seen, app: BenchApp, tag: str) -> bool:
    labels = seen.object["metadata"].get("labels", {})
    its = seen.kind == "ReplicaSet" and seen.key[0] == app.namespace and labels.get("app") == app.name
    return its and seen.image.endswith(f":{tag}") and seen.object["spec"]["replicas"] > 0


def _is_live(apps: Sequence[BenchApp], tag: str) -> Callable[[Seen], bool]:
    """Whether all pods of a primary are of the version with a tag, and available."""
    primaries = {(app.namespace, f"{app.name}-primary") for app in apps}

    def is_live(seen: Seen) -> bool:
        if seen.kind != "Deployment" or seen.key not in primaries or not seen.image.endswith(f":{tag}"):
            return False
        spec, status = seen.object["spec"], seen.object.get("status", {})
        is_current = status.get("observedGeneration") == seen.object["metadata"]["generation"]
        pods = [status.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")]
        return bool(is_current and pods == [spec["replicas"]] * 3)

    return is_live
