"""Argo Rollouts, bluegreen_test.go: deadlines, pauses and the size of the preview.

`autoPromotionEnabled: false` is a pause there; here it is an offer that somebody merges (`merge_offer`).
"""

from tests.conformance.counting import wait_counts
from tests.conformance.steps import come_up, promote_full
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings


def _late_first_deployment(world: Scenario, **strategy: object) -> App:
    """An app whose first pods needed longer than its deadline: Degraded, then Healthy."""
    world.start()
    web = world.app()
    web.strategy |= strategy
    web.spec["progressDeadlineSeconds"] = 60
    web.add("bad-1")
    web.wait_phase("Deploying")
    world.advance(61)
    web.wait_phase("Degraded")
    come_up(web, "bad-1")
    web.wait_live("bad-1")
    web.wait_phase("Healthy")
    return web


def test_argo_02_progress_deadline_exceeded_with_pause(world: Scenario) -> None:
    """Pods later than the deadline: first Degraded, then Healthy; an update Degraded, paused, promoted, Healthy."""
    web = _late_first_deployment(world)
    web.push_image("bad-2")
    web.wait_phase("Progressing")
    world.advance(61)
    web.wait_phase("Degraded")
    assert "ProgressDeadlineExceeded" in web.condition("Healthy")["message"]
    wait_counts(web, 2, 4, 2, 2, 2)

    come_up(web, "bad-2")
    web.wait_phase("AwaitingPromotion")
    assert web.live_tag() == "bad-1"
    web.merge_promotion("bad-2")
    web.wait_phase("Healthy")
    assert web.live_tag() == "bad-2"
    web.wait_told("promoted")
    assert [event for event in web.ledger_events() if event in {"failed", "recovered"}] == ["failed", "recovered"] * 2


def test_argo_03_progress_deadline_exceeded_without_pause(world: Scenario) -> None:
    """The same with automatic promotion: Degraded, then Healthy with the new version live, and nobody has to act."""
    web = _late_first_deployment(world, autoPromotionEnabled=True)
    web.push_image("bad-2")
    web.wait_phase("Progressing")
    world.advance(61)
    web.wait_phase("Degraded")
    come_up(web, "bad-2")
    web.wait_phase("Healthy")
    assert web.live_tag() == "bad-2"
    wait_counts(web, 2, 4, 2, 2, 2)


def test_argo_04_preview_replica_count_until_the_promotion_then_full_size_before_traffic_moves(world: Scenario) -> None:
    """With `previewReplicaCount: 1` of 2: (2,3,1,2,2) while it waits, full size before the switch, (2,4,2,2,2) after.

    The version that serves keeps both its pods throughout.
    """
    web = _previewed(world)
    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("v2")
        web.wait_offered("v2")
        web.wait_phase("AwaitingPromotion")
        wait_counts(web, 2, 3, 1, 2, 2)
        assert {tag: version.replicas for tag, version in web.versions().items()} == {"v1": 2, "v2": 1}
        assert (web.live_tag(), web.preview_tag()) == ("v1", "v2")

        web.merge_offer()
        web.wait_phase("Healthy")
        wait_counts(web, 2, 4, 2, 2, 2)
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(2, 2)]
    seen.assert_traffic_was_safe("web")


def test_argo_05_preview_replica_count_and_promote_full(world: Scenario) -> None:
    """Waiting longer than the progress deadline is not Degraded, (2,3,1,2,2); promoted in full, Healthy (2,4,2,2,2)."""
    web = _previewed(world, progressDeadlineSeconds=1)
    web.push_image("v2")
    web.wait_offered("v2")
    wait_counts(web, 2, 3, 1, 2, 2)
    world.advance(60)
    world.wait_idle()
    assert web.phase() == "AwaitingPromotion"
    assert "failed" not in web.ledger_events()

    promote_full(web)
    wait_counts(web, 2, 4, 2, 2, 2)
    assert web.live_tag() == "v1"
    web.merge_promotion("v2")
    web.wait_phase("Healthy")
    assert web.live_tag() == "v2"
    wait_counts(web, 2, 4, 2, 2, 2)


def _previewed(world: Scenario, **spec: object) -> App:
    world.start()
    web = world.app()
    web.strategy |= {"previewReplicaCount": 1}
    web.spec |= spec
    return web.deploy("v1")
