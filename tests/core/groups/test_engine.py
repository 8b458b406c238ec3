"""The engine of a group: from folders to stages, routes and Services, step by step, whatever happens on the way."""

from __future__ import annotations

import pytest

from gitops_bg.core.groups.members import Standing
from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.model.decision import Phase
from tests.core.groups.gateway import DENIED, NOBODY
from tests.core.groups.simulation import World, store, version

RUNNING, DORMANT, GONE, WAITING = Standing.RUNNING, Standing.DORMANT, Standing.GONE, Standing.WAITING


def condition(world: World, kind: str) -> tuple[bool | None, str, str]:
    found = next(each for each in world.decide().conditions if each.type == kind)
    return found.status, found.reason, found.message


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
    assert world.events[-2:] == ["PromotionStarted", "PromotionFinished"]


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
    assert world.events[-1] == "RollbackFinished"


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
    assert world.standing()["cart-v1"] is WAITING


def test_promotion_deletes_the_other_candidates_until_their_folders_change() -> None:
    world = store()
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    assert world.stages == "v1A v2C v3C"
    world.active = "v2"
    world.settle()
    assert world.stages == "v1L v2A"
    assert world.standing()["cart-v3"] is GONE
    assert world.ask("/cart", "v3") == "cart-v2"
    world.versions["v3"] = version("2", cart="/cart")
    world.settle()
    assert world.stages == "v1L v2A v3C"
    assert world.standing()["cart-v3"] is RUNNING


def test_archived_versions_have_no_pods_but_for_services_that_serve_on() -> None:
    world = store()
    world.versions["v3"] = version(cart="/cart")
    for name in ("v2", "v3"):
        world.active = name
        world.settle()
        world.versions["v3"] = version("2", cart="/cart")
        world.settle()
    assert world.stages == "v1R v2L v3A"
    assert world.standing() == {"cart-v1": DORMANT, "auth-v1": RUNNING, "cart-v2": RUNNING, "cart-v3": RUNNING}


def test_a_candidate_whose_folder_leaves_main_is_deleted() -> None:
    world = store()
    world.settle()
    del world.versions["v2"]
    world.settle()
    assert world.stages == "v1A"
    assert world.ask("/cart", "v2") == "cart-v1"


def test_the_active_version_serves_on_though_its_folder_left_main() -> None:
    world = store()
    world.settle()
    del world.versions["v1"]
    world.settle()
    assert world.stages == "v1A v2C"
    assert condition(world, "PromotionRejected")[1] == "ActiveVersionRemoved"
    assert world.services["cart"] == "cart-v1"


def test_a_folder_with_a_mistake_moves_nothing() -> None:
    world = store()
    world.settle()
    before, world.problems, world.active = world.answers(), True, "v2"
    decision = world.settle()
    assert (decision.phase, decision.actions, world.answers()) == (Phase.INVALID, (), before)


def test_a_lost_record_is_made_again_from_the_folders() -> None:
    world = store()
    world.active = "v2"
    world.settle()
    before, record = world.answers(), world.record
    world.record = type(record)()
    world.settle()
    assert (world.stages, world.answers(), world.services["auth"]) == ("v1L v2A", before, "auth-v1")


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
    assert shut.reason == "600 s were not enough for promotion to v2: store: BackendNotFound: cart-v2"
    world.active = "v1"
    world.settle()
    world.active = "v2"
    world.settle()
    assert world.stages == "v1L v2A"


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
    assert world.events[-1] == "TransitionWithdrawn"


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
