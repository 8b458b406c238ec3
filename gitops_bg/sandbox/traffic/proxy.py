"""Service ports: each new connection goes to a pod that is ready at that moment, as with kube-proxy.

It must look at nothing but the Service and its pods, or, where nodes are to be late, at `LateRoutes`. A Service
without a ready pod closes the connection; so does a pod that has gone, or is going, before the nodes know.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TypeVar

from gitops_bg.sandbox.http.wire import Acceptor, Connection
from gitops_bg.sandbox.objects.kinds import PODS, SERVICES
from gitops_bg.sandbox.objects.objects import Manifest, is_pod_ready
from gitops_bg.sandbox.objects.store import ObjectKey, Store
from gitops_bg.sandbox.traffic.pods import PodServers
from gitops_bg.sandbox.traffic.routes import LateRoutes

_T = TypeVar("_T")


class ServiceProxy:
    """The local ports of Services, opened when somebody first asks for them."""

    def __init__(
        self,
        store: Store,
        pods_of: Callable[[Manifest], list[Manifest]],
        pods: PodServers,
        routes: LateRoutes | None = None,
    ) -> None:
        """Make the ports of a store's Services; without `routes` they know of every change at once."""
        self._store = store
        self._pods_of = pods_of
        self._pods = pods
        self._routes = routes
        self._lock = Lock()
        self._ports: dict[ObjectKey, socket.socket] = {}
        self._turns: Counter[ObjectKey] = Counter()

    def port_of(self, service: ObjectKey, acceptor: Acceptor) -> int:
        """Return the local port of a Service; it stays the same, also while the Service does not exist."""
        with self._lock:
            if service not in self._ports:
                self._ports[service] = acceptor.listen(partial(self._serve, service))
            port: int = self._ports[service].getsockname()[1]
            return port

    def clear(self) -> None:
        """Forget all ports, which the acceptor has closed."""
        self._ports.clear()

    def _serve(self, service: ObjectKey, connection: Connection) -> None:
        with self._store.lock:
            pod = self._choose(service)
            serve = self._pods.enter(pod, connection) if pod else None
        if serve:
            serve()

    def _choose(self, key: ObjectKey) -> Manifest | None:
        service = self._store.get(SERVICES, key)
        if service is None:
            return None
        self._turns[key] += 1
        if self._routes is not None:
            return self._living(key[0], self._next(key, self._routes.pods_of(key)))
        return self._next(key, [pod for pod in self._pods_of(service.obj) if _takes_traffic(pod)])

    def _next(self, key: ObjectKey, choices: Sequence[_T]) -> _T | None:
        return choices[self._turns[key] % len(choices)] if choices else None

    def _living(self, namespace: str, name: str | None) -> Manifest | None:
        """Return the pod of a name, if it still takes connections."""
        found = self._store.get(PODS, (namespace, name)) if name else None
        return found.obj if found and "deletionTimestamp" not in found.obj["metadata"] else None


def _takes_traffic(pod: Manifest) -> bool:
    return is_pod_ready(pod) and "deletionTimestamp" not in pod["metadata"]
