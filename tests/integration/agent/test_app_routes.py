"""An app with a route of the Gateway API in front of its Services: it follows Git, and names what the preview shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.core.model.digest import short
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.gateway_api import install_gateway_api
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario, scenario

ROUTES = {"parentRefs": [{"name": "public"}], "hosts": ["shop.example.com"]}


@pytest.fixture
def routed(world: Scenario) -> App:
    """The app `web`, live, with a route."""
    install_gateway_api(world.cluster)
    world.start()
    app = world.app()
    app.strategy["routes"] = dict(ROUTES)
    app.deploy("v1")
    app.wait(lambda: names(app) == ["candidate", short(app.digest("v1"))], "the route names v1")
    return app


def route(app: App) -> Json | None:
    return app.scenario.cluster.find(
        f"/apis/gateway.networking.k8s.io/v1/namespaces/{app.key.namespace}/httproutes/{app.name}"
    )


def names(app: App) -> list[str]:
    """By which values of the header requests reach the preview."""
    found = route(app)
    return [match["headers"][0]["value"] for match in found["spec"]["rules"][0]["matches"]] if found else []


def test_the_route_leads_to_both_services_and_names_the_candidate(routed: App) -> None:
    found = route(routed)
    assert found is not None
    backends = [rule["backendRefs"][0]["name"] for rule in found["spec"]["rules"]]
    assert backends == ["web-preview", "web"]
    routed.push_image("v2")
    routed.wait_preview("v2")
    routed.wait(lambda: names(routed) == ["candidate", short(routed.digest("v2"))], "it names the candidate")
    routed.merge_promotion("v2")
    routed.wait_live("v2")
    routed.wait_phase("Healthy")
    assert names(routed) == ["candidate", short(routed.digest("v2"))]


def test_a_route_that_somebody_changes_or_deletes_is_repaired(routed: App) -> None:
    agent, cluster = routed.scenario.agent, routed.scenario.cluster
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{routed.key.namespace}/httproutes/web"
    assert agent is not None
    before = (route(routed) or {})["spec"]
    cluster.patch(path, {"spec": {"hostnames": ["evil.example.com"]}})
    agent.wake_apps([routed.key])
    routed.wait(lambda: (route(routed) or {})["spec"] == before, "it is repaired")
    cluster.request("DELETE", path)
    agent.wake_apps([routed.key])
    routed.wait(lambda: names(routed) == ["candidate", short(routed.digest("v1"))], "it is there again")


def test_the_route_goes_when_app_yaml_asks_for_none(routed: App) -> None:
    del routed.strategy["routes"]
    routed.configure()
    routed.wait(lambda: route(routed) is None, "the route is gone")
    routed.wait_phase("Healthy")


def test_a_port_that_comes_with_the_next_version_reaches_the_route_with_it(routed: App) -> None:
    routed.container["ports"] = [{"name": "http", "containerPort": 9090}]
    routed.push_image("v2")
    routed.wait_preview("v2")
    found = route(routed)
    assert found is not None
    assert found["spec"]["rules"][1]["backendRefs"][0]["port"] == 8080, "the live Service has no other port yet"
    routed.merge_promotion("v2")
    routed.wait_live("v2")

    def leads() -> set[int]:
        found = route(routed)
        return {rule["backendRefs"][0]["port"] for rule in found["spec"]["rules"]} if found else set()

    routed.wait(lambda: leads() == {9090}, "the route leads to the new port")


def test_without_the_gateway_api_the_app_runs_and_says_what_is_missing(
    own_sandbox: SandboxCluster, tmp_path: Path
) -> None:
    with scenario(own_sandbox, tmp_path) as world:
        world.start()
        web = world.app()
        web.strategy["routes"] = dict(ROUTES)
        web.deploy("v1")
        web.wait_phase("Degraded")
        assert "install the Gateway API" in web.condition("Ready")["message"]
        web.promote("v2")
