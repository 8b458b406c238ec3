"""/api/v1: what the pages show, as JSON in the shapes that the command line prints with ``-o json``, and the OpenAPI
document, which is made from them.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from typing import Any

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import gitops_bg
from gitops_bg.core.dataclass import dataclass
from gitops_bg.views.fleet import fleet_of, json_of_ledger
from gitops_bg.views.group_tree import json_tree_of_group
from gitops_bg.views.shapes.apps import ComparisonJson, FetchedFleetJson, GroupHistoryJson, HistoryJson, TreeJson
from gitops_bg.views.shapes.groups import GroupTreeJson, PageJson
from gitops_bg.views.tree import json_tree_of_app
from gitops_bg.web.agent_port import MessageAnswer
from gitops_bg.web.dashboard.listing import ROWS, Query, json_of_page
from gitops_bg.web.dashboard.pages import Pages, sees
from gitops_bg.web.dashboard.source import Source

PREFIX = "/api/v1"
_REFS = "#/components/schemas/{model}"
_FILTERS = {
    "q": "Words that a name, an image or a message has, all of them.",
    "phase": "The phase.",
    "namespace": "The namespace.",
    "label": "Labels of the target: team=shop,tier!=db,owner.",
    "waiting": "1: only what waits for people.",
    "mine": "1: only what waits for who asks.",
    "page": f"The number of the page, from 1; each has {ROWS}.",
}
_VERSIONS = {"from": "The number of a version.", "to": "The number of another one."}
_MEANINGS = _FILTERS | _VERSIONS


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path of the API: what it is for, what its query may say, and the shape of its answer."""

    path: str
    summary: str
    shape: Any
    answer: Callable[[Request], Mapping[str, Any]]
    query: tuple[str, ...] = ()
    media: str = "application/json"
    """How it comes: a stream is made elsewhere (`events`)."""


class Api:
    """What may be asked. Each answer is made in a thread, of what the person may see."""

    def __init__(self, source: Source, pages: Pages) -> None:
        self._source = source
        self._pages = pages
        self.endpoints = (
            Endpoint("/apps", "All apps and release groups.", PageJson, self._all, tuple(_FILTERS)),
            Endpoint("/apps/{namespace}/{app}", "One app, as `gitops-bg tree`.", TreeJson, self._app),
            Endpoint(
                "/apps/{namespace}/{app}/history", "Its ledger, newest first.", HistoryJson, self._history, ("page",)
            ),
            Endpoint(
                "/apps/{namespace}/{app}/compare",
                "How two versions differ, as `gitops-bg diff`.",
                ComparisonJson,
                self._compare,
                tuple(_VERSIONS),
            ),
            Endpoint(
                "/events",
                "The answer of `/api/v1/apps`, as a message whenever it is another one. Ends after 25 s: ask again.",
                PageJson,
                self._all,
                tuple(_FILTERS),
                media="text/event-stream",
            ),
            Endpoint("/groups/{namespace}/{group}", "One release group.", GroupTreeJson, self._group),
            Endpoint(
                "/groups/{namespace}/{group}/history",
                "Its ledger, newest first.",
                GroupHistoryJson,
                self._history,
                ("page",),
            ),
            Endpoint("/fleet", "What serves in every cluster of the repository.", FetchedFleetJson, self._fleet),
        )

    def routes(self) -> list[Route]:
        """Return every path, and that of the document."""
        answered = (each for each in self.endpoints if each.media == "application/json")
        return [*map(_route, answered), Route(f"{PREFIX}/openapi.json", self._openapi, methods=["GET"])]

    def _openapi(self, _: Request) -> Response:
        return JSONResponse(openapi(self.endpoints))

    def _all(self, request: Request) -> Mapping[str, Any]:
        return json_of_page(self._pages.listed(request))

    def _compare(self, request: Request) -> Mapping[str, Any]:
        return self._pages.compared(request).json()

    def _app(self, request: Request) -> Mapping[str, Any]:
        return json_tree_of_app(self._pages.app_view(request))

    def _group(self, request: Request) -> Mapping[str, Any]:
        return json_tree_of_group(self._pages.group_view(request))

    def _history(self, request: Request) -> Mapping[str, Any]:
        subject, page = self._pages.visible(request), Query.read(request.query_params).page
        rows = self._pages.entries(request, subject, page * ROWS)[(page - 1) * ROWS :]
        ledger = self._source.main().ledger
        return {subject.kind: str(subject), "ledger": ledger, "entries": [each.json for each in rows]}

    def _fleet(self, request: Request) -> Mapping[str, Any]:
        fleet = self._source.fleet().seen_by(sees(request))
        ledgers, rows = map(json_of_ledger, fleet.ledgers), (each.json() for each in fleet_of(fleet.ledgers))
        read_at = fleet.read_at.astimezone(UTC).isoformat()
        return {"clusters": list(ledgers), "items": list(rows), "readAt": read_at, "trouble": fleet.trouble}


def _route(endpoint: Endpoint) -> Route:
    def answer(request: Request) -> Response:
        return JSONResponse(endpoint.answer(request))

    return Route(f"{PREFIX}{endpoint.path}", answer, methods=["GET"])


def openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document of the API."""
    listed = tuple(endpoints)
    shapes = [*(each.shape for each in listed), MessageAnswer]
    inputs = [(number, "serialization", TypeAdapter(shape)) for number, shape in enumerate(shapes)]
    found, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REFS)  # type: ignore[arg-type]
    schemas = [found[number, "serialization"] for number in range(len(shapes))]
    failed = {"description": "Why not.", "content": {"application/json": {"schema": schemas[-1]}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "gitops-bg", "version": gitops_bg.__version__},
        "paths": {
            f"{PREFIX}{each.path}": {"get": _operation(each, schema, failed)}
            for each, schema in zip(listed, schemas, strict=False)
        },
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(endpoint: Endpoint, schema: Any, failed: Any) -> dict[str, Any]:
    parts = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    text = {"type": "string"}
    return {
        "summary": endpoint.summary,
        "parameters": [
            *({"name": each, "in": "path", "required": True, "schema": text} for each in parts),
            *({"name": each, "in": "query", "schema": text, "description": _MEANINGS[each]} for each in endpoint.query),
        ],
        "responses": {
            "200": {"description": "OK", "content": {endpoint.media: {"schema": schema}}},
            **dict.fromkeys(("401", "404", "503"), failed),
        },
    }
