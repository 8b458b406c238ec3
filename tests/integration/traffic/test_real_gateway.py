"""Release groups behind Traefik: two in one Gateway, things that are deleted and processes that die, and its limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from gitops_bg.cluster.manifests.services import http_route
from gitops_bg.core.model.auxiliary import (
    NO_BACKEND,
    Backend,
    Deny,
    ExtensionRef,
    HttpMatch,
    HttpRoute,
    HttpRule,
    ParentRef,
    PathKind,
)
from tests.integration.traffic.gateway_users import Load
from tests.support import manifests
from tests.support.cluster.gateway_api import open_gateway
from tests.support.cluster.rawapi import Json
from tests.support.cluster.traefik import TraefikCluster
from tests.support.groups import Store
from tests.support.scenario import scenario
from tests.support.waiting import eventually

pytestmark = [pytest.mark.real_gateway, pytest.mark.slow]

GATEWAY_API = "/apis/gateway.networking.k8s.io/v1/namespaces"
USED = [("/cart", ""), ("/cart", "v1"), ("/cart", "v2"), ("/pay", ""), ("/pay", "v1")]
FIRST = {("/cart", ""): "cart-v1", ("/cart", "v1"): "cart-v1", ("/cart", "v2"): "cart-v2", ("/pay", ""): "pay-v1"}


@contextmanager
def two_groups(cluster: TraefikCluster, tmp_path: Path) -> Iterator[tuple[Store, Store, Load]]:
    """The groups `store` (v1, v2) and `bank` (v1) behind one Gateway; all of it answers, and nobody asks yet."""
    with scenario(cluster, tmp_path) as world:
        store, bank = Store(world), Store(world, "bank")
        world.start()
        versions = store.version("v1", cart="/cart") | store.version("v2", cart="/cart")
        world.publish("Two groups", {**store.group(), **versions, **bank.group(), **bank.version("v1", pay="/pay")})
        store.wait("v1A v2C")
        bank.wait("v1A")
        load = Load(cluster, world.namespace, USED)
        load.until_answered()
        yield store, bank, load


def test_a_group_of_two_is_promoted_and_comes_back_and_the_other_one_of_its_gateway_notices_nothing(
    traefik: TraefikCluster, tmp_path: Path
) -> None:
    """Its route is deleted by hand, and the Gateway dies while it is promoted again."""
    with two_groups(traefik, tmp_path) as (store, _bank, load):
        with load.running():
            load.expect(FIRST)
            store.activate("v2")
            store.wait("v1L v2A")
            load.expect(FIRST | {("/cart", ""): "cart-v2"})
        assert {each.status for each in load.answers} == {200}
        for version in ("v1", "v2"):
            assert {each.by for each in load.answers if each[1:3] == ("/cart", version)} == {f"cart-{version}"}
        assert {each.by for each in load.answers if each.path == "/pay"} == {"pay-v1"}

        store.world.stop()  # Traefik takes its time: only what is gone for users can be seen to come back.
        traefik.delete(f"{GATEWAY_API}/{store.world.namespace}/httproutes/store")
        with urllib3.PoolManager(retries=False) as pool:
            eventually(lambda: load.ask(pool, "/cart", "").status != 200, what="nobody answers")
        store.world.start()
        back = load.anew()
        with back.running():
            back.expect(FIRST | {("/cart", ""): "cart-v2"})
        store.activate("v1")
        store.wait("v1A v2C")
        traefik.traefik.stop()
        store.activate("v2")
        store.wait("v1L v2A")
        traefik.traefik.start()
        again = load.anew()
        again.until_answered()
        with again.running():
            again.expect(FIRST | {("/cart", ""): "cart-v2"})
        assert {each.status for each in again.answers} == {200}


# --- what Traefik 3.0 does with the rest of what routes.yaml may say; the table of docs/features/groups.md ------------

ONE, TWO = Backend("one", 80), Backend("two", 80)
REFUSED = {
    "a path that is a regular expression": HttpRule((HttpMatch("/x/[0-9]+", PathKind.REGEX),), ONE),
    "a rewrite": HttpRule((HttpMatch("/x"),), ONE, rewrite="/y"),
    "an object of an implementation": HttpRule((HttpMatch("/x"),), Deny(extension=ExtensionRef("e.io", "F", "f"))),
    "a Service that is not there": HttpRule((HttpMatch("/x"),), Backend("nobody", 80)),
    "a Service without a ready pod": HttpRule((HttpMatch("/x"),), Backend("gitops-bg-deny", 80)),
}


@pytest.fixture
def gateway_of_two(traefik: TraefikCluster) -> str:
    """A namespace with a Gateway, and two Services whose pods answer; `two` takes its time."""
    namespace = traefik.namespace()
    open_gateway(traefik, namespace)
    for name, image in (("one", "web:v1"), ("two", "web:slow")):
        traefik.apply(manifests.service(namespace, name, app=name))
        made = manifests.replica_set(namespace, name, image=image)
        ports = [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]
        made["spec"]["template"]["spec"]["containers"][0]["ports"] = ports
        traefik.apply(made)
        eventually(lambda name=name: traefik.ready_addresses(namespace, name), what=f"{name} answers")
    return namespace


def write(cluster: TraefikCluster, namespace: str, name: str, *rules: HttpRule) -> None:
    """Write an HTTPRoute as the agent would."""
    cluster.apply(http_route(namespace, {}, HttpRoute(name, (), (ParentRef("public"),), rules)))


def test_one_rule_that_traefik_3_0_does_not_take_ends_every_route_of_its_gateway(
    traefik: TraefikCluster, gateway_of_two: str
) -> None:
    gateway = f"{GATEWAY_API}/{gateway_of_two}/gateways/public"

    def is_accepted() -> bool:
        conditions: list[Json] = traefik.get(gateway).get("status", {}).get("conditions") or []
        return any(each["type"] == "Accepted" and each["status"] == "True" for each in conditions)

    write(traefik, gateway_of_two, "good", HttpRule((HttpMatch("/one"),), ONE))
    good = Load(traefik, gateway_of_two, [("/one", "")])
    for row, rule in REFUSED.items():
        eventually(is_accepted, what=f"the Gateway is well before {row}")
        good.until_answered()
        write(traefik, gateway_of_two, "bad", rule)
        eventually(lambda: not is_accepted(), what=f"the Gateway does not take {row}")
        with urllib3.PoolManager(retries=False) as pool:
            eventually(lambda: good.ask(pool, "/one", "").status == 404, what=f"{row} ends the good route, too")
        traefik.delete(f"{GATEWAY_API}/{gateway_of_two}/httproutes/bad")
    eventually(is_accepted, what="the Gateway is well again")


def test_what_traefik_3_0_does_not_look_at_in_a_rule(traefik: TraefikCluster, gateway_of_two: str) -> None:
    url = traefik.gateway_url(gateway_of_two, "public")
    write(
        traefik,
        gateway_of_two,
        "store",
        HttpRule((HttpMatch("/get", method="GET"),), ONE),
        HttpRule((HttpMatch("/slow"),), TWO, timeout="100ms"),
        HttpRule((HttpMatch("/denied", headers=(("X-Version", "v2"),)),), NO_BACKEND),
        HttpRule((HttpMatch("/denied"),), ONE),
    )
    with urllib3.PoolManager(retries=False) as pool:

        def by(path: str, method: str = "GET", **headers: str) -> str:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            answer = pool.request(method, url + path, headers=given, timeout=20)
            return str(answer.json()["labels"]["app"]) if answer.status == 200 else str(answer.status)

        eventually(lambda: by("/get") == "one", what="the routes are taken")
        assert by("/get", "POST") == "one", "methods"
        assert by("/getaway") == "one", "a prefix ends at a slash"
        assert by("/slow") == "two", "timeouts"
        assert by("/denied", X_Version="v2") == "one", "denyMode: noBackend"
