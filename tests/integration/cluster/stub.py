"""An API server with scripted answers, over real HTTP; for failures that no cluster produces on demand."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.cluster.pki import Authority

Json = dict[str, Any]


class Asked:
    """One request, and the ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self.method = handler.command
        address = urlsplit(handler.path)
        self.path = address.path
        self.query = {key: values[0] for key, values in parse_qs(address.query).items()}
        self.headers = dict(handler.headers)
        length = int(handler.headers.get("Content-Length") or 0)
        self.body = handler.rfile.read(length)

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"

    def answer(self, body: Json, status: int = 200, **headers: str) -> None:
        data = json.dumps(body).encode()
        self._handler.send_response(status)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self._handler.send_header(key.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def refuse(self, status: int, reason: str = "", message: str = "", **headers: str) -> None:
        self.answer({"kind": "Status", "code": status, "reason": reason, "message": message}, status, **headers)

    def stream(self, *events: Json) -> None:
        """The start of a watch; `end` it, or hang."""
        self._handler.send_response(200)
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()
        for event in events:
            line = json.dumps(event).encode() + b"\n"
            self._handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self._handler.wfile.flush()

    def end(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self._handler.close_connection = True


class Stub:
    """Serves `script`: called with each request, on a thread of its own; `released` ends what hangs."""

    def __init__(self, folder: Path, script: Callable[[Asked], None], authority: Authority | None) -> None:
        self.released = threading.Event()
        self.asked: list[Asked] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                    self.close_connection = True

            def _serve(self) -> None:
                asked = Asked(self)
                stub.asked.append(asked)
                script(asked)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        scheme = "https" if authority is not None else "http"
        if authority is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*authority.server("stub", "127.0.0.1"))
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self.token = folder / "token"
        self.token.write_text("first")
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps(_kubeconfig(self.url, self.token, authority)))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def stub(folder: Path, script: Callable[[Asked], None], authority: Authority | None = None) -> Iterator[Stub]:
    """A stub that runs; with an authority it speaks TLS, as API servers do."""
    made = Stub(folder, script, authority)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def page(*names: str, version: str = "10", token: str = "") -> Json:
    metadata = {"resourceVersion": version} | ({"continue": token} if token else {})
    return {"kind": "List", "metadata": metadata, "items": [thing(name) for name in names]}


def thing(name: str, version: str = "1") -> Json:
    return {"metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": version}}


def event(kind: str, name: str, version: str) -> Json:
    return {"type": kind, "object": thing(name, version)}


def bookmark(version: str) -> Json:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}}


def error(code: int, reason: str) -> Json:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason, "message": "told to"}}


def _kubeconfig(url: str, token: Path, authority: Authority | None) -> Json:
    trust = {"certificate-authority": str(authority.certificate)} if authority is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "stub",
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        "clusters": [{"name": "stub", "cluster": {"server": url, **trust}}],
        "users": [{"name": "stub", "user": {"tokenFile": str(token)}}],
    }
