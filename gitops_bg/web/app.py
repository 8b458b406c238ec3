"""The paths of the web server, and those of them that only the agent's state answers: health and metrics.

A new page or API brings its own `routes` and is added here, nowhere else.
"""

from collections.abc import Callable, Iterable, Sequence

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gitops_bg.agent.logs import masked
from gitops_bg.web import groups, receiver
from gitops_bg.web.agent_port import AgentView, HealthAnswer, ReadyAnswer
from gitops_bg.web.receiver import Later


def health_routes(view: AgentView) -> list[Route]:
    """Return /healthz: restart the process where it fails. /readyz: the agent can do its work. 200 or 503."""

    def health() -> HealthAnswer:
        reasons = _masked(view.liveness_problems())
        return {"ok": not reasons, "reasons": reasons}

    def readiness() -> ReadyAnswer:
        reasons = _masked(view.readiness_problems())
        return {"ok": not reasons, "reasons": reasons, "unmanaged": _masked(view.unmanaged())}

    return [_question("/healthz", health), _question("/readyz", readiness)]


def _masked(reasons: list[str]) -> list[str]:
    return [masked(reason) for reason in reasons]


def _question(path: str, ask: Callable[[], HealthAnswer]) -> Route:
    async def answer(_request: Request) -> JSONResponse:
        body = ask()
        return JSONResponse(body, 200 if body["ok"] else 503)

    return Route(path, answer, methods=["GET"])


_OPEN_METRICS = "application/openmetrics-text"


def metrics_routes(view: AgentView) -> list[Route]:
    """Return /metrics, in a thread: with thousands of apps the text takes a while, and health must respond
    meanwhile.
    """

    def answer(request: Request) -> Response:
        text, content_type = exposition(view.metrics.registry, request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    return [Route("/metrics", answer, methods=["GET"])]


def exposition(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """Return the text of all series, and its content type: OpenMetrics where ``accept`` names it, else plain.

    Nothing else of ``accept`` is used: the library fails on versions that are not numbers, and repeats others.
    """
    encode, content_type = choose_encoder(_OPEN_METRICS if _OPEN_METRICS in accept else "")
    return encode(_WithoutCreationTimes(registry)), content_type


class _WithoutCreationTimes(Collector):
    """The series without ``…_created``, which would double their number and which nobody needs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


def application(view: AgentView, later: Later | None = None, read_seconds: float = 10.0) -> Starlette:
    """Return the ASGI application; ``later`` and ``read_seconds`` as in `receiver.routes`."""
    pages = (*health_routes(view), *metrics_routes(view), *groups.routes(view))
    routes = [*pages, *receiver.routes(view, later, read_seconds)]
    return _app(routes)


def application_of_probes(view: AgentView) -> Starlette:
    """Return /healthz and /readyz alone, for a server of their own: nobody else has a reason to ask it."""
    return _app(health_routes(view))


def _app(routes: Sequence[BaseRoute]) -> Starlette:
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app
