"""Going back waits for nobody (I6): it is written whatever the Gateway says, and holds nothing."""

from __future__ import annotations

from contextlib import suppress

import pytest

from gitops_bg.core.groups.model import GroupGateway, TransitionStep
from gitops_bg.core.groups.record import MemberState, member_state
from gitops_bg.core.model.conditions import Phase
from tests.core.groups.simulation import GATEWAY, Died, World, store, version


def refusing(world: World) -> World:
    """Its Gateway takes no routes from now on."""
    world.accepts, world.says = False, "the certificate has expired"
    return world


def serving_v2() -> World:
    world = store(active="v2")
    world.settle()
    assert world.stages == "v1L v2A"
    return world


@pytest.mark.parametrize("accepts", [False, None], ids=["it refuses", "it never says anything"])
def test_a_rollback_is_written_and_done_at_once_whatever_the_gateway_says(accepts: bool | None) -> None:
    """Found so: it stayed in its first step, was withdrawn at its deadline, held, and not tried again."""
    world = refusing(serving_v2())
    world.accepts, world.active = accepts, "v1"
    decision = world.settle()
    assert (world.stages, world.ask("/cart"), world.services["cart"]) == ("v1A v2C", "cart-v1", "cart-v1")
    assert (world.record.transition, world.held) == (None, ())
    assert (decision.phase is Phase.HEALTHY) is (accepts is None), "what the Gateway does not take is said"


def test_what_the_gateway_refuses_of_a_rollback_is_said_until_it_takes_it() -> None:
    world = refusing(serving_v2())
    world.active = "v1"
    world.settle()
    world.after(700).settle()
    said = next(each for each in world.decide().conditions if each.type == "RoutesAccepted")
    assert (said.status, said.message) == (False, "store: the certificate has expired")
    world.accepts = True
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1A v2C"


def test_every_request_is_answered_by_a_version_that_it_may_have_while_a_rollback_is_written() -> None:
    world = refusing(serving_v2())
    before = world.answers()
    world.active, world.trail = "v1", []
    world.settle()
    after = world.answers()
    assert world.trail, "it is written"
    for seen in world.trail:
        assert all(seen[request] in {before[request], after[request], "denied", "404"} for request in seen)
        assert seen["/cart", ""] in {"cart-v1", "cart-v2"}


def test_a_version_that_the_gateway_may_still_lead_to_keeps_its_pods_though_its_folder_left_main() -> None:
    """The revert of the commit that brought v2 and promoted it: the Gateway has not taken the way back yet."""
    world = refusing(serving_v2())
    world.active = "v1"
    world.settle()
    gone = world.versions.pop("v2")
    world.settle()
    assert world.stages == "v1A v2C"
    world.accepts = True
    world.settle()
    assert world.stages == "v1A"
    assert gone


@pytest.mark.parametrize("step", TransitionStep)
def test_a_promotion_that_is_taken_back_ends_though_the_gateway_takes_nothing(step: TransitionStep) -> None:
    world = store()
    world.settle()
    before = world.answers()
    world.active = "v2"
    while world.record.transition is None or world.record.transition.step is not step:
        world.step()
    refusing(world).active = "v1"
    world.settle()
    assert (world.stages, world.answers(), world.record.transition) == ("v1A v2C", before, None)


def test_a_rollback_does_not_wait_for_a_promotion_that_the_gateway_refuses() -> None:
    world = serving_v2()
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    refusing(world).active = "v3"
    world.settle()
    assert world.record.transition is not None
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


def test_a_rollback_does_not_wait_for_the_pods_of_a_version_that_it_passes() -> None:
    """Requests are with v3, whose promotion was taken back; v2 has no pods to go back to, and v1 has."""
    world = serving_v2()
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    world.active = "v3"
    world.stop_once("cart", follows="cart-v3")
    world.gone, world.active, world.trail = {"cart-v2"}, "v1", []
    before = world.answers()
    world.settle()
    assert (world.stages, world.ask("/cart"), world.services["cart"]) == ("v1A v2C", "cart-v1", "cart-v1")
    assert {seen["/cart", ""] for seen in world.trail} <= {before["/cart", ""], "cart-v1"}, "none leads to v2"
    assert [(each.source, each.target) for each in world.record.moves][-1] == ("v2", "v1")


