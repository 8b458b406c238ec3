"""Real HTTP servers in place of the containers that nobody runs: each listens on its pod's own address.

An answer says which pod it is from, as the sandbox's do, with the status that the pod's image asks for. A pod that is
told to end goes on serving for a moment, as one with a `preStop` that sleeps: until everybody has heard of it.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gitops_bg.sandbox.controllers.behaviours import IMAGE_RULES, behaviour_of
from tests.support.cluster.rawapi import Json

LINGER_SECONDS = 2.0
_SHORTEST_POLL = 0.02


class PodServers:
    """The servers of a cluster's pods, by the pods' UIDs. Addresses must be the machine's own."""

    def __init__(self, linger: float = LINGER_SECONDS) -> None:
        self._linger = linger
        self._servers: dict[str, list[PodServer]] = {}
        self._ending: list[threading.Timer] = []
        self._lock = threading.Lock()

    def start(self, pod: Json, address: str) -> None:
        """Listen on every port that the pod's containers name."""
        ports = {port["containerPort"] for each in pod["spec"]["containers"] for port in each.get("ports") or ()}
        servers = [self.listening(pod, address, port) for port in sorted(ports)]
        with self._lock:
            self._servers[pod["metadata"]["uid"]] = servers

    def listening(self, pod: Json, address: str, port: int) -> PodServer:
        """The server of a pod's port."""
        return PodServer((address, port), pod)

    def end(self, pod: Json) -> None:
        """Have the pod's servers end in a moment."""
        with self._lock:
            servers = self._servers.pop(pod["metadata"]["uid"], [])
            for each in servers:
                timer = threading.Timer(self._linger, each.stop)
                timer.daemon = True
                self._ending.append(timer)
                timer.start()

    def stop(self) -> None:
        """End all at once."""
        with self._lock:
            for timer in self._ending:
                timer.cancel()
                timer.join()
                timer.function()
            for servers in self._servers.values():
                for each in servers:
                    each.stop()
            self._servers.clear()


class PodServer(ThreadingHTTPServer):
    """One pod on one port."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], pod: Json) -> None:
        image = pod["spec"]["containers"][0]["image"]
        said = {"pod": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"], "image": image}
        self.body = json.dumps(said | {"labels": pod["metadata"].get("labels") or {}}).encode()
        self.behaviour = behaviour_of(image, IMAGE_RULES, 0.0)
        self._connections: set[object] = set()
        self._stopped = False
        super().__init__(address, _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(_SHORTEST_POLL,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more connections, and close those that are there; twice is as good as once."""
        if self._stopped:
            return
        self._stopped = True
        self.shutdown()
        self.server_close()
        self._thread.join()
        for each in list(self._connections):
            with suppress(OSError):
                each.shutdown(2)  # type: ignore[attr-defined]

    def process_request(self, request: object, client_address: object) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def shutdown_request(self, request: object) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PodServer
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        time.sleep(self.server.behaviour.latency)
        self.send_response(self.server.behaviour.http_status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.send_header("X-Path", self.path)
        self.end_headers()
        self.wfile.write(self.server.body)

    do_POST = do_GET

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""
