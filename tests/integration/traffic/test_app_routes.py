"""People use an app through its route, with and without its header: none fails, and nobody meets a version unasked."""

from __future__ import annotations

from pathlib import Path

from gitops_bg.core import names
from gitops_bg.core.model.digest import short
from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Load
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
from tests.support.scenario import Scenario, scenario
from tests.support.waiting import eventually


def test_no_request_fails_or_goes_astray_through_a_promotion_and_a_rollback(
    gateway: GatewayCluster, tmp_path: Path
) -> None:
    with scenario(gateway, tmp_path) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        world.start()
        web = world.app()
        web.strategy["routes"] = {"parentRefs": [{"name": "public"}]}
        web.deploy("v1")
        one, two = (short(web.digest(tag)) for tag in ("v1", "v2"))
        requests = [("/", ""), ("/", "candidate"), ("/", two), ("/", "v9")]
        load = Load(gateway.gateway_url(world.namespace, "public"), requests, names.DIGEST)
        load.until_answered()
        with load.running():
            load.expect({("/", ""): one, ("/", "candidate"): one, ("/", two): one, ("/", "v9"): one})
            web.push_image("v2")
            web.wait_preview("v2")
            load.until({("/", "candidate"): two, ("/", two): two})
            load.expect({("/", ""): one, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): one})
            merge = web.merge_promotion("v2")
            web.wait_live("v2")
            load.until({("/", ""): two})
            load.expect({("/", ""): two, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): two})
            web.revert(merge)
            web.wait_live("v1")
            load.until({("/", ""): one})
            load.expect({("/", ""): one, ("/", "v9"): one})
        assert {each.status for each in load.answers} == {200}
        assert load.answers


WARM = 60
"""``scaleDownDelaySeconds`` of the app."""


def routes(world: Scenario) -> list[str]:
    """The names of the routes of the namespace."""
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{world.namespace}/httproutes"
    return sorted(each["metadata"]["name"] for each in world.cluster.list(path))


def test_no_request_fails_while_the_app_gets_another_name(gateway: GatewayCluster, tmp_path: Path) -> None:
    """The route of the new name is there before the one of the former name goes, and that goes, too."""
    with scenario(gateway, tmp_path) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        world.start()
        web = world.app()
        web.strategy |= {"routes": {"parentRefs": [{"name": "public"}]}, "scaleDownDelaySeconds": WARM}
        web.deploy("v1")
        one, two = (short(web.digest(tag)) for tag in ("v1", "v2"))
        requests = [("/", ""), ("/", "candidate"), ("/", two), ("/", "v9")]
        load = Load(gateway.gateway_url(world.namespace, "public"), requests, names.DIGEST)
        load.until_answered()
        with load.running():
            web.push_image("v2")
            web.wait_preview("v2")
            load.until({("/", "candidate"): two, ("/", two): two})
            shop = web.rename("shop")
            shop.wait(lambda: shop.condition("Adopting")["reason"] == "Adopted", "the Services are taken over")
            eventually(lambda: looked(world) and routes(world) == ["shop"], what="one route leads to them")
            assert world.live(names.PLURAL, "web"), "the pods of before stay warm"
            load.until({("/", "candidate"): two, ("/", two): two})
            load.expect({("/", ""): one, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): one})
            world.advance(WARM + 1)
            eventually(lambda: looked(world) and not world.live(names.PLURAL, "web"), what="the former app is gone")
            load.expect({("/", ""): one, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): one})
            assert routes(world) == ["shop"]
        assert {each.status for each in load.answers} == {200}
        assert {each.by for each in load.answers if each.version in ("", "v9")} == {one}


def looked(world: Scenario) -> bool:
    """An agent looks at every app, as its timers would have it."""
    assert world.agent is not None
    world.agent.wake_apps(world.agent.cluster.apps())
    return True
