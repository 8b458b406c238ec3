"""The edge of tracing: spans of rollouts to a collector, by OTLP over HTTP, as the OTEL_* variables say.

Without an endpoint nothing of OpenTelemetry is imported. Spans go to a bounded queue of its
own thread: a collector that is slow or away delays nothing, and what it does not take is lost.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from gitops_bg import __version__
from gitops_bg.agent.logs import masked
from gitops_bg.core.model.decision import Span

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan


LOGGER = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP = "http/protobuf"
INSTALL = "pip install 'gitops-bg[tracing]'"


class Tracer(Protocol):
    """Sends what ended."""

    def send(self, span: Span) -> None:
        """Queue a span; returns at once."""

    def stop(self, timeout: float) -> None:
        """Send what is queued, for at most ``timeout`` seconds."""


class NoTracer:
    """Traces nothing, and costs nothing."""

    def send(self, span: Span) -> None:
        """Do nothing."""

    def stop(self, timeout: float) -> None:
        """Do nothing."""


NO_TRACER = NoTracer()


def tracer_from(environment: Mapping[str, str], cluster: str) -> Tracer:
    """Return the tracer that the standard variables ask for; ``cluster`` is the name of this cluster in each trace."""
    if not any(environment.get(name) for name in ENDPOINTS) or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return NO_TRACER
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return NO_TRACER
    protocol = next((environment[name] for name in PROTOCOLS if environment.get(name)), HTTP)
    if protocol != HTTP:
        LOGGER.warning("there are no traces: the protocol %s is not supported; set %s=%s", protocol, PROTOCOLS[1], HTTP)
        return NO_TRACER
    try:
        return _OtlpTracer(_resource(environment, cluster))
    except ImportError as error:
        LOGGER.warning("there are no traces: %s is not installed; %s", error.name, INSTALL)
    except (ValueError, OSError) as error:
        LOGGER.warning("there are no traces: %s", masked(str(error)))
    return NO_TRACER


def _resource(environment: Mapping[str, str], cluster: str) -> "Resource":
    """Return who sends: what the variables say comes before what we know. Raises ``ImportError``."""
    from opentelemetry.sdk.resources import Resource

    named = "OTEL_SERVICE_NAME" in environment or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    ours = {} if named else {"service.name": "gitops-bg"}
    return Resource({"service.version": __version__, "k8s.cluster.name": cluster}).merge(Resource.create(ours))


class _OtlpTracer:
    """Sends over HTTP, in a thread of OpenTelemetry's own."""

    def __init__(self, resource: "Resource") -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._processor = BatchSpanProcessor(OTLPSpanExporter())
        self._readable = _converter(resource)
        LOGGER.info("rollouts are traced")

    def send(self, span: Span) -> None:
        self._processor.on_end(self._readable(span))

    def stop(self, timeout: float) -> None:
        ending = threading.Thread(target=self._processor.shutdown, name="tracing", daemon=True)
        ending.start()
        ending.join(timeout)


def _converter(resource: "Resource") -> "Callable[[Span], ReadableSpan]":
    """Return the function that makes a span of the SDK of one of ours."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

    scope = InstrumentationScope("gitops_bg", __version__)

    def context(span: Span, span_id: str) -> SpanContext:
        sampled = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(int(span.trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=sampled)

    def readable(span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=context(span, span.span_id),
            parent=context(span, span.parent_id) if span.parent_id else None,
            resource=resource,
            attributes={key: masked(value) if isinstance(value, str) else value for key, value in span.attributes},
            status=Status(StatusCode.ERROR, masked(span.error)) if span.error else Status(StatusCode.UNSET),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(span.end),
            instrumentation_scope=scope,
        )

    return readable


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
