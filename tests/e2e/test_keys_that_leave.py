"""What leaves Git leaves the cluster: a key of a file, whatever the agent wrote to the object in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tests.support.scenario import App

pytestmark = pytest.mark.control_plane


SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "labels": {"team": "shop"}, "annotations": {"example.com/note": "x"}},
    "spec": {
        "type": "LoadBalancer",
        "loadBalancerSourceRanges": ["10.0.0.0/8"],
        "publishNotReadyAddresses": True,
        "sessionAffinity": "ClientIP",
        "ports": [{"name": "http", "port": 80, "targetPort": "http", "appProtocol": "http"}],
    },
}


def test_what_left_the_manifest_of_a_live_service_is_gone_and_its_traffic_stays(web: App) -> None:
    def live() -> dict[str, Any]:
        found = web.scenario.live("services", "web")
        assert found is not None
        return found

    def says(**wanted: Any) -> bool:
        spec, metadata = live()["spec"], live()["metadata"]
        kept = {key: spec.get(key) for key in SERVICE["spec"] if key != "ports"}
        kept |= {"appProtocol": spec["ports"][0].get("appProtocol"), "team": metadata["labels"].get("team")}
        return bool(kept | {"note": (metadata.get("annotations") or {}).get("example.com/note")} == wanted)

    before = live()["metadata"]["uid"]
    web.push_object("service.yaml", SERVICE)
    said = {key: value for key, value in SERVICE["spec"].items() if key != "ports"}
    web.wait(lambda: says(**said, appProtocol="http", team="shop", note="x"), "all of it is live")
    web.promote("v2")
    port = {"name": "http", "port": 80, "targetPort": "http"}
    web.push_object("service.yaml", {**SERVICE, "metadata": {"name": "web"}, "spec": {"ports": [port]}})
    filled = dict.fromkeys(said) | {"type": "ClusterIP", "sessionAffinity": "None"}
    web.wait(lambda: says(**filled, appProtocol=None, team=None, note=None), "all of it is gone")
    assert (web.live_tag(), live()["metadata"]["uid"]) == ("v2", before)
    web.wait_phase("Healthy")


def test_a_suspension_that_ended_is_gone_and_cannot_hold_back_the_end(web: App, tmp_path: Path) -> None:
    world, app = web.scenario, ("web", "-n", web.key.namespace)
    cli = Cli(world.remote, world.cluster.kubeconfig, tmp_path)
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    cli("suspend", *app, "--reason", "a drill")
    world.wake()
    web.wait_condition("Suspended")
    cli("resume", *app)
    world.wake()
    web.wait_condition("Suspended", "Absent")
    web.wait(lambda: "suspend" not in web.object()["spec"], "the live object is not suspended either")

    world.publish("No more web", {web.folder: None})
    web.wait(lambda: world.live("bluegreendeployments", "web") is None, "the app ends")
