"""HTTP/1.1 over sockets, lean: the standard library's server costs a millisecond a request.

One thread accepts for every listening port, one thread serves each connection; `stop` leaves none
behind. It must know nothing of Kubernetes.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock, Thread, current_thread

_REASONS = {status.value: status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class Request:
    """One request as it came in; header names are lower-case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    protocol: str = "HTTP/1.1"

    @property
    def is_last(self) -> bool:
        """Return whether the client closes the connection after this request (RFC 9112 §9.3)."""
        wish = self.headers.get("connection", "").lower()
        return wish == "close" or (self.protocol == "HTTP/1.0" and wish != "keep-alive")


@dataclass(slots=True)
class Response:
    """One answer; with `stream`, the body follows in chunks and an empty chunk only asks who is there."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    close: bool = False


class Connection:
    """One accepted connection, read and written by its own thread."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._reader = sock.makefile("rb", 65536)

    def read(self) -> Request | None:
        """Return the next request; None when the client has gone or talks no HTTP."""
        try:
            parts = self._reader.readline(65536).decode("latin-1").split()
            if len(parts) != 3:
                return None
            headers = self._read_headers()
            return Request(parts[0], parts[1], headers, self._read_body(headers), parts[2])
        except (OSError, ValueError):
            return None

    def _read_headers(self) -> dict[str, str]:
        headers = {}
        while (line := self._reader.readline(65536)) not in (b"\r\n", b"\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        return headers

    def _read_body(self, headers: dict[str, str]) -> bytes:
        if headers.get("expect", "").lower() == "100-continue":
            self._sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() != "chunked":
            body: bytes = self._reader.read(int(headers.get("content-length", "0")))
            return body
        chunks = []
        while size := int(self._reader.readline().split(b";")[0], 16):
            chunks.append(self._reader.read(size))
            self._reader.readline()
        self._read_headers()
        return b"".join(chunks)

    def send(self, response: Response, request: Request) -> bool:
        """Send the answer to a request; return whether the connection can carry another one."""
        response.close = response.close or request.is_last
        try:
            if response.stream is not None:
                self._send_stream(response, response.stream)
            else:
                body = b"" if request.method == "HEAD" else response.body
                self._sock.sendall(_head(response) + body)
        except OSError:
            return False
        return not response.close

    def _send_stream(self, response: Response, stream: Iterator[bytes]) -> None:
        self._sock.sendall(_head(response))
        for chunk in stream:
            if chunk:
                self._sock.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            elif self._has_gone():
                raise ConnectionResetError
        self._sock.sendall(b"0\r\n\r\n")

    def _has_gone(self) -> bool:
        try:
            return self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False

    def shut(self) -> None:
        """End the connection from another thread; its reader sees the end of the stream."""
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def shut_reading(self) -> None:
        """Let the reader see the end of the stream after what has come in already."""
        try:
            self._sock.shutdown(socket.SHUT_RD)
        except OSError:
            return

    def close(self) -> None:
        """Release the socket; called by the connection's own thread."""
        self._reader.close()
        self._sock.close()


def _join(threads: Iterable[Thread], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for thread in threads:
        if thread is not current_thread():
            thread.join(max(deadline - time.monotonic(), 0))


def _head(response: Response) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {_REASONS.get(response.status, '')}"]
    lines.append(f"Content-Type: {response.content_type}")
    if response.stream is None:
        lines.append(f"Content-Length: {len(response.body)}")
    else:
        lines.append("Transfer-Encoding: chunked")
    lines.extend(f"{name}: {value}" for name, value in response.headers.items())
    if response.close:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


Serve = Callable[[Connection], None]


class Acceptor:
    """Every listening port of one sandbox, and the threads of the connections made to them."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = Lock()
        self._open: dict[Connection, Thread] = {}
        self._stopping = False
        self._waker, wake = socket.socketpair()
        self._wake = wake
        self._selector.register(wake, selectors.EVENT_READ)
        self._thread = Thread(target=self._run, name="sandbox-accept", daemon=True)
        self._thread.start()

    def listen(self, serve: Serve, port: int = 0) -> socket.socket:
        """Serve a port of 127.0.0.1 (0: any free one); return the socket."""
        sock = socket.create_server(("127.0.0.1", port), backlog=512)
        sock.setblocking(False)
        with self._lock:
            self._selector.register(sock, selectors.EVENT_READ, serve)
        self._waker.send(b".")
        return sock

    def _run(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select():
                if key.data is None:
                    self._wake.recv(4096)
                elif isinstance(key.fileobj, socket.socket):
                    self._accept(key.fileobj, key.data)

    def _accept(self, listening: socket.socket, serve: Serve) -> None:
        try:
            sock, _ = listening.accept()
        except OSError:
            return
        sock.setblocking(True)
        connection = Connection(sock)
        thread = Thread(target=self._serve, args=(connection, serve), name="sandbox-connection", daemon=True)
        with self._lock:
            self._open[connection] = thread
        thread.start()

    def _serve(self, connection: Connection, serve: Serve) -> None:
        try:
            serve(connection)
        finally:
            connection.close()
            with self._lock:
                self._open.pop(connection, None)

    def stop(self) -> None:
        """Close every port and connection and wait for their threads; takes no new work afterwards."""
        self._stopping = True
        self._waker.send(b".")
        self._thread.join()
        with self._lock:
            remaining = dict(self._open)
        for end in (Connection.shut_reading, Connection.shut):  # let answers under way be finished, then insist
            for connection in remaining:
                end(connection)
            _join(remaining.values(), 0.3)
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self._waker.close()
