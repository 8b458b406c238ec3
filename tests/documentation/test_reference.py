"""Pages of docs/reference are what the program says of itself: its rules, events, series, fields, verbs and routes."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from unittest.mock import Mock

import pytest
from pydantic import TypeAdapter
from starlette.routing import Route

from gitops_bg.web.agent_port import AgentView, AskedAnswer, HealthAnswer, MessageAnswer, ReadyAnswer, VersionRow
from gitops_bg.web.app import application
from tests.documentation import (
    checks_page,
    events_page,
    metrics_page,
    status_page,
    verbs_page,
)
from tests.documentation.release import chart_page, compatibility_page


@pytest.mark.parametrize(
    "page", [chart_page, checks_page, compatibility_page, events_page, metrics_page, status_page, verbs_page]
)
def test_page_is_as_the_program_is(page: ModuleType) -> None:
    assert page.PAGE.read_text() == page.page(), f"{page.PAGE.name} is stale: run `{page.COMMAND}`"


def test_every_series_has_its_labels() -> None:
    """One that was not counted would be shown without any."""
    rows = [line.split(" | ") for line in metrics_page.page().splitlines() if line.startswith("| `gitops_bg_")]
    bare = {row[0].strip("|` ") for row in rows if not row[2]}
    assert len(rows) > 40
    assert not [name for name in bare if name.startswith(("gitops_bg_app_", "gitops_bg_group_"))]


def test_the_page_about_http_has_every_route_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
    routes = application(cast(AgentView, Mock(spec=AgentView))).routes
    served = {
        f"{method} {route.path}"
        for route in routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert served == set(re.findall(r"^#+ `([A-Z]+ /\S+)`$", page, re.MULTILINE))


ANSWERS: dict[str, Any] = {
    "`GET /healthz`": HealthAnswer,
    "`GET /readyz`": ReadyAnswer,
    "`POST /webhook`": MessageAnswer,
    "`GET /api/v1/groups/{namespace}/{group}/versions`": list[VersionRow],
    "`POST /api/v1/groups/{namespace}/{group}/promote/{version}`": AskedAnswer,
    "What else they answer": MessageAnswer,
}
"""What is answered, by the headings of the page that show it."""


def test_the_answers_that_the_page_about_http_shows_are_those_of_the_program() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
    _, *parts = re.split(r"^#+ (.+)$", page, flags=re.MULTILINE)
    shown = {
        heading: each
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
        for each in re.findall(r"^([{\[].*)$", text, re.MULTILINE)
    }
    assert shown.keys() == ANSWERS.keys()
    for heading, each in shown.items():
        TypeAdapter(ANSWERS[heading]).validate_json(each, strict=True, extra="forbid")
