"""Those who use an app all the time, through a node that learns of endpoints a moment after the API server.

A Service has the same name with each contender. A pod that is told to end goes on serving for a moment, as one with a
`preStop` that sleeps. What is not an answer of a pod with status 200 counts as lost, and nothing is excused.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import Self

import urllib3

from gitops_bg.cli.demo.traffic import Answer, Visit
from tests.bench.apps import BenchApp
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.pod_servers import PodServer, PodServers
from tests.support.cluster.rawapi import Json, Watch
from tests.support.waiting import eventually

LATE_SECONDS = 0.1
"""How long after the API server a node knows of an endpoint."""
_CONNECTIONS = (1, 1, 25, 25)
"""Requests on each connection of a client: fresh connections, and kept ones."""
_PAUSE = 0.02
_HOURS = 3600.0


class Pods(PodServers):
    """HTTP servers on ports of this machine for the pods of the first app of each namespace: it is the one with users.

    Servers for a whole crowd would take the machine from those who are measured.
    """

    def __init__(self) -> None:
        super().__init__()
        self._addresses: dict[str, str] = {}

    def start(self, pod: Json, address: str) -> None:
        """Listen, if the pod has users."""
        name = str(pod["metadata"].get("labels", {}).get("app", "")).removesuffix("-primary")
        if name.rstrip("0") == "app-":
            super().start(pod, address)

    def listening(self, pod: Json, address: str, port: int) -> PodServer:
        """A server on any port: the pod's own address is nobody's here."""
        server = PodServer(("127.0.0.1", 0), pod)
        self._addresses[pod["metadata"]["name"]] = "{}:{}".format(*server.server_address[:2])
        return server

    def address_of(self, pod: str) -> str:
        """Host and port of a pod that was started at any time. Raises ``KeyError``."""
        return self._addresses[pod]


class Node:
    """Knows which pods are ready behind a Service, as of a moment ago. Use as a context manager."""

    def __init__(self, cluster: ControlPlaneCluster, app: BenchApp) -> None:
        self._cluster = cluster
        self._path = cluster.endpoint_slices(app.namespace)
        self._service = app.name
        self._news: deque[tuple[float, Json]] = deque()
        self._slices: dict[str, Json] = {}
        self._turn = 0
        self._lock = threading.Lock()
        self._watch: Watch | None = None
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        eventually(self.pod, what=f"{self._service} has a ready pod")
        return self

    def __exit__(self, *error: object) -> None:
        if self._watch is not None:
            with contextlib.suppress(Exception):
                self._watch.stop()
        self._thread.join(timeout=10)

    def pod(self) -> str:
        """The pod that a new connection goes to now, one after the other; empty where there is none."""
        with self._lock:
            while self._news and self._news[0][0] <= time.monotonic() - LATE_SECONDS:
                event = self._news.popleft()[1]
                name = event["object"]["metadata"]["name"]
                self._slices[name] = event["object"] if event["type"] != "DELETED" else {}
            ready = [pod for each in self._slices.values() for pod in _ready(each)]
            self._turn += 1
            return ready[self._turn % len(ready)] if ready else ""

    def _follow(self) -> None:
        selector = f"kubernetes.io/service-name={self._service}"
        with (
            contextlib.suppress(urllib3.exceptions.HTTPError, OSError),
            self._cluster.watch(self._path, seconds=_HOURS, labelSelector=selector) as watch,
        ):
            self._watch = watch
            for event in watch:
                self._news.append((time.monotonic(), event))


class Users:
    """Clients that ask an app without a pause that a person would notice. Use as a context manager."""

    def __init__(self, cluster: ControlPlaneCluster, app: BenchApp, pods: Pods) -> None:
        self._node = Node(cluster, app)
        self._pods = pods
        self._answers: list[Answer] = []
        self._stopped = threading.Event()
        self._clients = [threading.Thread(target=self._use, args=(each,), daemon=True) for each in _CONNECTIONS]

    def __enter__(self) -> Self:
        self._node.__enter__()
        for client in self._clients:
            client.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        for client in self._clients:
            client.join(timeout=10)
        self._node.__exit__(*error)

    def lost(self) -> tuple[int, int]:
        """How many requests were lost so far, of how many."""
        answers = list(self._answers)
        return sum(bool(each.failure) for each in answers), len(answers)

    def _use(self, requests: int) -> None:
        while not self._stopped.is_set():
            pod = self._node.pod()
            if pod:
                self._visit(Visit(f"http://{self._pods.address_of(pod)}/"), requests)
            else:
                now = time.monotonic()
                self._answers.append(Answer(now, now, "", "no ready endpoint"))
                self._stopped.wait(_PAUSE)

    def _visit(self, visit: Visit, requests: int) -> None:
        try:
            for _ in range(requests):
                self._answers.append(visit.ask())
                if self._stopped.wait(_PAUSE) or not visit.is_open:
                    return
        finally:
            visit.close()


def _ready(slice_: Json) -> list[str]:
    """The pods that new connections go to; none where the ports lead nowhere."""
    endpoints = (slice_.get("endpoints") or ()) if slice_.get("ports") else ()
    return [each["targetRef"]["name"] for each in endpoints if each["conditions"].get("ready") is not False]
