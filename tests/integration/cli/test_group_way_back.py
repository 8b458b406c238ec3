"""A rollback of a group with a running agent, behind a Gateway whose answers are given by hand: it refuses all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.cluster.rawapi import Json
from tests.support.groups import Store
from tests.support.scenario import Scenario
from tests.support.waiting import eventually

ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes"
GATEWAY = "/apis/gateway.networking.k8s.io/v1/namespaces/{}/gateways/public"


@pytest.fixture
def store(world: Scenario) -> Store:
    return Store(world)


@contextmanager
def answered(store: Store, accepted: str) -> Iterator[None]:
    """A Gateway that gives every HTTPRoute this answer as soon as it is written."""
    listed = ROUTES.format(store.world.namespace)
    stop = threading.Event()

    def answer() -> None:
        while not stop.wait(0.05):
            for route in store.world.cluster.list(listed):
                conditions = [_said(route, "Accepted", accepted), _said(route, "ResolvedRefs", "True")]
                parent = {"parentRef": {"name": "public"}, "controllerName": "hand.dev/made", "conditions": conditions}
                body = {"status": {"parents": [parent]}}
                path = f"{listed}/{route['metadata']['name']}/status"
                store.world.cluster.request("PATCH", path, body, content_type="application/merge-patch+json")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _said(route: Json, kind: str, status: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": kind if status == "True" else "InvalidCertificate",
        "message": "by hand",
        "observedGeneration": route["metadata"]["generation"],
        "lastTransitionTime": "2026-11-28T00:00:00Z",
    }


def test_a_rollback_is_done_while_the_gateway_refuses_every_route(cli: Cli, store: Store) -> None:
    """Found so: it stayed in `prepare`, was held after the deadline, and was not tried again when the Gateway was."""
    store.begin()
    store.activate("v2")
    store.wait("v1L v2A")
    store.world.cluster.request("DELETE", GATEWAY.format(store.world.namespace))
    with answered(store, "False"):
        cli("group", "rollback", f"{store.world.namespace}/store", "v1")
        store.world.wake()
        eventually(lambda: store.stages() == "v1A v2C", what="v1 is active")
        assert store.ask("/cart") == "cart-v1"
        eventually(lambda: store.selected("cart") == store.selected("cart-v1"), what="its Service follows")
        assert store.status().get("transition") is None
        eventually(lambda: "InvalidCertificate" in store.condition("RoutesAccepted")["message"], what="it is said")
    with answered(store, "True"):
        store.wait("v1A v2C")
