"""What each action of a user does in each situation: the table of gitops.md §3, row by row."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import Stage
from tests.core.shown import ABSENT, shown
from tests.core.simulation import Simulation, automatic, deployed, manual, template


def promoted(spec=None) -> Simulation:
    """Version 1 was live; version 2 was pushed, merged, and is live now; 1 is still warm."""
    world = deployed(spec or manual())
    world.push("2")
    world.settle()
    world.merge()
    world.settle()
    assert (world.live, world.primary) == ("2", "2")
    return world


def test_first_deployment_commits_primary_then_serves_without_any_gate():
    world = Simulation(manual())
    world.push("1")
    world.settle()
    assert (world.live, world.shown, world.primary) == ("1", "1", "1")
    assert world.decide().phase is Phase.HEALTHY
    assert [e for e in world.events() if e != "candidate"] == ["deployed"]


def test_first_deployment_serves_while_main_refuses_and_the_commit_is_offered():
    world = Simulation(manual(), protected=True)
    world.push("1")
    world.settle()
    assert (world.live, world.branch, world.primary) == ("1", "1", None)
    world.merge()
    world.settle()
    assert (world.live, world.primary, world.branch) == ("1", "1", None)
    assert world.recorded_moves() == world.moves


def test_push_brings_up_a_candidate_beside_the_live_version_and_offers_it():
    world = deployed(manual())
    world.push("2")
    world.settle()
    assert (world.live, world.shown, world.branch) == ("1", "2", "2")
    decision = world.decide()
    assert decision.phase is Phase.AWAITING_PROMOTION
    assert [gate.kind for gate in decision.gates if not gate.open] == [GateKind.APPROVAL]


def test_preview_waits_until_the_candidate_is_ready():
    world = deployed(manual())
    world.push("2")
    world.step()
    assert world.pods[template("2").digest].replicas == 3
    assert world.shown == "1"


def test_candidate_takes_the_other_color():
    world = promoted()
    colors = {version.number: version.color.value for version in world.record.versions}
    assert colors == {1: "blue", 2: "green"}


def test_merge_moves_live_traffic_and_keeps_the_old_version_warm_until_its_deadline():
    world = promoted()
    old = world.record.numbered(1)
    assert (old.stage, old.retiring) == (Stage.LEGACY, True)
    assert world.pods[old.digest].replicas == 3
    assert world.decide().wake_at == world.warm_until(1)
    world.later(seconds=301)
    world.settle()
    assert world.record.numbered(1).stage is Stage.ARCHIVED
    assert world.pods[old.digest].replicas == 0
    assert world.branch is None


def test_automatic_promotion_commits_first_and_switches_second():
    world = deployed(automatic())
    world.push("2")
    while world.primary != "2":
        assert world.live == "1"
        world.step()
        world.pods_come_up()
    assert world.live == "1"
    world.settle()
    assert world.live == "2"


def test_automatic_promotion_waits_for_its_countdown_and_a_merge_cuts_it_short():
    world = deployed(automatic(auto_promotion_seconds=60))
    world.push("2")
    world.settle()
    assert (world.live, world.primary) == ("1", "1")
    assert world.decide().wake_at == world.now + timedelta(seconds=60)
    world.set_primary("2")
    world.settle()
    assert world.live == "2"


def test_automatic_promotion_ends_its_countdown_by_itself():
    world = deployed(automatic(auto_promotion_seconds=60))
    world.push("2")
    world.settle()
    world.later(seconds=60)
    world.settle()
    assert world.live == "2"


def test_automatic_promotion_is_offered_where_main_refuses_it():
    world = deployed(automatic())
    world.protected = True
    world.push("2")
    world.settle()
    assert (world.live, world.branch) == ("1", "2")


def test_revert_of_the_promotion_moves_traffic_back_at_once_while_the_old_version_is_up():
    world = promoted()
    world.revert_promotion()
    world.step()
    assert world.live == "1"
    assert world.warm_until(1) is None
    world.settle()
    assert world.held == {"2"}
    assert world.branch is None
    assert world.decide().phase is Phase.HELD


def test_revert_scales_an_archived_version_up_and_switches_when_it_is_available():
    world = promoted()
    world.later(seconds=301)
    world.settle()
    world.revert_promotion()
    world.step()
    assert world.live == "2"
    world.settle()
    assert world.live == "1"


def test_revert_rebuilds_a_version_whose_replica_set_is_gone():
    world = promoted()
    world.later(seconds=301)
    world.settle()
    world.delete_replica_set("1")
    world.revert_promotion()
    world.settle()
    assert world.live == "1"


def test_revert_waits_for_no_gate_but_availability():
    world = promoted()
    world.spec = manual(hooks=(Hook("slo", HookType.CONFIRM_PROMOTION, manual=True),))
    world.history_rewritten = "f" * 40
    world.suspend()
    world.revert_promotion()
    world.settle()
    assert world.live == "1"


def test_revert_leaves_the_bad_version_as_preview_until_its_deadline():
    world = promoted()
    world.revert_promotion()
    world.settle()
    assert world.shown == "2"
    world.later(seconds=301)
    world.settle()
    assert (world.shown, world.pods[template("2").digest].replicas) == ("1", 0)


def test_revert_of_the_revert_lifts_the_hold_and_promotes_again():
    world = promoted()
    world.revert_promotion()
    world.settle()
    world.set_primary("2", "revert the revert")
    world.settle()
    assert (world.live, world.held) == ("2", set())


def test_ten_cycles_of_revert_and_promotion():
    world = promoted()
    for _ in range(10):
        world.set_primary("1")
        world.settle()
        assert world.live == "1"
        world.set_primary("2")
        world.settle()
        assert world.live == "2"
    assert world.recorded_moves() == world.moves


def test_promotion_taken_back_before_traffic_moved_is_held():
    world = deployed(manual())
    world.bad_tags.add("2")
    world.push("2")
    world.set_primary("2")
    world.settle()
    assert world.live == "1"
    world.revert_promotion()
    world.settle()
    assert (world.live, world.held, world.branch) == ("1", {"2"}, None)


def test_target_reverted_before_promotion_cancels_the_candidate_and_ends_healthy():
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.push("1")
    world.settle()
    assert (world.live, world.shown, world.branch, world.held) == ("1", "1", None, set())
    assert world.decide().phase is Phase.HEALTHY
    assert "cancelled" in world.events()


def test_target_revert_with_its_marker_rolls_back_now_and_commits_afterwards():
    world = promoted()
    world.revert_target("1")
    world.step()
    assert (world.live, world.primary) == ("1", "2")
    world.settle()
    assert (world.live, world.primary, world.held) == ("1", "1", {"2"})
    assert world.record.override is None


def test_target_revert_is_not_repeated_after_somebody_promotes_again():
    world = promoted()
    world.revert_target("1")
    world.settle()
    world.set_primary("2")
    world.settle()
    assert world.live == "2"


def test_rollback_by_an_operator_is_not_carried_further_by_an_older_target_revert():
    world = promoted()
    brought_2 = world.record.numbered(2).source.commit
    world.push("3")
    world.settle()
    world.merge()
    world.settle()
    world.push("1", reverts=brought_2)
    world.settle()
    world.ask(OperatorCommand.ROLLBACK)
    world.settle()
    assert world.live == "2"


def test_target_revert_shows_diverged_while_main_refuses_the_commit():
    world = promoted()
    world.protected = True
    world.revert_target("1")
    world.settle()
    assert (world.live, world.primary, world.branch) == ("1", "2", "1")
    assert _condition(world, "Diverged")
    world.merge()
    world.settle()
    assert not _condition(world, "Diverged")
    assert [event for event in world.events() if "verged" in event] == ["diverged", "converged"]


def test_old_tag_pushed_again_without_marker_is_only_ever_offered():
    for spec in (manual(), automatic()):
        world = deployed(spec)
        world.push("2")
        world.settle()
        world.merge()
        world.settle()
        world.push("1")
        world.settle()
        assert (world.live, world.branch) == ("2", "1")
        world.merge()
        world.step()
        assert world.live == "1"


def test_reverting_both_is_one_switch():
    world = promoted()
    world.revert_target("1")
    world.revert_promotion()
    world.settle()
    assert (world.live, len(world.moves)) == ("1", 3)
    assert world.recorded_moves() == world.moves


def test_newer_target_supersedes_a_candidate_and_updates_its_promotion():
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.push("3")
    world.settle()
    assert (world.live, world.shown, world.branch) == ("1", "3", "3")
    assert world.pods[template("2").digest].replicas == 3
    world.later(seconds=301)
    world.settle()
    assert world.pods[template("2").digest].replicas == 0
    assert "superseded" in world.events()


def test_candidate_that_primary_names_goes_through_while_a_newer_one_follows():
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.merge()
    world.push("3")
    world.settle()
    assert (world.live, world.shown, world.branch) == ("2", "3", "3")


def test_a_fix_does_not_wait_behind_a_promoted_version_that_never_comes_up():
    world = deployed(manual())
    world.bad_tags.add("2")
    world.push("2")
    world.set_primary("2")
    world.settle()
    world.push("3")
    world.settle()
    world.merge()
    world.settle()
    assert world.live == "3"


def test_bad_candidate_never_touches_live_traffic_and_fails_at_its_deadline():
    world = deployed(automatic())
    world.bad_tags.add("2")
    world.push("2")
    world.settle()
    assert (world.live, world.primary) == ("1", "1")
    world.later(seconds=600)
    world.settle()
    assert (world.live, world.decide().phase) == ("1", Phase.DEGRADED)
    world.bad_tags.clear()
    world.pods_come_up()
    world.settle()
    assert world.live == "2"
    assert [e for e in world.events() if e in ("failed", "recovered")] == ["failed", "recovered"]


def test_new_digest_lifts_a_hold():
    world = promoted()
    world.revert_promotion()
    world.settle()
    world.push("3")
    world.settle()
    assert (world.held, world.branch) == (set(), "3")


@pytest.mark.parametrize("spec", [manual(), automatic()])
def test_a_version_that_was_rolled_back_is_on_hold_again_when_a_newer_target_is_taken_back(spec):
    world = promoted(manual())
    world.revert_promotion()
    world.settle()
    world.spec = spec
    world.bad_tags.add("3")
    world.push("3")
    world.settle()
    world.push("2")
    world.settle()
    assert (world.live, world.held, world.branch) == ("1", {"2"}, None)
    world.retry()
    world.settle()
    assert "2" in (world.branch, world.live)


def test_retry_lifts_a_hold_and_is_a_new_numbered_rollout():
    world = promoted()
    world.revert_promotion()
    world.settle()
    rollout = world.record.numbered(2).rollout
    world.retry()
    world.settle()
    assert (world.held, world.branch) == (set(), "2")
    assert world.record.numbered(2).rollout > rollout


def test_abort_before_promotion_holds_the_candidate_and_withdraws_its_promotion():
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.ask(OperatorCommand.ABORT)
    world.settle()
    assert (world.live, world.held, world.branch) == ("1", {"2"}, None)
    world.later(seconds=31)
    world.settle()
    assert world.pods[template("2").digest].replicas == 0


def test_abort_after_promotion_goes_back_even_with_unready_new_pods():
    world = promoted()
    world.pods_fail("2")
    world.bad_tags.add("2")
    world.ask(OperatorCommand.ABORT)
    world.step()
    assert world.live == "1"
    world.settle()
    assert (world.primary, world.held) == ("1", {"2"})


def test_offline_rollback_moves_traffic_with_git_down_and_commits_when_git_is_back():
    world = promoted()
    world.reachable = False
    world.ask(OperatorCommand.ROLLBACK)
    world.settle()
    assert (world.live, world.primary) == ("1", "2")
    assert _condition(world, "Diverged")
    world.reachable = True
    world.settle()
    assert (world.live, world.primary) == ("1", "1")
    assert world.recorded_moves() == world.moves


def test_offline_rollback_to_a_number():
    world = promoted()
    world.push("3")
    world.settle()
    world.merge()
    world.settle()
    world.ask(OperatorCommand.ROLLBACK, to_version=1)
    world.settle()
    assert (world.live, world.primary) == ("1", "1")


def test_suspend_stops_everything_but_going_back():
    world = promoted()
    world.suspend()
    world.push("3")
    world.settle()
    assert template("3").digest not in world.pods
    assert world.decide().phase is Phase.SUSPENDED
    world.revert_promotion()
    world.settle()
    assert world.live == "1"
    world.resume()
    world.settle()
    assert world.shown == "3"


def test_suspension_ends_by_itself():
    world = deployed(manual())
    world.suspend(until=world.now + timedelta(hours=1))
    world.push("2")
    world.settle()
    assert world.decide().wake_at == world.now + timedelta(hours=1)
    world.later(hours=1)
    world.settle()
    assert world.shown == "2"


def test_rewritten_history_holds_promotions_and_keeps_serving():
    world = deployed(automatic())
    world.history_rewritten = "f" * 40
    world.push("2")
    world.settle()
    assert (world.live, world.shown) == ("1", "2")
    world.history_rewritten = ""
    world.settle()
    assert world.live == "2"


def test_removed_primary_keeps_serving():
    world = promoted()
    world.set_primary(None)
    world.settle()
    assert world.live == "2"


def test_app_that_left_git_keeps_serving_without_deletion_policy():
    world = promoted()
    world.in_git = False
    world.settle()
    assert world.live == "2"
    assert world.events()[-1] == "orphaned"


def test_app_that_left_git_is_deleted_with_deletion_policy_after_its_ledger_is_written():
    world = promoted(replace(manual(), deletion_policy=DeletionPolicy.DELETE))
    world.in_git = False
    while not world.deleted:
        world.step()
    assert world.ledger[-1].event == "deleted"


def test_rebuilt_cluster_serves_the_primary_not_the_newest_target():
    world = deployed(automatic())
    world.push("2")
    world.settle()
    world.spec = manual()
    world.push("3")
    world.settle()
    world.rebuild_cluster()
    world.settle()
    assert (world.live, world.shown) == ("2", "3")
    assert world.record.version(template("2").digest).number == 2


def test_wiped_selector_is_repaired_and_never_promotes():
    world = deployed(manual())
    world.push("2")
    world.settle()
    world.active = ""
    world.settle()
    assert (world.live, len(world.moves)) == ("1", 1)


def test_active_service_pointed_elsewhere_by_hand_is_repaired():
    world = promoted()
    world.active = template("1").digest
    world.settle()
    assert (world.live, len(world.moves)) == ("2", 2)


def test_deleted_live_replica_set_and_service_come_back():
    world = promoted()
    world.delete_replica_set("2")
    world.active = None
    world.settle()
    assert world.live == "2"
    assert world.pods[template("2").digest].available == 3


def test_replicas_reach_the_live_version_without_a_rollout():
    world = promoted()
    world.replicas = 5
    world.settle()
    assert {pods.replicas for pods in world.pods.values()} == {5}
    world.replicas = 2
    world.settle()
    assert world.pods[template("2").digest].replicas == 2
    assert world.live == "2"


def test_preview_replica_count_is_scaled_to_full_before_the_switch():
    world = deployed(manual(preview_replica_count=1))
    world.push("2")
    world.settle()
    assert world.pods[template("2").digest].replicas == 1
    world.merge()
    world.step()
    assert (world.live, world.pods[template("2").digest].replicas) == ("1", 3)
    world.settle()
    assert world.live == "2"


def test_oldest_archived_versions_are_deleted_beyond_the_history_limit():
    world = deployed(replace(automatic(scale_down_delay_seconds=0), revision_history_limit=2))
    for tag in "23456":
        world.push(tag)
        world.settle()
    assert sorted(world.tag(digest) for digest in world.pods) == ["4", "5", "6"]


def test_last_good_version_survives_a_history_limit_of_zero():
    world = deployed(replace(automatic(scale_down_delay_seconds=0), revision_history_limit=0))
    for tag in "234":
        world.push(tag)
        world.settle()
    assert sorted(world.tag(digest) for digest in world.pods) == ["3", "4"]


@pytest.mark.parametrize("limit", [0, 1])
def test_scale_down_delay_revision_limit_keeps_only_the_newest_warm(limit):
    world = deployed(automatic(scale_down_delay_revision_limit=limit))
    for tag in "23":
        world.push(tag)
        world.settle()
    warm = [world.tag(digest) for digest, pods in world.pods.items() if pods.replicas]
    assert warm == ["2", "3"][1 - limit :]


def test_never_keeps_the_old_version_warm_for_ever():
    world = deployed(automatic(scale_down_delay_seconds=None))
    world.push("2")
    world.settle()
    world.later(days=400)
    world.settle()
    assert world.pods[template("1").digest].replicas == 3


def _condition(world: Simulation, kind: str) -> bool:
    return shown(world.decide())[kind] != ABSENT
