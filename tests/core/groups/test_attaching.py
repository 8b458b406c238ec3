"""Routes move to another Gateway, or to other hosts, as traffic moves: never in place, nor where nobody takes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.groups.attaching import GRACE
from gitops_bg.core.groups.model import GroupGateway
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.auxiliary import Deny, ExtensionRef, ParentRef
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.gateway import Request, answer
from tests.core.groups.simulation import GATEWAY, World, store

WRONG = ParentRef("pubilc")
LISTENER = ParentRef("public", section="wbe")
OTHER = ParentRef("internal")


def at(*parents: ParentRef, hosts: tuple[str, ...] = ()) -> GroupGateway:
    return replace(GATEWAY, parents=parents, hosts=hosts)


def hosts(world: World) -> set[tuple[str, ...]]:
    return {each.hosts for each in world.routes.values()}


def parents(world: World) -> set[ParentRef]:
    return {parent for each in world.routes.values() for parent in each.parents}


def always_answered(world: World) -> None:
    """At every moment since the group came up the users of `public` were answered."""
    assert {each["/cart", ""] for each in world.trail} <= {"cart-v1", "cart-v2"}, "nobody answered"


def begun(**changes: object) -> World:
    world = store(**changes)
    world.settle()
    world.trail.clear()
    return world


def well_after(world: World, seconds: float = GRACE.total_seconds()) -> World:
    world.settle()
    world.after(seconds).settle()
    return world


@pytest.mark.parametrize("wrong", [WRONG, LISTENER], ids=["Gateway", "listener"])
def test_a_gateway_that_is_not_there_takes_no_traffic(wrong: ParentRef) -> None:
    world = begun(away={wrong})
    world.gateway = at(wrong)
    well_after(world, 3600)
    assert world.ask("/cart") == "cart-v1"
    always_answered(world)
    decision = world.decide()
    assert decision.phase is Phase.DEGRADED
    assert "requests still come in by Gateway public, and not by Gateway" in decision.conditions[0].message
    world.gateway = GATEWAY
    assert world.settle().phase is Phase.HEALTHY
    assert parents(world) == {ParentRef("public")}
    always_answered(world)


def test_what_a_gateway_says_against_the_new_routes_is_shown_at_once() -> None:
    world = begun(refusing={OTHER: "NotAllowedByListeners: no"})
    world.gateway = at(OTHER)
    well_after(world)
    assert "NotAllowedByListeners: no" in world.decide().conditions[0].message
    assert world.ask("/cart") == "cart-v1"
    del world.refusing[OTHER]
    assert world.settle().phase is Phase.HEALTHY
    assert parents(world) == {OTHER}
    assert world.events[-1] == "routes-moved"


def test_the_former_routes_stay_until_the_new_ones_are_taken_and_go_then() -> None:
    world = begun()
    world.gateway = at(ParentRef("public"), OTHER)
    world.settle()
    assert len(world.routes) == 2, "the new ones are beside the former"
    world.after(GRACE.total_seconds()).settle()
    assert (len(world.routes), parents(world)) == (1, {ParentRef("public"), OTHER})
    always_answered(world)


def test_routes_move_there_and_back_with_names_that_never_meet() -> None:
    world = begun()
    for gateway in (at(ParentRef("public"), hosts=("shop.example.com",)), GATEWAY, at(ParentRef("public"), OTHER)) * 2:
        world.gateway = gateway
        assert well_after(world).decide().phase is Phase.HEALTHY
        assert (parents(world), hosts(world)) == (set(gateway.parents), {gateway.hosts})
    always_answered(world)


def test_a_host_that_no_listener_has_takes_no_traffic() -> None:
    world = begun(refusing={LISTENER: "NoMatchingListenerHostname"})
    world.gateway = at(LISTENER, hosts=("shpo.example.com",))
    well_after(world, 3600)
    assert answer(world.routes.values(), Request("/cart")) == "cart-v1"


def test_silence_is_a_yes_only_where_the_former_gateway_was_silent_too() -> None:
    world = begun(accepts=None)
    world.gateway = at(ParentRef("public"), OTHER)
    well_after(world, GRACE.total_seconds() - 1)
    assert len(world.routes) == 2
    well_after(world, 1)
    assert parents(world) == {ParentRef("public"), OTHER}


def test_nothing_moves_while_the_group_is_suspended() -> None:
    world = begun()
    world.suspend = Suspension("an incident")
    world.gateway = at(OTHER)
    well_after(world, 3600)
    assert parents(world) == {ParentRef("public")}
    assert "the group is suspended" in world.decide().conditions[0].message
    world.gateway = None
    well_after(world, 3600)
    assert world.ask("/cart") == "cart-v1"
    world.suspend = None
    world.settle()
    assert world.routes == {}, "without a gateway there are no routes"


def test_a_promotion_and_its_revert_wait_for_no_gateway_that_does_not_take_the_routes() -> None:
    world = begun(away={WRONG})
    world.gateway = at(WRONG)
    world.settle()
    for version, stages in (("v2", "v1L v2A"), ("v1", "v1A v2C")):
        world.active = version
        world.settle()
        assert (world.stages, world.ask("/cart")) == (stages, f"cart-{version}")
    always_answered(world)


def test_another_wish_takes_the_place_of_one_that_nobody_takes() -> None:
    world = begun(away={WRONG})
    for gateway in (at(WRONG), at(OTHER)):
        world.gateway = gateway
        world.settle()
    world.after(GRACE.total_seconds()).settle()
    assert parents(world) == {OTHER}


@pytest.mark.parametrize("writes", range(1, 6))
def test_an_agent_that_dies_after_any_write_goes_on(writes: int) -> None:
    world = begun()
    world.gateway = at(ParentRef("public"), hosts=("shop.example.com",))
    world.settle_with_crashes(writes)
    world.after(GRACE.total_seconds()).settle_with_crashes(writes)
    assert (len(world.routes), hosts(world)) == (1, {("shop.example.com",)})
    always_answered(world)


MOVED = {
    "never moved": None,
    "moved to another Gateway before": at(ParentRef("public"), OTHER),
    "moved to a host before": at(ParentRef("public"), hosts=("shop.example.com",)),
}


@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.parametrize("seconds", [0, 1, 3600])
def test_a_lost_record_knows_from_the_live_routes_where_requests_come_in(seconds: int, moved: str) -> None:
    """Found so, of a group that had moved before: the routes that no Gateway takes counted as those that carry traffic,
    as their names come first, and the others were deleted.
    """
    world = begun()
    if (gateway := MOVED[moved]) is not None:
        world.gateway = gateway
        well_after(world)
    world.away = {WRONG}
    world.gateway = at(WRONG)
    if seconds:
        world.settle()
    world.record, world.there = GroupRecord(), True
    well_after(world, seconds)
    assert world.ask("/cart") == "cart-v1"
    always_answered(world)
    world.gateway = GATEWAY
    assert well_after(world).decide().phase is Phase.HEALTHY
    assert (len(world.routes), parents(world)) == (1, {ParentRef("public")})
    always_answered(world)


def test_a_record_of_before_takes_the_live_routes_as_they_are() -> None:
    world = begun()
    world.record = replace(world.record, gateway=None)
    names = set(world.routes)
    assert world.settle().phase is Phase.HEALTHY
    assert (set(world.routes), world.trail) == (names, [])


HEADER, EXTENSION = "X-Store", Deny(extension=ExtensionRef("e.io", "Filter", "deny"))


def by(world: World, header: str) -> str:
    return answer(world.served(), Request("/cart", {header: "v2"}), world.ages)


def test_another_header_takes_the_place_of_the_former_one_once_the_gateway_has_taken_it() -> None:
    world = begun()
    for header in (HEADER, "X-Version", HEADER):
        before = world.gateway.version_header if world.gateway else ""
        world.gateway = replace(GATEWAY, version_header=header)
        world.settle()
        assert (by(world, before), by(world, header)) == ("cart-v2", "cart-v2"), "both name a version meanwhile"
        world.after(GRACE.total_seconds()).settle()
        assert (len(world.routes), by(world, before), by(world, header)) == (1, "cart-v1", "cart-v2")
    always_answered(world)


@pytest.mark.parametrize("wanted", [replace(GATEWAY, version_header=HEADER), replace(GATEWAY, deny=EXTENSION)])
def test_what_a_gateway_refuses_of_header_or_denial_changes_nothing_of_what_is_live(wanted: GroupGateway) -> None:
    """Found so: they were written into the live route, which the Gateway then refused as a whole."""
    world = begun()
    names = dict(world.routes)
    world.gateway, world.refuses = (
        wanted,
        lambda route: "UnsupportedValue: no such filter" if route.name not in names else "",
    )
    well_after(world, 3600)
    assert {name: each for name, each in world.routes.items() if name in names} == names
    decision = world.decide()
    assert (decision.phase, "UnsupportedValue: no such filter" in decision.conditions[0].message) == (
        Phase.DEGRADED,
        True,
    )
    always_answered(world)
    world.gateway = GATEWAY
    assert world.settle().phase is Phase.HEALTHY
    assert world.routes == names


def test_in_a_suspended_group_neither_changes() -> None:
    world = begun()
    world.suspend, names = Suspension("an incident"), dict(world.routes)
    world.gateway = replace(GATEWAY, version_header=HEADER, deny=EXTENSION)
    well_after(world, 3600)
    assert world.routes == names
    assert "requests still name a version by X-Version, not by X-Store" in world.decide().conditions[0].message


@pytest.mark.parametrize("moved", [False, True])
def test_a_lost_record_knows_the_header_from_the_live_routes(moved: bool) -> None:
    world = begun()
    if moved:
        world.gateway = replace(GATEWAY, version_header=HEADER)
        well_after(world)
    kept, now = dict(world.routes), HEADER if moved else "X-Version"
    world.gateway = replace(GATEWAY, version_header="X-Third")
    world.settle()
    world.record = GroupRecord()
    world.settle()
    assert (by(world, now), by(world, "X-Third"), kept.items() <= world.routes.items()) == ("cart-v2", "cart-v2", True)
    well_after(world)
    assert (len(world.routes), by(world, now), by(world, "X-Third")) == (1, "cart-v1", "cart-v2")
    always_answered(world)
