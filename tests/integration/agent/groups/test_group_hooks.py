"""Hooks of a release group, of a running agent against a real backend: asked, refused, told, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.groups import Store
from tests.support.scenario import Scenario
from tests.support.servers.hook_server import HookServer, hook_server
from tests.support.waiting import eventually


@pytest.fixture
def backend() -> Iterator[HookServer]:
    with hook_server(private=True) as running:
        yield running


@pytest.fixture
def store(world: Scenario) -> Store:
    store = Store(world)
    store.begin()
    return store


def promote_with(store: Store, backend: HookServer, *types: str, **more: Any) -> str:
    """Ask for v2, with hooks of these types."""
    store.spec["webhooks"] = [
        {"name": kind, "type": kind, "url": backend.url(f"/{kind}"), "interval": "1s", **more} for kind in types
    ]
    return store.activate("v2")


def test_a_group_moves_once_its_hooks_agree_and_they_learn_which_version_it_is_about(
    store: Store, backend: HookServer
) -> None:
    backend.reply("/confirm-promotion", 409, "change freeze until Monday")
    promote_with(store, backend, "pre-rollout", "confirm-promotion", "post-rollout", metadata={"team": "blue"})
    store.wait("v1A v2C", "Waiting")
    eventually(
        lambda: [gate["reason"] for gate in store.shut_gates() if "change freeze until Monday" in gate["reason"]],
        what="the refusal is shown",
    )
    assert store.ask("/cart") == "cart-v1"
    (smoke,) = backend.asked_at("/pre-rollout")
    assert (smoke.payload["name"], smoke.payload["namespace"]) == ("store", store.world.namespace)
    assert smoke.payload["phase"] == "Progressing"
    assert smoke.payload["metadata"] == {"team": "blue", "version": "v2", "formerVersion": "v1"}
    backend.reply("/confirm-promotion", 200)
    store.wait("v1L v2A")
    eventually(lambda: backend.asked_at("/post-rollout"), what="the end is told")
    (after,) = backend.asked_at("/post-rollout")
    assert (after.payload["phase"], after.payload["checksum"]) == ("Succeeded", "v2")


def test_a_hook_that_hangs_holds_up_no_app_of_the_group(store: Store, backend: HookServer) -> None:
    backend.hang("/pre-rollout")
    promote_with(store, backend, "pre-rollout", timeout="5m")
    eventually(lambda: backend.asked_at("/pre-rollout"), what="it is called")
    before = store.selected("cart")
    cart = store.world.app("cart-v1")
    cart.folder = f"{store.folder}/v1/cart"
    path = f"{cart.folder}/target.yaml"
    store.world.publish("Fix cart in v1", {path: store.version("v1", tag="fixed", cart="/cart /old")[path]})
    cart.wait_offered("fixed")
    cart.merge_offer()
    cart.wait_live("fixed")
    eventually(lambda: store.selected("cart") == store.selected("cart-v1") != before, what="cart follows")
    assert store.stages() == "v1A v2C"
