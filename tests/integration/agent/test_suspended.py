"""A suspended app stops everything except rollbacks, with a reason and an end (DESIGN §4)."""

from datetime import timedelta

import pytest

from tests.support.scenario import App


@pytest.fixture
def suspended(web: App) -> App:
    web.spec["suspend"] = {"reason": "incident 42", "by": "ada"}
    web.configure()
    web.wait_phase("Suspended")
    web.wait_told("suspended")
    return web


def test_suspended_app_brings_no_candidate_up_and_says_why(suspended: App) -> None:
    suspended.push_image("v2")
    suspended.scenario.wait_idle()

    assert set(suspended.versions()) == {"v1"}
    assert not suspended.offered()
    assert suspended.condition("Suspended")["message"] == "ada: incident 42"
    entry = suspended.ledger()[-1]
    assert (entry["Event"], entry["By"], entry["Reason"]) == ("suspended", "ada", "incident 42")


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


def test_suspended_app_still_goes_back(web: App) -> None:
    promotion = web.promote("v2")
    web.spec["suspend"] = {"reason": "incident"}
    web.configure()
    web.wait_phase("Suspended")

    web.revert(promotion)

    web.wait_live("v1")


def test_suspension_ends_by_itself_at_its_time(web: App) -> None:
    until = web.scenario.clock() + timedelta(seconds=600)
    web.spec["suspend"] = {"reason": "incident", "until": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
    web.configure()
    web.wait_phase("Suspended")
    web.push_image("v2")
    web.scenario.wait_idle()
    assert "v2" not in web.versions()

    web.scenario.advance(601)

    web.wait_offered("v2")
    web.wait_told("resumed")
