"""A real HTTP server in a thread, on a port of its own: it answers what a test says, and remembers the questions."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """One question."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """By their names in small letters."""
    body: bytes
    target: str = ""
    """Path and query as they came."""

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """One answer; ``data`` is sent as JSON unless it is bytes."""

    data: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> dict[str, str]:
        return {} if isinstance(self.data, bytes) else {"Content-Type": "application/json"}

    @property
    def body(self) -> bytes:
        return self.data if isinstance(self.data, bytes) else json.dumps(self.data).encode()


HANG = Reply(status=0)
"""No answer, until the server is closed."""


TRICKLE = Reply(status=1)
"""An answer that never ends: a byte every few milliseconds, until the server is closed."""


class Backend:
    """The server. Set ``answer`` to what it says to a question."""

    def __init__(self, certificate: tuple[Path, Path] | None = None) -> None:
        self.asked: list[Asked] = []
        self.answer: Callable[[Asked], Reply] = lambda _: Reply()
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def says(self, data: Any, status: int = 200, **headers: str) -> None:
        """Answer everything with this."""
        self.answer = lambda _: Reply(data, status, headers)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@contextmanager
def serving(certificate: tuple[Path, Path] | None = None) -> Iterator[Backend]:
    """A backend for as long as a test runs."""
    backend = Backend(certificate)
    try:
        yield backend
    finally:
        backend.close()


def _handler(backend: Backend) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[-1] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Asked(
                self.command,
                parts.path,
                query,
                {name.lower(): value for name, value in self.headers.items()},
                body,
                self.path,
            )
            backend.asked.append(asked)
            reply = backend.answer(asked)
            if reply is HANG:
                backend.closing.wait(30)
                self.close_connection = True
                return
            if reply is TRICKLE:
                self.trickle()
                return
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.kind, **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def trickle(self) -> None:
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            while not backend.closing.wait(0.01):
                self.wfile.write(b" ")

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, *_: Any) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, ssl.SSLError):
                self.close_connection = True

    return Handler
