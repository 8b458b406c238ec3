"""Requests change their owner: a group becomes an app, an app a group, one takes the place of another. No request
fails, and what serves last is what main says.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Answer, Load
from tests.integration.traffic.test_app_routes import looked, routes
from tests.support.groups import API, Store
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

PUBLIC = {"parentRefs": [{"name": "public"}]}


def used(cluster: GatewayCluster, world: Scenario) -> Load:
    """Users of `/`, all of whom are answered; nobody asks yet."""
    load = Load(cluster, world.namespace, [("/", "")])
    load.until_answered()
    return load


def routed(world: Scenario, name: str = "web") -> App:
    """An app with a route, which nobody has pushed yet."""
    app = world.app(name)
    app.strategy["routes"] = dict(PUBLIC)
    return app


def folder_of(app: App) -> dict[str, str | None]:
    return {f"{app.folder}/app.yaml": app.app_yaml(), f"{app.folder}/target.yaml": app.target_yaml("v1")}


def only_route(world: Scenario, name: str) -> None:
    """Wait until one HTTPRoute is left, and nobody writes another one again."""
    eventually(lambda: looked(world) and routes(world) == [name], what=f"HTTPRoute {name} alone is left")
    world.settle()
    assert routes(world) == [name]


def no_request_failed(answers: Sequence[Answer], gateway: GatewayCluster | None = None) -> None:
    """Every request was answered. Where a group comes beside what serves, its ``gateway`` counts: Traefik 3.0 answers
    nothing at a Gateway while one of its routes leads to no ready pod (docs/features/groups.md).
    """
    outage = {404} if gateway is not None and gateway.name == "traefik" else set()
    assert {each.status for each in answers} - outage == {200}


@pytest.mark.slow
def test_requests_that_get_another_owner_again_and_again_keep_their_users(
    gateway: GatewayCluster, tmp_path: Path
) -> None:
    """A group takes the place of another and becomes an app; another app takes its place, and a group that one's.

    Of those who leave main two end with their folder, not before the next one answers their requests, and two are kept.
    """
    with scenario(gateway, tmp_path) as world:
        store, mall, market = Store(world), Store(world, "mall"), Store(world, "market")
        web, shop = routed(world), routed(world, "shop")
        for ends in (store, web):  # The other two are kept: whoever comes next takes their route away.
            ends.spec["deletionPolicy"] = "delete"
        settings = f"apiVersion: {API}\nkind: Settings\nmaxDeletedAppsPercent: 100\n"
        world.remote.write("gitops-bg.yaml", settings)
        world.start()
        world.publish("The store", {**store.group(), **store.version("v1", cart="/")})
        store.wait("v1A")
        load = used(gateway, world)
        with load.running():
            load.expect({("/", ""): "cart-v1"})
            files = {**mall.group(), **mall.version("v1", basket="/")}
            world.publish("Another group does it now", {store.folder: None, **files})
            eventually(lambda: not store.status(), what="the group has ended")
            only_route(world, "mall")
            load.expect({("/", ""): "basket-v1"})
            mall.wait("v1A")

            groups = len(load.answers)
            world.publish("The group is one app now", {mall.folder: None, **folder_of(web)})
            web.wait_live("v1")
            only_route(world, "web")
            load.expect({("/", ""): "web"})
            web.wait_phase("Healthy")
            web.promote("v2")
            web.wait_phase("Healthy")
            load.expect({("/", ""): "web"})
            assert mall.status(), "the group is kept, and only its route has gone"

            world.publish("Another app does it now", {web.folder: None, **folder_of(shop)})
            shop.wait_live("v1")
            only_route(world, "shop")
            load.expect({("/", ""): "shop"})
            shop.wait_phase("Healthy")
            eventually(lambda: world.live("bluegreendeployments", "web") is None, what="the former app is gone")
            no_request_failed(load.answers[groups:])

            files = {**market.group(), **market.version("v1", cart="/"), **market.version("v2", cart="/")}
            world.publish("The app is a group now", {shop.folder: None, **files})
            eventually(lambda: market.stages() == "v1A v2C", what="the group is there")
            only_route(world, "market")
            load.expect({("/", ""): "cart-v1"})
            market.wait("v1A v2C")
            market.activate("v2")
            market.wait("v1L v2A")
            load.expect({("/", ""): "cart-v2"})
            assert world.live("bluegreendeployments", "shop"), "the app is kept, and only its route has gone"
        no_request_failed(load.answers, gateway)
