"""The dashboard as a web application: its pages, each of which is read in a thread of its own."""

import logging
import mimetypes
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.web.access.guard import Guard, Login, is_loopback
from gitops_bg.web.access.person import Person, Role, Via, access_for, form_token, person_of
from gitops_bg.web.dashboard.actions import Acting, actions_for
from gitops_bg.web.dashboard.app_page import AppPage
from gitops_bg.web.dashboard.listing import Query, page_of
from gitops_bg.web.dashboard.rendering import page
from gitops_bg.web.dashboard.snapshot import Snapshot
from gitops_bg.web.dashboard.source import Running, Source, quietly
from gitops_bg.web.server import WebServer

_log = logging.getLogger(__name__)
_ENTRIES = 12
"""Entries of the ledger on the page of an app."""
_SIMILAR = 5


class NotHere(Exception):
    """There is no such page, app or version."""

    def __init__(self, what: str, instead: list[AppOrGroup] | None = None) -> None:
        super().__init__(what)
        self.instead = instead or []


LOCAL = Person("somebody on this machine", "dashboard@localhost", "loopback", frozenset(), Via.LOOPBACK)
"""Who acts where there is no login, and nobody but this machine reaches the dashboard."""


def dashboard_server(running: Running, host: str, port: int, login: Login | None = None) -> WebServer:
    """A server of the dashboard, not started. Without a ``login``, and on an address that others reach, nobody acts."""
    wanted = login or Login()
    if not wanted.is_needed and is_loopback(host):
        wanted = replace(wanted, loopback=LOCAL)
    if not wanted.is_needed and not is_loopback(host):
        _log.warning("nobody can log in at the dashboard, and others reach it: it is for reading only")
    return WebServer(dashboard(Source(running), wanted), host, port, headers=())


def dashboard(source: Source, login: Login) -> Guard:
    """The application."""
    pages = Pages(source)
    routes = [
        _page("/", pages.all),
        _page("/apps/{namespace}/{app}", pages.app),
        *Acting(source.commands, pages.show).routes(),
        Route("/static/{name}", _static, methods=["GET"]),
    ]
    app = Starlette(routes=routes, exception_handlers={404: pages.unknown, NotHere: pages.unknown})
    app.router.redirect_slashes = False
    return Guard(app, login, source.access)


def _page(path: str, show: Callable[[Request], Response]) -> Route:
    """A route whose page is made in a thread."""

    def answer(request: Request) -> Response:
        return show(request)

    return Route(path, answer, methods=["GET"], name=path)


def _static(request: Request) -> Response:
    """A file of ours, kept by browsers for an hour."""
    found = files("gitops_bg.web.dashboard") / "static" / request.path_params["name"]
    if not found.is_file():
        raise HTTPException(404)
    kind = mimetypes.guess_type(found.name)[0] or "text/plain"
    return Response(found.read_bytes(), media_type=kind, headers={"Cache-Control": "max-age=3600"})


class Pages:
    """What each page shows."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def all(self, request: Request) -> Response:
        """Everything, what waits for people first."""
        snapshot = self._seen(request)
        listed = page_of(snapshot, Query.read(request.query_params))
        waiting = [each for each in snapshot.rows if each.asked][: _SIMILAR + 1] if listed.query == Query() else []
        return self.show(request, "list.html", page=listed, waiting=waiting, number=snapshot.number)

    def app(self, request: Request) -> Response:
        """One app."""
        app = AppKey(request.path_params["namespace"], request.path_params["app"])
        view = self._source.app(app) if _sees(request)(app.namespace) else None
        if view is None:
            raise NotHere(f"This cluster runs no app {app}.", self._similar(request, app))
        entries, unread = quietly(lambda: tuple(self._source.history(app, _ENTRIES)))
        troubles, _ = quietly(lambda: self._source.troubles(view))
        shown = AppPage(view, troubles, entries, unread, self._source.clock())
        may = actions_for(person_of(request), access_for(request), app.namespace)
        actions = [each for each in may if each.command in shown.possible]
        given: dict[str, Any] = {"app": app, "page": shown, "row": view.row, "actions": actions}
        return self.show(request, "app.html", token=form_token(request), **given)

    def unknown(self, request: Request, error: Exception) -> Response:
        """What there is instead of what was asked for."""
        what = str(error) if isinstance(error, NotHere) else f"There is no page {request.url.path}."
        instead = error.instead if isinstance(error, NotHere) else []
        return self.show(request, "unknown.html", status=404, what=what, instead=instead)

    def _similar(self, request: Request, wanted: AppOrGroup) -> list[AppOrGroup]:
        """Those whose names are like it, and those of its namespace."""
        known = {str(each.key): each.key for each in self._seen(request).rows}
        close = get_close_matches(str(wanted), known, _SIMILAR, 0.5)
        near = [name for name, key in known.items() if key.namespace == wanted.namespace]
        return [known[name] for name in dict.fromkeys([*close, *near])][:_SIMILAR]

    def _seen(self, request: Request) -> Snapshot:
        """What the person sees of everything."""
        return self._source.snapshot().seen_by(_sees(request))

    def show(self, request: Request, name: str, status: int = 200, **given: Any) -> Response:
        """A page of a template, with what all have."""
        main, now = self._source.main(), self._source.clock()
        common = {"main": main, "now": now, "here": request.url.path, "commit_url": self._source.commit_url}
        return page(name, status, **common, **given)


def _sees(request: Request) -> Callable[[str], bool]:
    """Whether who asks may see a namespace."""
    person, access = person_of(request), access_for(request)
    return lambda namespace: access.may(person, Role.VIEWER, namespace)
