"""What the end-to-end tests of Argo Rollouts leave out (argo-rollouts.md §7)."""

import pytest

from gitops_bg.core import names
from tests.conformance.counting import wait_counts
from tests.conformance.steps import abort, resume, sizes, suspend, wait_sizes
from tests.support.cluster.paths import replica_sets, services
from tests.support.manifests import replica_set
from tests.support.scenario import App
from tests.support.sightings import Sightings


def test_argo_gap_selector_wiped_between_decision_and_switch_moves_traffic_once(web: App) -> None:
    """While the agent is away the promotion is merged and the selector wiped: one promotion, v1 stays warm."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_told()
    world.stop()
    web.merge_offer()
    wiped = {"spec": {"selector": {"app": "web", names.APP: None, names.DIGEST: None}}}
    world.cluster.patch(f"{services(world.namespace)}/web", wiped)

    world.start()

    web.wait_live("v2")
    web.wait_told("promoted")
    assert web.ledger_events().count("promoted") == 1
    wait_counts(web, 2, 4, 2, 2, 2)


def test_argo_gap_scale_down_delay_0_means_now(web: App) -> None:
    """With 0 the old version goes once the endpoints are the new pods: (2,2,2,2,2), quiet then."""
    world = web.scenario
    web.strategy |= {"scaleDownDelaySeconds": 0}
    web.configure()
    with Sightings(world.cluster, world.namespace) as seen:
        web.promote("v2")
        wait_sizes(web, v1=0, v2=2)
    seen.assert_traffic_was_safe("web")
    wait_counts(web, 2, 2, 2, 2, 2)
    world.settle()
    before = world.writes()
    world.advance(1)
    world.wait_idle()
    assert world.writes() == before


def test_argo_gap_replicas_before_promotion_argo_gap_replicas_after_promotion_reach_both_versions(web: App) -> None:
    """2 become 3 while the candidate waits: (3,6,3,3,3), still waiting; the merge then moves traffic to all 3.

    3 become 4 right after the switch: (4,8,4,4,4), so that the way back is one switch to as many pods.
    """
    web.push_image("v2")
    web.wait_offered("v2")
    rollout = web.record.rollout
    web.replicas = 3
    web.push_image("v2", "three of them")
    wait_counts(web, 3, 6, 3, 3, 3)
    web.wait_phase("AwaitingPromotion")
    assert (web.live_tag(), web.record.rollout) == ("v1", rollout)
    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        promotion = web.merge_offer()
        web.wait_live("v2")
        web.wait_told("promoted")
        web.replicas = 4
        web.push_image("v2", "four of them")
        wait_counts(web, 4, 8, 4, 4, 4)
        web.revert(promotion)
        web.wait_live("v1")
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(3, 3), (4, 4)]


def test_argo_gap_replicas_during_abort_reach_live_traffic_alone(web: App) -> None:
    """2 become 3 while an aborted candidate waits for its end: v1 gets 3, it keeps 2, and then 0: (3,3,0,3,3)."""
    web.push_image("v2")
    web.wait_offered("v2")
    abort(web)
    web.wait_phase("Held")
    web.replicas = 3
    web.push_image("v2", "three of them")
    wait_sizes(web, v1=3, v2=2)
    web.scenario.advance(31)
    wait_counts(web, 3, 3, 0, 3, 3)
    assert web.phase() == "Held"


@pytest.mark.parametrize("now", [1, 4])
def test_argo_gap_rollback_at_new_size_goes_no_gated_way(web: App, now: int) -> None:
    """Replicas change and the promotion is reverted in one push: back at once, to no fewer pods than served."""
    world = web.scenario
    promotion = web.promote("v2")
    web.replicas = now
    world.pull()
    world.remote.write(f"{web.folder}/target.yaml", web.target_yaml("v2"))
    world.remote.commit("another size")
    with Sightings(world.cluster, world.namespace) as seen:
        web.revert(promotion)
        web.wait_live("v1")
        web.wait_told("rolled-back")
        wait_sizes(web, v1=now, v2=max(now, 1))
    (move,) = seen.moves("web")
    assert move.available_there >= move.available_at_origin > 0


def test_argo_gap_suspend_and_abort_after_the_cutover_go_back(web: App) -> None:
    """Suspended with v2 live: an abort moves traffic back to v1; nothing else moves until the suspension ends."""
    world = web.scenario
    web.promote("v2")
    suspend(web)
    abort(web)
    web.wait_live("v1")
    web.wait_told("rolled-back")
    world.advance(301)
    world.wait_idle()
    assert sizes(web) == {"v1": 2, "v2": 2}
    resume(web)
    web.wait_phase("Held")
    world.advance(301)
    wait_sizes(web, v1=2, v2=0)


def test_argo_gap_name_collision_is_a_conflict_that_says_whose_it_is_and_ends_with_it(web: App) -> None:
    """The name of the next ReplicaSet is taken: Conflict names it, v1 serves; when it is gone, the update goes on."""
    world = web.scenario
    taken = names.replica_set_name(web.key, 2, web.digest("v2"))
    world.cluster.apply(replica_set(world.namespace, taken, image="registry.example/theirs:v9"), manager="them")
    web.push_image("v2")
    conflict = web.wait_condition("Conflict")
    assert taken in conflict["message"]
    assert web.live_tag() == "v1"

    world.cluster.delete(f"{replica_sets(world.namespace)}/{taken}")
    web.wait_condition("Conflict", "Absent")
    web.merge_promotion("v2")
    web.wait_live("v2")


def test_argo_gap_promote_while_pushed_promotes_what_was_merged(web: App) -> None:
    """The merge of v2 and the push of v3 reach the agent at once: v2 goes live, v3 is the next candidate, not live."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    world.stop()
    web.merge_offer()
    web.push_image("v3")
    world.start()

    web.wait_live("v2")
    web.wait_offered("v3")
    web.wait_told("promoted")
    assert web.primary_digest() == web.digest("v2")
    assert web.ledger()[[*web.ledger_events()].index("promoted")]["To"].endswith(web.digest("v2"))
    assert "superseded" not in web.ledger_events()


@pytest.mark.parametrize("merged", [False, True], ids=["before the merge", "after the merge"])
def test_argo_gap_service_recreated_in_mid_update_comes_back_to_the_version_on_record(web: App, merged: bool) -> None:
    """The active Service is deleted in mid-update: it is there again for v1, and the promotion ends as one switch."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_told()
    world.stop()
    if merged:
        web.merge_offer()
    world.cluster.delete(f"{services(world.namespace)}/web")
    world.start()
    if not merged:
        web.wait_live("v1")
        web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")
    assert web.ledger_events().count("promoted") == 1
    wait_counts(web, 2, 4, 2, 2, 2)
