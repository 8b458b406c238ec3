"""A file of an active Service that leaves the folder changes nothing of what is live: users come in by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.rawapi import MERGE
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def web(cluster: TestCluster, tmp_path: Path) -> Iterator[App]:
    """The app `web`, its v1 live; the agent runs. On both clusters, one after the other."""
    with scenario(cluster, tmp_path) as made:
        made.start()
        yield made.app().deploy("v1")


def service(world: Scenario, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": world.namespace}
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports, **spec}}


def live(web: App) -> dict[str, Any]:
    found = web.scenario.live("services", "web")
    assert found is not None
    return dict(found["spec"])


def shape(web: App) -> tuple[str, list[int]]:
    """Its type, and the ports by which clients call it."""
    return live(web)["type"], [port["port"] for port in live(web)["ports"]]


def test_a_live_service_whose_file_leaves_stays_as_it_is_until_somebody_says_what_it_is_to_be(web: App) -> None:
    """Found so: the load balancer and its address were gone at once, and the port that clients call answered nobody."""
    said, expected = "type LoadBalancer, port 80", ("LoadBalancer", [80])
    web.push_object("service.yaml", service(web.scenario, type="LoadBalancer"))
    web.wait(lambda: shape(web) == expected, "the file is live")
    web.scenario.publish("Tidy up", {f"{web.folder}/service.yaml": None})
    web.wait_phase("Invalid")
    message = f"no file of the folder describes Service web any more, which is live with {said}: it stays as it is"
    assert message in web.condition("InvalidSpec")["message"]
    web.push_image("v2")
    web.scenario.wait_idle()
    assert (shape(web), web.live_tag()) == (expected, "v1")
    web.scenario.restart()
    web.scenario.wait_idle()
    assert shape(web) == expected
    plain = service(web.scenario)
    plain["spec"]["ports"][0]["port"] = 8080
    web.push_object("service.yaml", plain)
    web.wait(lambda: shape(web) == ("ClusterIP", [8080]), "what the new file says is live")
    web.scenario.publish("Tidy up again", {f"{web.folder}/service.yaml": None})
    web.merge_promotion("v2")
    web.wait_live("v2")
    assert shape(web) == ("ClusterIP", [8080])


def test_what_somebody_else_changes_of_a_derived_service_is_repaired_as_before(web: App) -> None:
    before = shape(web)
    port = {"name": "http", "port": 8080, "protocol": "TCP", "targetPort": 9999}
    path = f"/api/v1/namespaces/{web.scenario.namespace}/services/web"
    web.scenario.cluster.patch(path, {"spec": {"ports": [port]}}, MERGE)
    web.wait(lambda: live(web)["ports"][0]["targetPort"] == "http", "it is repaired")
    assert shape(web) == before
    web.wait_phase("Healthy")
