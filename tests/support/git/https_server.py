"""A real HTTPS Git server for tests: git's own http-backend behind TLS and basic authentication."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.cluster.pki import Authority
from tests.support.git.remote import locked_down_env
from tests.support.waiting import HANGS


class GitHttpsServer:
    """Serves the bare repositories of a folder. `redirect_to` makes it send everybody elsewhere."""

    def __init__(self, folder: Path, token: str, port: int, certificate: Path) -> None:
        self.folder = folder
        self.token = token
        self.certificate = certificate
        self.url = f"https://127.0.0.1:{port}"
        self.redirect_to = ""
        self.refuse_pushes = False
        self.seen_credentials: list[str] = []


@contextmanager
def serving(
    folder: Path, scratch: Path, token: str, *, named: str = "127.0.0.1", days: int = 2
) -> Iterator[GitHttpsServer]:
    """Runs the server until the block ends; its certificate is for the address ``named``, and for so many days."""
    authority = Authority(scratch / "pki")
    certificate, key = authority.server("git", named, days=days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    # Each handshake in the thread of its connection: one that never ends holds up no other.
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True, do_handshake_on_connect=False)
    server = GitHttpsServer(folder, token, httpd.server_address[1], authority.certificate)
    httpd.git = server  # type: ignore[attr-defined]
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """One request: authenticate, run http-backend as CGI."""

    def log_message(self, format: str, *args: object) -> None:
        """Keeps test output clean."""

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self._body())

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        return body

    def _serve(self, body: bytes) -> None:
        server: GitHttpsServer = self.server.git  # type: ignore[attr-defined]
        url = urlsplit(self.path)
        given = self.headers.get("Authorization", "")
        server.seen_credentials += [given] if given else []
        if server.redirect_to:
            self._empty(302, {"Location": server.redirect_to + self.path})
        elif base64.b64decode(given.removeprefix("Basic ")).decode().rpartition(":")[2] != server.token:
            self._empty(401, {"WWW-Authenticate": 'Basic realm="git"'})
        elif server.refuse_pushes and "receive-pack" in self.path:
            self._empty(403, {})
        else:
            self._backend(server, url.path, url.query, body)

    def _empty(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def _backend(self, server: GitHttpsServer, path: str, query: str, body: bytes) -> None:
        environment = {
            **locked_down_env(server.folder),
            "GIT_PROJECT_ROOT": str(server.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "agent",
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "PATH": os.environ["PATH"],
        }
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True, timeout=HANGS)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200").split(" ")[0]))
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