@pytest.mark.parametrize(
    ("gateway", "paths", "service"),
    [(None, "/auth", "cart"), (GATEWAY, "/auth", "cart"), (GATEWAY, "", "auth")],
    ids=["without a Gateway", "once the routes are back", "a service without routes"],
)
def test_nor_where_only_services_lead_to_what_it_leaves(gateway: GroupGateway | None, paths: str, service: str) -> None:
    """Found so: it stayed for ever, and the status said that it goes on by itself."""
    each = {"cart": "/cart", "auth": paths}
    world = World({name: version(**each) for name in ("v1", "v2")}, active="v2", gateway=gateway)
    world.active = "v1"
    world.settle()
    world.active = "v2"
    world.settle()
    world.versions["v3"] = version(**each)
    world.settle()
    world.active = "v3"
    world.stop_once(service, follows=f"{service}-v3")
    if gateway is not None and paths:
        world.active = "v2"
        with suppress(Died):
            world.step(2)
        assert world.ask("/cart") == "cart-v2"
    world.active, world.gone = "v1", {f"{service}-v2"}
    world.settle()
    assert (world.stages, world.services[service], world.record.transition) == ("v1A v2C", f"{service}-v1", None)


def test_a_way_back_that_waits_for_pods_names_them() -> None:
    world = World({name: version(cart="/cart") for name in ("v1", "v2")}, gateway=None)
    world.settle()
    world.active = "v2"
    world.stop_once("cart", follows="cart-v2")
    world.active, world.gone = "v1", {"cart-v1"}
    decision = world.settle()
    assert any("cart-v1 has no pod that answers" in each.message for each in decision.conditions)


@pytest.mark.parametrize("gone", [{"cart-v1", "cart-v2"}, set()], ids=["v1 has no pods", "v2 has pods again"])
def test_a_promotion_that_is_taken_back_passes_no_version_where_it_need_not(gone: set[str]) -> None:
    world = serving_v2()
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    world.active = "v3"
    world.stop_once("cart", follows="cart-v3")
    world.gone, world.active = gone, "v1"
    with suppress(Died):
        world.step(1)
    moving = world.record.transition
    assert moving is not None
    assert (moving.target, bool(moving.withdrawn)) == ("v3", True)


def test_what_requests_have_left_keeps_its_pods_until_the_gateway_has_followed() -> None:
    """Of a promotion that was taken back once requests had begun to move, as of one that is over."""
    world = store()
    world.settle()
    world.active = "v2"
    world.stop_once("cart", follows="cart-v2")
    refusing(world).active = "v1"
    world.settle()
    assert (world.stages, world.record.transition) == ("v1A v2C", None)
    folder = world.versions.pop("v2")
    world.settle()
    assert member_state(world.record, "cart", "v2") is MemberState.CANDIDATE, "the Gateway may lead requests there"
    world.accepts = True
    world.settle()
    assert world.stages == "v1A"
    world.versions["v2"] = folder
    world.settle()
    assert world.stages == "v1A v2C"


def test_a_rollback_is_not_given_up_for_good_where_something_that_can_be_mended_is_in_its_way() -> None:
    """The Service of one of its services is somebody else's for longer than the deadline."""
    world = serving_v2()
    world.services["cart"], world.foreign = "", {"cart"}
    world.active = "v1"
    world.settle()
    world.after(700).settle()
    assert not world.held
    world.foreign = set()
    world.settle()
    assert (world.stages, world.services["cart"]) == ("v1A v2C", "cart-v1")


def test_a_rollback_waits_for_no_definition_of_routes() -> None:
    """The Gateway API has left the cluster: Services lead callers inside it back all the same."""
    world = serving_v2()
    world.knows_routes, world.routes = False, {}
    world.active = "v1"
    world.settle()
    assert (world.stages, world.services["cart"]) == ("v1A v2C", "cart-v1")
    world.knows_routes = True
    world.settle()
    assert world.ask("/cart") == "cart-v1"
