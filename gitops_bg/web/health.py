"""/healthz and /readyz: 200 or 503, with the reasons as JSON. They ask the agent and judge nothing themselves."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gitops_bg.agent.observability.secrets import masked
from gitops_bg.web.agent_port import AgentView
from gitops_bg.web.answers import HealthAnswer


def routes(view: AgentView) -> list[Route]:
    """/healthz: restart the process where it fails. /readyz: the agent can do its work. 200 or 503."""
    return [_question("/healthz", view.liveness_problems), _question("/readyz", view.readiness_problems)]


def _question(path: str, reasons_against: Callable[[], list[str]]) -> Route:
    async def answer(_request: Request) -> JSONResponse:
        reasons = [masked(reason) for reason in reasons_against()]
        body: HealthAnswer = {"ok": not reasons, "reasons": reasons}
        return JSONResponse(body, 503 if reasons else 200)

    return Route(path, answer, methods=["GET"])
