"""No rollback goes to a version that was bad: with real Git, on both clusters (decision 16)."""

from tests.fixtures.repos.texts import policy
from tests.integration.agent.test_policies import CLOSED, publish, wait_shut
from tests.support.scenario import App
from tests.support.sightings import Sightings


def test_revert_of_a_push_never_leads_to_a_version_that_was_rolled_back_as_bad(web: App) -> None:
    """A newer push lifted the hold on v2; the revert of that push names v2 again, and traffic stays with v3."""
    web.revert(web.promote("v2"))
    web.wait_live("v1")
    web.wait_phase("Held")
    pushed = web.push_image("v3")
    web.merge_promotion("v3")
    web.wait_live("v3")
    web.wait_told("promoted", times=2)

    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.revert(pushed)
        web.wait_phase("Held")
        web.scenario.wait_idle()

    assert seen.moves("web") == []
    assert web.live_tag() == "v3"
    assert [hold.digest for hold in web.record.holds] == [web.digest("v2")]
    assert not web.offered()


def test_a_primary_that_names_a_version_that_was_bad_is_a_promotion_through_every_gate(web: App) -> None:
    promoted = web.promote("v2")
    web.revert(promoted)
    web.wait_live("v1")
    web.push_image("v3")
    web.merge_promotion("v3")
    web.wait_live("v3")
    web.wait_told("promoted", times=2)
    publish(web, "Stop the line", policies__freeze=policy("freeze", CLOSED))
    primary = f"{web.folder}/primary.yaml"
    web.scenario.publish("Back to v2", {primary: web.scenario.remote.show(promoted, primary)})
    wait_shut(web, "INC-4711")
    web.scenario.wait_idle()
    assert web.live_tag() == "v3", "nothing moves at once"
    publish(web, "Go on", policies__freeze=None)
    web.wait_live("v2")
    web.wait_told("promoted", times=3)
