"""A group whose folder has another name now: what the former one has live is taken over; nothing is answered twice."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from gitops_bg.core.groups.attaching import GRACE
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.auxiliary import HttpMatch, ParentRef, RivalRoute, RouteClaim
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.main import Knowledge, Main, MainRead
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Suspension
from gitops_bg.repo.ledger.ledger_file import parse, render
from tests.core.groups.simulation import GATEWAY, STORE, Died, World, store, version

PUBLIC = (ParentRef("public"),)
ONCE = MeasurementPlan((Metric("smoke", "web", count=1, failure_limit=0),))


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


def test_the_ledger_of_the_new_name_can_be_read_at_any_moment_and_is_told_once() -> None:
    """Found so: an entry without an epoch, published while objects were taken over, and told again under the epoch."""
    world = promoted()
    world.rename("market")
    world.written.clear()
    while world.step():
        parse(render(world.git))
    assert [each.event for each in world.written] == [Event.TAKEN_OVER]
    assert {each.epoch for each in world.git.history} == {"uid"}


@pytest.mark.parametrize("writes", [1, 10_000])
def test_the_ledger_of_the_former_name_tells_once_what_it_is_now_before_that_goes(writes: int) -> None:
    """Found so: it told, and alerted, that the group kept serving without a folder, and then it was gone."""
    world = renamed(promoted(), writes)
    assert world.former is None
    assert world.former_told == [(Event.DELETED, "it is the release group market now")]


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


def test_a_record_that_nobody_can_read_is_not_taken_for_an_empty_one() -> None:
    """Found so: stages, the way back and a transition under way were forgotten, and the record was deleted."""
    world = promoted()
    world.rename("market")
    world.damaged = True
    decision = world.settle()
    assert (decision.phase, decision.actions, world.record) == (Phase.DEGRADED, (), GroupRecord())
    assert "is the release group store under another name" in decision.conditions[0].message
    assert "(state: is text)" in decision.conditions[0].message
    assert (world.formers_own, world.ask("/cart")) == ({"store", "cart", "auth"}, "cart-v2")
    world.damaged = False
    world.settle()
    world.after(GRACE.total_seconds()).settle()
    assert (world.stages, world.former) == ("v1L v2A", None)


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
    return RivalRoute("web", "the app web", RouteClaim(parents, hosts, (HttpMatch(path),)), "000000")


def test_an_older_route_of_somebody_else_is_named_and_nothing_is_promoted_past_it() -> None:
    world = store()
    world.others = {"web": rival()}
    decision = world.settle()
    assert decision.phase is Phase.DEGRADED
    said = "HTTPRoute web of the app web has the requests /cart first: it says the same ones, and is older"
    assert decision.conditions[0].message == said
    world.active = "v2"
    waits = world.settle()
    assert (waits.phase, waits.conditions[0].message) == (Phase.DEGRADED, said)
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


def former(*paths: str, **changes: object) -> RivalRoute:
    """An older route of an app whose folder left main."""
    claim = RouteClaim(PUBLIC, (), tuple(map(HttpMatch, paths)))
    return replace(rival(), claim=claim, former=True, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("accepts", [True, None], ids=["taken", "at a Gateway that never says anything"])
def test_the_route_of_an_app_that_left_main_goes_once_the_group_has_one_for_all_its_requests(
    accepts: bool | None,
) -> None:
    world = store(accepts=accepts)
    world.others = {"web": former("/cart", "/auth/login")}
    assert world.settle().phase is Phase.HEALTHY
    said = "store answers the requests of HTTPRoute web of the app web, whose folder left main"
    assert [text for event, text in world.told if event is Event.TAKEN_OVER] == [said]
    assert world.others == {}
    world.active = "v2"
    for _ in range(3):
        world.settle()
        world.after(GRACE.total_seconds())
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"others": {"web": former("/cart", "/admin")}}, "it has other requests as well: /admin"),
        ({"others": {"web": former("/cart", whole=False)}}, "it says what no agent writes"),
        ({"others": {"web": former("/cart"), "xyz": rival()}}, ""),
        ({"others": {"web": former("/cart")}, "gone": {"auth-v1"}}, ""),
        ({"others": {"web": former("/cart")}, "accepts": False, "says": "NoMatchingParent"}, ""),
        ({"others": {"web": former("/cart", answered=True)}, "accepts": None}, ""),
        ({"others": {"web": former("/cart")}, "suspend": Suspension("an incident")}, ""),
    ],
    ids=[
        "it has other requests",
        "somebody edited it",
        "somebody else would have them",
        "a service has no pods",
        "the Gateway refuses ours",
        "the Gateway is silent of ours alone",
        "suspended",
    ],
)
def test_it_stays_as_long_as_a_request_of_it_would_go_nowhere(changes: dict[str, object], why: str) -> None:
    world = store(**changes)
    world.settle()
    assert "web" in world.others
    if why:
        assert world.decide().conditions[0].message.endswith(f"; its folder left main, and it stays: {why}")


@pytest.mark.parametrize("other", [former("/cart"), rival()], ids=["of who left main", "of somebody in main"])
def test_a_route_for_requests_that_somebody_else_answers_comes_once_its_own_services_do(other: RivalRoute) -> None:
    """Found so: both were of the same second, the name decided, and users got 500 for a Service that was not there."""
    world = store(gone={"cart-v1"}, others={"web": other})
    world.settle()
    assert world.routes == {}
    world.gone = set()
    world.settle()
    assert list(world.routes) == ["store"]
    assert ("web" in world.others) is not other.former


def test_a_younger_route_of_an_owner_that_left_main_goes_as_well() -> None:
    """Found so: two of the same second, whose names decided, and the one of an app that is kept stayed for ever."""
    world = store()
    world.others = {"web": former("/cart", born="999999")}
    assert world.settle().phase is Phase.HEALTHY
    assert world.others == {}


def test_it_goes_before_a_promotion() -> None:
    world = store()
    world.settle()
    world.others, world.active = {"web": former("/cart")}, "v2"
    world.settle()
    assert (world.others, world.stages) == ({}, "v1L v2A")


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


def test_a_rollback_does_not_wait_for_pods_of_the_version_that_it_leaves_to_have_an_httproute_first() -> None:
    """Found so: after a cluster was built anew, its HTTPRoute never came, and the way back began again and again."""
    world = promoted()
    world.gone, world.others = {"cart-v2"}, {"web": rival()}
    world.routes.clear()
    world.services.clear()
    world.settle()
    assert world.routes == {}, "somebody answers /cart, and the version that serves does not"
    world.active = "v1"
    world.settle()
    assert (world.stages, world.record.transition, world.ask("/cart")) == ("v1A v2C", None, "cart-v1")


def test_nothing_is_promoted_to_requests_that_somebody_else_has_first() -> None:
    """Found so: only those of the version that serves were looked at, and what the next one brings was somebody's."""
    world = store()
    world.settle()
    world.others, world.active = {"web": rival("/new")}, "v2"
    decision = world.settle()
    (shut,) = (each for each in decision.gates if not each.open)
    said = "HTTPRoute web of the app web has the requests /new first: it says the same ones, and is older"
    assert (shut.kind, shut.reason, world.stages) == (GateKind.ENDPOINTS, said, "v1A v2C")
    world.others = {"web": former("/new")}
    world.settle()
    assert (world.stages, world.others) == ("v1L v2A", {}), "its owner left main, and gives up all that the version has"


