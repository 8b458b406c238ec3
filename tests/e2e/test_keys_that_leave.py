"""What leaves Git leaves the cluster: a key of a file, whatever the agent wrote to the object in between."""

from __future__ import annotations

from copy import deepcopy
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
        "ports": [{"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"}],
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Local",
        "loadBalancerSourceRanges": ["10.0.0.0/8"],
        "publishNotReadyAddresses": True,
        "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
    },
}
FILLED_IN = {"externalTrafficPolicy": "Cluster", "sessionAffinity": "None", "type": "ClusterIP"}
"""What the API server says where nobody does; of all others, nothing."""
TOGETHER = {
    "sessionAffinity": ("sessionAffinityConfig",),
    "type": ("externalTrafficPolicy", "loadBalancerSourceRanges"),
}
"""Keys that the API server refuses without another one."""


def live(web: App) -> dict[str, Any]:
    found = web.scenario.live("services", "web")
    assert found is not None
    return found


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
    web.wait_condition("Suspended", "False")
    web.wait(lambda: "suspend" not in web.object()["spec"], "the live object is not suspended either")

    world.publish("No more web", {web.folder: None})
    web.wait(lambda: world.live("bluegreendeployments", "web") is None, "the app ends")


@pytest.mark.parametrize("key", [each for each in SERVICE["spec"] if each not in ("ports", "sessionAffinityConfig")])
def test_a_key_of_a_service_can_go(web: App, key: str) -> None:
    web.push_object("service.yaml", SERVICE)
    web.wait(lambda: live(web)["spec"].get(key) == SERVICE["spec"][key], f"{key} is live")
    web.promote("v2")
    less = deepcopy(SERVICE)
    for each in (key, *TOGETHER.get(key, ())):
        del less["spec"][each]
    web.push_object("service.yaml", less)
    web.wait(lambda: live(web)["spec"].get(key) in (None, FILLED_IN.get(key)), f"{key} is gone")


def test_what_people_say_beside_the_spec_of_a_service_can_go(web: App) -> None:
    web.push_object("service.yaml", SERVICE)
    web.wait(lambda: live(web)["metadata"]["labels"].get("team") == "shop", "the label is live")
    web.promote("v2")
    less = deepcopy(SERVICE)
    del less["metadata"]["labels"], less["metadata"]["annotations"], less["spec"]["ports"][0]["appProtocol"]
    web.push_object("service.yaml", less)
    web.wait(lambda: "team" not in live(web)["metadata"]["labels"], "the label is gone")
    web.wait(lambda: "example.com/note" not in live(web)["metadata"]["annotations"], "the annotation is gone")
    web.wait(lambda: "appProtocol" not in live(web)["spec"]["ports"][0], "the protocol is gone")
