"""A suspended app stops everything except rollbacks, with a reason and an end (DESIGN §4)."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.support.scenario import App, Scenario


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


@pytest.fixture
def merged(world: Scenario) -> App:
    """An app with two active Services that serves v1; the merged promotion of v2 waits for the end of a suspension."""
    world.start()
    app = world.app()
    app.strategy |= {"activeService": None, "activeServices": ["web", "web-admin"]}
    app.deploy("v1")
    app.push_image("v2")
    app.wait_offered("v2")
    app.spec["suspend"] = {"reason": "incident"}
    app.configure()
    app.wait_phase("Suspended")
    app.merge_offer()
    world.settle()
    return app


def without_web_admin(app: App) -> None:
    app.scenario.cluster.request("DELETE", f"/api/v1/namespaces/{app.key.namespace}/services/web-admin")


def renamed(app: App) -> None:
    app.strategy |= {"activeServices": ["shop", "shop-admin"]}
    app.configure()


@pytest.mark.parametrize("happens", [without_web_admin, renamed])
def test_suspended_app_stays_where_it_is_though_its_record_is_lost(merged: App, happens: Callable[[App], None]) -> None:
    """Found so: while not every active Service showed one version, it counted as never deployed, and v2 went live."""
    happens(merged)
    merged.scenario.settle()

    merged.delete_object()
    merged.scenario.settle()
    merged.scenario.advance(61)
    merged.scenario.settle()

    assert merged.live_tag() == "v1"
    assert merged.phase() == "Suspended"
    assert merged.ledger_events().count("deployed") == 1
