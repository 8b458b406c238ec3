"""/healthz and /readyz: 200 or 503, with the reasons as JSON. They ask the agent and judge nothing themselves."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from gitops_bg.agent.logs import masked
from gitops_bg.web.agent_port import AgentView, HealthAnswer, ReadyAnswer


def routes(view: AgentView) -> list[Route]:
    """/healthz: restart the process where it fails. /readyz: the agent can do its work. 200 or 503."""

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
