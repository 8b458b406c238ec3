"""A group takes turns with apps and other groups, by a policy `concurrency`: its place in the queue, when it may begin,
and what others see of it meanwhile.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.policy_facts import Others, Peer, PolicyInput
from gitops_bg.core.model.policy_rules import Concurrency, PoliciesThen, Soak
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, Source
from gitops_bg.core.status.peers import group_peer_of, peer_on_record
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import STORE, World, store
from tests.core.groups.test_analysis import ONCE
from tests.core.groups.test_policies import asked, frozen, shut

POST = AnalysisStage.POST
WEB, OTHER = AppKey("shop", "web"), GroupKey("shop", "other")
MERGE = Source("c" * 40, landed=5)
BUSY = Peer(WEB, moving=True)
TURN = Concurrency(1)


def turns(world: World, *others: Peer, rule: Concurrency = TURN, merge: Source | None = MERGE, **more: object) -> World:
    """The same under a policy that lets one move at a time, with what is known of the others."""
    peers: dict[AppOrGroup, Peer] = {each.who: each for each in others}
    policing = asked(rule, others=Others(peers), **more)  # type: ignore[arg-type]
    world.policing = {"cart-v2": replace(policing, promotion=merge)}
    return world


def waiting(*others: Peer, **more: object) -> World:
    """The store at rest with v1, and v2 asked for."""
    world = store()
    world.settle()
    world.active = "v2"
    return turns(world, *others, **more)  # type: ignore[arg-type]


def seen(world: World) -> Peer:
    """What others see of the group after its next decision."""
    desired = world.desired()
    assert desired.spec is not None
    decided = GroupWorld(world.key, desired.spec, desired, world.observed(), world.decide().record, world.now)
    return group_peer_of(decided, lambda app: (("name", app.name),))


QUEUE = {
    "an app that moves": (BUSY, False),
    "a group that moves": (Peer(OTHER, moving=True, services=((AppKey("shop", "a-v2"), ()),)), False),
    "an app that was merged before": (Peer(WEB, queued=(4, "shop/web")), False),
    "an app that was merged after": (Peer(WEB, queued=(6, "shop/web")), True),
    "an app that nobody has merged yet": (Peer(WEB, queued=(2**53, "2026")), True),
    "the group itself": (Peer(STORE, moving=True, services=((AppKey("shop", "cart-v2"), ()),)), True),
    "an app of another namespace": (Peer(AppKey("pay", "web"), moving=True), True),
}


@pytest.mark.parametrize("name", QUEUE)
def test_a_group_has_its_turn_when_no_other_moves_or_was_merged_before(name: str) -> None:
    other, turn = QUEUE[name]
    world = waiting(other)
    world.settle()
    assert (world.stages == "v1L v2A") is turn
    world.policing = {}
    world.settle()
    assert world.stages == "v1L v2A"


def test_the_gate_says_who_moves_and_which_place_the_group_has() -> None:
    world = waiting(Peer(OTHER, moving=True, services=((AppKey("shop", "a-v2"), ()),)), Peer(WEB, queued=(4, "")))
    (gate,) = shut(world)
    assert gate.reason == "cart-v2: p: 1 of 1 are on the move: group shop/other; place 2 in the queue"


def test_what_was_not_looked_at_yet_keeps_a_group_as_it_keeps_an_app() -> None:
    world = waiting()
    policing = world.policing["cart-v2"].policing
    unseen = replace(policing, others=Others(not_looked_at=2))
    world.policing = {"cart-v2": replace(world.policing["cart-v2"], policing=unseen)}
    (gate,) = shut(world)
    assert gate.reason == "cart-v2: p: 2 others were not looked at yet"


def test_a_group_that_has_begun_keeps_its_turn_from_who_waits_for_it() -> None:
    """Else it would wait for one that was merged before, and that waits for the group."""
    world = waiting()
    world.accepts = None
    world.step()
    assert world.record.transition is not None
    turns(world, Peer(WEB, queued=(4, "")), BUSY)
    world.accepts = True
    world.settle()
    assert world.stages == "v1L v2A"


def test_a_promotion_that_is_taken_up_again_waits_for_its_turn_again() -> None:
    world = waiting().stop_once("cart", "cart-v2")
    world.gone, world.active = {"cart-v1"}, "v1"
    world.settle()
    moving = world.record.transition
    assert moving is not None
    assert moving.withdrawn
    assert (seen(world).moving, world.ask("/cart")) == (False, "cart-v2"), "cart-v1 has no pods to go back to"
    world.active = "v2"
    turns(world, BUSY).settle()
    assert world.record.transition == moving
    turns(world).settle()
    assert world.stages == "v1L v2A"


def test_no_turn_is_asked_for_on_the_way_back() -> None:
    world = waiting()
    world.settle()
    world.active = "v1"
    turns(world, BUSY)
    world.policing["cart-v1"] = world.policing["cart-v2"]
    world.settle()
    assert world.stages == "v1A v2C"


# --- as others see it ---


def test_a_group_that_is_promoted_is_on_the_move_until_it_is_done() -> None:
    world = waiting()
    assert (seen(world).moving, seen(world).queued) == (True, None), "it is about to begin"
    world.accepts = None
    world.step()
    assert seen(world).moving
    world.accepts = True
    world.settle()
    assert world.stages == "v1L v2A"
    assert not seen(world).moving


@pytest.mark.parametrize(
    ("found", "moves"),
    [(None, True), (AnalysisPhase.INCONCLUSIVE, True), (AnalysisPhase.SUCCESSFUL, False)],
)
def test_a_group_is_on_the_move_until_its_analysis_has_ended(found: AnalysisPhase | None, moves: bool) -> None:
    """As an app: also while the analysis waits for somebody."""
    world = waiting()
    world.after_it = ONCE
    if found is not None:
        world.finds[POST] = found
    world.settle()
    assert world.stages == "v1L v2A"
    assert seen(world).moving is moves


def test_a_group_that_goes_back_is_on_the_move_for_nobody() -> None:
    world = waiting()
    world.settle()
    world.active, world.accepts = "v1", None
    world.step()
    assert world.record.transition is not None
    assert not seen(world).moving
    bad = waiting()
    bad.after_it, bad.finds[POST] = ONCE, AnalysisPhase.FAILED
    bad.settle()
    assert not seen(bad).moving


def test_a_group_at_rest_moves_and_waits_for_nothing() -> None:
    world = store()
    world.settle()
    peer = seen(world)
    assert (peer.moving, peer.queued) == (False, None)


PLACE = (5, "shop/store")
SOON = timedelta(hours=1)
QUEUED = {
    "it waits for its turn only": (waiting(BUSY), PLACE),
    "people are asked to merge it": (
        waiting(BUSY, merge=None),
        (2**53, f"{NOW.isoformat()} shop/store"),
    ),
    "it is its turn": (waiting(), None),
    "nothing asks for turns": (waiting(BUSY, rule=Concurrency(9)), None),
    "its own commit changes policies": (
        waiting(BUSY, then=PoliciesThen(MERGE.commit, changed_with_it=True)),
        None,
    ),
}


@pytest.mark.parametrize("name", QUEUED)
def test_a_group_that_waits_for_nothing_but_its_turn_has_a_place(name: str) -> None:
    world, place = QUEUED[name]
    assert seen(world).queued == place


def test_a_group_that_waits_for_more_than_its_turn_delays_nobody() -> None:
    ill = waiting(BUSY)
    ill.ill = {"cart-v2"}
    assert seen(ill).queued is None
    soaking = waiting(BUSY)
    both = asked(TURN, Soak(SOON), others=Others({WEB: BUSY}))
    soaking.policing = {"cart-v2": replace(both, promotion=MERGE)}
    assert seen(soaking).queued is None
    elsewhere = waiting(BUSY)
    elsewhere.policing["auth-v1"] = asked(frozen())
    assert seen(elsewhere).queued == PLACE, "a service that does not move is asked nothing"


def test_others_see_the_services_that_move_with_their_labels() -> None:
    """A policy counts the group where it is for one of them; what stays where it is, takes no place."""
    cart = (AppKey("shop", "cart-v2"), (("name", "cart-v2"),))
    world = waiting(BUSY)
    assert seen(world).services == (cart,)
    turns(world)
    world.after_it = ONCE
    world.settle()
    assert (world.stages, seen(world).moving) == ("v1L v2A", True)
    assert seen(world).services == (cart,), "auth came with v1 and stays"


def test_groups_are_counted_by_the_labels_of_their_services() -> None:
    team = Concurrency(1, "group:team")
    other = Peer(OTHER, moving=True, services=((AppKey("shop", "a-v2"), (("team", "a"),)),))
    mine = waiting(other, rule=team, labels=(("team", "a"),))
    theirs = waiting(other, rule=team, labels=(("team", "b"),))
    assert [bool(shut(each)) for each in (mine, theirs)] == [True, False]


def test_a_policy_counts_a_group_only_where_it_is_for_one_of_its_services() -> None:
    world = waiting(Peer(OTHER, moving=True, services=((AppKey("shop", "a-v2"), ()),)))
    policing: PolicyInput = world.policing["cart-v2"].policing
    (policy,) = policing.policies
    mine = replace(policy, match=replace(policy.match, apps=("cart-*",)))
    world.policing["cart-v2"] = replace(world.policing["cart-v2"], policing=replace(policing, policies=(mine,)))
    world.settle()
    assert world.stages == "v1L v2A"


def test_a_file_that_breaks_frees_no_turn_of_who_moves_or_is_judged() -> None:
    """And takes none: nobody knows what such a group is asked for."""
    world = waiting(BUSY)
    world.settle()
    assert (on_record(world).moving, on_record(world).queued) == (False, None)
    world = waiting()
    world.accepts = None
    world.step()
    before = seen(world)
    assert before.moving
    assert on_record(world) == before
    world = waiting()
    world.after_it = ONCE
    world.settle()
    assert seen(world).moving
    assert on_record(world) == seen(world)


def on_record(world: World) -> Peer:
    return peer_on_record(world.key, world.decide().record, lambda app: (("name", app.name),))
