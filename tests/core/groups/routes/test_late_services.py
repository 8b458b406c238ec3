"""Who answers a request changes by a promotion, with all its gates, and never by a push into a version that serves."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.groups.inputs import DesiredRoute, DesiredService, DesiredVersion
from gitops_bg.core.groups.model import RouteMatch
from gitops_bg.core.groups.record import MemberState
from gitops_bg.core.groups.routing import captures
from gitops_bg.core.model.auxiliary import NO_BACKEND, Deny, PathKind
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from tests.core.groups.gateway import DENIED, NOBODY
from tests.core.groups.simulation import GATEWAY, World, store, version
from tests.core.shown import shown


def said(world: World, kind: str) -> str:
    """The message of a condition that is not as it should be; empty where it is."""
    found = shown(world.decide())[kind]
    return found.message if found.status is (kind == "PromotionRejected") else ""


# --- a push into the active version ---

PUSHED = {
    "a path that another service of the version gives up": (
        store(),
        version("1b", cart="/cart", auth="/auth", basket="/old"),
        ("/old", "cart-v1", "basket-v1"),
    ),
    "a path that the version inherits": (
        store(active="v2"),
        version("2b", cart="/cart /new", login="/auth"),
        ("/auth", "auth-v1", "login-v2"),
    ),
    "a narrower path": (
        store(),
        version("1b", cart="/cart /old", auth="/auth", basket="/cart/basket"),
        ("/cart/basket", "cart-v1", "basket-v1"),
    ),
    "a path of a service that is there already": (
        store(),
        version("1b", cart="/cart /old", auth="/auth /cart/login"),
        ("/cart/login", "cart-v1", "auth-v1"),
    ),
}


@pytest.mark.parametrize("ready", [True, False], ids=["its pods answer", "it has no pods"])
@pytest.mark.parametrize("name", PUSHED)
def test_a_push_into_the_active_version_takes_no_request_from_who_answers_it(name: str, ready: bool) -> None:
    """Found so: past approvals, soak, hooks and suspension; and an outage at once where the new service had no pods."""
    world, folder, (path, before, after) = PUSHED[name]
    world = replace(world, versions=dict(world.versions), trail=[], routes={}, services={}, told=[], events=[])
    world.settle()
    answers = world.answers()
    world.trail.clear()
    active = world.active
    world.versions[active], world.gone = folder, set() if ready else {after}
    decision = world.settle()
    world.after(700).settle()
    assert world.ask(path) == before
    assert {each[path, ""] for each in world.trail if (path, "") in each} <= {before}
    assert {key: world.ask(*key) for key in answers} == answers, "whatever version a request names"
    assert decision.phase in (Phase.DEGRADED, Phase.DEPLOYING)
    service = after.partition("-")[0]
    assert said(world, "PromotionRejected").endswith(f"bring the route of {service} with the next version")


def test_the_next_version_brings_it_through_its_gates() -> None:
    world = store()
    world.settle()
    world.versions["v1"] = version("1b", cart="/cart /old", auth="/auth", basket="/cart/basket")
    world.versions["v3"] = version("3", cart="/cart", basket="/cart/basket")
    world.settle()
    assert (world.ask("/cart/basket"), world.ask("/cart/basket", "v3")) == ("cart-v1", "basket-v3")
    world.active = "v3"
    world.settle()
    assert world.ask("/cart/basket") == "basket-v3"


def test_a_service_for_requests_that_nobody_answers_comes_up_in_the_active_version() -> None:
    world = store()
    world.settle()
    world.versions["v1"] = version("1b", cart="/cart /old", auth="/auth", tips="/tips")
    world.settle()
    assert (world.ask("/tips"), world.services["tips"]) == ("tips-v1", "tips-v1")
    assert said(world, "PromotionRejected") == ""


def test_what_waits_for_a_promotion_waits_on_after_another_version_was_promoted() -> None:
    world = store()
    world.settle()
    world.versions["v1"] = version("1b", cart="/cart /old", auth="/auth", basket="/cart/basket")
    world.settle()
    world.active = "v2"
    world.settle()
    assert (world.stages, world.ask("/cart/basket")) == ("v1L v2A", "cart-v2")
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart/basket")) == ("v1A v2C", "cart-v1")


def test_a_service_changes_its_own_routes_and_its_ports_as_before() -> None:
    world = store()
    world.settle()
    world.versions["v1"] = version("1b", cart="/cart /cart/export", auth="/auth")
    world.settle()
    assert (world.ask("/cart/export"), world.ask("/old")) == ("cart-v1", NOBODY)
    assert said(world, "PromotionRejected") == ""


@pytest.mark.parametrize("deny", [GATEWAY.deny, NO_BACKEND])
def test_a_path_that_the_version_before_had_is_no_path_of_the_one_that_serves(deny: Deny) -> None:
    world = store(active="v2", gateway=replace(GATEWAY, deny=deny))
    world.settle()
    world.versions["v2"], world.gone = version("2b", cart="/cart /new /old"), {"cart-v2"}
    world.settle()
    assert world.ask("/old") == "cart-v2"


def test_a_path_may_be_closed_at_once() -> None:
    world = store()
    world.settle()
    basket = DesiredService(pods=True, routes=(DesiredRoute(RouteMatch("/cart/x"), 80, allowed=False),))
    folder = version("1b", cart="/cart", auth="/auth")
    world.versions["v1"] = replace(folder, services={**folder.services, "basket": basket})
    world.gone = {"basket-v1"}
    world.settle()
    assert world.ask("/cart/x") == DENIED


# --- a service that leaves, and whose requests another one is to answer ---


def leaving(active: str = "v1", **takes: str) -> World:
    """One push: auth may leave, its folder is gone, and a service of a version has its path."""
    world = store(active=active)
    world.settle()
    world.versions["v1"] = version("1b", cart="/cart /old", **(takes if active == "v1" else {}))
    if active == "v2":
        world.versions["v2"] = version("2b", **{"cart": "/cart /new", **takes})
    world.removed = frozenset({"auth"})
    world.trail.clear()
    return world


LEAVING = {
    "a new service of the active version": leaving(login="/auth"),
    "a new service with a narrower path": leaving(login="/auth/sso"),
    "a service that the active version has": leaving(active="v2", cart="/cart /new /auth"),
    "a new service, of one that was inherited": leaving(active="v2", login="/auth"),
}


@pytest.mark.parametrize("case", LEAVING)
@pytest.mark.parametrize("ready", [True, False])
def test_a_service_that_leaves_hands_its_requests_on_by_a_promotion_only(case: str, ready: bool) -> None:
    """Found so: the other one had them at once, past every gate, also without pods."""
    world = copy.deepcopy(LEAVING[case])
    world.gone = set() if ready else {"login-v1", "login-v2"}
    world.settle()
    assert {answers["/auth", ""] for answers in world.trail if ("/auth", "") in answers} <= {"auth-v1"}
    assert (world.ask("/auth"), world.services["auth"]) == ("auth-v1", "auth-v1")
    assert "auth-v1 answers requests of /auth" in said(world, "PromotionRejected")
    world.versions["v3"] = version("3", cart="/cart", login="/auth")
    world.settle()
    world.active, world.gone = "v3", set()
    world.settle()
    assert (world.ask("/auth"), "auth" in world.services, world.stages[-3:]) == ("login-v3", False, "v3A")


@pytest.mark.parametrize("together", [True, False], ids=["in one push with it", "in a push before it"])
def test_a_service_that_leaves_with_a_promotion_answers_until_requests_move(together: bool) -> None:
    """Found so: nobody answered its requests while the promotion waited for its gates."""
    world = store()
    world.versions["v2"] = version(cart="/cart /new", login="/auth")
    world.settle()
    world.ill = {"login-v2"}
    world.active = "v2"
    if not together:
        world.settle()
    world.versions["v1"], world.removed = version("1b", cart="/cart /old"), frozenset({"auth"})
    world.trail.clear()
    world.settle()
    assert (world.ask("/auth"), world.decide().phase, said(world, "PromotionRejected")) == (
        "auth-v1",
        Phase.WAITING,
        "",
    )
    world.ill = set()
    world.settle()
    assert (world.stages, world.ask("/auth"), world.services) == (
        "v1L v2A",
        "login-v2",
        {"cart": "cart-v2", "login": "login-v2"},
    )
    assert {answers["/auth", ""] for answers in world.trail if ("/auth", "") in answers} == {"auth-v1", "login-v2"}


def test_a_service_whose_requests_nobody_else_is_to_answer_leaves_at_once() -> None:
    world = leaving(login="/login")
    world.settle()
    assert (world.ask("/auth"), world.ask("/login"), "auth" in world.services) == (NOBODY, "login-v1", False)


# --- a push into the folder of a version that has passed ---


@pytest.mark.parametrize("together", [False, True], ids=["seen before the rollback", "in one push with it"])
@pytest.mark.parametrize("ready", [True, False], ids=["its pods answer", "it has no pods"])
def test_a_rollback_takes_in_no_service_that_came_into_the_folder_meanwhile(together: bool, ready: bool) -> None:
    """Found so: live traffic went to what had never served (I3)."""
    world = World({"v1": version(cart="/cart"), "v2": version(cart="/cart", tips="/tips")}, active="v2")
    world.settle()
    assert (world.stages, world.ask("/tips")) == ("v1L v2A", "tips-v2")
    world.versions["v1"], world.gone = version("1b", cart="/cart", tips="/tips"), set() if ready else {"tips-v1"}
    if not together:
        world.settle()
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart"), world.ask("/tips")) == ("v1A v2C", "cart-v1", NOBODY)
    assert world.member_states()["tips-v1"] is MemberState.PENDING
    assert said(world, "PromotionRejected") == "v1: tips came when v1 had passed: bring it with the next version"
    world.versions["v1"] = version(cart="/cart")
    world.settle()
    assert (said(world, "PromotionRejected"), world.record.late) == ("", ())


def test_a_version_that_was_rolled_back_takes_in_what_its_folder_gets_as_any_candidate() -> None:
    world = World({"v1": version(cart="/cart"), "v2": version(cart="/cart")}, active="v2")
    world.settle()
    world.active = "v1"
    world.settle()
    world.versions["v2"] = version("2b", cart="/cart", tips="/tips")
    world.settle()
    assert world.ask("/tips", "v2") == "tips-v2"
    assert world.record.late == ()


# --- a version that brings nothing ---


@pytest.mark.parametrize("folder", [version(job=None), DesiredVersion("3", {})])
def test_a_version_without_services_of_its_own_passes_no_gate(folder: DesiredVersion) -> None:
    """Found so: in a freeze, too, as no policy was about any member of it; and the way back was archived by it."""
    world = store(active="v2")
    world.settle()
    world.versions["v3"] = folder
    world.settle()
    world.active = "v3"
    world.after(700).settle()
    assert world.stages.startswith("v1L v2A")
    if folder.services:
        shut = [each for each in world.decide().gates if not each.open]
        assert [each.kind for each in shut] == [GateKind.AVAILABILITY]
        assert shut[0].reason == "v3 brings no service with pods, so that nothing of it can be judged"


# --- which requests a rule takes ---


def match(path: str, kind: PathKind = PathKind.PREFIX, **more: object) -> RouteMatch:
    return RouteMatch(path, kind, **more)  # type: ignore[arg-type]


EXACT, REGEX = PathKind.EXACT, PathKind.REGEX
TAKES = [
    (match("/cart"), match("/cart"), True),
    (match("/cart/"), match("/cart"), True),
    (match("/cart/x"), match("/cart"), True),
    (match("/cart"), match("/cart/x"), False),
    (match("/cartoon"), match("/cart"), False),
    (match("/cart", EXACT), match("/cart"), True),
    (match("/cart"), match("/cart", EXACT), False),
    (match("/cart/x", EXACT), match("/"), True),
    (match("/cart", EXACT), match("/auth", EXACT), False),
    (match("/cart", methods=("GET",)), match("/cart"), True),
    (match("/cart"), match("/cart", methods=("GET",)), False),
    (match("/cart", methods=("GET",)), match("/cart", methods=("POST",)), False),
    (match("/cart", headers=(("X-Beta", "1"),)), match("/cart"), True),
    (match("/cart", headers=(("X-Beta", "1"),)), match("/cart", headers=(("x-beta", "2"),)), False),
    (match("/cart", headers=(("X-Beta", "1"),)), match("/cart", headers=(("X-Other", "2"),)), True),
    (match("/", host="a.example.com"), match("/cart"), True),
    (match("/cart", host="a.example.com"), match("/cart", host="b.example.com"), False),
    (match("/cart", host="*.example.com"), match("/cart", host="a.example.com"), False),
    (match("/", host="a.example.com"), match("/cart", host="*.example.com"), True),
    (match("/cart/.*", REGEX), match("/cart"), True),
    (match("/tips/.*", REGEX), match("/cart"), False),
    (match("/c?art", REGEX), match("/cart"), True),
    (match("/tips|/cart", REGEX), match("/cart"), True),
    (match("/cart/x"), match("/cart/[a-z]+", REGEX), True),
]


@pytest.mark.parametrize(("new", "old", "expected"), TAKES)
def test_which_requests_a_route_takes(new: RouteMatch, old: RouteMatch, expected: bool) -> None:
    assert captures(new, old, ()) is expected


def test_a_host_of_its_own_is_compared_with_those_of_the_group() -> None:
    hosts = ("a.example.com", "b.example.com")
    assert captures(match("/cart", host="a.example.com"), match("/cart"), hosts)
    assert not captures(match("/", host="a.example.com"), match("/cart"), hosts)
    assert not captures(match("/cart", host="c.example.com"), match("/cart"), hosts)


def test_time_alone_gives_nobody_the_requests_of_another() -> None:
    world = store()
    world.settle()
    world.versions["v1"] = version("1b", cart="/cart /old", auth="/auth", basket="/cart/basket")
    for _ in range(3):
        world.now += timedelta(days=1)
        world.settle()
    assert world.ask("/cart/basket") == "cart-v1"


def test_a_late_service_without_pods_that_stays_where_it_is_stops_no_promotion_and_no_rollback() -> None:
    """Its Service follows the same member before and after, and comes with the first pod that answers."""
    world = store()
    world.settle()
    world.versions["v1"] = version("2", cart="/cart", auth="/auth", tips="/tips")
    world.gone, world.active = {"tips-v1"}, "v2"
    world.settle()
    assert (world.stages, world.record.transition, world.services["cart"]) == ("v1L v2A", None, "cart-v2")
    world.active = "v1"
    world.settle()
    assert (world.stages, world.record.transition, world.services["cart"]) == ("v1A v2C", None, "cart-v1")
    world.gone = set()
    world.settle()
    assert (world.services["tips"], world.ask("/tips")) == ("tips-v1", "tips-v1")
