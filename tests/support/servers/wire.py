"""A connection to an API server that a test can cut and restore: bytes in, bytes out."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import yaml


class Wire:
    """Listens on a port of its own and passes everything on, while it is not `cut`."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._cut = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Nobody gets through any more, and who was through is cut off."""
        self._cut.set()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def mend(self) -> None:
        """It works again."""
        self._cut.clear()

    def close(self) -> None:
        """The end."""
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._cut.is_set():
                    near.close()
                    continue
                far = socket.create_connection(self._to)
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def wire(kubeconfig: Path, folder: Path) -> Iterator[tuple[Wire, Path]]:
    """A wire to the API server of a kubeconfig, and a kubeconfig that goes over it."""
    config = yaml.safe_load(kubeconfig.read_text())
    server = urlsplit(config["clusters"][0]["cluster"]["server"])
    made = Wire(server.hostname or "127.0.0.1", server.port or 443)
    config["clusters"][0]["cluster"]["server"] = f"{server.scheme}://127.0.0.1:{made.port}"
    path = folder / "wired"
    path.write_text(yaml.safe_dump(config))
    try:
        yield made, path
    finally:
        made.close()
