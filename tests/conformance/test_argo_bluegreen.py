"""Argo Rollouts, bluegreen_test.go: deadlines, pauses and the size of the preview.

`autoPromotionEnabled: false` is a pause there; here it is an offer that somebody merges (`merge_promotion`).
"""

from tests.conformance.counting import counts, wait_counts
from tests.support.scenario import Scenario
from tests.support.sightings import Sightings


def test_argo_04_preview_replica_count_until_the_promotion_then_full_size_before_traffic_moves(world: Scenario) -> None:
    """With `previewReplicaCount: 1` of 2: (2,3,1,2,2) while it waits, full size before the switch, (2,4,2,2,2) after.

    The version that serves keeps both its pods throughout.
    """
    world.start()
    web = world.app()
    web.strategy |= {"previewReplicaCount": 1}
    web.deploy("v1")
    with Sightings(world.cluster, world.namespace) as seen:
        web.push_image("v2")
        web.wait_offered("v2")
        web.wait_phase("AwaitingPromotion")
        wait_counts(web, 2, 3, 1, 2, 2)
        assert {tag: version.replicas for tag, version in web.versions().items()} == {"v1": 2, "v2": 1}
        assert (web.live_tag(), web.preview_tag()) == ("v1", "v2")

        web.merge_offer()
        web.wait_phase("Healthy")
        assert counts(web) == (2, 4, 2, 2, 2)
    assert [(move.available_at_origin, move.available_there) for move in seen.moves("web")] == [(2, 2)]
    seen.assert_traffic_was_safe("web")
