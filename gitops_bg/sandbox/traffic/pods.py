"""The HTTP side of pods: a connection belongs to one pod until it ends. It must choose no pod.

A pod that was told to end takes no new connection, finishes the requests it has, and says
`Connection: close`: what kubernetes.io "Pod Lifecycle" asks of a well-behaved container.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from gitops_bg.sandbox.controllers.behaviours import Behaviour
from gitops_bg.sandbox.http.wire import Connection, Response
from gitops_bg.sandbox.objects.objects import Manifest, key_of, labels_of, to_json
from gitops_bg.sandbox.objects.store import ObjectKey


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
