"""A group whose record is lost, where its Services alone do not say which version serves: the ledger does."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from gitops_bg.core.groups.record import GroupRecord, MemberState, member_state
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Retry
from gitops_bg.repo.ledger.ledger_file import LedgerDocument, SubjectState, VersionState
from tests.core.groups.simulation import GATEWAY, Died, World, store, version


def late(**changes: object) -> World:
    """v2 serves with auth of v1, and its folder got auth when it was active already; those pods are ill."""
    world = store(active="v2", **changes)
    world.settle()
    world.versions["v2"] = version("2", cart="/cart /new", auth="/auth")
    world.ill = {"auth-v2"}
    world.settle()
    return world


def lost(world: World) -> World:
    """Somebody deleted the ReleaseGroup."""
    world.lose_record()
    world.trail.clear()
    return world


def said(world: World) -> str:
    """Why nothing is done; empty where something is, or nothing is to be."""
    found = (
        each for each in world.decide().conditions if (each.type, each.reason) == ("PromotionRejected", "RecordLost")
    )
    return next((each.message for each in found), "")


@pytest.mark.parametrize("gateway", [None, GATEWAY], ids=["without a Gateway", "somebody changed the routes"])
def test_the_ledger_says_that_a_version_serves_into_which_a_service_came_late(gateway: object) -> None:
    """Found so: the whole version counted as never promoted, and live traffic went back to the one before."""
    world = late(gateway=gateway)
    before = dict(world.services), world.stages
    lost(world).unreadable = set(world.routes)
    for _ in range(5):
        world.step()
        assert world.services == before[0]
    world.unreadable = set()
    world.settle()
    assert (dict(world.services), world.stages) == before


def switching() -> World:
    """v2 has the requests by routes, and by one of two Services, when the record is lost, and v1 has no cart."""
    world = store()
    world.versions["v2"] = version("2", cart="/cart", auth="/auth")
    world.settle()
    world.active = "v2"
    world.stop_once("auth", follows="auth-v2")
    world.services["cart"] = "cart-v1"  # The Service is written next.
    lost(world).gone = {"cart-v1"}
    return world


@pytest.mark.parametrize(("active", "end"), [("v1", "v1A v2C"), ("v2", "v1L v2A")])
def test_requests_that_were_moving_when_the_record_was_lost_leave_pods_for_none(active: str, end: str) -> None:
    """Found so: v1 counted as what serves, and its routes were repaired, to no pods (I1)."""
    world = switching()
    world.active = active
    before = world.ask("/cart")
    world.settle()
    assert {seen["/cart", ""] for seen in world.trail} == {before} == {"cart-v2"}
    if active == "v1":
        assert (world.stages, world.services["cart"]) == ("v1A v2C", "cart-v1")
        assert world.record.transition is not None, "it waits for pods to go back to"
    world.gone = set()
    world.settle()
    assert (world.stages, world.ask("/cart"), world.record.transition) == (end, f"cart-{active}", None)


def test_the_ledger_says_that_traffic_was_on_its_way_only() -> None:
    """So it goes back, and every gate is asked again."""
    world = store(gateway=None)
    world.versions["v2"] = version(cart="/cart", auth="/auth")
    world.settle()
    world.services["cart"] = "cart-v2"
    lost(world).active, world.ill = "v2", {"auth-v2"}
    world.settle()
    assert (world.stages, world.services["cart"]) == ("v1A v2C", "cart-v1")
    world.ill = set()
    world.settle()
    assert (world.stages, world.services["cart"]) == ("v1L v2A", "cart-v2")


@pytest.mark.parametrize("reads", [False, True], ids=["nobody has read it yet", "it says nothing"])
def test_nothing_is_changed_while_no_ledger_says_which_version_serves(reads: bool) -> None:
    world = late(gateway=None)
    before = dict(world.services)
    lost(world).reads_ledger, git = reads, world.git
    world.git = type(git)()
    decision = world.settle()
    assert (decision.phase, decision.actions, world.services, world.record) == (
        Phase.DEGRADED,
        (),
        before,
        GroupRecord(epoch="another", unrecalled=True),
    )
    why = "the ledger does not say which of them is active" if reads else "nobody has read the ledger yet"
    assert said(world) == (
        f"the record is lost, cart follows cart-v2 and auth follows auth-v1, and {why}: until then nothing is changed; "
        "if v2 is active, take v2/auth/ out of main, else write active: v1"
    )
    world.reads_ledger, world.git = True, git
    world.settle()
    assert (said(world), world.stages, world.services) == ("", "v1L v2A", before)


def test_what_somebody_asks_for_while_nothing_is_known_is_done_once_it_is() -> None:
    """Found so: each pass began the record anew, and counted as answered what had been asked for by then."""
    world = late(gateway=None)
    world.ask_for(OperatorCommand.ABORT, about=("v1",), live="v1")
    world.settle()
    lost(world).reads_ledger = False
    world.retry = Retry("v2-2", 1, "ada")
    world.settle()
    world.ask_for(OperatorCommand.ABORT, about=("v2",), live="v2", reason="errors")
    world.retry = Retry("v2-2", 2, "ada")
    world.settle()
    world.reads_ledger = True
    world.step()
    assert (world.record.operator.answered, world.record.operator.retry) == (("r0", "r1"), 2)
    world.settle()
    assert (world.stages, world.services["cart"], world.held) == ("v1A v2C", "cart-v1", ())
    assert (Event.ABORTED, "errors") in world.told


@pytest.mark.parametrize(("remedy", "stages"), [("the folder leaves main", "v1L v2A"), ("active: v1", "v1A v2C")])
def test_the_remedies_for_a_ledger_that_says_nothing_lead_on(remedy: str, stages: str) -> None:
    world = late(gateway=None)
    lost(world).git = type(world.git)()
    world.settle()
    if remedy == "active: v1":
        world.active = "v1"
    else:
        world.versions["v2"] = version("3", cart="/cart /new")
    world.settle()
    assert (said(world), world.stages, world.services["auth"]) == ("", stages, "auth-v1")


def test_the_ledger_knows_the_way_back_past_a_version_that_was_rolled_back() -> None:
    """v2 was bad, and left; v3 replaces every service, so that no Service says so."""
    every = {"cart": "/cart", "auth": "/auth"}
    world = World({name: version(name, **every) for name in ("v1", "v2")}, gateway=None)
    world.settle()
    for active in ("v2", "v1"):
        world.active = active
        world.settle()
    world.versions["v3"] = version("v3", **every)
    world.settle()
    world.active = "v3"
    world.settle()
    assert world.stages == "v1L v3A"
    lost(world).settle()
    assert world.stages == "v1L v3A"
    world.active = "v1"
    world.settle()
    assert (world.stages, world.services["cart"]) == ("v1A v3C", "cart-v1")


def test_routes_are_asked_before_the_ledger_which_may_be_behind() -> None:
    world = late()
    world.git = LedgerDocument(SubjectState(active=VersionState(1), served=("v1",)))
    before = world.answers(), dict(world.services), world.stages
    lost(world).settle()
    assert (world.answers(), dict(world.services), world.stages) == before


def test_a_service_without_routes_that_came_late_moves_nothing_when_the_record_is_lost() -> None:
    """Found so: traffic went back to v1, and the ledger said that requests had been moving."""
    world = World({"v1": version("1", cart="/cart", auth=""), "v2": version("2", cart="/cart")})
    world.settle()
    world.active = "v2"
    world.settle()
    world.versions["v2"], world.ill = version("2b", cart="/cart", auth=""), {"auth-v2"}
    world.settle()
    before = world.stages, dict(world.services)
    lost(world)
    world.settle()
    assert (world.stages, world.services, world.record.transition) == (*before, None)


def test_another_version_header_makes_no_candidate_one_that_requests_reach() -> None:
    world = store(active="v2")
    world.settle()
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    lost(world).gateway = replace(GATEWAY, version_header="X-Release")
    world.told.clear()
    world.settle()
    assert world.stages.endswith("v2A v3C")
    assert not any("lost while requests moved" in said for _, said in world.told)


LEFT = {"the folder of v2": {}, "that of its cart": {"v2": version("3", auth="/auth")}}


@pytest.mark.parametrize("left", LEFT)
def test_pods_that_requests_were_moving_to_stay_although_their_folder_has_left_main(left: str) -> None:
    """Found by exploration: they were deleted, and the Gateway led requests there (I1)."""
    world = store()
    world.versions["v2"] = version("2", cart="/cart", auth="/auth")
    world.settle()
    world.active = "v2"
    while world.ask("/cart") != "cart-v2":
        with suppress(Died):
            world.step(1)
    lost(world).active, world.versions = "v1", {"v1": world.versions["v1"], **LEFT[left]}
    for _ in range(2):  # The ReleaseGroup is made anew, then its record.
        with suppress(Died):
            world.step(1)
    assert (world.ask("/cart"), member_state(world.record, "cart", "v2")) == ("cart-v2", MemberState.RUNNING)
    world.settle()
    assert (world.stages[:3], world.services["cart"], world.record.leaving) == ("v1A", "cart-v1", ())
