"""The sandbox as a whole: starts and stops its parts, and lets tests look inside. It must hold no logic."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from gitops_bg.sandbox.controllers.behaviours import IMAGE_RULES, ImageRule
from gitops_bg.sandbox.controllers.daemonsets import DaemonSets
from gitops_bg.sandbox.controllers.deployments import Deployments
from gitops_bg.sandbox.controllers.disruption import Disruption
from gitops_bg.sandbox.controllers.endpoints import Endpoints
from gitops_bg.sandbox.controllers.garbage import Garbage
from gitops_bg.sandbox.controllers.gateways import Gateways
from gitops_bg.sandbox.controllers.jobs import Jobs
from gitops_bg.sandbox.controllers.kubelet import Kubelet, node_manifest
from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.controllers.replicasets import ReplicaSets
from gitops_bg.sandbox.faults import Faults
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.requests import Requests
from gitops_bg.sandbox.http.server import ApiServer
from gitops_bg.sandbox.http.wire import Acceptor, Request, Response
from gitops_bg.sandbox.objects.definitions import Definitions
from gitops_bg.sandbox.objects.kinds import NAMESPACES, NODES, Kinds, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, copy_of, to_json
from gitops_bg.sandbox.objects.store import Store
from gitops_bg.sandbox.traffic.gateway import GatewayProxy
from gitops_bg.sandbox.traffic.proxy import LateRoutes, PodServers, ServiceProxy
from gitops_bg.sandbox.verbs.writing import Options, Writer

_OWN = Options(manager="sandbox")


class Sandbox:
    """A small Kubernetes on 127.0.0.1; use it as a context manager, or call `start` and `stop`."""

    def __init__(
        self,
        ready_after: float = 0.1,
        traffic: bool = True,
        rules: Sequence[ImageRule] = IMAGE_RULES,
        drain_after: float = 1.0,
        history: int = 5_000,
        job_backoff: float = 10.0,
        route_delay: float = 0.0,
    ) -> None:
        """Make a sandbox that is not running yet.

        `ready_after` is how many seconds a pod takes to get ready, `rules` how images behave otherwise,
        `drain_after` how many seconds an ending pod keeps idle connections, `history` how many changes
        of each resource a watch can resume over, `job_backoff` how many seconds a Job waits after its first
        failed pod, `route_delay` how many seconds the nodes are late to route new connections as the
        EndpointSlices say.
        """
        self._kinds = Kinds()
        self._store = Store(history)
        self._writer = Writer(self._store, self._kinds)
        Definitions(self._store, self._kinds)
        self._loop = Loop(self._store)
        self._endpoints = Endpoints(self._writer, self._loop)
        self.kubelet = Kubelet(self._writer, self._loop, ready_after, rules, drain_after)
        for controller in (ReplicaSets(self._writer, self._loop), self.kubelet, self._endpoints):
            self._loop.add(controller)
        self._loop.add(Deployments(self._writer, self._loop))
        self._loop.add(DaemonSets(self._writer, self._loop))
        self._loop.add(Jobs(self._writer, self._loop, job_backoff))
        self._loop.add(Disruption(self._writer, self._loop))
        self._loop.add(Garbage(self._writer, self._loop))
        self.gateways = Gateways(self._writer, self._loop)
        self._loop.add(self.gateways)
        self.faults = Faults(self._store)
        self.requests = Requests()
        self._server = ApiServer(self._store, self._kinds, self._writer, self.faults, self.requests)
        self._gateways: GatewayProxy | None = None
        self._proxy = self._connect_traffic(route_delay) if traffic else None
        self._acceptor: Acceptor | None = None
        self._socket: socket.socket | None = None

    def _connect_traffic(self, route_delay: float) -> ServiceProxy:
        pods = PodServers(self.kubelet.behaviour, self.kubelet.configuring.variables, self.kubelet.drained_now)
        self.kubelet.end, self.kubelet.close_idle = pods.end, pods.close_idle
        routes = LateRoutes(route_delay) if route_delay else None
        if routes is not None:
            self._store.listeners.append(routes.notice)
        self._gateways = GatewayProxy(self._store, self._endpoints.pods_of, pods)
        return ServiceProxy(self._store, self._endpoints.pods_of, pods, routes)

    def start(self) -> Sandbox:
        """Open the API port and start the controllers."""
        self._store.open()
        self.faults.open()
        self._acceptor = Acceptor()
        self._socket = self._acceptor.listen(self._server.serve)
        self._loop.start()
        self.add_node("sandbox")
        for name in ("default", "kube-system"):
            self.create_namespace(name)
        return self

    def stop(self) -> None:
        """Close every port and connection and end every thread; the objects remain."""
        self._store.close()
        self.faults.close()
        if self._acceptor:
            self._acceptor.stop()
        if self._proxy and self._gateways:
            self._proxy.clear()
            self._gateways.clear()
        self._loop.stop()
        self._acceptor = self._socket = None

    def __enter__(self) -> Sandbox:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def version(self) -> int:
        """The number of the last write: as long as it stays, so does every object."""
        return self._store.version

    @property
    def url(self) -> str:
        """Return the address of the API server."""
        assert self._socket is not None, "the sandbox is not running"
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def service_url(self, namespace: str, name: str) -> str:
        """Return an address that carries HTTP to the ready pods of a Service, like its cluster IP would."""
        if self._proxy is None or self._acceptor is None:
            raise RuntimeError("the sandbox carries no traffic: it is not running, or was made with traffic=False")
        return f"http://127.0.0.1:{self._proxy.port_of((namespace, name), self._acceptor)}"

    def gateway_url(self, namespace: str, name: str) -> str:
        """Return an address of a Gateway: requests to it go where its HTTPRoutes lead."""
        if self._gateways is None or self._acceptor is None:
            raise RuntimeError("the sandbox carries no traffic: it is not running, or was made with traffic=False")
        return f"http://127.0.0.1:{self._gateways.port_of((namespace, name), self._acceptor)}"

    def kubeconfig(self, path: Path | str, context: str = "sandbox") -> Path:
        """Write a kubeconfig for this sandbox, with one context, and return its path."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": context, "cluster": {"server": self.url}}],
            "users": [{"name": context, "user": {}}],
            "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
            "current-context": context,
        }
        path = Path(path)
        path.write_bytes(to_json(config) + b"\n")
        return path

    def read(self, target: str, headers: Mapping[str, str]) -> Response | None:
        """Return what the API server answers to a GET, without a connection; None where a fault cuts it."""
        return self._server.answer(Request("GET", target, dict(headers), b""))

    def create_namespace(self, name: str) -> None:
        """Create a namespace, if it does not exist."""
        self._ensure(NAMESPACES, {"metadata": {"name": name}})

    def add_node(self, name: str) -> None:
        """Add a node that takes every pod, if it does not exist."""
        self._ensure(NODES, node_manifest(name))

    def _ensure(self, resource: ResourceKey, manifest: Manifest) -> None:
        try:
            self._writer.create(self._kinds.of(resource), "", manifest, _OWN)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    def objects(self, api_version: str, kind: str, namespace: str = "") -> list[Manifest]:
        """Return copies of the objects of a kind, in one namespace or (empty) in all, without a request."""
        found = self._kinds.named(api_version, kind)
        if found is None:
            raise LookupError(f"the sandbox serves no {kind} in {api_version}")
        return [copy_of(stored.obj) for stored in self._store.all(found.key, namespace)]
