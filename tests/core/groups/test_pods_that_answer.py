"""No request without a version's header leaves pods that answer for a service that has none (I1), whatever happens."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.groups.desired import DesiredRoute, DesiredService
from gitops_bg.core.groups.model import RouteMatch, TransitionStep
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.http_routes import NO_BACKEND, Deny
from tests.core.groups.simulation import GATEWAY, Died, World, store, version


def said(world: World, kind: str) -> str:
    """The message of a condition that is not as it should be; empty where it is."""
    return next(each.message for each in world.decide().conditions if each.type == kind and not each.status)


# --- services that come into the active version ---

ADDED = {
    "a path that another service of the version gives up": (
        store(),
        "v1",
        version("1b", cart="/cart", auth="/auth", basket="/old"),
        ("/old", "cart-v1", "basket-v1"),
    ),
    "a path that the version inherits": (
        store(active="v2"),
        "v2",
        version("2b", cart="/cart /new", login="/auth"),
        ("/auth", "auth-v1", "login-v2"),
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_the_active_version_moves_to_a_new_service_once_that_has_pods(name: str) -> None:
    world, active, folder, (path, before, after) = ADDED[name]
    world.settle()
    answers = world.answers()
    world.versions[active], world.gone = folder, {after}
    world.trail.clear()
    decision = world.settle()
    assert {each[path, ""] for each in world.trail} <= {before}
    assert world.answers().items() >= answers.items(), "whatever version a request names"
    assert decision.phase is Phase.DEPLOYING
    assert said(world, "RoutesAccepted") == f"{after} has no pod that answers: {path} leads to {before} until it has"
    world.gone = set()
    world.settle()
    assert world.ask(path) == after


def test_a_path_that_nobody_may_reach_waits_for_no_pods() -> None:
    world = store()
    world.settle()
    basket = DesiredService(pods=True, routes=(DesiredRoute(RouteMatch("/old"), 80, allowed=False),))
    folder = version("1b", cart="/cart", auth="/auth")
    world.versions["v1"] = replace(folder, services={**folder.services, "basket": basket})
    world.gone = {"basket-v1"}
    world.settle()
    assert world.ask("/old") == "denied"


@pytest.mark.parametrize("deny", [GATEWAY.deny, NO_BACKEND])
def test_a_path_that_the_version_before_had_is_no_path_of_the_one_that_serves(deny: Deny) -> None:
    world = store(active="v2", gateway=replace(GATEWAY, deny=deny))
    world.settle()
    world.versions["v2"], world.gone = version("2b", cart="/cart /new /old"), {"cart-v2"}
    world.settle()
    assert world.ask("/old") == "cart-v2"


def test_a_folder_for_a_service_that_the_active_version_inherits_is_rejected_aloud() -> None:
    world = store(active="v2")
    world.settle()
    world.versions["v2"] = version("2", cart="/cart /new", auth="/auth /login")
    world.settle()
    why = "v2 serves auth of v1, and is active: bring auth with the next version"
    assert said(world, "Ready") == why
    assert world.services["auth"] == "auth-v1"


@pytest.mark.parametrize("late", [False, True])
def test_a_lost_record_moves_no_traffic_where_a_service_came_late(late: bool) -> None:
    """Found so: the whole version counted as never promoted, and the group went back to the one before."""
    world = store(active="v2")
    world.settle()
    if late:
        world.versions["v2"] = version("2", cart="/cart /new", auth="/auth")
        world.settle()
    before = world.answers(), dict(world.services), world.stages
    world.record, world.there, world.uid = GroupRecord(), False, "another"
    world.ill = {"auth-v2"}
    world.trail.clear()
    world.settle()
    assert (world.answers(), world.services, world.stages) == before
    assert all(answers["/cart", ""] == "cart-v2" for answers in world.trail)


# --- the step that moves live traffic ---


def switching(*, written: bool) -> World:
    """A promotion to v2 in its second step, with or without its routes."""
    world = store()
    world.settle()
    world.active = "v2"
    for _ in range(20):
        with suppress(Died):
            world.step(10_000 if written else 1)
        moving = world.record.transition
        if moving is not None and moving.step is TransitionStep.SWITCH:
            if written:
                world.accepts, world.says = False, "busy"
                world.step()
            assert world.ask("/cart") == ("cart-v2" if written else "cart-v1")
            return world
    raise AssertionError("it never switches")


def test_a_switch_that_was_saved_waits_where_its_version_has_lost_its_pods() -> None:
    world = switching(written=False)
    world.gone = {"cart-v2"}
    world.settle()
    assert (world.ask("/cart"), world.services["cart"]) == ("cart-v1", "cart-v1")
    assert "cart-v2 has no pod that answers" in said(world, "RoutesAccepted")
    world.after(700).settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


def test_a_switch_goes_on_once_the_pods_are_back() -> None:
    world = switching(written=False)
    world.gone = {"cart-v2"}
    world.settle()
    world.gone = set()
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1L v2A", "cart-v2")


@pytest.mark.parametrize("why", ["main asks for v1 again", "the Gateway took too long"])
def test_the_way_back_out_of_a_switch_waits_for_pods_to_go_to(why: str) -> None:
    world = switching(written=True)
    world.gone = {"cart-v1"}
    if why == "main asks for v1 again":
        world.active = "v1"
    else:
        world.now += timedelta(seconds=700)
    world.settle()
    assert world.ask("/cart") == "cart-v2"
    assert "cart-v1 has no pod that answers" in said(world, "RoutesAccepted")
    world.gone, world.accepts = set(), True
    world.settle()
    assert (world.stages, world.ask("/cart"), world.services["cart"]) == ("v1A v2C", "cart-v1", "cart-v1")


# --- names that are somebody else's ---


def test_a_version_whose_service_has_the_name_of_somebody_elses_is_not_promoted() -> None:
    """Found so: traffic moved, waited for a Service that could not be had, and went back after the deadline."""
    world = store()
    world.versions["v2"] = version(cart="/cart /new", search="/search")
    world.settle()
    world.services["search"], world.foreign = "", {"search"}
    world.active = "v2"
    world.trail.clear()
    decision = world.settle()
    assert [each.reason for each in decision.gates if not each.open] == ["Service search: it is managed by Helm"]
    assert all(answers["/cart", ""] == "cart-v1" for answers in world.trail)
    world.foreign = set()
    world.settle()
    assert (world.stages, world.services["search"]) == ("v1L v2A", "search-v2")
