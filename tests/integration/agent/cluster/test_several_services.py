"""Several active Services with everything real: they move together, and one that cannot holds up no way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from gitops_bg.core.model.version import short
from gitops_bg.core.names import selector
from gitops_bg.sandbox.http.calls import Call
from gitops_bg.sandbox.http.errors import ApiError
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import MERGE
from tests.support.scenario import App, scenario

NAMES = ("web", "web-grpc")


@pytest.fixture
def web(cluster: TestCluster, tmp_path: Path) -> Iterator[App]:
    """An app with two active Services; no agent runs yet."""
    with scenario(cluster, tmp_path) as world:
        app = world.app()
        app.strategy |= {"activeService": None, "activeServices": list(NAMES)}
        yield app


def selected(web: App) -> list[str]:
    return [web.selected(name) for name in NAMES]


def wait_both(web: App, tag: str) -> None:
    web.wait(lambda: selected(web) == [web.versions()[tag].digest] * 2, f"both Services select {tag}")


def test_both_are_made_are_repaired_move_together_and_come_back_together(web: App) -> None:
    web.scenario.start()
    web.deploy("v1")
    wait_both(web, "v1")
    right = selector(web.key, web.digest("v1"))
    for name in NAMES:
        path = f"{services(web.key.namespace)}/{name}"
        web.scenario.cluster.patch(path, {"spec": {"selector": {"app": "elsewhere"}}})
        web.wait(lambda path=path: web.scenario.cluster.get(path)["spec"]["selector"] == right, f"{path} is repaired")
    promotion = web.promote("v2")
    wait_both(web, "v2")
    web.revert(promotion)
    wait_both(web, "v1")
    web.wait_told("rolled-back")
    assert [web.ledger_events().count(event) for event in ("deployed", "promoted", "rolled-back")] == [1, 1, 1]


def test_service_that_app_yaml_renames_is_followed_for_a_whole_delay_and_then_said(web: App) -> None:
    web.strategy = {"activeService": "web", "scaleDownDelaySeconds": 300, "autoPromotionEnabled": False}
    web.scenario.start()
    web.deploy("v1")
    web.strategy["activeService"] = "web-api"
    web.configure()
    web.wait(lambda: web.selected("web-api") == web.selected("web") != "", "both select v1")
    web.scenario.wait_idle()
    assert web.condition("ServicesInGit")["reason"] == "Followed"

    web.push_image("v2")
    web.merge_promotion("v2")
    web.wait(
        lambda: [web.selected("web-api"), web.selected("web")] == [web.versions()["v2"].digest] * 2, "both select v2"
    )
    web.wait_told("promoted")

    web.scenario.advance(301)
    web.wait(lambda: web.condition("ServicesInGit")["reason"] == "NotManaged", "it is said")
    assert f"kubectl delete service -n {web.key.namespace} web`" in web.condition("ServicesInGit")["message"]
    web.scenario.cluster.delete(f"/api/v1/namespaces/{web.key.namespace}/services/web")
    web.wait_condition("ServicesInGit", "Absent")


# --- a Service that cannot move holds up no way back of the others ---


def test_service_that_cannot_be_made_holds_up_no_way_back(own_sandbox: SandboxCluster, tmp_path: Path) -> None:
    with scenario(own_sandbox, tmp_path) as world:
        world.start()
        web = world.app().deploy("v1")
        promotion = web.promote("v2")
        own_sandbox.sandbox.faults.before(refusal_of("shop"))
        web.strategy |= {"activeService": "shop"}
        web.configure()
        web.wait_condition("Refused")
        world.advance(301)
        web.revert(promotion)
        web.wait_live("v1")


def refusal_of(name: str) -> Callable[[Call], None]:
    """The API server takes no write to a Service of this name."""

    def refuse(call: Call) -> None:
        if call.is_write and call.name == name and call.plural == "services":
            raise ApiError(422, "Invalid", "spec.ports[0].nodePort: provided port is already allocated")

    return refuse


def refusing_half_way(web: App) -> str:
    """The promotion of v2 has moved web, and web-grpc takes no writes; its merge."""
    web.scenario.start()
    web.deploy("v1")
    web.scenario.settle()
    cluster = cast(SandboxCluster, web.scenario.cluster)
    cluster.sandbox.faults.before(refusal_of("web-grpc"))
    web.push_image("v2")
    merge = web.merge_promotion("v2")
    web.wait_live("v2")
    assert web.selected("web-grpc") == web.versions()["v1"].digest
    return merge


def test_half_way_promotion_that_git_takes_back_goes_back_though_one_service_takes_no_writes(
    own_sandbox: SandboxCluster, tmp_path: Path
) -> None:
    with scenario(own_sandbox, tmp_path) as world:
        web = world.app()
        web.strategy |= {"activeService": None, "activeServices": list(NAMES)}
        web.revert(refusing_half_way(web))
        web.wait_live("v1")
        own_sandbox.sandbox.faults.clear()
        world.advance(301)
        web.wait(lambda: web.record.routing.switch is None, "the switch is over")
        wait_both(web, "v1")
        assert "promoted" not in web.ledger_events()


def refused_manifest(web: App) -> dict[str, object]:
    """What makes web headless, which no Service becomes."""
    named = {"name": "web", "namespace": web.key.namespace}
    ports = [{"name": "http", "port": 8080, "targetPort": "http"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": named,
        "spec": {"clusterIP": "None", "ports": ports},
    }


def test_refused_manifest_holds_up_no_repair_of_the_selector(web: App) -> None:
    web.strategy = {"activeService": "web", "scaleDownDelaySeconds": 300, "autoPromotionEnabled": False}
    web.scenario.start()
    web.deploy("v1")
    web.push_object("service.yaml", refused_manifest(web))
    web.wait_condition("Refused")
    path = f"/api/v1/namespaces/{web.key.namespace}/services/web"
    web.scenario.cluster.patch(path, {"spec": {"selector": {"app": "elsewhere"}}}, MERGE)
    right = selector(web.key, web.digest("v1"))
    web.wait(lambda: web.scenario.live("services", "web")["spec"]["selector"] == right, "its selector is repaired")


def test_a_service_that_carried_live_traffic_shows_no_candidate_before_it_has_followed(web: App) -> None:
    """Clients of the name web got v2, which nobody had promoted, as soon as web was named for the preview."""
    world = web.scenario
    world.start()
    web.strategy = {"scaleDownDelaySeconds": 300}
    web.deploy("v1")
    web.push_image("v2")
    web.wait_preview("v2")
    web.strategy |= {"activeService": "shop", "previewService": "web"}
    web.configure()
    web.wait(lambda: web.selected("shop") == short(web.digest("v1")), "the new Service carries live traffic")
    condition = web.wait_condition("ServicesInGit", "False")
    world.settle()
    assert web.selected("web") == short(web.digest("v1"))
    assert web.condition("ServicesInGit")["message"].startswith("Service web")
    assert condition["reason"] in ("Followed", "NotManaged")
    world.advance(400)
    web.wait(lambda: web.selected("web") == short(web.digest("v2")), "then it shows the candidate")
    assert web.selected("shop") == short(web.digest("v1"))


def test_a_preview_service_that_app_yaml_names_no_longer_is_said_until_somebody_deletes_it(web: App) -> None:
    world = web.scenario
    world.start()
    web.strategy = {}
    web.deploy("v1")
    for former, named in (("web-preview", "web-next"), ("web-next", None)):
        web.strategy |= {"previewService": named}
        web.configure()
        condition = web.wait_condition("ServicesInGit", "False")
        assert condition["reason"] == "NotManaged"
        assert f"kubectl delete service -n {world.namespace} {former}" in condition["message"]
        world.settle()
        world.cluster.delete(f"{services(world.namespace)}/{former}")
        web.wait_condition("ServicesInGit", "Absent")
