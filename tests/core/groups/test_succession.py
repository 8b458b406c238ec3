"""A group whose folder has another name now: what the former one has live is taken over; nothing is answered twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.groups.observed import RivalRoute
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.routes.attaching import GRACE
from gitops_bg.core.model.decision import GateKind, Phase
from gitops_bg.core.model.http_routes import HttpMatch, ParentRef
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.simulation import World, store, version

PUBLIC = (ParentRef("public"),)


def promoted(**changes: object) -> World:
    """v2 serves, v1 is kept warm."""
    world = store(**changes)
    world.settle()
    world.active = "v2"
    world.settle()
    world.trail.clear()
    return world


def renamed(world: World, writes: int = 10_000) -> World:
    world.rename("market")
    world.settle_with_crashes(writes)
    world.after(GRACE.total_seconds()).settle_with_crashes(writes)
    return world


def served(world: World) -> set[str]:
    """Who answered /cart without a header at any moment."""
    return {each["/cart", ""] for each in world.trail}


@pytest.mark.parametrize("writes", [1, 2, 3, 10_000])
def test_a_group_with_another_name_has_its_versions_and_the_way_back(writes: int) -> None:
    world = renamed(promoted(), writes)
    assert world.decide().phase is Phase.HEALTHY
    assert (world.stages, world.services) == ("v1L v2A", {"cart": "cart-v2", "auth": "auth-v1"})
    assert (set(world.routes), world.former, world.formers_own) == ({"market"}, None, set())
    assert served(world) == {"cart-v2"}, "nothing moved"
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


def test_promotions_after_it_move_what_users_get() -> None:
    world = renamed(promoted())
    for number in (3, 4, 5):
        world.versions[f"v{number}"] = version(cart="/cart")
        world.settle()
        world.active = f"v{number}"
        assert world.settle().phase is Phase.HEALTHY
        assert world.ask("/cart") == f"cart-v{number}"
    assert len(world.routes) == 1


def test_a_promotion_that_comes_with_the_new_name_begins_once_all_is_taken_over() -> None:
    world = promoted()
    world.versions["v3"], world.active = version(cart="/cart"), "v3"
    renamed(world)
    assert (world.stages, world.ask("/cart"), world.former) == ("v1A v2L v3A".replace("v1A", "v1R"), "cart-v3", None)
    assert served(world) == {"cart-v2", "cart-v3"}


def test_a_rollback_on_its_way_goes_on_under_the_new_name() -> None:
    world = promoted()
    world.active = "v1"
    world.step()
    assert world.record.transition is not None
    world.rename("market")
    for _ in range(6):
        world.settle()
        world.after(GRACE.total_seconds())
    assert (world.stages, world.ask("/cart"), set(world.routes)) == ("v1A v2C", "cart-v1", {"market"})


def test_a_record_that_was_lost_before_is_made_again_under_the_new_name() -> None:
    world = promoted()
    world.rename("market")
    world.former = GroupRecord()
    world.settle()
    world.after(GRACE.total_seconds()).settle()
    assert (world.stages, world.ask("/cart"), set(world.routes)) == ("v1L v2A", "cart-v2", {"market"})


def test_a_suspended_group_is_taken_over_too_and_its_routes_keep_their_names() -> None:
    world = promoted()
    world.suspend = Suspension("an incident")
    renamed(world)
    assert (world.former, set(world.routes), world.ask("/cart")) == (None, {"store"}, "cart-v2")


def test_a_group_that_has_only_a_part_of_the_former_one_says_so_and_promotes_nothing() -> None:
    world = promoted()
    world.rename("market")
    world.versions = {"v2": version(cart="/cart"), "v3": version(cart="/cart")}
    world.settle()
    assert (world.formers_own, world.ask("/cart")) == ({"store", "cart", "auth"}, "cart-v2")
    world.active = "v3"
    decision = world.settle()
    shut = [each for each in decision.gates if not each.open and each.kind is GateKind.ENDPOINTS]
    assert shut
    assert world.ask("/cart") == "cart-v2"


def rival(path: str = "/cart", hosts: tuple[str, ...] = (), parents: tuple[ParentRef, ...] = PUBLIC) -> RivalRoute:
    return RivalRoute("the app web", parents, hosts, frozenset({HttpMatch(path)}), "000000")


def test_an_older_route_of_somebody_else_is_named_and_nothing_is_promoted_past_it() -> None:
    world = store()
    world.others = {"web": rival()}
    decision = world.settle()
    assert decision.phase is Phase.DEGRADED
    said = "HTTPRoute web of the app web has the requests /cart first: it says the same ones, and is older"
    assert decision.conditions[0].message == said
    world.active = "v2"
    assert world.settle().phase is Phase.WAITING
    assert world.stages == "v1A v2C"
    world.others = {}
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize(
    ("ours", "theirs"), [("/cart", "/cart/"), ("/cart/", "/cart")], ids=["theirs with a slash", "ours with a slash"]
)
def test_the_same_requests_in_other_words_are_a_rival_s_too(ours: str, theirs: str) -> None:
    """A prefix is for the same requests with a slash at its end and without."""
    world = World({"v1": version(cart=ours), "v2": version(cart=ours)}, others={"web": rival(theirs)})
    assert world.settle().phase is Phase.DEGRADED
    world.active = "v2"
    world.settle()
    assert world.stages == "v1A v2C"


def test_a_promotion_does_not_begin_where_its_httproute_is_somebody_else_s() -> None:
    world = store()
    world.settle()
    world.foreign, world.active = {"store"}, "v2"
    decision = world.settle()
    (shut,) = (each for each in decision.gates if not each.open)
    assert (shut.kind, shut.reason) == (GateKind.ENDPOINTS, "HTTPRoute store: it is managed by Helm")
    assert (world.stages, world.record.transition) == ("v1A v2C", None)
    world.foreign = set()
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize(
    "other",
    [
        rival(path="/other"),
        rival(path="/cart/export"),
        rival(hosts=("other.example.com",)),
        rival(parents=(ParentRef("internal"),)),
        replace(rival(), born="999999"),
    ],
    ids=["path", "narrower path", "host", "Gateway", "younger"],
)
def test_a_route_for_other_requests_or_a_younger_one_is_nobody_s_rival(other: RivalRoute) -> None:
    world = store()
    world.others = {"web": other}
    assert world.settle().phase is Phase.HEALTHY
    world.active = "v2"
    world.settle()
    assert world.stages == "v1L v2A"


def test_a_rollback_waits_for_no_rival() -> None:
    world = promoted()
    world.others = {"web": rival()}
    world.active = "v1"
    world.settle()
    assert world.stages == "v1A v2C"
