"""Requests change their owner: a group becomes an app, apps become a group, one takes the place of another. No request
fails, and what serves last is what main says.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Load
from tests.integration.traffic.test_app_routes import looked, routes
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
from tests.support.groups import API, Store
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

PUBLIC = {"parentRefs": [{"name": "public"}]}


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


def live_store(gateway: GatewayCluster, world: Scenario) -> tuple[Store, Load]:
    """A live release group that answers `/` and ends with its folder, and its users."""
    store = Store(world)
    store.spec["deletionPolicy"] = "delete"
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
def test_a_group_that_becomes_an_app_keeps_its_users(gateway: GatewayCluster, tmp_path: Path) -> None:
    """The group ends with its folder: not before the app answers its requests."""
    with scenario(gateway, tmp_path) as world:
        store, load = live_store(gateway, world)
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
            eventually(lambda: not store.status(), what="the group is gone")
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
def test_an_app_in_the_place_of_another_keeps_its_users(gateway: GatewayCluster, tmp_path: Path) -> None:
    """The former one ends with its folder: not before the other one answers its requests."""
    with scenario(gateway, tmp_path) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        world.remote.write("gitops-bg.yaml", f"apiVersion: {API}\nkind: Settings\nmaxDeletedAppsPercent: 100\n")
        world.start()
        web = routed(world)
        web.spec["deletionPolicy"] = "delete"
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
            eventually(lambda: world.live("bluegreendeployments", "web") is None, what="the former app is gone")
        no_request_failed(load)


@pytest.mark.slow
def test_a_group_in_the_place_of_another_keeps_its_users(gateway: GatewayCluster, tmp_path: Path) -> None:
    with scenario(gateway, tmp_path) as world:
        store, load = live_store(gateway, world)
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