@pytest.mark.parametrize("knowledge", [Knowledge.REWRITTEN, Knowledge.UNKNOWN])
def test_a_former_name_is_forgotten_by_a_main_that_counts_only(knowledge: Knowledge) -> None:
    """Found so: Services and routes stayed the former group's for ever, and a rollback moved nothing."""
    world = promoted()
    world.rename("market")
    while not world.record.succeeds:
        with suppress(Died):
            world.step(1)
    former, world.former = world.former, None  # Nobody knows what main has.
    world.main = MainRead(Main("a" * 40), knowledge)
    decision = world.decide()
    assert (decision.record.succeeds, decision.actions) == (STORE.name, ())
    world.former, world.main = former, MainRead()
    world.settle()
    assert (world.record.succeeds, world.formers_own, world.former) == ("", set(), None)


OF_HELM = RouteClaim(PUBLIC, (), (HttpMatch("/auth"),))


def test_a_service_that_somebody_else_has_first_keeps_no_other_route_from_coming_back() -> None:
    """Found so: one dead pod of it, and the whole HTTPRoute that somebody deleted never came back, nor a rollback."""
    world = promoted(others={"helm": RivalRoute("helm", owner="Helm", born="999999", claim=OF_HELM)})
    world.gone = {"auth-v1"}
    world.routes.clear()
    world.settle()
    assert (world.ask("/cart"), world.ask("/new")) == ("cart-v2", "cart-v2")
    world.active = "v1"
    world.routes.clear()
    world.settle()
    assert (world.stages.split()[0], world.ask("/cart")) == ("v1A", "cart-v1")


