"""An app with a route of the Gateway API in front of its Services: it follows Git, and names what the preview shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.core.model.version import short
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
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


def leads(app: App) -> list[int]:
    """The ports that the preview and the live rule lead to."""
    found = route(app)
    return [rule["backendRefs"][0]["port"] for rule in found["spec"]["rules"]] if found else []


def test_the_route_leads_to_the_ports_of_both_services_names_the_candidate_and_goes_when_app_yaml_asks_for_none(
    routed: App,
) -> None:
    found = route(routed)
    assert found is not None
    backends = [rule["backendRefs"][0]["name"] for rule in found["spec"]["rules"]]
    assert backends == ["web-preview", "web"]
    routed.container["ports"] = [{"name": "http", "containerPort": 9090}]
    routed.push_image("v2")
    routed.wait_preview("v2")
    routed.wait(lambda: names(routed) == ["candidate", short(routed.digest("v2"))], "it names the candidate")
    routed.wait(lambda: leads(routed) == [9090, 8080], "each version is reached at its own port")
    merge = routed.merge_promotion("v2")
    routed.wait_live("v2")
    routed.wait_phase("Healthy")
    assert names(routed) == ["candidate", short(routed.digest("v2"))]
    routed.wait(lambda: leads(routed) == [9090, 9090], "the route leads to the new port")
    routed.revert(merge)
    routed.wait_live("v1")
    routed.wait(lambda: leads(routed)[1] == 8080, "and back to the old one")
    del routed.strategy["routes"]
    routed.configure()
    routed.wait(lambda: route(routed) is None, "the route is gone")


def test_a_route_that_somebody_changes_or_deletes_is_repaired(routed: App) -> None:
    agent, cluster = routed.scenario.agent, routed.scenario.cluster
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{routed.key.namespace}/httproutes/web"
    assert agent is not None
    before = (route(routed) or {})["spec"]
    cluster.patch(path, {"spec": {"hostnames": ["evil.example.com"]}})
    agent.wake_all([routed.key])
    routed.wait(lambda: (route(routed) or {})["spec"] == before, "it is repaired")
    cluster.request("DELETE", path)
    agent.wake_all([routed.key])
    routed.wait(lambda: names(routed) == ["candidate", short(routed.digest("v1"))], "it is there again")


def test_the_route_outlives_an_object_that_somebody_deletes(routed: App) -> None:
    found, agent = route(routed), routed.scenario.agent
    assert found is not None
    assert agent is not None
    path = f"/apis/gitops-bg.dev/v1alpha1/namespaces/{routed.key.namespace}/bluegreendeployments/web"
    routed.scenario.cluster.request("DELETE", path)
    routed.wait_phase("Healthy")
    after = route(routed)
    assert after is not None
    assert after["metadata"]["uid"] == found["metadata"]["uid"]


def test_a_route_that_left_git_goes_though_its_record_is_lost(routed: App) -> None:
    """Found so: nobody knew of it any more, and it led requests for ever, also after the app was deleted."""
    routes = routed.strategy.pop("routes")
    routed.scenario.stop()
    routed.configure()
    routed.delete_object()
    routed.scenario.start()
    routed.wait_phase("Healthy")
    routed.scenario.settle()
    assert route(routed) is None

    routed.strategy["routes"] = routes
    routed.configure()
    routed.wait(lambda: route(routed) is not None, "there is one again")
    routed.spec["suspend"] = {"reason": "incident"}
    routed.configure()
    routed.wait_phase("Suspended")
    del routed.strategy["routes"]
    routed.configure()
    routed.scenario.settle()
    routed.delete_object()
    routed.scenario.settle()
    assert route(routed) is not None, "it stays while the app is suspended"
    del routed.spec["suspend"]
    routed.configure()
    routed.wait_phase("Healthy")
    routed.scenario.settle()
    assert route(routed) is None


def test_the_route_of_a_candidates_hosts_goes_with_the_candidate_though_the_record_is_lost(routed: App) -> None:
    where = f"/apis/gateway.networking.k8s.io/v1/namespaces/{routed.key.namespace}/httproutes/web.preview"
    routed.strategy["previewHosts"] = ["{digest}.preview.example.com"]
    routed.strategy["routes"]["hosts"] = ["shop.example.com"]
    routed.configure()
    routed.push_image("v2")
    routed.wait_preview("v2")
    routed.wait(lambda: routed.scenario.cluster.find(where) is not None, "the candidate has an address")
    routed.scenario.stop()
    del routed.strategy["previewHosts"]
    routed.configure()
    routed.delete_object()
    routed.scenario.start()
    routed.wait(lambda: routed.scenario.cluster.find(where) is None, "nobody knows it, and it is gone")
    assert route(routed) is not None


def test_a_route_of_that_name_that_is_not_ours_stays_and_is_in_nobodys_way(routed: App) -> None:
    while_gone = {"metadata": {"labels": None, "ownerReferences": None}}
    routed.scenario.stop()
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{routed.key.namespace}/httproutes/web"
    routed.scenario.cluster.patch(path, while_gone)
    del routed.strategy["routes"]
    routed.configure()
    routed.delete_object()
    routed.scenario.start()
    routed.wait_phase("Healthy")
    routed.scenario.settle()
    assert route(routed) is not None


@pytest.mark.parametrize("heir", ["an app", "a release group"])
def test_who_may_answer_its_requests_by_files_with_a_mistake_is_waited_for(routed: App, heir: str) -> None:
    """Found: an app with `deletionPolicy: delete` ended at once, because nobody knew which requests a broken target of
    the app in its place is for.
    """
    world = routed.scenario
    open_gateway(world.cluster, world.namespace)
    routed.spec["deletionPolicy"] = "delete"
    routed.configure()
    world.settle()
    if heir == "an app":
        front = world.app("front")
        front.strategy["routes"] = dict(ROUTES)
        mistake = {f"{front.folder}/target.yaml": front.target_yaml("v1").replace("replicas:", "replicaz:")}
        files: dict[str, str | None] = {f"{front.folder}/app.yaml": front.app_yaml(), **mistake}
    else:
        files = {f"groups/{world.namespace}/front/group.yaml": "spec: {active: v1, gatewayy: {}}\n"}
    world.publish("front takes the place of web", {routed.folder: None, **files})
    world.settle()
    world.advance(61)
    world.settle()
    assert world.live("bluegreendeployments", "web") is not None
    assert "front" in routed.condition("FolderInMain")["message"]
    world.publish("front was a mistake", dict.fromkeys(files))
    world.settle()
    world.advance(61)
    routed.wait(lambda: world.live("bluegreendeployments", "web") is None, "nobody is waited for any more")


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
        web.spec["deletionPolicy"] = "delete"
        web.configure()
        world.wait_idle()
        world.publish("No web", {web.folder: None})
        web.wait(lambda: world.live("bluegreendeployments", "web") is None, "what was never there keeps nothing back")
