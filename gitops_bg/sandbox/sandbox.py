"""The sandbox as a whole: starts and stops its parts, and lets tests look inside. It must hold no logic."""

from __future__ import annotations

import socket
from pathlib import Path
from types import TracebackType

from gitops_bg.sandbox.definitions import Definitions
from gitops_bg.sandbox.errors import ApiError
from gitops_bg.sandbox.faults import Faults
from gitops_bg.sandbox.kinds import NAMESPACES, Kinds
from gitops_bg.sandbox.objects import Manifest, copy_of, to_json
from gitops_bg.sandbox.requests import Requests
from gitops_bg.sandbox.server import ApiServer
from gitops_bg.sandbox.store import Store
from gitops_bg.sandbox.wire import Acceptor
from gitops_bg.sandbox.writing import Options, Writer

_OWN = Options(manager="sandbox")


class Sandbox:
    """A small Kubernetes on 127.0.0.1; use it as a context manager, or call `start` and `stop`."""

    def __init__(self, ready_after: float = 0.1, traffic: bool = True, history: int = 20_000) -> None:
        self._kinds = Kinds()
        self._store = Store(history)
        self._writer = Writer(self._store, self._kinds)
        self._definitions = Definitions(self._store, self._kinds)
        self.faults = Faults(self._store)
        self.requests = Requests()
        self._server = ApiServer(self._store, self._kinds, self._writer, self.faults, self.requests)
        self._acceptor: Acceptor | None = None
        self._socket: socket.socket | None = None

    def start(self) -> Sandbox:
        """Open the API port and start the controllers."""
        self._acceptor = Acceptor()
        self._socket = self._acceptor.listen(self._server.serve)
        for name in ("default", "kube-system"):
            self.create_namespace(name)
        return self

    def stop(self) -> None:
        """Close every port and connection and end every thread."""
        self._store.end_watches()
        if self._acceptor:
            self._acceptor.stop()
        self._acceptor = self._socket = None

    def __enter__(self) -> Sandbox:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Return the address of the API server."""
        assert self._socket is not None, "the sandbox is not running"
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def kubeconfig(self, path: Path | str) -> Path:
        """Write a kubeconfig for this sandbox (context `sandbox`) and return its path."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": {"server": self.url}}],
            "users": [{"name": "sandbox", "user": {}}],
            "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
            "current-context": "sandbox",
        }
        path = Path(path)
        path.write_bytes(to_json(config) + b"\n")
        return path

    def create_namespace(self, name: str) -> None:
        """Create a namespace, if it does not exist."""
        try:
            self._writer.create(self._kinds.of(NAMESPACES), "", {"metadata": {"name": name}}, _OWN)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    def objects(self, api_version: str, kind: str, namespace: str = "") -> list[Manifest]:
        """Return copies of the objects of a kind, in one namespace or (empty) in all, without a request."""
        found = self._kinds.named(api_version, kind)
        if found is None:
            raise LookupError(f"the sandbox serves no {kind} in {api_version}")
        return [copy_of(stored.obj) for stored in self._store.all(found.key, namespace)]
