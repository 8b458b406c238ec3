"""The dashboard is a model that Grafana reads: panels side by side, a data source to choose, variables that exist."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import promql_parser
import pytest

from tests.monitoring.queries import dashboard, dashboard_queries

MODEL = dashboard()
PANELS = [panel for panel in MODEL["panels"] if panel["type"] != "row"]
TITLES = [panel["title"] for panel in PANELS]
VARIABLES = {variable["name"]: variable for variable in MODEL["templating"]["list"]}


def test_it_is_a_model_of_todays_grafana_that_nobody_has_saved_yet() -> None:
    assert MODEL["schemaVersion"] >= 39
    assert (MODEL["uid"], MODEL["title"]) == ("gitops-bg", "gitops-bg")
    assert "id" not in MODEL


def test_every_panel_has_a_number_and_a_title_of_its_own() -> None:
    numbers = [panel["id"] for panel in MODEL["panels"]]
    assert len(set(numbers)) == len(numbers)
    assert len(set(TITLES)) == len(TITLES)


def test_no_panel_covers_another_and_none_is_wider_than_the_screen() -> None:
    for panel in MODEL["panels"]:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    assert not [(a["title"], b["title"]) for a, b in itertools.combinations(MODEL["panels"], 2) if overlap(a, b)]


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    a, b = one["gridPos"], other["gridPos"]
    beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
    above = a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
    return not (beside or above)


@pytest.mark.parametrize("panel", PANELS, ids=TITLES)
def test_a_panel_says_what_it_shows_and_asks_the_chosen_data_source(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    assert panel["targets"]
    assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
    references = [target["refId"] for target in panel["targets"]]
    assert len(set(references)) == len(references)


def test_the_data_source_the_namespace_and_the_name_can_be_chosen() -> None:
    kinds = {name: variable["type"] for name, variable in VARIABLES.items()}
    assert kinds == {"datasource": "datasource", "namespace": "query", "name": "query"}
    used = set(re.findall(r"\$\{?([a-z]+)\b", json.dumps(MODEL)))
    assert used <= VARIABLES.keys()


@pytest.mark.parametrize("query", dashboard_queries())
def test_a_query_parses(query: str) -> None:
    assert promql_parser.parse(query) is not None


@pytest.mark.parametrize(
    "shown",
    [
        "resource_info",
        "resource_phase",
        "rollout_duration_seconds",
        "rollout_stage_duration_seconds",
        "git_poll_seconds",
        "kubernetes_requests",
        "errors_total",
        "decision_seconds",
        "process_resident_memory_bytes",
    ],
)
def test_it_shows_what_people_look_for(shown: str) -> None:
    assert any(shown in query for query in dashboard_queries())
