"""No request without a version's header leaves pods that answer for a service that has none (I1), whatever happens."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.groups.inputs import DesiredRoute, DesiredService, DesiredVersion
from gitops_bg.core.groups.model import GroupGateway, RouteMatch, TransitionStep
from gitops_bg.core.groups.record import ApplyRoute, GroupRecord
from gitops_bg.core.groups.routing import led_by_default
from gitops_bg.core.model.auxiliary import Backend
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.simulation import GATEWAY, Died, World, store, version
from tests.core.shown import shown


def said(world: World, kind: str) -> str:
    """The message of a condition that is not as it should be; empty where it is."""
    found = shown(world.decide())[kind]
    return found.message if found.status is (kind == "PromotionRejected") else ""


# --- services that come into the active version: see test_late_services.py ---


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


def switching(*, written: bool, world: World | None = None) -> World:
    """A promotion to v2 in its second step, with or without its routes."""
    world = world or store()
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
                assert world.ask("/cart") == "cart-v2"
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


def test_a_switch_waits_also_where_the_path_of_the_service_without_pods_is_narrower() -> None:
    first, second = version(cart="/cart"), version(cart="/cart", export="/cart/export")
    world = switching(written=False, world=World({"v1": first, "v2": second}))
    world.gone = {"export-v2"}
    world.settle()
    assert (world.ask("/cart/export"), world.ask("/cart")) == ("cart-v1", "cart-v1")
    assert "export-v2 has no pod that answers" in said(world, "RoutesAccepted")
    world.gone = set()
    world.settle()
    assert (world.stages, world.ask("/cart/export")) == ("v1L v2A", "export-v2")


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
    world.accepts = True
    assert "cart-v1 has no pod that answers" in said(world, "RoutesAccepted")
    world.gone = set()
    world.settle()
    assert (world.stages, world.ask("/cart"), world.services["cart"]) == ("v1A v2C", "cart-v1", "cart-v1")


def moves(world: World) -> set[tuple[str, str]]:
    """The moves of requests for which pods are looked at once more before the routes of a step are written."""
    routes = (each for each in world.decide().actions if isinstance(each, ApplyRoute))
    return {(min(move.leaves), min(move.to)) for route in routes for move in route.moves}


def test_the_routes_of_a_step_say_which_requests_they_move() -> None:
    """What is known of pods is late: they may have failed since (`integration/cluster/groups/test_group_cluster`)."""
    world = switching(written=False)
    assert moves(world) == {("cart-v1", "cart-v2")}, "auth stays where it is, and nobody had /new"
    world = switching(written=True)
    world.active = "v1"
    with suppress(Died):
        world.step(1)
    assert moves(world) == {("cart-v2", "cart-v1")}, "so does the way back"


@pytest.mark.parametrize(
    ("before", "new", "moved"),
    [("GET", "POST", False), ("GET", "GET", True), ("GET", "", True), ("", "POST", True), ("", "", True)],
)
def test_a_new_path_moves_requests_only_of_a_method_that_somebody_answers(before: str, new: str, moved: bool) -> None:
    carts = route("/cart", before)
    first = DesiredVersion("1", {"cart": DesiredService(routes=(carts,))})
    exports = DesiredService(routes=(route("/cart/export", new),))
    second = DesiredVersion("1", {"cart": DesiredService(routes=(carts,)), "export": exports})
    world = switching(written=False, world=World({"v1": first, "v2": second}))
    assert (("cart-v1", "export-v2") in moves(world)) is moved


def route(path: str, method: str) -> DesiredRoute:
    """A route for requests with a method; empty: with any."""
    return DesiredRoute(RouteMatch(path, methods=(method,) if method else ()), 80)


def test_a_repair_looks_at_no_pods() -> None:
    """At rest no request moves to another service, and one whose pods fail must not keep the others from a repair."""
    world = store()
    world.settle()
    world.routes.clear()
    assert (len(world.decide().actions), moves(world)) == (1, set())


def test_services_wait_with_the_routes() -> None:
    """A caller inside the cluster meets the version that a caller from outside meets."""
    both = {"cart": "/cart", "auth": "/auth"}
    world = switching(written=False, world=World({"v1": version(**both), "v2": version(**both)}))
    world.gone = {"cart-v2"}
    world.settle()
    assert (world.ask("/auth"), world.services) == ("auth-v1", {"cart": "cart-v1", "auth": "auth-v1"})


def test_while_two_routes_have_a_path_the_older_one_keeps_it_as_long_as_the_newer_leads_to_no_pod() -> None:
    """v2 needs more HTTPRoutes than v1: paths are in both objects until the old one gives them up."""
    seen = 0
    for steps in range(1, 8):
        first = version(**{f"s{i}": f"/p{i}" for i in range(10)})
        second = version(**{f"s{i}": f"/p{i} /q{i} /r{i}" for i in range(10)})
        world = switching(written=False, world=World({"v1": first, "v2": second}))
        for _ in range(steps):
            with suppress(Died):
                world.step(1)
        led = led_by_default(world.routes.values(), GATEWAY).values()
        twice = [i for i in range(10) if frozenset((f"s{i}-v1", f"s{i}-v2")) in led]
        before = {i: world.ask(f"/p{i}") for i in twice if world.ask(f"/p{i}") == f"s{i}-v1"}
        world.gone = {f"s{i}-v2" for i in before}
        world.settle()
        assert {i: world.ask(f"/p{i}") for i in before} == before
        seen += len(before)
    assert seen


def test_at_rest_what_somebody_changed_is_repaired_whatever_else_has_no_pods() -> None:
    world = store()
    world.settle()
    (name,) = world.routes
    changed = {"cart-v1": "cart-v2", "auth-v1": "evil"}
    world.routes[name] = replace(
        world.routes[name],
        rules=tuple(
            replace(rule, to=Backend(changed.get(rule.to.service, rule.to.service), 80))
            if isinstance(rule.to, Backend)
            else rule
            for rule in world.routes[name].rules
        ),
    )
    world.gone = {"cart-v1"}
    assert world.ask("/auth") == "evil"
    world.settle()
    assert (world.ask("/auth"), world.ask("/cart")) == ("auth-v1", "cart-v1")


# --- names that are somebody else's ---


@pytest.mark.parametrize("since", ["the first deployment", "a service came into the active version"])
def test_a_service_of_somebody_else_is_named_as_long_as_it_is_in_the_way(since: str) -> None:
    world = store()
    if since == "the first deployment":
        world.services["cart"], world.foreign = "", {"cart"}
    else:
        world.settle()
        world.versions["v1"] = version("1b", cart="/cart /old", auth="/auth", tips="/tips")
        world.services["tips"], world.foreign = "", {"tips"}
    decision = world.settle()
    assert "it is managed by Helm" in said(world, "RoutesAccepted")
    assert decision.phase is Phase.DEGRADED


def test_a_service_that_the_next_version_would_inherit_shuts_the_gate_too() -> None:
    world = store()
    world.settle()
    world.services["auth"], world.foreign = "", {"auth"}
    world.active = "v2"
    decision = world.settle()
    assert [each.reason for each in decision.gates if not each.open] == ["Service auth: it is managed by Helm"]


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


# --- a version whose own Services cannot be in place ---


def with_dead_service(*, late: bool) -> World:
    """A group whose active version, the second one, has a Service that leads nowhere, because its pods are not up."""
    first, second = version(cart="/cart"), version(cart="/cart", tips="/tips")
    world = World({"v1": first, "v2": version(cart="/cart") if late else second})
    world.settle()
    world.active = "v2"
    world.settle()
    world.gone = {"tips-v2"}
    if late:
        world.versions["v2"] = replace(second, content="2b")
    else:
        del world.services["tips"]
    world.settle()
    assert (world.active, world.services.get("tips", "nowhere")) == ("v2", "nowhere")
    return world


@pytest.mark.parametrize("late", [True, False], ids=["it never had a pod", "somebody deleted it"])
@pytest.mark.parametrize("target", ["v1", "v3"], ids=["the way back", "the version that mends it"])
def test_a_service_that_leads_nowhere_keeps_traffic_in_no_version(late: bool, target: str) -> None:
    """Found so: the first step waited for the Service, and with it for the pods that the user goes away from."""
    world = with_dead_service(late=late)
    world.versions["v3"] = version(cart="/cart", tips="/tips")
    world.settle()
    world.active = target
    world.settle()
    assert world.ask("/cart") == f"cart-{target}"
    assert world.record.transition is None


def test_a_move_that_is_withdrawn_before_traffic_moved_does_not_wait_for_it_either() -> None:
    world = with_dead_service(late=True)
    world.versions["v3"] = version(cart="/cart", tips="/tips")
    world.settle()
    world.active = "v3"
    with suppress(Died):
        world.step(1)
    assert world.record.transition is not None
    world.active = "v2"
    world.settle()
    assert world.record.transition is None
    assert world.stages.endswith("v2A v3C")


def test_a_way_back_out_of_a_switch_is_not_done_while_a_service_still_follows_the_version_that_it_leaves() -> None:
    """Without a Gateway only Services lead anywhere."""
    world = World({"v1": version(cart="/cart"), "v2": version(cart="/cart")}, gateway=None)
    world.settle()
    world.active = "v2"
    for _ in range(20):
        with suppress(Died):
            world.step(1)
        if world.services["cart"] == "cart-v2":
            break
    assert world.record.transition is not None
    world.active, world.gone = "v1", {"cart-v1"}
    world.settle()
    assert world.services["cart"] == "cart-v2"
    assert world.record.transition is not None
    world.gone = set()
    world.settle()
    assert (world.services["cart"], world.record.transition) == ("cart-v1", None)


# --- a way back out of a switch that finds no pods ---


def withdrawn(*, gateway: GroupGateway | None = GATEWAY, back: bool = False) -> World:
    """A switch that main took back once requests were with its target, and whose source has lost its pods; ``back``: of
    a rollback from v2 to v1.
    """
    world = World({"v1": version(cart="/cart"), "v2": version(cart="/cart")}, gateway=gateway)
    world.settle()
    if back:
        world.active = "v2"
        world.settle()
    source, target = ("v2", "v1") if back else ("v1", "v2")
    world.active = target
    world.stop_once("cart", follows=f"cart-{target}")
    assert world.record.transition is not None
    world.active, world.gone = source, {f"cart-{source}"}
    world.settle()
    assert (world.services["cart"], world.decide().phase) == (f"cart-{target}", Phase.ROLLING_BACK)
    return world


WITHDRAWN = [(GATEWAY, False), (None, False), (GATEWAY, True), (None, True)]


@pytest.mark.parametrize(("gateway", "back"), WITHDRAWN)
def test_a_switch_that_was_taken_back_goes_on_once_main_names_its_version_again(
    gateway: GroupGateway | None, back: bool
) -> None:
    """Found so: it waited for ever for the pods of the version that nobody asked for any more."""
    world = withdrawn(gateway=gateway, back=back)
    world.active = "v1" if back else "v2"
    world.trail.clear()
    world.settle()
    assert (world.stages, world.record.transition) == ("v1A v2C" if back else "v1L v2A", None)
    assert world.services["cart"] == f"cart-{world.active}"
    assert gateway is None or {each["/cart", ""] for each in world.trail} <= {f"cart-{world.active}"}


def test_it_goes_on_through_every_gate_only() -> None:
    world = withdrawn()
    world.active, world.suspend = "v2", Suspension("a holiday")
    world.settle()
    assert (world.stages, world.ask("/cart"), world.decide().phase) == ("v1A v2C", "cart-v2", Phase.ROLLING_BACK)
    world.suspend = None
    world.settle()
    assert world.stages == "v1L v2A"


def test_it_goes_back_all_the_same_where_the_pods_come_back_first() -> None:
    world = withdrawn()
    world.gone = set()
    world.settle()
    assert (world.stages, world.ask("/cart"), world.services["cart"]) == ("v1A v2C", "cart-v1", "cart-v1")


def test_a_switch_that_took_too_long_goes_on_once_somebody_has_answered_its_failure() -> None:
    world = switching(written=True)
    world.gone = {"cart-v1"}
    world.after(700).settle()
    world.accepts = True
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v2")
    for active in ("v1", "v2"):
        world.active = active
        world.settle()
    assert (world.stages, world.ask("/cart"), world.held) == ("v1L v2A", "cart-v2", ())


def test_a_move_that_was_taken_back_before_requests_moved_begins_anew() -> None:
    """Its first step is done once more, whatever is gone."""
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    world.active = "v1"
    world.decide()
    for active in ("v1", "v2"):
        world.active = active
        with suppress(Died):
            world.step(1)
    assert world.record.transition is None or world.record.transition.step is TransitionStep.PREPARE
    world.accepts = True
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1L v2A", "cart-v2")
