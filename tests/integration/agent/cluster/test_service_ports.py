"""Ports of a Service that only the candidate can serve wait for it, and move with live traffic, there and back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, scenario


@pytest.fixture
def web(cluster: TestCluster, tmp_path: Path) -> Iterator[App]:
    """An app with its Service in Git, whose v1 is live; the agent runs."""
    with scenario(cluster, tmp_path) as world:
        app = world.app()
        app.objects["services.yaml"] = manifest(app, "http")
        world.start()
        yield app.deploy("v1")


def manifest(web: App, *targets: str | int, first: int = 80) -> Json:
    ports = [
        {"name": f"port-{place}", "port": first + place, "targetPort": target} for place, target in enumerate(targets)
    ]
    metadata = {"name": web.name, "namespace": web.key.namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}


def ports(web: App, service: str = "") -> list[tuple[int, str | int]]:
    found = web.scenario.live("services", service or web.name)
    assert found is not None
    return [(each["port"], each["targetPort"]) for each in found["spec"]["ports"]]


def rename_port(web: App, name: str, tag: str) -> str:
    """One commit: the container's port has another name, and the Service leads to it."""
    web.container = {"ports": [{"name": name, "containerPort": 8080}]}
    web.objects["services.yaml"] = manifest(web, name)
    files = {"services.yaml": yaml.safe_dump(web.objects["services.yaml"]), "target.yaml": web.target_yaml(tag)}
    return web.scenario.publish(
        f"{tag}: the port is called {name}", {f"{web.folder}/{file}": text for file, text in files.items()}
    )


def promoted_ports(web: App, ref: str = "") -> object:
    text = web.scenario.remote.show(ref or web.scenario.remote.branch, f"{web.folder}/primary.yaml")
    return yaml.safe_load(text)["services"]["web"]["ports"]


def test_preview_that_the_agent_makes_is_called_as_the_live_service_is(web: App) -> None:
    """Also where a candidate calls its port by another name, and where the live Service gets another port."""
    assert ports(web, "web-preview") == ports(web) == [(80, "http")]
    rename_port(web, "web", "v2")
    web.wait_preview("v2")
    assert (ports(web), ports(web, "web-preview")) == ([(80, "http")], [(80, "web")])
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.push_object("services.yaml", manifest(web, "web", "web"))
    web.wait(lambda: len(ports(web)) == 2, "the live Service has a second port")
    web.wait(lambda: ports(web, "web-preview") == ports(web), "the preview as well")
    web.scenario.wait_idle()
    assert web.condition("ServicesInGit")["status"] == "Absent"


def test_renamed_port_moves_with_traffic_in_one_write_and_back_in_one(web: App) -> None:
    world = web.scenario
    rename_port(web, "web", "v2")
    web.wait_offered("v2")
    web.wait_preview("v2")
    world.wait_idle()
    assert ports(web) == [(80, "http")]
    assert web.condition("ServicesInGit")["reason"] == "PortsWait"
    assert world.cluster.ready_addresses(world.namespace, "web")
    assert promoted_ports(web) == manifest(web, "http")["spec"]["ports"]
    assert promoted_ports(web, web.promotion_branch) == manifest(web, "web")["spec"]["ports"]

    before = len(to_service(web))
    promotion = web.merge_offer()
    web.wait_live("v2")
    assert ports(web) == [(80, "web")]
    web.wait_told()
    world.wait_idle()
    assert len(to_service(web)) == before + 1

    web.revert(promotion)
    web.wait_live("v1")
    assert ports(web) == [(80, "http")]
    web.wait_told("rolled-back")
    world.wait_idle()
    assert len(to_service(web)) == before + 2
    assert ports(web) == [(80, "http")]


def to_service(web: App) -> list[object]:
    return [write for write in web.scenario.writes() if write.path.endswith("/services/web")]


def test_port_that_the_live_version_serves_follows_main_at_once(web: App) -> None:
    web.push_object("services.yaml", manifest(web, "http", 8080))
    web.wait(lambda: ports(web) == [(80, "http"), (81, 8080)], "the new port is live")


def test_ports_that_no_pod_of_the_target_has_change_nothing_and_are_said(web: App) -> None:
    web.push_object("services.yaml", manifest(web, "htpp"))
    web.wait_condition("InvalidSpec")
    assert "services.yaml" in web.condition("InvalidSpec")["message"]
    assert ports(web) == [(80, "http")]


def test_way_back_without_the_record_leaves_the_port_that_clients_call(web: App) -> None:
    """Found so: v1's ports were only in the record, and the live Service got the number of its container."""
    rename_port(web, "web", "v2")
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told()
    web.lose_record()
    assert ports(web) == [(80, "web")]
    web.ask(Request("r1", OperatorCommand.ROLLBACK, "ada", datetime.now(UTC), "5xx"))
    web.container = {"ports": [{"name": "http", "containerPort": 8080}]}
    web.wait_live("v1")
    assert ports(web) == [(80, "http")]
