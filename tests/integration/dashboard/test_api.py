"""/api/v1: what its document says, and no more than somebody may see."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.integration.dashboard.shop import Shop

ASKED = {
    "/api/v1/apps": "/api/v1/apps",
    "/api/v1/apps/{namespace}/{app}": "/api/v1/apps/shop/web",
    "/api/v1/apps/{namespace}/{app}/history": "/api/v1/apps/shop/search/history",
    "/api/v1/apps/{namespace}/{app}/compare": "/api/v1/apps/shop/search/compare?from=1&to=2",
    "/api/v1/fleet": "/api/v1/fleet",
}


@pytest.fixture(scope="module")
def document(address: str) -> dict[str, Any]:
    answer: dict[str, Any] = httpx.get(f"{address}/api/v1/openapi.json", trust_env=False, timeout=20).json()
    return answer


@pytest.mark.parametrize("path", ASKED)
def test_an_answer_has_the_shape_that_the_document_says(
    http: httpx.Client, document: dict[str, Any], path: str
) -> None:
    shape = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    answer = http.get(ASKED[path])
    assert answer.status_code == 200
    whole = {**shape, "components": document["components"]}
    assert [error.message for error in Draft202012Validator(whole).iter_errors(answer.json())] == []


def test_the_document_has_every_path_and_each_of_its_references_leads_somewhere(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert len(document["paths"]) == 8
    known = document["components"]["schemas"].keys()
    assert {each.rpartition("/")[2] for each in _references(document)} <= known


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set[str]()
        return own.union(*map(_references, value.values()))
    return set[str]().union(*map(_references, value)) if isinstance(value, list) else set()


def test_a_list_takes_the_filters_of_the_page(http: httpx.Client) -> None:
    found = http.get("/api/v1/apps", params={"waiting": "1", "q": "web"}).json()
    assert [(each["kind"], each["namespace"], each["name"]) for each in found["items"]] == [("app", "shop", "web")]
    assert found["items"][0]["created"].endswith("Z")
    assert (found["page"], found["pages"], found["found"], found["total"]) == (1, 1, 1, 5)


def test_a_stream_has_the_list_as_json_and_again_when_it_changes(
    http: httpx.Client, document: dict[str, Any], shop: Shop
) -> None:
    content = document["paths"]["/api/v1/events"]["get"]["responses"]["200"]["content"]
    whole = {**content["text/event-stream"]["schema"], "components": document["components"]}
    with http.stream("GET", "/api/v1/events", params={"q": "catalog"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        messages = (json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data"))
        first = next(messages)
        assert [error.message for error in Draft202012Validator(whole).iter_errors(first)] == []
        assert first == http.get("/api/v1/apps", params={"q": "catalog"}).json()
        assert [each["name"] for each in first["items"]] == ["catalog"]
        shop.well.push_image("1.7.0", "Sell something")
        assert any("1.7.0" in json.dumps(each) for each in messages)
    shop.well.revert(shop.world.remote.tip)
    shop.well.wait_phase("Healthy")


def test_two_versions_are_compared_as_diff_does(http: httpx.Client) -> None:
    found = http.get("/api/v1/apps/shop/search/compare", params={"from": "1", "to": "v2"}).json()
    assert (found["app"], found["before"], found["after"]) == ("shop/search", "1.4.0 (v1)", "1.5.0 (v2)")
    image = {"path": "spec.containers[web].image", "before": "registry.example/search:1.4.0"}
    assert image | {"after": "registry.example/search:1.5.0"} in found["differences"]
    same = http.get("/api/v1/apps/shop/search/compare", params={"from": "2", "to": "2"}).json()
    assert (same["equal"], same["differences"]) == (True, [])
    for wrong in ({"from": "1", "to": "99"}, {"from": "x", "to": "1"}, {"from": "1"}, {"from": "-1", "to": "٣"}):
        assert http.get("/api/v1/apps/shop/search/compare", params=wrong).status_code == 404, wrong


def test_one_app_is_what_the_command_line_prints(http: httpx.Client, shop: Shop) -> None:
    found = http.get("/api/v1/apps/shop/web").json()
    assert [(each["stage"], each["live"]) for each in found["versions"]] == [("active", True), ("candidate", False)]
    assert {each["kind"]: each["open"] for each in found["gates"]}["policy"] is False


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/apps/shop/nothing",
        "/api/v1/apps/shop/nothing/history",
        "/api/v1/nothing",
        "/api/v1/groups/shop/store",
        "/api/v1/groups/shop/store/history",
    ],
)
def test_what_is_not_there_is_told_as_json(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"message"}
