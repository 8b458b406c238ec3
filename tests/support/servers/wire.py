"""A connection to a server that a test can cut, restore and disturb: bytes in, bytes out."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import yaml

_LATE = 0.3
"""Seconds by which what is late comes later."""
_EFFECT = 5.0
"""Seconds within which a server begins to answer."""
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)


class Fault(StrEnum):
    """What becomes of a request, or of the beginning of a connection."""

    LOST = "cut before the effect"
    UNANSWERED = "cut after the effect, before the answer"
    HALF = "cut in the middle of the answer"
    LATE = "late"
    SILENT = "nothing passes any more, and nobody closes"
    TWICE = "arrives twice"
    """Only of a request that is readable: of HTTP without TLS."""


class _Pair:
    """The two ends of a connection, and what befell it."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.near, self.far = near, far
        self.fault: Fault | None = None

    def cut(self) -> None:
        for one in (self.near, self.far):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.near.close()
        self.far.close()


class Wire:
    """Listens on a port of its own and passes everything on, while it is not `cut`."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[_Pair] = []
        self._cut = threading.Event()
        self._lock = threading.Lock()
        self._faults: Iterator[Fault] = iter(())
        self._fault: Fault | None = None
        """The next one."""
        self._gaps: Iterator[int] = iter(())
        """How many requests there are from one that meets the fault to the next."""
        self._until = 0
        self.struck: set[Fault] = set()
        """What has become of requests so far."""
        threading.Thread(target=self._accept, daemon=True).start()

    def fail(self, faults: Iterable[Fault], every: int) -> None:
        """From now on, one after the other of these becomes of about each so-manieth request.

        The gaps differ: a pass that makes as many requests as one gap would meet the fault at the same place for ever.
        """
        with self._lock:
            self._faults = iter(faults)
            self._fault = next(self._faults, None)
            self._gaps = cycle((every, every + 2, every + 1))
            self._until = next(self._gaps)

    def cut(self) -> None:
        """Nobody gets through any more, and who was through is cut off."""
        self._cut.set()
        for pair in self._open:
            pair.cut()

    def mend(self) -> None:
        """It works again; connections on which nothing passed stay silent."""
        with self._lock:
            self._fault = None
        self._cut.clear()

    def close(self) -> None:
        """The end."""
        pairs = list(self._open)
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # Closing it alone does not wake who waits for a connection.
        self._listener.close()
        for pair in pairs:
            pair.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._cut.is_set():
                    near.close()
                    continue
                pair = _Pair(near, socket.create_connection(self._to))
                self._open.append(pair)
                for pass_on in (self._requests_of, self._answers_of):
                    threading.Thread(target=pass_on, args=(pair,), daemon=True).start()

    def _requests_of(self, pair: _Pair) -> None:
        with suppress(OSError):
            while data := pair.near.recv(65536):
                if self._fault is Fault.TWICE:
                    data += _rest_of_request(data, pair.near)
                fault = self._next_fault()
                pair.fault = pair.fault or fault
                if pair.fault is Fault.SILENT:
                    continue
                if fault is Fault.LOST:
                    break
                if fault is Fault.LATE:
                    self._cut.wait(_LATE)
                if fault is Fault.TWICE:
                    self._send_alone(data)
                pair.far.sendall(data)
        if pair.fault is not Fault.SILENT:
            pair.cut()

    def _answers_of(self, pair: _Pair) -> None:
        with suppress(OSError):
            while data := pair.far.recv(65536):
                if pair.fault is Fault.SILENT:
                    continue
                if pair.fault is Fault.UNANSWERED:
                    break
                if pair.fault is Fault.HALF:
                    pair.near.sendall(data[: len(data) // 2])
                    break
                pair.near.sendall(data)
        if pair.fault is not Fault.SILENT:
            pair.cut()

    def _next_fault(self) -> Fault | None:
        with self._lock:
            if self._fault is None:
                return None
            self._until -= 1
            if self._until:
                return None
            self._until = next(self._gaps)
            fault, self._fault = self._fault, next(self._faults, None)
            self.struck.add(fault)
            return fault

    def _send_alone(self, request: bytes) -> None:
        """Send a request on a connection of its own, and wait for its effect."""
        with socket.create_connection(self._to, timeout=_EFFECT) as alone:
            alone.sendall(request)
            alone.recv(1)


def _rest_of_request(begun: bytes, near: socket.socket) -> bytes:
    """What is still to come of an HTTP request: clients send its head and its body one after the other."""
    head, end_of_head, body = begun.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    missing = int(length[1]) - len(body) if end_of_head and length else 0
    rest = b""
    while len(rest) < missing and (more := near.recv(missing - len(rest))):
        rest += more
    return rest


@contextmanager
def wired_to(host: str, port: int) -> Iterator[Wire]:
    """A wire to a server, closed at the end."""
    made = Wire(host, port)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def wire(kubeconfig: Path, folder: Path) -> Iterator[tuple[Wire, Path]]:
    """A wire to the API server of a kubeconfig, and a kubeconfig that goes over it."""
    config = yaml.safe_load(kubeconfig.read_text())
    server = urlsplit(config["clusters"][0]["cluster"]["server"])
    with wired_to(server.hostname or "127.0.0.1", server.port or 443) as made:
        config["clusters"][0]["cluster"]["server"] = f"{server.scheme}://127.0.0.1:{made.port}"
        path = folder / "wired"
        path.write_text(yaml.safe_dump(config))
        yield made, path
