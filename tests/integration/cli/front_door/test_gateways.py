"""`check --live` asks the cluster's Gateways whether they exist, and serve the hosts of groups and apps."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.integration.cli.conftest import Cli
from tests.support.cluster.gateway_api import install_gateway_api
from tests.support.groups import API
from tests.support.scenario import Scenario

LISTENERS = [
    {"name": "shop", "port": 80, "protocol": "HTTP", "hostname": "*.shop.example"},
    {"name": "admin", "port": 8080, "protocol": "HTTP", "hostname": "admin.example"},
]


@pytest.fixture
def gateway(world: Scenario) -> None:
    """The Gateway `public`, with two listeners."""
    install_gateway_api(world.cluster)
    spec = {"gatewayClassName": "tests", "listeners": LISTENERS}
    metadata = {"name": "public", "namespace": world.namespace}
    api = "gateway.networking.k8s.io/v1"
    world.cluster.apply({"apiVersion": api, "kind": "Gateway", "metadata": metadata, "spec": spec})


def group(world: Scenario, parent: dict[str, Any], hosts: list[str], host: str = "") -> dict[str, str | None]:
    """A group with one route, by its paths."""
    metadata = {"name": "store", "namespace": world.namespace}
    spec: dict[str, Any] = {"active": "v1", "gateway": {"parentRefs": [parent]}}
    spec |= {"hosts": hosts} if hosts else {}
    route = {"path": {"prefix": "/cart"}, "port": 80} | ({"host": host} if host else {})
    folder = f"groups/{world.namespace}/store"
    files = {
        f"{folder}/group.yaml": {"apiVersion": API, "kind": "ReleaseGroup", "metadata": metadata, "spec": spec},
        f"{folder}/v1/cart/routes.yaml": {"apiVersion": API, "kind": "ServiceRoutes", "routes": [route]},
    }
    return {path: yaml.safe_dump(body) for path, body in files.items()}


ADMIN = {"name": "public", "sectionName": "admin"}
JUDGED: list[tuple[dict[str, Any], list[str], str, list[str]]] = [
    ({"name": "public"}, [], "", []),
    ({"name": "public"}, ["*.shop.example", "admin.example"], "eu.shop.example", []),
    ({"name": "public"}, ["*.eu.shop.example"], "", []),
    ({"name": "public"}, ["shop.example"], "", ["group.yaml: spec.hosts[0]: no listener of the Gateway serves shop"]),
    ({"name": "public"}, [], "else.example", ["routes.yaml: routes[0].host: no listener of the Gateway serves else"]),
    (ADMIN, [], "eu.shop.example", ["routes.yaml: routes[0].host: no listener of the Gateway serves eu.shop.example"]),
    (ADMIN, ["admin.example"], "", []),
    (ADMIN | {"sectionName": "web"}, ["else.example"], "", ["group.yaml: spec.gateway.parentRefs[0]: "]),
    ({"name": "public", "port": 81}, [], "", ["group.yaml: spec.gateway.parentRefs[0]: "]),
    ({"name": "public", "port": "80"}, ["else.example"], "", []),
    ({"name": ["public"]}, ["else.example"], "", []),
    (
        {"name": "private"},
        ["else.example"],
        "",
        ["group.yaml: spec.gateway.parentRefs[0].name: this cluster has no Gat"],
    ),
]


@pytest.mark.usefixtures("gateway")
def test_a_host_that_no_listener_serves_is_named_with_its_line(world: Scenario, cli: Cli) -> None:
    for parent, hosts, host, expected in JUDGED:
        world.publish("A group", group(world, parent, hosts, host))
        problems = cli.json("check", "--live", code=1)["problems"]
        found = [each for each in problems if any(word in each["message"] for word in ("listener", "Gateway"))]
        said = [f"{each['file'].rpartition('/')[2]}: {each['field']}: {each['message']}" for each in found]
        begins = [text[: len(start)] for text, start in zip(said, expected, strict=True)]
        assert begins == expected, (parent, hosts, host)
        assert all(each["line"] and each["remedy"] for each in found)


@pytest.mark.usefixtures("gateway")
def test_the_hosts_of_an_app_are_asked_of_its_gateway_too(world: Scenario, cli: Cli) -> None:
    app = world.app()
    body = yaml.safe_load(app.app_yaml())
    body["spec"]["strategy"]["blueGreen"]["routes"] = {"parentRefs": [{"name": "public"}], "hosts": ["else.example"]}
    world.publish("An app", {f"apps/{app.key}/app.yaml": yaml.safe_dump(body)})
    (found,) = (each for each in cli.json("check", "--live", code=1)["problems"] if "listener" in each["message"])
    assert found["field"] == "spec.strategy.blueGreen.routes.hosts[0]"
    assert found["remedy"] == "use a host of *.shop.example, admin.example, or add a listener for it"


@pytest.mark.usefixtures("gateway")
def test_the_hosts_of_a_candidate_need_a_listener_for_every_digest(world: Scenario, cli: Cli) -> None:
    app = world.app()
    body = yaml.safe_load(app.app_yaml())
    body["spec"]["strategy"]["blueGreen"] |= {
        "routes": {"parentRefs": [{"name": "public"}], "hosts": ["web.shop.example"]},
        "previewHosts": ["{digest}.shop.example", "{digest}.admin.example"],
    }
    world.publish("An app", {f"apps/{app.key}/app.yaml": yaml.safe_dump(body)})
    (found,) = (each for each in cli.json("check", "--live", code=1)["problems"] if "listener" in each["message"])
    assert found["field"] == "spec.strategy.blueGreen.previewHosts[1]"
    assert found["message"] == "no listener of the Gateway serves 0123456789.admin.example"
