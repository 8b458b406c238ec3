"""/metrics: the agent's registry in the format that the scraper asks for. It collects nothing of its own."""

from collections.abc import Iterable

from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gitops_bg.web.agent_port import AgentView

_OPEN_METRICS = "application/openmetrics-text"


def routes(view: AgentView) -> list[Route]:
    """/metrics, in a thread: with thousands of apps the text takes a while, and health must respond meanwhile."""

    def answer(request: Request) -> Response:
        text, content_type = render(view.metrics.registry, request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    return [Route("/metrics", answer, methods=["GET"])]


def render(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """The text of all series, and its content type: OpenMetrics where ``accept`` names it, else plain.

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
