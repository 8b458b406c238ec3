"""A backend for hooks: a real HTTP server that remembers what it was asked and answers as a test tells it to."""

from __future__ import annotations

import json
import secrets
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    payload: dict[str, Any]

    @property
    def key(self) -> str:
        return self.headers["Idempotency-Key"]


class HookServer:
    """Answers each path with the reply that `reply` set last, else 200. ``private``: only below a path of its own."""

    def __init__(self, certificate: tuple[Path, Path] | None = None, *, private: bool = False) -> None:
        self.asked: list[Asked] = []
        self._own = f"/{secrets.token_hex(4)}" if private else ""
        """What its addresses begin with: an agent of another test may still call who had this port before."""
        self.released = threading.Event()
        """Lets go of the requests that hang."""
        self._replies: dict[str, tuple[int, bytes, str]] = {}
        self._hanging: set[str] = set()
        self._elsewhere: dict[str, str] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.scheme = "https" if certificate else "http"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{self._own}{path}"

    def chat(self, path: str) -> str:
        """The same as a URL of apprise: its JSON has title, message and type."""
        return self.url(path).replace("http", "json", 1)

    def reply(self, path: str, status: int, body: str | bytes = b"", kind: str = "text/plain; charset=utf-8") -> None:
        self._replies[path] = (status, body.encode() if isinstance(body, str) else body, kind)

    def redirect(self, path: str, to: str) -> None:
        """Say that it is elsewhere."""
        self._elsewhere[path] = to

    def hang(self, path: str) -> None:
        """Never answer, until `released`."""
        self._hanging.add(path)

    def answer_again(self, path: str) -> None:
        self._hanging.discard(path)

    def asked_at(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.path == path]

    def phases(self, path: str) -> list[str]:
        return [one.payload["phase"] for one in self.asked_at(path)]

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        content = handler.rfile.read(length)
        if len(content) < length:  # Who asked has hung up in the middle, and will ask again.
            handler.close_connection = True
            return
        if not handler.path.startswith(self._own):
            handler.send_error(404)
            return
        path = handler.path.removeprefix(self._own)
        self.asked.append(Asked(path, dict(handler.headers), json.loads(content or b"{}")))
        if path in self._hanging:
            self.released.wait(120)
        status, body, kind = self._replies.get(path, (200, b"", "text/plain"))
        elsewhere = self._elsewhere.get(path)
        handler.send_response(307 if elsewhere else status)
        if elsewhere:
            handler.send_header("Location", elsewhere)
        if status != 204:
            handler.send_header("Content-Length", str(len(body)))
            handler.send_header("Content-Type", kind)
        handler.end_headers()
        if status != 204:
            handler.wfile.write(body)

    def run(self) -> None:
        self._server.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def hook_server(certificate: tuple[Path, Path] | None = None, *, private: bool = False) -> Iterator[HookServer]:
    """A server for the length of a test."""
    server = HookServer(certificate, private=private)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hangs up in the middle is what some tests are about."""


def _handler(server: HookServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            server.take(self)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler
