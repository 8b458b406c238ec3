"""Requests change their owner: a group becomes an app, apps become a group, one app takes the place of another; and an
older route of somebody else is named. No request fails, and what serves last is what main says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Load
from tests.integration.traffic.test_app_routes import looked, routes
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
from tests.support.groups import API, Store
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

PUBLIC = {"parentRefs": [{"name": "public"}]}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SandboxCluster]:
    with SandboxCluster.run(tmp_path, traffic=True) as running:
        yield running


def used(cluster: GatewayCluster, world: Scenario) -> Load:
    """Users of `/`, all of whom are answered; nobody asks yet."""
    load = Load(cluster.gateway_url(world.namespace, "public"), [("/", "")])
    load.until_answered()
    return load


def routed(world: Scenario, name: str = "web") -> App:
    """An app with a route, which nobody has pushed yet."""
    app = world.app(name)
    app.strategy["routes"] = dict(PUBLIC)
    return app


def folder_of(app: App) -> dict[str, str | None]:
    return {f"{app.folder}/app.yaml": app.app_yaml(), f"{app.folder}/target.yaml": app.target_yaml("v1")}


def live_store(gateway: GatewayCluster, world: Scenario, policy: str) -> tuple[Store, Load]:
    """A live release group that answers `/`, what becomes of it once its folder leaves main, and its users."""
    store = Store(world)
    store.spec["deletionPolicy"] = policy
    world.start()
    world.publish("The store", {**store.group(), **store.version("v1", cart="/")})
    store.wait("v1A")
    return store, used(gateway, world)


def only_route(world: Scenario, name: str) -> None:
    """Wait until one HTTPRoute is left, and nobody writes another one again."""
    eventually(lambda: looked(world) and routes(world) == [name], what=f"HTTPRoute {name} alone is left")
    world.settle()
    assert routes(world) == [name]


def no_request_failed(load: Load, gateway: GatewayCluster | None = None) -> None:
    """Every request was answered. Where a group comes beside what serves, its ``gateway`` counts: Traefik 3.0 answers
    nothing at a Gateway while one of its routes leads to no ready pod (docs/features/groups.md).
    """
    outage = {404} if gateway is not None and gateway.name == "traefik" else set()
    assert {each.status for each in load.answers} - outage == {200}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["keep", "delete"])
def test_a_group_that_becomes_an_app_keeps_its_users(gateway: GatewayCluster, tmp_path: Path, policy: str) -> None:
    """Also where the group ends with its folder: not before the app answers its requests."""
    with scenario(gateway, tmp_path) as world:
        store, load = live_store(gateway, world, policy)
        with load.running():
            load.expect({("/", ""): "cart-v1"})
            web = routed(world)
            world.publish("The store is one app now", {store.folder: None, **folder_of(web)})
            web.wait_live("v1")
            only_route(world, "web")
            load.expect({("/", ""): "web"})
            web.wait_phase("Healthy")
            web.promote("v2")
            web.wait_phase("Healthy")
            load.expect({("/", ""): "web"})
            eventually(lambda: bool(store.status()) is (policy == "keep"), what="the group is kept, or gone")
        no_request_failed(load)


@pytest.mark.slow
def test_an_app_that_becomes_a_group_keeps_its_users(gateway: GatewayCluster, tmp_path: Path) -> None:
    with scenario(gateway, tmp_path) as world:
        store = Store(world)
        world.start()
        web = routed(world).deploy("v1")
        load = used(gateway, world)
        with load.running():
            load.expect({("/", ""): "web"})
            group = {**store.group(), **store.version("v1", cart="/"), **store.version("v2", cart="/")}
            world.publish("The app is a group now", {web.folder: None, **group})
            eventually(lambda: store.stages() == "v1A v2C", what="the group is there")
            only_route(world, "store")
            load.expect({("/", ""): "cart-v1"})
            store.wait("v1A v2C")
            store.activate("v2")
            store.wait("v1L v2A")
            load.expect({("/", ""): "cart-v2"})
        no_request_failed(load, gateway)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["keep", "delete"])
def test_an_app_in_the_place_of_another_keeps_its_users(gateway: GatewayCluster, tmp_path: Path, policy: str) -> None:
    """Also where the former one ends with its folder: not before the other one answers its requests."""
    with scenario(gateway, tmp_path) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        world.remote.write("gitops-bg.yaml", f"apiVersion: {API}\nkind: Settings\nmaxDeletedAppsPercent: 100\n")
        world.start()
        web = routed(world)
        web.spec["deletionPolicy"] = policy
        web.deploy("v1")
        load = used(gateway, world)
        with load.running():
            load.expect({("/", ""): "web"})
            shop = routed(world, "shop")
            world.publish("Another app does it now", {web.folder: None, **folder_of(shop)})
            shop.wait_live("v1")
            only_route(world, "shop")
            load.expect({("/", ""): "shop"})
            shop.wait_phase("Healthy")
            there = lambda: world.live("bluegreendeployments", "web") is not None  # noqa: E731
            eventually(lambda: there() is (policy == "keep"), what="the former app is kept, or gone")
        no_request_failed(load)


@pytest.mark.slow
def test_a_group_in_the_place_of_another_keeps_its_users(gateway: GatewayCluster, tmp_path: Path) -> None:
    with scenario(gateway, tmp_path) as world:
        store, load = live_store(gateway, world, "delete")
        market = Store(world, "market")
        with load.running():
            load.expect({("/", ""): "cart-v1"})
            group = {**market.group(), **market.version("v1", basket="/")}
            world.publish("Another group does it now", {store.folder: None, **group})
            eventually(lambda: not store.status(), what="the group has ended")
            only_route(world, "market")
            load.expect({("/", ""): "basket-v1"})
            market.wait("v1A")
        no_request_failed(load, gateway)


def test_an_older_route_of_another_app_is_named_and_nothing_is_promoted_past_it(
    cluster: SandboxCluster, tmp_path: Path
) -> None:
    with scenario(cluster, tmp_path) as world:
        install_gateway_api(cluster)
        open_gateway(cluster, world.namespace)
        world.start()
        old = routed(world, "old").deploy("v1")
        web = routed(world)
        web.add()
        web.wait_live("v1")
        web.wait_phase("Degraded")
        said = "HTTPRoute old of the app old has the requests / first: it says the same ones, and is older"
        assert web.status["message"] == said
        assert web.condition("Conflict")["reason"] == "RequestsTaken"
        web.push_image("v2")
        web.wait(lambda: said in [each["reason"] for each in web.status["gates"] if not each["open"]], "a gate says so")
        assert not web.offered()
        del old.strategy["routes"]
        old.configure()
        only_route(world, "web")
        web.merge_promotion("v2")
        web.wait_live("v2")
        web.wait_phase("Healthy")
