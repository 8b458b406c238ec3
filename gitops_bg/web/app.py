"""The paths of the web server. A new page or API brings its own `routes` and is added here, nowhere else."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from gitops_bg.web import groups, health, metrics, receiver
from gitops_bg.web.agent_port import AgentView
from gitops_bg.web.receiver import Later


def application(view: AgentView, later: Later | None = None, read_seconds: float = 10.0) -> Starlette:
    """The ASGI application; ``later`` and ``read_seconds`` as in `receiver.routes`."""
    pages = (*health.routes(view), *metrics.routes(view), *groups.routes(view))
    routes = [*pages, *receiver.routes(view, later, read_seconds)]
    return _app(routes)


def application_of_probes(view: AgentView) -> Starlette:
    """/healthz and /readyz alone, for a server of their own: nobody else has a reason to ask it."""
    return _app(health.routes(view))


def _app(routes: Sequence[BaseRoute]) -> Starlette:
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app
