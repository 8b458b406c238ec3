"""A Service written in Git stays as it was written wherever Git cannot be read, else follows it (DESIGN §10)."""

import json

from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import MERGE, Json
from tests.support.scenario import App, Scenario

FILE = "apps/{}/web/services.yaml"
HTTP = {"name": "http", "port": 80, "targetPort": "http"}
METRICS = {"name": "metrics", "port": 9090, "targetPort": "http"}


def written(world: Scenario, *ports: Json) -> str:
    metadata = {"name": "web", "namespace": world.namespace, "annotations": {"team": "shop"}}
    return json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": list(ports)}})


def publish_service(web: App, *ports: Json) -> None:
    world = web.scenario
    world.publish("the Service", {FILE.format(world.namespace): written(world, *ports)})
    web.wait(lambda: live_ports(web) == [each["port"] for each in ports], "the Service is as written")


def live_service(web: App) -> Json:
    found = web.scenario.live("services", "web")
    assert found is not None
    return found


def live_ports(web: App) -> list[int]:
    return [each["port"] for each in live_service(web)["spec"]["ports"]]


def wipe_selector_and_wait_for_its_repair(web: App) -> None:
    """What stands after it is what the agent thinks is right."""
    world, right = web.scenario, live_service(web)["spec"]["selector"]
    world.cluster.patch(f"{services(world.namespace)}/web", {"spec": {"selector": {"app": "else"}}}, MERGE)
    web.wait(lambda: live_service(web)["spec"]["selector"] == right, "the selector is repaired")


def test_agent_that_starts_while_git_is_down_leaves_services_as_git_wrote_them(web: App) -> None:
    world = web.scenario
    publish_service(web, HTTP)
    world.stop()
    world.remote.go_down()
    world.start(fresh_mirror=True)
    web.wait_condition("GitReachable", "False")

    wipe_selector_and_wait_for_its_repair(web)

    assert live_ports(web) == [80]
    assert live_service(web)["metadata"]["annotations"]["team"] == "shop"


def test_broken_file_of_a_service_changes_nothing_of_the_live_service(web: App) -> None:
    world = web.scenario
    publish_service(web, HTTP)
    world.publish("break it", {FILE.format(world.namespace): "kind: Service\nspec: [\n"})
    web.wait_condition("InvalidSpec")

    wipe_selector_and_wait_for_its_repair(web)

    assert live_ports(web) == [80]


def test_port_that_left_git_leaves_the_live_service(web: App) -> None:
    publish_service(web, HTTP, METRICS)
    publish_service(web, HTTP)


def test_field_that_left_app_yaml_leaves_the_live_object(web: App) -> None:
    web.spec = {"deletionPolicy": "delete"}
    web.configure()
    web.wait(lambda: web.object()["spec"].get("deletionPolicy") == "delete", "the live spec says delete")

    web.spec = {}
    web.configure()

    web.wait(lambda: "deletionPolicy" not in web.object()["spec"], "the live spec no longer says delete")
