"""Where main refuses the agent's pushes, it offers the same commit and says so (DESIGN §4.5, §4.6)."""

from datetime import UTC, datetime

import pytest

from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.support.scenario import App, Scenario


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web` in a remote whose main takes only merges; its v1 serves and is merged."""
    world.remote.protect()
    world.start()
    web = world.app()
    web.deploy_by_merge("v1")
    return web


def test_first_deployment_serves_and_is_offered(world: Scenario) -> None:
    world.remote.protect()
    world.start()
    web = world.app()
    web.add("v1")

    web.wait_live("v1")
    web.wait_offered("v1")
    assert web.primary_digest() == ""

    web.merge_offer()
    web.wait(lambda: not web.offered(), "the branch is gone")
    web.wait_phase("Healthy")
    web.wait_told("deployed")


def test_automatic_promotion_is_offered_once_with_the_reason(web: App) -> None:
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_image("v2")

    web.wait_offered("v2")
    web.wait(lambda: "main refuses" in web.status["message"], "the gate says why")
    assert web.live_tag() == "v1"
    web.scenario.wait_idle()
    before = web.scenario.remote.head(web.promotion_branch)
    for _ in range(3):
        web.scenario.wake()
        web.scenario.advance(60)
        web.scenario.wait_idle()
    assert web.scenario.remote.head(web.promotion_branch) == before, "it is not written again and again"

    web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")


def test_emergency_rollback_moves_traffic_and_shows_diverged_until_it_is_merged(web: App) -> None:
    web.promote("v2")

    web.ask(Request("1", OperatorCommand.ROLLBACK, "ada", datetime.now(UTC), "5xx"))

    web.wait_live("v1")
    web.wait_offered("v1")
    web.wait_told("diverged")
    assert web.wait_condition("Diverged")["reason"] == "MainRefusesCommit"
    assert web.primary_digest() == web.digest("v2")

    web.merge_offer()
    web.wait_condition("Diverged", "Absent")
    web.wait_told("converged")
    assert web.live_tag() == "v1"
    assert web.ledger_events().count("rolled-back") == 1
