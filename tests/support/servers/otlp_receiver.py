"""A collector of OpenTelemetry: takes spans by OTLP over HTTP, and decodes them."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Received(NamedTuple):
    """One span, as the collector has it."""

    name: str
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Any]
    failed: str
    resource: dict[str, Any]


class OtlpReceiver:
    """Keeps what it received. While `blocked` is set, it takes requests and answers none."""

    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.paths: set[str] = set()
        self.headers: dict[str, str] = {}
        self.blocked = threading.Event()
        self.released = threading.Event()
        self.address = ""

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for group in request.resource_spans:
            resource = _plain(group.resource.attributes)
            self.spans += [_received(span, resource) for scope in group.scope_spans for span in scope.spans]

    def of(self, name: str) -> list[Received]:
        """The spans of this name."""
        return [span for span in list(self.spans) if span.name == name]


def _received(span: Any, resource: dict[str, Any]) -> Received:
    ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
    times = (span.start_time_unix_nano, span.end_time_unix_nano)
    failed = span.status.message if span.status.code == 2 else ""
    return Received(span.name, *ids, *times, _plain(span.attributes), failed, resource)


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    """A receiver on a free port of this machine."""
    receiver = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if receiver.blocked.is_set():
                receiver.released.wait(30)
            receiver.paths.add(self.path)
            receiver.headers = dict(self.headers)
            receiver.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
