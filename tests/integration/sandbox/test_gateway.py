"""A Gateway of the sandbox carries real HTTP where its HTTPRoutes lead, request by request."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import pytest
import urllib3

from gitops_bg.sandbox import Sandbox
from tests.integration.sandbox.conftest import MERGE, SERVICES, Client, Json, service
from tests.integration.sandbox.test_traffic import run, scale
from tests.support.cluster.gateway_api import HOW_TO_GET_THEM, definitions
from tests.support.waiting import eventually

GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways"
ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Ask = Callable[..., urllib3.BaseHTTPResponse]


@pytest.fixture
def ask(sandbox: Sandbox, api: Client) -> Ask:
    """Ask the Gateway `public`; versions one and two have a pod and a Service each."""
    if not definitions():
        pytest.skip(HOW_TO_GET_THEM)
    for definition in definitions():
        assert api("POST", CRDS, definition)[0] == 201
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    gateway = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "public"}}
    assert (
        api("POST", GATEWAYS, {**gateway, "spec": {"gatewayClassName": "sandbox", "listeners": [listener]}})[0] == 201
    )
    for name in ("one", "two"):
        run(sandbox, api, name)
        assert api("POST", SERVICES, service(name, name))[0] == 201
    url = sandbox.gateway_url("shop", "public")

    def asking(path: str = "/", method: str = "GET", **headers: str) -> urllib3.BaseHTTPResponse:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return api.pool.request(method, url + path, headers=given, timeout=10)

    return asking


def rule(to: str | None, *filters: Json, **more: Any) -> Json:
    backends = {"backendRefs": [{"name": to, "port": 80}]} if to else {}
    return {**backends, **({"filters": list(filters)} if filters else {}), **more}


def route(api: Client, *rules: Json, name: str = "r") -> None:
    spec = {"parentRefs": [{"name": "public"}], "rules": list(rules)}
    body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": name}, "spec": spec}
    if api("POST", ROUTES, body)[0] == 409:
        status, answer = api("PATCH", f"{ROUTES}/{name}", {"spec": spec}, MERGE)
        assert status == 200, answer


def version(response: urllib3.BaseHTTPResponse) -> str:
    assert response.status == 200, response.data
    return str(response.json()["labels"]["version"])


def test_a_header_leads_to_another_version(api: Client, ask: Ask) -> None:
    beta = [{"headers": [{"name": "X-Version", "value": "v2"}]}]
    route(api, rule("two", matches=beta), rule("one"))
    assert [version(ask()), version(ask(X_Version="v2")), version(ask(X_Version="v9"))] == ["one", "two", "one"]


def test_requests_of_one_connection_follow_the_routes_of_their_moment(api: Client, ask: Ask) -> None:
    route(api, rule("one"))
    assert version(ask()) == "one"
    route(api, rule("two"))
    assert version(ask()) == "two"


STATUS: dict[str, tuple[Json, int]] = {
    "no rule matches": (rule("one", matches=[{"path": {"type": "Exact", "value": "/x"}}]), 404),
    "HTTPRouteNoBackendRefs": (rule(None), 500),
    "HTTPRouteInvalidNonExistentBackendRef": (rule("nobody"), 500),
    "a port that the Service does not have": ({"backendRefs": [{"name": "one", "port": 81}]}, 500),
    "HTTPRouteInvalidBackendRefUnknownKind": ({"backendRefs": [{"kind": "Thing", "name": "one", "port": 80}]}, 500),
    "HTTPRouteInvalidCrossNamespaceBackendRef": (
        {"backendRefs": [{"namespace": "default", "name": "one", "port": 80}]},
        500,
    ),
    "only weights of 0": ({"backendRefs": [{"name": "one", "port": 80, "weight": 0}]}, 500),
    "an extension that nobody knows": (
        rule(None, {"type": "ExtensionRef", "extensionRef": {"group": "e.io", "kind": "F", "name": "f"}}),
        500,
    ),
    "HTTPRouteRedirectHostAndStatus": (
        rule(None, {"type": "RequestRedirect", "requestRedirect": {"hostname": "example.org", "statusCode": 301}}),
        301,
    ),
}


@pytest.mark.parametrize("row", STATUS)
def test_what_has_no_backend_has_its_status(api: Client, ask: Ask, row: str) -> None:
    only, expected = STATUS[row]
    route(api, only)
    url_answer = ask()
    assert url_answer.status == expected


def test_a_service_without_a_ready_pod_is_503(sandbox: Sandbox, api: Client, ask: Ask) -> None:
    route(api, rule("one"))
    scale(api, "one", 0)
    eventually(lambda: ask().status == 503, what="nobody answers")


def test_HTTPRouteWeight(api: Client, ask: Ask) -> None:
    route(
        api,
        {"backendRefs": [{"name": name, "port": 80, "weight": weight} for name, weight in (("one", 3), ("two", 1))]},
    )
    assert Counter(version(ask()) for _ in range(40)) == {"one": 30, "two": 10}


def test_HTTPRouteRewritePath(api: Client, ask: Ask) -> None:
    new = {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/new"}}}
    route(api, rule("one", new, matches=[{"path": {"type": "PathPrefix", "value": "/old"}}]))
    assert ask("/old/x?y=1").headers["X-Path"] == "/new/x?y=1"


def test_HTTPRouteTimeoutRequest(sandbox: Sandbox, api: Client, ask: Ask) -> None:
    run(sandbox, api, "slow", image="web:slow-response")
    api("POST", SERVICES, service("slow", "slow"))
    route(api, rule("slow", timeouts={"request": "10s"}))
    assert ask().status == 200
    route(api, rule("slow", timeouts={"request": "100ms"}))
    assert ask().status == 504


def test_a_route_of_another_gateway_leads_nowhere(api: Client, ask: Ask) -> None:
    spec = {"parentRefs": [{"name": "other"}], "rules": [rule("one")]}
    body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": spec}
    assert api("POST", ROUTES, body)[0] == 201
    assert ask().status == 404


def test_a_switch_under_load_loses_no_request_and_none_goes_astray(sandbox: Sandbox, api: Client, ask: Ask) -> None:
    route(api, rule("one"))
    url, stop = sandbox.gateway_url("shop", "public"), Event()
    answers: list[tuple[float, float, int, str]] = []

    def users() -> None:
        with urllib3.PoolManager(retries=False) as pool:
            while not stop.is_set():
                began = time.monotonic()
                answer = pool.request("GET", url, timeout=10)
                who = answer.json()["labels"]["version"] if answer.status == 200 else ""
                answers.append((began, time.monotonic(), answer.status, who))

    threads = [Thread(target=users) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for to in ("two", "one") * 5:
            before = len(answers)
            eventually(lambda seen=before: len(answers) > seen + 20, what="users ask")  # type: ignore[misc]
            route(api, rule(to))
            moved = time.monotonic()
            eventually(
                lambda at=moved: sum(began > at for began, *_ in answers[-60:]) > 20,  # type: ignore[misc]
                what="users asked after it",
            )
            assert {who for began, _, _, who in answers[-200:] if began > moved} == {to}
        scale(api, "two", 0)
        eventually(
            lambda: not any(pod["metadata"]["name"].startswith("two") for pod in sandbox.objects("v1", "Pod", "shop"))
        )
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert {status for _, _, status, _ in answers} == {200}


def conditions(sandbox: Sandbox) -> dict[str, tuple[str, str, int]]:
    (found,) = sandbox.objects("gateway.networking.k8s.io/v1", "HTTPRoute", "shop")
    parents = found.get("status", {}).get("parents") or [{"conditions": []}]
    said: list[Json] = parents[0]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["observedGeneration"]) for each in said}


def test_a_gateway_says_of_each_generation_of_a_route_whether_it_has_taken_it(
    sandbox: Sandbox, api: Client, ask: Ask
) -> None:
    route(api, rule("one"))
    taken = {"Accepted": ("True", "Accepted", 1), "ResolvedRefs": ("True", "ResolvedRefs", 1)}
    eventually(lambda: conditions(sandbox) == taken, what="the route is taken")
    route(api, rule("nobody"))
    missing = {"Accepted": ("True", "Accepted", 2), "ResolvedRefs": ("False", "BackendNotFound", 2)}
    eventually(lambda: conditions(sandbox) == missing, what="its backend is missing")
    assert api("POST", SERVICES, service("nobody", "one"))[0] == 201
    eventually(lambda: conditions(sandbox)["ResolvedRefs"] == ("True", "ResolvedRefs", 2), what="its backend came")
    assert version(ask()) == "one"


def test_a_route_without_its_gateway_has_no_status(sandbox: Sandbox, api: Client, ask: Ask) -> None:
    assert ask().status == 404
    assert api("DELETE", f"{GATEWAYS}/public")[0] == 200
    route(api, rule("one"))
    eventually(lambda: ask().status == 404, what="nobody serves it")
    assert conditions(sandbox) == {}


def test_a_gateway_leaves_alone_what_another_controller_said(sandbox: Sandbox, api: Client, ask: Ask) -> None:
    """Found so: each answer of the sandbox wiped out that of the test beside it.

    https://gateway-api.sigs.k8s.io/reference/spec/#routestatus: a controller changes its own entries only.
    """
    route(api, rule("one"))
    eventually(lambda: len(conditions(sandbox)) == 2, what="the route is taken")
    refused = {
        "type": "Accepted",
        "status": "False",
        "reason": "Told",
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    other = {"parentRef": {"name": "public"}, "controllerName": "hand.dev/made", "conditions": [refused]}
    assert api("PATCH", f"{ROUTES}/r/status", {"status": {"parents": [other]}}, MERGE)[0] == 200
    eventually(lambda: controllers(sandbox) == ["gitops-bg.dev/sandbox", "hand.dev/made"], what="both have answered")
    assert api("DELETE", f"{GATEWAYS}/public")[0] == 200
    eventually(lambda: controllers(sandbox) == ["hand.dev/made"], what="the Gateway's own answer is gone")


def controllers(sandbox: Sandbox) -> list[str]:
    (found,) = sandbox.objects("gateway.networking.k8s.io/v1", "HTTPRoute", "shop")
    return sorted(each["controllerName"] for each in found["status"]["parents"])
