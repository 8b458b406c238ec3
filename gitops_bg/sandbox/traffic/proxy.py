"""Service ports: each new connection goes to a pod that is ready at that moment, as with kube-proxy.

It must look at nothing but the Service and its pods. A Service without a ready pod closes the connection.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from threading import Lock

from gitops_bg.sandbox.kinds import SERVICES
from gitops_bg.sandbox.objects import Manifest, is_pod_ready
from gitops_bg.sandbox.store import ObjectKey, Store
from gitops_bg.sandbox.traffic.pods import PodServers
from gitops_bg.sandbox.wire import Acceptor, Connection


class ServiceProxy:
    """The local ports of Services, opened when somebody first asks for them."""

    def __init__(self, store: Store, pods_of: Callable[[Manifest], list[Manifest]], pods: PodServers) -> None:
        self._store = store
        self._pods_of = pods_of
        self._pods = pods
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
        ready = [pod for pod in self._pods_of(service.obj) if _takes_traffic(pod)]
        if not ready:
            return None
        self._turns[key] += 1
        return ready[self._turns[key] % len(ready)]


def _takes_traffic(pod: Manifest) -> bool:
    return is_pod_ready(pod) and "deletionTimestamp" not in pod["metadata"]
