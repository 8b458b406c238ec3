"""From the port of a Service to a pod that is ready at that moment, connection by connection, as with kube-proxy. It
must look at nothing but the Service and its pods, or, where nodes are to be late, at its EndpointSlices.
"""

from __future__ import annotations

import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TypeVar

from gitops_bg.sandbox.controllers.behaviours import Behaviour
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.http.wire import Acceptor, Connection, Response
from gitops_bg.sandbox.objects.kinds import PODS, SERVICES, SLICES, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, is_pod_ready, key_of, labels_of, to_json
from gitops_bg.sandbox.objects.store import ObjectKey, Store

# --- the pods: a connection belongs to one until it ends ---
# A pod that was told to end takes no new connection, finishes the requests it has, and says `Connection: close`: what
# kubernetes.io "Pod Lifecycle" asks of a well-behaved container.


@dataclass(eq=False, slots=True)
class _Session:
    connection: Connection | None
    """None: one request that came through a Gateway."""
    is_busy: bool = False


class PodServers:
    """All connections to pods.

    `variables` gives what of its environment a pod tells everybody who asks; `on_drained` hears of an ending pod whose
    last connection is gone.
    """

    def __init__(
        self,
        behaviour: Callable[[Manifest], Behaviour],
        variables: Callable[[Manifest], Mapping[str, str]],
        on_drained: Callable[[ObjectKey], None],
    ) -> None:
        self._behaviour = behaviour
        self._variables = variables
        self._on_drained = on_drained
        self._lock = Lock()
        self._sessions: defaultdict[ObjectKey, list[_Session]] = defaultdict(list)
        self._ending: set[ObjectKey] = set()

    def enter(self, pod: Manifest, connection: Connection) -> Callable[[], None]:
        """Give a connection to a pod; return what serves it until it ends."""
        session = _Session(connection)
        with self._lock:
            self._sessions[key_of(pod)].append(session)
        return lambda: self._serve(pod, session)

    def begin(self, pod: Manifest) -> Callable[[], tuple[Response, float]]:
        """Give one request to a pod; return what answers it, with the seconds that it took."""
        session, key = _Session(None, is_busy=True), key_of(pod)
        with self._lock:
            self._sessions[key].append(session)

        def answer() -> tuple[Response, float]:
            started = time.monotonic()
            try:
                return self._answer(pod), time.monotonic() - started
            finally:
                self._leave(key, session)

        return answer

    def _serve(self, pod: Manifest, session: _Session) -> None:
        key, connection = key_of(pod), session.connection
        assert connection is not None
        try:
            while (request := connection.read()) is not None:
                session.is_busy = True
                response = self._answer(pod)
                response.close = response.close or key in self._ending
                if not connection.send(response, request):
                    return
                session.is_busy = False
        finally:
            self._leave(key, session)

    def _answer(self, pod: Manifest) -> Response:
        behaviour = self._behaviour(pod)
        if behaviour.latency:
            time.sleep(behaviour.latency)
        metadata = pod["metadata"]
        said = {"pod": metadata["name"], "namespace": metadata["namespace"]}
        image = pod["spec"]["containers"][0]["image"]
        body = to_json({**said, "image": image, "labels": labels_of(pod), "env": dict(self._variables(pod))}) + b"\n"
        return Response(behaviour.http_status, body, headers={"X-Pod": metadata["name"]})

    def _leave(self, key: ObjectKey, session: _Session) -> None:
        with self._lock:
            self._sessions[key].remove(session)
            if self._sessions[key]:
                return
            del self._sessions[key]
            ending = key in self._ending
        if ending:
            self._on_drained(key)

    def end(self, key: ObjectKey) -> bool:
        """Tell a pod to end; return whether it has no connection left."""
        with self._lock:
            if not self._sessions.get(key):
                self._ending.discard(key)
                return True
            self._ending.add(key)
            return False

    def close_idle(self, key: ObjectKey) -> None:
        """Close the connections of a pod that carry no request now; requests under way are finished."""
        with self._lock:
            sessions = list(self._sessions.get(key, ()))
        for session in sessions:
            if session.connection is not None and not session.is_busy:
                session.connection.shut_reading()


# --- the endpoints of a Service as nodes know them: the EndpointSlices, with a delay ---
# Real kube-proxies learn of a change after the API server, each in its own time; until then new connections go to the
# former endpoints.

_Known = tuple[float, tuple[str, ...]]


class LateRoutes:
    """The ready pods of each Service as they were `delay` seconds ago."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._history: defaultdict[ObjectKey, deque[_Known]] = defaultdict(deque)

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Remember what a slice says, and since when."""
        if resource != SLICES:
            return
        found = change.current.obj
        service = (key_of(found)[0], labels_of(found).get("kubernetes.io/service-name", ""))
        pods = () if change.type == DELETED else tuple(_ready(found))
        self._history[service].append((time.monotonic(), pods))

    def pods_of(self, service: ObjectKey) -> tuple[str, ...]:
        """Return the names of the pods that new connections go to now."""
        history, moment = self._history[service], time.monotonic() - self._delay
        while len(history) > 1 and history[1][0] <= moment:
            history.popleft()
        return history[0][1] if history and history[0][0] <= moment else ()


def _ready(slice_: Manifest) -> list[str]:
    """Return the ready pods of a slice; none where its ports lead nowhere: no connection gets an answer then."""
    return [
        each["targetRef"]["name"] for each in slice_["endpoints"] if each["conditions"]["ready"] and slice_["ports"]
    ]


# --- Services ---
# One without a ready pod closes the connection; so does a pod that has gone, or is going, before the nodes know.

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
        return self._next(key, [pod for pod in self._pods_of(service.obj) if _receives_traffic(pod)])

    def _next(self, key: ObjectKey, choices: Sequence[_T]) -> _T | None:
        return choices[self._turns[key] % len(choices)] if choices else None

    def _living(self, namespace: str, name: str | None) -> Manifest | None:
        """Return the pod of a name, if it still takes connections."""
        found = self._store.get(PODS, (namespace, name)) if name else None
        return found.obj if found and "deletionTimestamp" not in found.obj["metadata"] else None


def _receives_traffic(pod: Manifest) -> bool:
    return is_pod_ready(pod) and "deletionTimestamp" not in pod["metadata"]
