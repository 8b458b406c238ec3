"""The dashboard as a web application: the paths of its pages, its own files, and what an error looks like."""

import logging
import mimetypes
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from gitops_bg.agent.logs import fields
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.web.access.guard import Guard, Login, is_loopback
from gitops_bg.web.access.oidc import API_EVENTS, EVENTS
from gitops_bg.web.access.person import ANYBODY, Person, Via
from gitops_bg.web.dashboard.actions import Acting
from gitops_bg.web.dashboard.api import PREFIX, Api
from gitops_bg.web.dashboard.events import Events
from gitops_bg.web.dashboard.pages import NotHere, Pages, Shown
from gitops_bg.web.dashboard.source import Running, Source
from gitops_bg.web.server import WebServer

_log = logging.getLogger(__name__)
_IN_POD = "--act-in-pod lets whoever reaches it act as you"
Show = Callable[[Request], Shown]
SCRIPTS = ("htmx.min.js", "hx-sse.min.js", "dashboard.js")
"""What ``script.js`` is made of, in this order: as files of their own the second may come before the first."""

LOCAL = Person("somebody on this machine", "dashboard@localhost", "loopback", frozenset(), Via.LOOPBACK)
"""Who acts where there is no login, and nobody but this machine reaches the dashboard."""


def dashboard_server(
    running: Running, host: str, port: int, login: Login | None = None, option: str = "--dashboard"
) -> WebServer:
    """Return a server of the dashboard, not started. Without a ``login``, and on an address that others reach, nobody
    acts. ``option`` gave the address.
    """
    wanted = login or Login()
    if not wanted.is_needed and is_loopback(host):
        wanted = replace(wanted, loopback=ANYBODY if wanted.in_pod else wanted.loopback or LOCAL)
    if not wanted.is_needed and wanted.loopback in (None, ANYBODY):
        remedy = "a file of --dashboard-login-file lets people log in" if option == "--dashboard" else _IN_POD
        _log.warning("%s; %s", wanted.why_reading_only, remedy)
    if wanted.oidc is not None and wanted.oidc.is_forge:
        running.listeners.append(_ForgeCheck(running, wanted.oidc.issuer))
    return WebServer(dashboard(Source(running), wanted), host, port, headers=(), option=option)


class _ForgeCheck:
    """Says in the log where people log in at what is not the forge of the repository: once main is read, and again when
    it names another forge.
    """

    def __init__(self, running: Running, issuer: str) -> None:
        self._running = running
        self._issuer = issuer
        self._checked: object = self

    def __call__(self, _: AppOrGroup) -> None:
        """Check in a thread of its own where main says something new: it may ask a server."""
        reading = self._running.catalog.reading
        if reading.settings_known and self._running.catalog.seen and self._checked != reading.settings.forge:
            self._checked = reading.settings.forge
            threading.Thread(target=self._check, name="forge-check", daemon=True).start()

    def _check(self) -> None:
        if why := self._running.account("of nobody", self._issuer).why_unusable():
            said = fields(issuer=self._issuer)
            _log.warning("`forge: true` of the login file does not fit, nobody acts there: %s", why, extra=said)


def dashboard(source: Source, login: Login) -> Guard:
    """Return the application."""
    pages = Pages(source)
    shown: dict[str, Show] = {
        "/": pages.all,
        "/apps/{namespace}/{app}": pages.app,
        "/apps/{namespace}/{app}/compare": pages.compare,
        "/apps/{namespace}/{app}/history": pages.history,
        "/apps/{namespace}/{app}/history/{commit}": pages.entry,
        "/groups/{namespace}/{group}": pages.group,
        "/groups/{namespace}/{group}/history": pages.history,
        "/groups/{namespace}/{group}/history/{commit}": pages.entry,
        "/policies": pages.policies,
        "/fleet": pages.fleet,
        "/environments": pages.environments,
        "/wall": pages.wall,
        "/me": pages.me,
    }
    issuer = login.oidc.issuer if login.oidc is not None else ""
    api, events = Api(source, pages), Events(source, pages, shown)
    routes = [_page(path, show, pages) for path, show in shown.items()]
    more = [
        *Acting(
            source.commands, source.group_commands, lambda token: source.account(token, issuer), pages.show
        ).routes(),
        *api.routes(),
        Route(EVENTS, events.stream, methods=["GET"]),
        Route(API_EVENTS, events.stream_json, methods=["GET"]),
        *(login.oidc.routes() if login.oidc is not None else ()),
        Route("/static/{name}", _static, methods=["GET"]),
    ]
    errors = {404: _failing(pages), NotHere: _failing(pages), GitopsBgError: _failing(pages)}
    app = Starlette(routes=[*routes, *more], exception_handlers=errors)
    app.router.redirect_slashes = False
    return Guard(app, login, source.access)


def _page(path: str, show: Show, pages: Pages) -> Route:
    """Return a route whose page is made in a thread."""

    def answer(request: Request) -> Response:
        return _drawn(pages, show(request), request)

    return Route(path, answer, methods=["GET"])


def _failing(pages: Pages) -> Callable[[Request, Exception], Response]:
    """Return the page of an error, made in a thread."""

    def answer(request: Request, error: Exception) -> Response:
        shown = pages.failed(request, error)
        if request.url.path.startswith(PREFIX):
            return JSONResponse({"message": str(shown.given["what"])}, shown.status)
        return _drawn(pages, shown, request)

    return answer


def _drawn(pages: Pages, shown: Shown, request: Request) -> Response:
    return HTMLResponse(pages.draw(shown, request), shown.status)


def _static(request: Request) -> Response:
    """Return a file of ours, kept by browsers for an hour."""
    name = request.path_params["name"]
    folder = files("gitops_bg.web.dashboard") / "static"
    parts = [folder / each for each in (SCRIPTS if name == "script.js" else (name,))]
    if not all(part.is_file() for part in parts):
        raise HTTPException(404)
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    content = b"\n".join(part.read_bytes() for part in parts)
    return Response(content, media_type=kind, headers={"Cache-Control": "max-age=3600"})
