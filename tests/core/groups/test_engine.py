"""The engine of a group: from folders to stages, routes and Services, step by step, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.group_engine import decide_group
from gitops_bg.core.groups.inputs import DesiredRoute, DesiredService, DesiredVersion
from gitops_bg.core.groups.model import GroupGateway, RouteMatch, TransitionStep
from gitops_bg.core.groups.record import MemberState
from gitops_bg.core.groups.transition import GATEWAY_STATUS_GRACE_SECONDS
from gitops_bg.core.model.auxiliary import HttpRoute
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.events import Notice
from gitops_bg.core.model.record import Event
from tests.core.groups.gateway import DENIED, NOBODY, Request, answer
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import GATEWAY, World, store, version
from tests.core.shown import ABSENT, Shown, shown

RUNNING, CANDIDATE, SCALED_DOWN = MemberState.RUNNING, MemberState.CANDIDATE, MemberState.SCALED_DOWN
DELETED, PENDING = MemberState.DELETED, MemberState.PENDING


def without_headers(route: HttpRoute) -> HttpRoute:
    """The rules of a route that no header chooses."""
    return replace(route, rules=tuple(rule for rule in route.rules if not any(each.headers for each in rule.matches)))


def condition(world: World, kind: str) -> Shown:
    return shown(world.decide())[kind]


def test_a_new_group_serves_its_active_version_and_knows_the_others() -> None:
    world = store()
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1A v2C"
    assert world.services == {"cart": "cart-v1", "auth": "auth-v1"}
    assert [world.ask("/cart", each) for each in ("", "v1", "v2", "v9")] == ["cart-v1", "cart-v1", "cart-v2", "cart-v1"]
    assert [world.ask("/old", each) for each in ("", "v2")] == ["cart-v1", DENIED]
    assert [world.ask("/new", each) for each in ("", "v2")] == [NOBODY, "cart-v2"]
    assert condition(world, "Ready") == (True, "Healthy", "v1 serves")


def test_a_group_without_a_gateway_moves_its_services_alone() -> None:
    world = store(gateway=None)
    world.settle()
    world.active = "v2"
    assert world.settle().phase is Phase.HEALTHY
    assert (world.routes, world.services) == ({}, {"cart": "cart-v2", "auth": "auth-v1"})
    assert world.stages == "v1L v2A"


def test_promotion_moves_every_service_at_once_and_keeps_the_former_version_within_reach() -> None:
    world = store()
    world.settle()
    world.active = "v2"
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1L v2A"
    assert world.services == {"cart": "cart-v2", "auth": "auth-v1"}
    assert [world.ask("/cart", each) for each in ("", "v1", "v2")] == ["cart-v2", "cart-v1", "cart-v2"]
    assert [world.ask("/new", each) for each in ("", "v1")] == ["cart-v2", DENIED]
    assert [world.ask("/old", each) for each in ("", "v1")] == [NOBODY, "cart-v1"]
    assert world.ask("/auth") == "auth-v1"
    assert world.events[-1] == "promoted"


def test_the_revert_of_a_promotion_is_a_rollback() -> None:
    world = store()
    world.settle()
    before = world.answers()
    world.active = "v2"
    world.settle()
    world.active = "v1"
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1A v2C"
    assert (world.answers(), world.services) == (before, {"cart": "cart-v1", "auth": "auth-v1"})
    assert world.events[-1] == "rolled-back"


def at_rest(_: World) -> None:
    pass


def waiting_for_v3(world: World) -> None:
    world.active, world.ill = "v3", {"cart-v3"}
    world.settle()


def preparing_v3(world: World) -> None:
    world.active, world.accepts = "v3", False
    world.settle()


def switching_to_v3(world: World) -> None:
    world.active, world.accepts = "v3", None
    world.settle()
    world.after(GATEWAY_STATUS_GRACE_SECONDS).settle()


def switching_back_from_v3(world: World) -> None:
    switching_to_v3(world)
    world.active = "v2"
    world.step()


def rolling_back_to_v1(world: World) -> None:
    world.active = "v1"
    world.step()


def rolled_back_to_v1(world: World) -> None:
    world.active = "v1"
    world.settle()


BACK = {
    "at rest": (at_rest, "v1"),
    "a promotion waits": (waiting_for_v3, "v2"),
    "it has begun": (preparing_v3, "v2"),
    "requests move": (switching_to_v3, "v2"),
    "it is taken back already": (switching_back_from_v3, "v2"),
    "a rollback is on its way": (rolling_back_to_v1, "v1"),
    "a rollback is over": (rolled_back_to_v1, ""),
}


@pytest.mark.parametrize(("begin", "expected"), BACK.values(), ids=BACK)
def test_a_rollback_goes_back_one_version_from_what_is_asked_for(begin: Callable[[World], None], expected: str) -> None:
    world = store(active="v2")
    world.settle()
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    begin(world)
    assert world.record.back_from(world.active) == expected


def test_promote_and_roll_back_any_number_of_times() -> None:
    world = store()
    for _ in range(3):
        for name, stages in (("v2", "v1L v2A"), ("v1", "v1A v2C")):
            world.active = name
            world.settle()
            assert world.stages == stages


@pytest.mark.parametrize("ill", ["cart-v2", "auth-v2"])
def test_one_member_that_fails_keeps_the_whole_group_where_it_is(ill: str) -> None:
    world = store()
    world.versions["v2"] = version(cart="/cart", auth="/auth")
    world.settle()
    before = world.answers()
    world.active, world.ill = "v2", {ill}
    assert world.settle().phase is Phase.WAITING
    assert (world.stages, world.answers()) == ("v1A v2C", before)
    (shut,) = [gate for gate in world.decide().gates if not gate.open]
    assert shut.reason == f"{ill}: pods are missing"
    world.ill = set()
    world.settle()
    assert world.stages == "v1L v2A"


def test_a_rollback_does_not_wait_for_a_member_that_is_only_not_at_its_size() -> None:
    world = store(active="v2")
    world.settle()
    assert world.stages == "v1L v2A"
    world.active, world.ill = "v1", {"cart-v2", "cart-v1"}
    world.settle()
    assert world.stages == "v1A v2C"


def test_a_rollback_waits_for_pods_that_answer() -> None:
    world = store(active="v2")
    world.settle()
    world.active, world.gone = "v1", {"cart-v1"}
    world.settle()
    assert world.stages == "v1L v2A"
    assert world.ask("/cart") == "cart-v2"
    world.gone = set()
    world.settle()
    assert world.stages == "v1A v2C"


REJECTED = {
    "an archived version": ("v1R v2L v3A", "v1", "v1 is archived, and only a candidate is promoted"),
    "the one before the rollback's": ("v1R v2A v3C", "v1", "v1 is archived, and only a candidate is promoted"),
}


@pytest.mark.parametrize("row", REJECTED)
def test_a_version_that_cannot_become_active_is_rejected_and_nothing_moves(row: str) -> None:
    stages, wanted, said = REJECTED[row]
    world = store()
    for name in ("v1", "v2", "v3", *(["v2"] if stages.endswith("v3C") else [])):
        world.active = name
        world.versions.setdefault(name, version(cart="/cart"))
        world.settle()
    assert world.stages == stages
    before, world.active = (world.answers(), world.services.copy()), wanted
    world.settle()
    assert (world.stages, (world.answers(), world.services)) == (stages, before)
    assert condition(world, "PromotionRejected") == (True, "NotACandidate", said)
    assert condition(world, "Ready")[0] is False


def test_a_new_folder_below_the_active_version_is_rejected() -> None:
    world = World({"v2": version(cart="/cart")}, active="v2")
    world.settle()
    world.versions["v1"] = version(cart="/cart")
    world.settle()
    assert world.stages == "v2A"
    assert condition(world, "PromotionRejected")[1] == "VersionHasPassed"
    assert world.member_states()["cart-v1"] is PENDING


def test_row_16_the_legacy_version_gets_no_new_route_until_a_rollback_makes_it_active() -> None:
    world = store(active="v2")
    world.settle()
    world.versions["v1"] = version("fixed", cart="/cart /old /late /new", auth="/auth")
    world.settle()
    assert (world.stages, world.ask("/late", "v1"), world.ask("/new", "v1")) == ("v1L v2A", NOBODY, DENIED)
    said = "v1 has passed: it gets no new route /late of cart"
    assert condition(world, "PromotionRejected") == (True, "VersionHasPassed", said)
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/late"), world.ask("/new")) == ("v1A v2C", "cart-v1", "cart-v1")
    assert condition(world, "PromotionRejected") == ABSENT


def test_of_two_mistakes_the_one_about_what_serves_is_said() -> None:
    world = store(active="v2")
    world.settle()
    del world.versions["v2"]
    world.versions["v1"] = version("fixed", cart="/cart /old /late", auth="/auth")
    world.settle()
    assert condition(world, "PromotionRejected")[1] == "ActiveVersionRemoved"


def test_row_16_the_legacy_version_may_change_and_drop_the_routes_that_it_has() -> None:
    world = store(active="v2")
    world.settle()
    changed = version("2", cart="/cart", auth="/auth")
    cart = changed.services["cart"]
    closed = replace(cart, routes=tuple(replace(each, allowed=False) for each in cart.routes))
    world.versions["v1"] = replace(changed, services={**changed.services, "cart": closed})
    world.settle()
    assert (world.ask("/cart", "v1"), world.ask("/old", "v1")) == (DENIED, NOBODY)
    assert condition(world, "PromotionRejected") == ABSENT


def test_row_16_a_service_that_serves_on_gets_new_routes_by_the_folder_of_its_old_version() -> None:
    world = store(active="v2")
    world.settle()
    world.versions["v1"] = version("2", cart="/cart /old", auth="/auth /login")
    world.settle()
    assert [world.ask("/login", each) for each in ("", "v2")] == ["auth-v1", "auth-v1"]
    assert condition(world, "PromotionRejected") == ABSENT


def test_row_16_a_route_that_comes_too_late_stops_no_promotion_and_no_way_back() -> None:
    world = store(active="v2")
    world.settle()
    world.versions["v1"] = version("2", cart="/cart /old /late", auth="/auth")
    world.versions["v3"] = version(cart="/cart")
    world.active = "v3"
    world.settle()
    assert world.stages == "v1R v2L v3A"
    world.active = "v2"
    world.settle()
    assert world.stages == "v1R v2A v3C"


def test_promotion_deletes_the_other_candidates_until_their_folders_change() -> None:
    world = store()
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    assert world.stages == "v1A v2C v3C"
    world.active = "v2"
    world.settle()
    assert world.stages == "v1L v2A"
    assert world.member_states()["cart-v3"] is DELETED
    assert world.ask("/cart", "v3") == "cart-v2"
    world.versions["v3"] = version("2", cart="/cart")
    world.settle()
    assert world.stages == "v1L v2A v3C"
    assert world.member_states()["cart-v3"] is CANDIDATE


def test_archived_versions_have_no_pods_but_for_services_that_serve_on() -> None:
    world = store()
    world.versions["v3"] = version(cart="/cart")
    for name in ("v2", "v3"):
        world.active = name
        world.settle()
        world.versions["v3"] = version("2", cart="/cart")
        world.settle()
    assert world.stages == "v1R v2L v3A"
    assert world.member_states() == {"cart-v1": SCALED_DOWN, "auth-v1": RUNNING, "cart-v2": RUNNING, "cart-v3": RUNNING}


def test_a_candidate_whose_folder_leaves_main_is_deleted() -> None:
    world = store()
    world.settle()
    del world.versions["v2"]
    world.settle()
    assert world.stages == "v1A"
    assert world.ask("/cart", "v2") == "cart-v1"


def without(one: DesiredVersion, service: str) -> DesiredVersion:
    return replace(one, services={name: each for name, each in one.services.items() if name != service})


def test_the_active_version_serves_on_though_its_folder_left_main() -> None:
    world = store()
    world.settle()
    before = world.answers()
    del world.versions["v1"]
    world.settle()
    assert world.stages == "v1A v2C"
    assert condition(world, "PromotionRejected")[1] == "ActiveVersionRemoved"
    assert world.services["cart"] == "cart-v1"
    assert before.items() >= world.answers().items()
    assert [world.ask(path) for path in ("/cart", "/old", "/auth")] == ["cart-v1", "cart-v1", "auth-v1"]


def test_a_service_whose_folder_leaves_the_active_version_serves_on_with_its_last_routes() -> None:
    world = store()
    world.settle()
    before = world.answers()
    whole = world.versions["v1"]
    world.versions["v1"] = without(whole, "cart")
    decision = world.settle()
    assert before.items() >= world.answers().items()
    assert world.ask("/old") == world.services["cart"] == "cart-v1"
    said = (
        "the folder v1/cart left main, but the service serves in v1: it serves on with its last routes; put the folder "
        "back, or name cart under removedServices"
    )
    assert condition(world, "PromotionRejected") == (True, "ActiveServiceRemoved", said)
    assert decision.phase is Phase.DEGRADED
    world.versions["v1"] = whole
    assert world.settle().phase is Phase.HEALTHY
    assert world.answers() == before


@pytest.mark.parametrize(
    ("services", "said"), [("auth", "v1: it serves on"), ("auth cart", "v1, and so do 1 more: it")]
)
def test_of_services_whose_folders_leave_one_is_named_and_the_others_are_counted(services: str, said: str) -> None:
    world = store()
    world.settle()
    for service in services.split():
        world.versions["v1"] = without(world.versions["v1"], service)
    world.versions["v1"] = replace(world.versions["v1"], services={**world.versions["v1"].services, "new": NEW})
    world.settle()
    assert said in condition(world, "PromotionRejected")[2]


NEW = version(new="/n").services["new"]


def test_such_a_service_stops_no_promotion_and_no_way_back() -> None:
    world = store()
    world.settle()
    world.versions["v1"] = without(world.versions["v1"], "cart")
    world.active = "v2"
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1L v2A", "cart-v2")
    whole, world.versions["v2"] = world.versions["v2"], without(world.versions["v2"], "cart")
    world.settle()
    assert world.ask("/cart") == world.services["cart"] == "cart-v2"
    world.versions["v1"] = store().versions["v1"]
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A", "cart-v1")
    world.versions["v2"] = whole
    world.settle()
    assert (world.stages, world.ask("/cart", "v2")) == ("v1A v2C", "cart-v2")


def test_clearing_an_old_version_away_leaves_alone_what_still_serves_of_it() -> None:
    world = store()
    world.active = "v2"
    world.settle()
    assert world.ask("/auth") == "auth-v1"
    del world.versions["v1"]
    world.settle()
    assert world.stages == "v2A"
    assert world.ask("/auth") == world.services["auth"] == "auth-v1"
    assert condition(world, "PromotionRejected")[1] == "ActiveServiceRemoved"
    del world.services["auth"]
    world.settle()
    assert world.services["auth"] == "auth-v1"


@pytest.mark.parametrize("cleared", [False, True], ids=["of the folder", "of the whole version"])
def test_a_service_that_may_leave_takes_its_routes_and_its_service_along(cleared: bool) -> None:
    world = store()
    world.active = "v2"
    world.settle()
    world.versions["v1"] = without(world.versions["v1"], "auth")
    if cleared:
        del world.versions["v1"]
    world.removed = frozenset({"auth"})
    world.settle()
    assert world.ask("/auth") == NOBODY
    assert world.services == {"cart": "cart-v2"}
    assert world.settle().phase is Phase.HEALTHY
    assert "service-removed" in world.events


def test_a_folder_that_is_there_keeps_a_service_that_may_leave() -> None:
    world = store(removed=frozenset({"auth"}))
    world.settle()
    assert world.ask("/auth") == "auth-v1"


def test_a_folder_with_a_mistake_moves_nothing() -> None:
    world = store()
    world.settle()
    before, world.problems, world.active = world.answers(), True, "v2"
    decision = world.settle()
    assert (decision.phase, decision.actions, world.answers()) == (Phase.INVALID, (), before)


def test_a_service_that_a_rollback_needs_stays_though_its_folder_left_main() -> None:
    world = store()
    world.active = "v2"
    world.settle()
    world.versions["v1"] = without(world.versions["v1"], "cart")
    world.settle()
    assert condition(world, "PromotionRejected")[1] == "ActiveServiceRemoved"
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart"), world.ask("/old")) == ("v1A v2C", "cart-v1", "cart-v1")


@pytest.mark.parametrize("step", list(TransitionStep))
@pytest.mark.parametrize("service", ["", "cart"], ids=["the whole version", "one service"])
def test_what_leaves_main_while_traffic_moves_to_it_blocks_no_way_back(step: TransitionStep, service: str) -> None:
    world = store()
    world.settle()
    world.active = "v2"
    for _ in range(20):
        if world.record.transition is not None and world.record.transition.step is step:
            break
        world.step()
    assert world.record.transition is not None
    if service:
        world.versions["v2"] = without(world.versions["v2"], service)
    else:
        del world.versions["v2"]
    world.active = "v1"
    world.settle()
    world.after(601).settle()
    world.after(601).settle()
    assert world.ask("/cart") == world.services["cart"] == "cart-v1"
    assert world.record.transition is None


def test_an_agent_that_was_away_finishes_what_is_in_place() -> None:
    world = store()
    for name in ("v1", "v2"):
        world.active = name
        world.settle()
    world.active = "v1"
    for _ in range(20):
        moving = world.record.transition
        if moving is not None and moving.step is TransitionStep.SWITCH and world.services["cart"] == "cart-v1":
            break
        world.accepts = None if moving is not None and moving.step is TransitionStep.SWITCH else True
        world.step()
    assert world.record.transition is not None
    world.accepts = True
    world.after(3600).settle()
    assert (world.stages, world.ask("/cart"), world.held) == ("v1A v2C", "cart-v1", ())


def test_a_route_that_a_newer_service_took_over_stays_with_it_though_the_older_one_left_main() -> None:
    first = version(cart="/cart", auth="/auth /login")
    world = World({"v1": first, "v2": version(search="/login")})
    for name in ("v1", "v2"):
        world.active = name
        world.settle()
    assert world.ask("/login") == "search-v2"
    world.versions["v1"] = without(world.versions["v1"], "auth")
    world.settle()
    assert (world.ask("/login"), world.ask("/auth")) == ("search-v2", "auth-v1")
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/auth"), world.ask("/login")) == ("v1A v2C", "auth-v1", "auth-v1")


def test_a_lost_record_opens_no_gate_to_what_group_yaml_names() -> None:
    world = store()
    world.settle()
    world.ill.add("cart-v2")
    world.active = "v2"
    world.settle()
    world.record = type(world.record)()
    world.settle()
    assert (world.stages, world.ask("/cart"), world.services["cart"]) == ("v1A v2C", "cart-v1", "cart-v1")
    world.ill.clear()
    world.settle()
    assert world.stages == "v1L v2A"


def test_a_lost_record_leaves_the_way_back_open() -> None:
    world = store()
    for name in ("v1", "v2"):
        world.active = name
        world.settle()
    world.record, world.active = type(world.record)(), "v1"
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


def test_a_lost_record_is_made_again_from_the_folders() -> None:
    world = store()
    world.active = "v2"
    world.settle()
    before, record = world.answers(), world.record
    world.record = type(record)()
    world.settle()
    assert (world.stages, world.answers(), world.services["auth"]) == ("v1L v2A", before, "auth-v1")


def test_a_lost_record_takes_nothing_from_a_service_that_only_it_knew_until_somebody_says_so() -> None:
    """The folder of auth left main while it serves on in v2; only the record knew, and its routes."""
    world = store()
    world.settle()
    world.active = "v2"
    world.settle()
    world.versions["v1"] = without(world.versions["v1"], "auth")
    world.settle()
    routes, services = dict(world.routes), dict(world.services)
    world.record = type(world.record)()
    decision = world.settle()
    assert (decision.phase, decision.actions, world.routes, world.services) == (Phase.DEGRADED, (), routes, services)
    (rejected,) = [each for each in decision.conditions if each.type == "PromotionRejected"]
    assert (rejected.reason, "put v1/auth/ back, or name auth under removedServices" in rejected.message) == (
        "RecordLost",
        True,
    )
    world.removed = frozenset({"auth"})
    world.settle()
    assert (world.stages, world.ask("/auth"), "auth" in world.services) == ("v1L v2A", "404", False)


@pytest.mark.parametrize("size", [0, 1])
def test_a_lost_record_moves_nothing_to_a_version_that_was_passed_over(size: int) -> None:
    """v3 was promoted straight from v1, so auth serves in v1, and never did in v2."""
    world = store(archive_size=size)
    world.versions["v1"] = version(cart="/cart", auth="/auth")
    world.versions["v2"] = version(cart="/cart", auth="/auth")
    world.versions["v3"] = version(cart="/cart")
    for name in ("v1", "v3"):
        world.active = name
        world.settle()
    before, states = world.answers(), world.member_states()
    world.record = type(world.record)()
    world.trail.clear()
    world.settle()
    assert (world.stages, world.answers(), world.member_states()) == ("v1L v3A", before, states)
    assert {answers["/auth", ""] for answers in world.trail} <= {"auth-v1"}


def test_a_lost_record_knows_the_way_back_past_a_version_that_was_rolled_back() -> None:
    """v2 was bad, and left; v3 replaces every service, so that no Service says so. The routes do."""
    every = {"cart": "/cart", "auth": "/auth"}
    world = World({name: version(name, **every) for name in ("v1", "v2")})
    world.settle()
    for active in ("v2", "v1"):
        world.active = active
        world.settle()
    world.versions["v3"] = version("v3", **every)
    world.settle()
    world.active = "v3"
    world.settle()
    assert world.stages == "v1L v3A"
    before, answers = world.stages, world.answers()
    world.record = type(world.record)()
    world.settle()
    assert (world.stages, world.answers()) == (before, answers)
    world.active = "v1"
    world.settle()
    assert world.stages == "v1A v3C"


def test_a_lost_record_archives_again_what_was_archived() -> None:
    """Each version replaces every service, so that no Service and no route says anything of the first one."""
    every = {"cart": "/cart", "auth": "/auth"}
    world = World({name: version(name, **every) for name in ("v1", "v2", "v3")})
    world.settle()
    for active in ("v2", "v3"):
        world.versions[active] = version(f"{active} again", **every)  # promotions delete other candidates
        world.settle()
        world.active = active
        world.settle()
    assert world.stages == "v1R v2L v3A"
    before, states = world.answers(), world.member_states()
    world.record = type(world.record)()
    world.settle()
    assert (world.stages, world.answers(), world.member_states()) == ("v1R v2L v3A", before, states)


@pytest.mark.parametrize("damage", ["deleted", "changed"])
def test_a_lost_record_forgets_no_version_where_somebody_has_touched_the_routes(damage: str) -> None:
    """Without the rules that name the legacy version, it looks like one that was rolled back."""
    every = {"cart": "/cart", "auth": "/auth"}
    world = World({name: version(name, **every) for name in ("v1", "v2", "v3")})
    world.settle()
    for active in ("v2", "v3"):
        world.versions[active] = version(f"{active} again", **every)
        world.settle()
        world.active = active
        world.settle()
    if damage == "deleted":
        world.routes = {name: without_headers(route) for name, route in world.routes.items()}
    else:
        world.unreadable = set(world.routes)
    world.record = type(world.record)()
    world.step()
    world.unreadable = set()
    world.settle()
    assert (world.stages, world.member_states()["cart-v2"]) == ("v1R v2L v3A", MemberState.RUNNING)


def test_a_lost_record_in_the_middle_of_a_switch_goes_back_and_asks_the_gates_again() -> None:
    world = store()
    world.versions["v2"] = version(cart="/cart", auth="/auth")
    world.settle()
    world.services["cart"] = "cart-v2"
    world.record, world.active = type(world.record)(), "v2"
    world.ill.add("auth-v2")
    world.settle()
    assert (world.stages, world.services["cart"]) == ("v1A v2C", "cart-v1")
    world.ill.clear()
    world.settle()
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_lost_record_trusts_what_services_followed_last_while_they_select_nothing_known(version: str) -> None:
    world = store()
    world.active = version
    world.settle()
    stages = world.stages
    world.ill.add("cart-v2")  # so that a gate is shut to v2
    world.record, world.active, world.mute = type(world.record)(), "v2", True
    world.step()
    world.mute = False
    world.settle()
    assert world.stages == stages


# --- two services that claim the same requests --------------------------------------------------------------------

X = RouteMatch("/x")
CLAIMS = {
    "one has more methods": (replace(X, methods=("GET", "POST")), replace(X, methods=("POST",)), {}),
    "a header is spelt differently": (
        replace(X, headers=(("X-Beta", "yes"),)),
        replace(X, headers=(("x-beta", "yes"),)),
        {"X-BETA": "yes"},
    ),
    "one names the host of all": (X, replace(X, host="shop.example.com"), {}),
}


@pytest.mark.parametrize(("old", "new", "headers"), CLAIMS.values(), ids=CLAIMS)
def test_what_was_checked_with_the_header_has_the_requests_after_the_promotion(
    old: RouteMatch, new: RouteMatch, headers: dict[str, str]
) -> None:
    def folder(content: str, **services: tuple[RouteMatch, ...]) -> DesiredVersion:
        made = {
            name: DesiredService(True, tuple(DesiredRoute(match, 80) for match in matches))
            for name, matches in services.items()
        }
        return DesiredVersion(content, made)

    cart = RouteMatch("/cart")
    world = World({"v1": folder("1", auth=(old,), cart=(cart,)), "v2": folder("2", cart=(cart, new))})
    world.gateway = replace(GATEWAY, hosts=("shop.example.com",))
    world.settle()

    def answers() -> list[str]:
        asked = (headers, {**headers, "X-Version": "v2"})
        return [answer(world.routes.values(), Request("/x", each, "POST")) for each in asked]

    assert answers() == ["auth-v1", "cart-v2"]
    world.active = "v2"
    world.settle()
    assert (world.stages, answers()) == ("v1L v2A", ["cart-v2", "cart-v2"])


# --- the Gateway ------------------------------------------------------------------------------------------------


def test_a_step_waits_until_the_gateway_has_taken_its_routes() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    decision = world.settle()
    assert decision.phase is Phase.PROMOTING
    assert world.record.transition is not None
    assert world.record.transition.step is TransitionStep.PREPARE
    assert world.ask("/cart") == "cart-v1"
    world.accepts = True
    world.settle()
    assert world.stages == "v1L v2A"


def test_what_the_gateway_never_takes_is_taken_back_and_not_tried_again_by_itself() -> None:
    world = store()
    world.settle()
    before = world.answers()
    world.active, world.accepts, world.says = "v2", False, "BackendNotFound: cart-v2"
    world.settle()
    world.after(601).settle()
    world.accepts = True
    assert world.settle().phase is Phase.HELD
    assert (world.stages, world.answers()) == ("v1A v2C", before)
    (shut,) = [gate for gate in world.decide().gates if not gate.open]
    assert shut.reason == "on hold: 600 s were not enough for promotion to v2: store: BackendNotFound: cart-v2"
    world.active = "v1"
    world.settle()
    world.active = "v2"
    world.settle()
    assert world.stages == "v1L v2A"


def with_a_broken_candidate(*, active: str) -> World:
    """v3 does not come up: it has no Service, and the Gateway says so of the HTTPRoute that all versions share."""
    world = store(active=active)
    world.settle()
    world.versions["v3"] = version("3", cart="/cart")
    world.gone = world.lacks = {"cart-v3"}
    world.settle()
    assert world.stages.endswith("v3C")
    return world


def test_a_candidate_that_does_not_come_up_is_in_no_way_back() -> None:
    world = with_a_broken_candidate(active="v2")
    world.active = "v1"
    decision = world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1"), "at once"
    assert decision.phase is Phase.HEALTHY


def test_a_candidate_that_does_not_come_up_holds_no_promotion_of_another_up() -> None:
    world = with_a_broken_candidate(active="v1")
    world.active = "v2"
    world.settle()
    assert world.ask("/cart") == "cart-v1", "the Gateway may not have found cart-v2 either"
    world.after(5).settle()
    world.after(5).settle()
    assert (world.stages, world.ask("/cart")) == ("v1L v2A", "cart-v2")


def test_a_candidate_that_comes_while_requests_move_takes_no_promotion_back() -> None:
    world = store(accepts=None)
    world.settle()
    world.active = "v2"
    world.settle()
    world.after(5).settle()
    assert world.ask("/cart") == "cart-v2"
    world.versions["v3"], world.accepts = version("3", cart="/cart"), True
    world.gone = world.lacks = {"cart-v3"}
    world.after(1).settle()
    world.after(601).settle()
    assert (world.stages, world.ask("/cart")) == ("v1L v2A", "cart-v2")


def test_a_promotion_waits_for_a_backend_that_the_gateway_does_not_find_though_its_pods_answer() -> None:
    world = store()
    world.settle()
    world.active, world.lacks = "v2", {"cart-v2"}
    world.settle()
    world.after(599)
    said = [each.message for each in world.decide().conditions if each.type == "Ready"]
    assert said == ["promotion from v1 to v2: prepare; store: BackendNotFound: cart-v2"]
    world.after(1).settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


@pytest.mark.parametrize("lacks", ["deny", "cart-v2"])
def test_a_way_back_waits_for_no_backend_that_the_gateway_does_not_find(lacks: str) -> None:
    world = store(active="v2")
    world.settle()
    world.active, world.lacks = "v1", {lacks}
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")


def test_what_a_gateway_does_not_find_is_said_at_rest() -> None:
    world = with_a_broken_candidate(active="v1")
    decision = world.settle()
    (said,) = [each for each in decision.conditions if each.type == "RoutesAccepted"]
    assert (decision.phase, said.status, said.message) == (
        Phase.PROGRESSING,
        False,
        "store: BackendNotFound: cart-v3",
    )


@pytest.mark.parametrize("fails_at", TransitionStep)
def test_row_45_a_promotion_that_fails_midway_leaves_everything_as_it_was(fails_at: TransitionStep) -> None:
    """Versions, endpoints, registrations and routes; also the candidate that the promotion would have deleted."""
    world = store()
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    before = (world.record.state, dict(world.routes), dict(world.services), world.answers())
    world.active = "v2"
    while world.record.transition is None or world.record.transition.step is not fails_at:
        world.step()
    world.accepts, world.says = False, "no more rules"
    world.settle()
    assert world.record.transition is not None
    assert world.record.transition.step is fails_at
    world.after(600).settle()
    world.accepts = True
    assert world.settle().phase is Phase.HELD
    assert (world.record.state, world.routes, world.services, world.answers()) == before
    assert (world.stages, world.record.moves) == ("v1A v2C v3C", ())


def test_a_gateway_that_never_says_anything_holds_nothing_up_for_long() -> None:
    world = store(accepts=None)
    world.settle()
    world.active = "v2"
    decision = world.settle()
    assert world.stages == "v1A v2C"
    assert decision.wake_at is not None
    for _ in range(3):
        world.after(11).settle()
    assert world.stages == "v1L v2A"


def test_a_promotion_that_is_reverted_on_its_way_goes_back() -> None:
    world = store()
    world.settle()
    before = world.answers()
    world.active = "v2"
    while world.record.transition is None or world.record.transition.step is not TransitionStep.SWITCH:
        world.step()
    assert world.ask("/cart") == "cart-v2"
    world.active = "v1"
    assert world.settle().phase is Phase.HEALTHY
    assert (world.stages, world.answers()) == ("v1A v2C", before)
    assert world.events[-1] == "withdrawn"


@pytest.mark.parametrize("writes", [1, 2, 3])
@pytest.mark.parametrize("to", ["v2", "v1"])
def test_a_crash_after_any_write_ends_in_the_same_state_and_no_request_goes_astray(writes: int, to: str) -> None:
    calm, crashing = store(), store()
    for world in (calm, crashing):
        world.active = "v1" if to == "v2" else "v2"
        world.settle()
    before = calm.answers()
    for world in (calm, crashing):
        world.active, world.trail = to, []
    calm.settle()
    crashing.settle_with_crashes(writes)
    assert crashing.stages == calm.stages
    assert (crashing.routes, crashing.services) == (calm.routes, calm.services)
    after = calm.answers()
    for seen in crashing.trail:
        for request, given_by in seen.items():
            allowed = {before[request], after[request]}
            if allowed & {NOBODY, DENIED}:
                allowed |= {NOBODY, DENIED}
            assert given_by in allowed, request


@pytest.mark.parametrize("name", ["v1", "v2"])
def test_on_the_way_every_request_that_names_a_version_reaches_it(name: str) -> None:
    world = store()
    world.settle()
    world.active, world.trail = "v2", []
    world.settle()
    assert {seen["/cart", name] for seen in world.trail} == {f"cart-{name}"}


LATE = {
    "with pods": version("2b", cart="/cart /new", auth="/auth"),
    "only named": version("2b", cart="/cart /new", auth=None),
}


@pytest.mark.parametrize("gateway", [GATEWAY, None], ids=["with a gateway", "without"])
@pytest.mark.parametrize("name", LATE)
def test_a_service_that_comes_while_requests_move_is_held_back_as_by_what_is_active(
    name: str, gateway: GroupGateway | None
) -> None:
    world = store(gateway=gateway)
    world.settle()
    world.active = "v2"
    while world.record.transition is None or world.record.transition.step is not TransitionStep.SWITCH:
        world.step()
    world.versions["v2"], world.ill = LATE[name], {"auth-v2"}
    decision = world.settle()
    world.after(10).settle()
    assert (world.stages, world.services["auth"]) == ("v1L v2A", "auth-v1")
    assert gateway is None or world.ask("/auth") == "auth-v1"
    rejected = "v2 serves auth of v1, and is active: bring auth with the next version"
    assert (name == "only named") or rejected in [each.message for each in decision.conditions]


def test_what_somebody_changes_is_repaired() -> None:
    world = store()
    world.settle()
    routes, services = dict(world.routes), dict(world.services)
    world.routes.clear()
    world.services["cart"] = "cart-v2"
    del world.services["auth"]
    world.settle()
    assert (world.routes, world.services) == (routes, services)


def test_a_group_at_rest_writes_nothing() -> None:
    world = store()
    world.settle()
    assert not world.step()


# --- folders ----------------------------------------------------------------------------------------------------


def test_a_version_is_told_with_its_services_when_it_is_registered() -> None:
    world = store()
    world.versions["v2"] = version(cart="/cart", job=None)
    world.settle()
    assert world.told == [(Event.DEPLOYED, "with auth, cart"), (Event.CANDIDATE, "with cart, job")]
    assert {(each.service, each.version) for each in world.record.state.registrations} >= {("job", "v2")}
    assert ("job", "v2") not in {(each.service, each.version) for each in world.record.state.endpoints}


def test_a_service_that_is_named_no_more_while_its_version_is_promoted_is_forgotten_after_it() -> None:
    """What a version has stays until traffic has moved (B4: a promotion is of a version as it was)."""
    world = store(accepts=None)
    world.versions["v2"] = version(cart="/cart", job=None)
    world.settle()
    world.active = "v2"
    world.settle()
    assert world.record.transition is not None
    world.versions["v2"] = version("2", cart="/cart")
    world.settle()
    named = lambda: {row.service for row in world.record.state.registrations if row.version == "v2"}  # noqa: E731
    assert "job" in named()
    for _ in range(4):
        world.after(11).settle()
    assert (world.stages, "job" in named()) == ("v1L v2A", False)


def test_a_service_that_leaves_a_candidate_is_forgotten_and_comes_back() -> None:
    world = store()
    world.settle()
    world.versions["v2"] = version("2", extra="/extra", job=None)
    world.settle()
    assert {place.service for place in world.record.state.endpoints if place.version == "v2"} == {"extra"}
    assert {row.service for row in world.record.state.registrations if row.version == "v2"} == {"extra", "job"}
    assert {place.service for place in world.record.state.endpoints if place.version == "v1"} == {"cart", "auth"}
    world.versions["v2"] = version("3", extra=None, cart="/cart")
    world.settle()
    assert {place.service for place in world.record.state.endpoints if place.version == "v2"} == {"cart"}
    assert {row.service for row in world.record.state.registrations if row.version == "v2"} == {"extra", "cart"}
    world.versions["v2"] = version("4", extra="/extra", cart="/cart")
    world.settle()
    assert {place.service for place in world.record.state.endpoints if place.version == "v2"} == {"cart", "extra"}


def test_folders_below_the_active_one_of_a_new_group_are_taken_for_its_past() -> None:
    world = store(active="v3")
    world.versions |= {"v3": version(cart="/cart"), "v4": version(cart="/cart")}
    world.settle()
    assert world.stages == "v1R v2L v3A v4C"
    assert world.services == {"cart": "cart-v3", "auth": "auth-v1"}


def test_what_traffic_moves_between_is_not_deleted_with_its_folder() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    del world.versions["v1"]
    world.settle()
    assert world.stages == "v1A v2C"
    assert world.record.transition is not None
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    del world.versions["v3"]
    world.settle()
    assert world.stages == "v1A v2C", "any other one is"


# --- what goes --------------------------------------------------------------------------------------------------


def test_a_service_that_only_the_version_left_has_loses_its_service_when_the_rollback_is_over() -> None:
    world = store()
    world.versions["v2"] = version(cart="/cart", extra="/extra")
    world.active = "v2"
    world.settle()
    assert set(world.services) == {"cart", "auth", "extra"}
    world.active = "v1"
    world.step()
    while world.record.transition and world.record.transition.step is not TransitionStep.SWITCH:
        world.step()
    assert world.record.transition is not None
    assert "extra" in world.services, "the way back may need it"
    world.settle()
    assert set(world.services) == {"cart", "auth"}


def test_routes_that_nothing_renders_any_more_are_deleted() -> None:
    world = store()
    world.settle()
    world.gateway = None
    world.settle()
    assert world.routes == {}


def test_what_is_somebody_elses_is_neither_changed_nor_deleted() -> None:
    world = store()
    world.settle()
    world.foreign = {"store", "cart"}
    world.routes["other"], world.foreign = world.routes["store"], {"store", "cart", "other"}
    world.services["stray"] = ""
    world.foreign.add("stray")
    world.active = "v2"
    assert [type(each).__name__ for each in world.decide().actions] == []
    world.settle()
    assert (world.services["cart"], "stray" in world.services, "other" in world.routes) == ("cart-v1", True, True)


def test_a_route_of_the_groups_name_that_is_somebody_elses_is_named_and_keeps_no_service_from_coming() -> None:
    world = store(foreign={"store"})
    world.routes["store"] = HttpRoute("store", (), (), ())
    decision = world.settle()
    assert (world.services["cart"], world.services["auth"]) == ("cart-v1", "auth-v1")
    (accepted,) = [each for each in decision.conditions if each.type == "RoutesAccepted"]
    assert (accepted.reason, accepted.message) == ("NotAccepted", "store: it is managed by Helm")
    world.active = "v2"
    world.settle()
    world.after(601).settle()
    assert (world.stages, world.services["cart"]) == ("v1A v2C", "cart-v1"), "nothing moves that no route can follow"


def test_versions_that_leave_keep_their_pods_until_no_route_leads_to_them() -> None:
    world = store()
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    world.active = "v2"
    while world.stages != "v1L v2A":
        world.step()
    world.accepts = False
    world.settle()
    assert world.record.leaving == ("v3",)
    assert world.member_states()["cart-v3"] is RUNNING
    world.accepts = True
    world.settle()
    assert world.record.leaving == ()
    assert world.member_states()["cart-v3"] is DELETED


def test_what_the_gateway_did_not_take_is_held_until_somebody_has_mended_that() -> None:
    world = store()
    world.settle()
    world.active, world.accepts, world.says = "v2", False, "no more rules"
    world.settle()
    world.after(600).settle()
    world.accepts = True
    world.settle()
    (hold,) = [each for each in world.decide().gates if each.kind == GateKind.HOLD]
    assert "store: no more rules" in hold.reason
    assert hold.remedy == (
        "mend what the Gateway says, then gitops-bg retry shop/store, change a file in v2/, or set active: v1 and back"
    )


def test_services_follow_the_new_version_at_the_second_step_only() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    assert world.services["cart"] == "cart-v1"
    world.accepts = True
    world.step()
    assert world.record.transition is not None
    assert (world.record.transition.step, world.services["cart"]) == (TransitionStep.SWITCH, "cart-v2")


# --- time -------------------------------------------------------------------------------------------------------


def test_a_member_that_falls_ill_after_the_first_step_stops_the_second() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    world.ill, world.accepts = {"cart-v2"}, True
    world.settle()
    assert world.ask("/cart") == "cart-v1"
    world.ill = set()
    world.settle()
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize(
    ("answered", "accepted", "asked"), [(True, None, True), (False, None, False), (True, True, False)]
)
def test_a_gateway_that_has_not_answered_the_last_change_is_looked_at_again(
    answered: bool, accepted: bool | None, asked: bool
) -> None:
    """Found so: a refusal that came after the last look of a rollback was not said for ten minutes."""
    world = store()
    world.settle()
    observed = world.observed()
    routes = {name: replace(live, answered=answered, accepted=accepted) for name, live in observed.routes.items()}
    observed = replace(observed, routes=routes)
    decision = decide_group(world.key, world.desired(), observed, world.record, world.now)
    soon = world.now + timedelta(seconds=GATEWAY_STATUS_GRACE_SECONDS)
    assert (decision.phase, decision.wake_at) == (Phase.HEALTHY, soon if asked else None)


def test_a_step_has_exactly_its_deadline() -> None:
    world = store()
    world.settle()
    world.active, world.accepts = "v2", False
    world.settle()
    assert world.decide().wake_at == world.now + timedelta(seconds=GATEWAY_STATUS_GRACE_SECONDS)
    world.after(GATEWAY_STATUS_GRACE_SECONDS)
    assert world.decide().wake_at == NOW + timedelta(seconds=600)
    world.after(599 - GATEWAY_STATUS_GRACE_SECONDS).settle()
    assert not world.held
    world.after(1).step()
    assert world.held
    assert world.record.transition is None, "it was in its first step: nothing is to be written back"


def test_a_gateway_that_says_nothing_is_waited_for_exactly_so_long() -> None:
    world = store(accepts=None)
    world.settle()
    world.active = "v2"
    world.settle()
    world.after(GATEWAY_STATUS_GRACE_SECONDS - 1).settle()
    assert world.record.transition is not None
    assert world.record.transition.step is TransitionStep.PREPARE
    world.after(1).settle()
    assert world.record.transition is not None
    assert world.record.transition.step is TransitionStep.SWITCH


def test_a_promotion_that_is_withdrawn_at_the_second_step_leads_back_at_once() -> None:
    world = store()
    world.settle()
    world.active = "v2"
    while world.record.transition is None or world.record.transition.step is not TransitionStep.SWITCH:
        world.step()
    world.active, world.accepts = "v1", False
    world.step()
    assert world.record.transition is not None
    assert world.record.transition.step is TransitionStep.PREPARE
    assert (world.ask("/cart"), world.services["cart"]) == ("cart-v1", "cart-v1")


def test_a_cluster_without_the_gateway_api_shuts_the_gate_of_a_group_with_a_gateway_only() -> None:
    for gateway, stages in ((GATEWAY, "v1A v2C"), (None, "v1L v2A")):
        world = store(gateway=gateway, knows_routes=False)
        world.settle()
        world.active = "v2"
        world.settle()
        assert world.stages == stages
        shut = [gate.reason for gate in world.decide().gates if not gate.open]
        assert shut == (["the cluster does not know HTTPRoute of gateway.networking.k8s.io/v1"] if gateway else [])


def test_what_was_done_is_told_in_a_sentence() -> None:
    world = store()
    world.settle()
    for name in ("v2", "v1"):
        world.active = name
        world.settle()
    assert world.notices == [
        (Notice.PROMOTION_STARTED, "promotion from v1 to v2"),
        (Notice.ROLLBACK_STARTED, "rollback from v2 to v1"),
    ]
    assert world.events[-2:] == [Event.PROMOTED, Event.ROLLED_BACK]


def test_the_routes_of_the_active_and_the_legacy_version_are_remembered_and_no_others() -> None:
    world = store()
    for name, versions in (("v1", {"v1"}), ("v2", {"v1", "v2"}), ("v1", {"v1"})):
        world.active = name
        world.settle()
        assert {route.version for route in world.record.state.routes} == versions


def test_no_path_is_lost_while_more_httproutes_are_needed_or_fewer() -> None:
    few, many = (
        {f"s{number}": f"/{number}" for number in range(16)},
        {f"s{number}": f"/{number}" for number in range(40)},
    )
    world = World({"v1": version(**few)}, removed=frozenset(many))
    world.settle()
    assert len(world.routes) == 1
    for services in (many, few):
        world.versions["v1"], world.trail = version(str(len(services)), **services), []
        world.settle()
        for seen in world.trail:
            assert {seen[path, ""] for path in few.values()} <= {f"{service}-v1" for service in few}
    assert len(world.routes) == 1


def test_a_move_whose_time_is_corrected_is_not_announced_again() -> None:
    """Another agent takes over, whose clock is behind."""
    world = store(accepts=None)
    world.settle()
    world.after(6).settle()
    world.active = "v2"
    world.step()
    world.step()
    announced = [reason for reason, _ in world.notices if reason.endswith("Started")]
    assert announced == ["PromotionStarted"]
    world.after(-3)
    assert [one.reason for one in world.decide().events if one.reason.endswith("Started")] == []


@pytest.mark.parametrize("accepts", [None, False])
def test_a_clock_that_is_set_back_lengthens_no_wait(accepts: bool | None) -> None:
    """A Gateway that says nothing counts as having taken the routes after 5 s, one that says no ends the step."""
    world = store(accepts=None)
    world.settle()
    world.after(6).settle()
    world.active, world.accepts = "v2", accepts
    world.step()
    world.step()
    assert world.record.transition is not None
    world.after(-86_400).settle()
    for _ in range(40):
        world.after(30).settle()
    assert world.stages == ("v1L v2A" if accepts is None else "v1A v2C")
    assert (not world.held) is (accepts is None)
