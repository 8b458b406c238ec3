"""A suspended app stops everything except rollbacks, with a reason and an end (DESIGN §4)."""

from tests.support.scenario import App


def test_suspended_app_does_not_carry_out_a_merged_promotion_until_it_is_resumed(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.spec["suspend"] = {"reason": "incident"}
    web.configure()
    web.wait_phase("Suspended")
    web.merge_offer()
    web.scenario.wait_idle()
    assert web.live_tag() == "v1"

    del web.spec["suspend"]
    web.configure()

    web.wait_live("v2")
    web.wait_told("resumed")