def test_a_service_that_never_comes_up_keeps_no_other_one_from_requests_that_somebody_has() -> None:
    world = World({"v1": version(cart="/cart", auth="/auth", docs="/docs")}, gone={"docs-v1"})
    world.others = {"helm": RivalRoute("helm", owner="Helm", born="000000", claim=OF_HELM)}
    world.settle()
    assert (world.ask("/cart"), world.ask("/auth")) == ("cart-v1", "auth-v1")


def test_routes_that_wait_beside_hold_up_none_that_carry_traffic() -> None:
    at = RouteClaim(PUBLIC, ("shop.example",), (HttpMatch("/auth"),))
    world = promoted(others={"helm": RivalRoute("helm", owner="Helm", born="000000", claim=at)})
    world.services.pop("auth")
    world.gone, world.gateway = {"auth-v1"}, replace(GATEWAY, hosts=("shop.example",))
    world.settle()
    assert list(world.routes) == ["store"], "the routes beside wait for auth"
    world.versions["v2"] = version("2b", cart="/cart /new /fresh")
    world.settle()
    assert world.ask("/fresh") == "cart-v2"


# --- nobody has read the ledger since the former name lost its record ---


def unread(world: World) -> World:
    """The record is lost, the folder has another name, and the agent cannot read the ledger."""
    world.lose_record()
    world.reads_ledger = False
    world.settle()
    return renamed(world)


def reads(world: World) -> World:
    """The agent can read it again."""
    world.reads_ledger = True
    world.settle()
    world.after(GRACE.total_seconds()).settle()
    return world


def stopped(**changes: object) -> World:
    """Somebody stopped v2, which is well, before it was promoted."""
    world = store(before=ONCE, **changes)
    world.settle()
    world.active = "v2"
    world.settle()
    world.ask_for(OperatorCommand.ABORT, reason="errors")
    world.settle()
    world.before = None
    return world


def test_nothing_is_promoted_under_the_new_name_that_the_ledger_of_the_former_one_may_have_on_hold() -> None:
    """Found so: nobody remembered that nobody had read it, and v2 was promoted."""
    world = unread(stopped())
    (shut,) = [each for each in world.decide().gates if each.kind is GateKind.HOLD]
    assert (world.stages, shut.open) == ("v1A v2C", False)
    assert "nobody has read the ledger yet" in shut.reason
    reads(world)
    assert (world.stages, world.held, world.decide().phase) == ("v1A v2C", ("v2-1",), Phase.HELD)
    assert (world.former, world.record.succeeds, world.record.unrecalled) == (None, "", False)
    assert [event for event, _ in world.told].count(Event.TAKEN_OVER) == 1
    assert [event for event, _ in world.former_told] == [Event.DEPLOYED, Event.CANDIDATE, Event.DELETED]


def test_nor_where_the_former_name_remembers_nothing_yet() -> None:
    world = stopped()
    world.lose_record()
    world.rename("market")
    world.reads_ledger = False
    world.settle()
    assert world.stages == "v1A v2C"
    reads(world)
    assert (world.stages, world.held) == ("v1A v2C", ("v2-1",))


def test_a_rollback_waits_for_no_ledger_under_the_new_name_either() -> None:
    world = unread(promoted())
    world.active = "v1"
    world.settle()
    assert (world.stages, world.ask("/cart")) == ("v1A v2C", "cart-v1")
    assert (reads(world).stages, world.former) == ("v1A v2C", None)


def test_a_way_back_that_the_ledger_of_the_former_name_knows_goes_on() -> None:
    world = promoted(after_it=ONCE)
    world.gone, world.finds[AnalysisStage.POST] = {"cart-v1"}, AnalysisPhase.FAILED
    world.settle()
    assert (world.stages, bool(world.record.override)) == ("v1L v2A", True)
    world.finds.clear()
    unread(world).gone = set()
    assert world.stages == "v1L v2A"
    assert (reads(world).stages, world.active, world.ask("/cart")) == ("v1A v2C", "v1", "cart-v1")


def test_the_former_name_may_be_gone_before_its_ledger_is_read() -> None:
    world = unread(stopped())
    world.former, world.formers_own = None, set()
    world.settle()
    assert world.stages == "v1A v2C"
    assert (reads(world).held, world.record.succeeds) == (("v2-1",), "")
