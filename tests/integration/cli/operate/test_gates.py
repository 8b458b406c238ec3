"""`gate open|close|status`: who opened which manual gate, when and why; by the agent, or without one."""

from __future__ import annotations

import pytest

from tests.documentation.commands.shown import demand_as_shown
from tests.integration.cli.conftest import Cli
from tests.support.groups import Store
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

ALONE = ("--grace", "0s")
START, RELEASE = {"name": "start", "type": "confirm-rollout"}, {"name": "release", "type": "confirm-promotion"}


@pytest.fixture
def gated(web: App) -> App:
    """v2 waits for its gate."""
    web.strategy |= {"autoPromotionEnabled": True, "webhooks": [RELEASE]}
    web.configure()
    web.push_image("v2")
    web.wait_condition("HooksPassed", "False")
    return web


def test_a_gate_is_closed_until_it_is_opened_and_the_ledger_says_by_whom_and_why(cli: Cli, gated: App) -> None:
    """As the page shows; and one that is as wanted already is left alone."""
    key, ada = str(gated.key), ("--author", "Ada <ada@example.com>")
    assert f"gitops-bg gate open {key} release" in cli("explain", key)
    assert gated.live_tag() == "v1"
    answer = cli.json("gate", "close", key)
    assert (answer["open"], answer["changed"]) == (False, False)
    assert "gate release (confirm-promotion) is closed already" in cli("gate", "close", key)

    told = cli("gate", "open", key, "release", "--reason", "tested by QA", *ada)

    command = "gitops-bg gate open shop/web release --reason 'tested by QA'"
    demand_as_shown("docs/features/hooks.md", command, told, shop_web=gated.key)
    gated.wait_live("v2")
    gated.wait_told("gate-opened")
    (entry,) = [entry for entry in gated.ledger() if entry["Event"] == "gate-opened"]
    assert (entry["By"], entry["Reason"]) == ("Ada <ada@example.com>", "release: tested by QA")
    (shown,) = cli.json("gate", "status", key)["gates"]
    assert (shown["gate"], shown["type"], shown["open"], shown["reason"]) == (
        "release",
        "confirm-promotion",
        True,
        "tested by QA",
    )
    assert "is open, by" in cli("gate", "status", key)

    answer = cli.json("gate", "open", key, *ada)
    assert (answer["gate"], answer["open"], answer["by"], answer["changed"]) == (
        "release",
        True,
        "Ada <ada@example.com>",
        False,
    )
    again = cli("gate", "open", key, "--author", "Bob <bob@example.com>")
    assert "gate release (confirm-promotion) is open already, by Ada <ada@example.com>" in again
    gated.scenario.wait_idle()
    assert gated.ledger_events().count("gate-opened") == 1


def test_a_promotion_says_which_gate_traffic_still_waits_for(cli: Cli, web: App) -> None:
    web.strategy |= {"webhooks": [RELEASE]}
    web.configure()
    web.push_image("v2")
    web.wait_condition("HooksPassed", "False")
    closed = f"manual gate release is closed; `gitops-bg gate open {web.key} release` opens it"

    shown = cli("promote", str(web.key))
    assert f"traffic waits: {closed}" in " ".join(shown.split())
    assert cli.json("promote", str(web.key))["waitsFor"] == [closed]

    cli("gate", "open", str(web.key))
    web.wait_live("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    assert cli.json("promote", str(web.key))["waitsFor"] == []


def test_a_gate_survives_restarts_and_holds_again_once_it_is_closed(cli: Cli, gated: App) -> None:
    answer = cli.json("gate", "open", str(gated.key))
    assert (answer["open"], answer["changed"]) == (True, True)
    gated.wait_live("v2")
    gated.scenario.restart()
    gated.push_image("v3")
    gated.wait_live("v3")

    cli("gate", "close", str(gated.key), "--reason", "freeze")

    gated.push_image("v4")
    gated.wait(lambda: "v4" in gated.versions() and gated.phase() == "AwaitingPromotion", "v4 waits")
    assert gated.live_tag() == "v3"
    gated.wait_told("gate-closed")


def test_a_gate_is_opened_without_an_agent_and_git(cli: Cli, gated: App) -> None:
    gated.scenario.stop()
    assert cli.json("gate", "open", str(gated.key), *ALONE)["byAgent"] is False
    assert "is open" in cli("gate", "status", str(gated.key))
    gated.scenario.start()
    gated.wait_live("v2")
    gated.wait_told("gate-opened")


def test_one_of_several_gates_is_named_and_an_app_without_says_so(cli: Cli, web: App) -> None:
    assert "has no manual gate" in cli("gate", "status", str(web.key))
    assert "has no manual gate" in cli("gate", "open", str(web.key), code=5)
    web.strategy |= {"webhooks": [START, RELEASE]}
    web.configure()
    web.scenario.wait_idle()
    assert "say which one: start, release" in cli("gate", "open", str(web.key), code=5)
    assert "has no gate stat; it has: start, release" in cli("gate", "open", str(web.key), "stat", code=5)
    _explain_advises_nothing_about_pods_that_are_not_wanted_yet(cli, web)
    assert "gate start (confirm-rollout) is open" in cli("gate", "open", str(web.key), "start")
    assert "gate release (confirm-promotion) is closed" in cli("gate", "status", str(web.key))


def _explain_advises_nothing_about_pods_that_are_not_wanted_yet(cli: Cli, web: App) -> None:
    web.push_image("v2")
    web.wait_phase("Waiting")
    gates = {gate["kind"]: gate for gate in cli.json("explain", str(web.key))["gates"]}
    assert gates["availability"]["open"] is False
    assert (gates["availability"]["advice"], gates["availability"]["counts"]) == ("", "")
    assert f"gitops-bg gate open {web.key} start" in cli("explain", str(web.key))


def test_the_same_verb_opens_the_gate_of_a_release_group(cli: Cli, world: Scenario) -> None:
    """Its agent carries it out at once: nobody waits for the next look at main."""
    store = Store(world)
    store.begin()
    store.spec["webhooks"] = [RELEASE]
    store.activate("v2")
    name, ada = f"{world.namespace}/store", ("--author", "Ada <ada@example.com>")
    closed = f"manual gate release is closed; `gitops-bg gate open {name} release` opens it"
    eventually(lambda: closed in [gate["reason"] for gate in store.shut_gates()], what="the gate is shown")
    assert closed in " ".join(cli("explain", name).split())
    assert cli.json("gate", "status", name)["gates"][0]["open"] is False

    opened = cli.json("gate", "open", name, "--reason", "tested by QA", *ada)

    assert (opened["group"], opened["gate"], opened["open"], opened["byAgent"]) == (name, "release", True, True)
    store.wait("v1L v2A")
    store.wait_for_ledger("gate-opened")
    assert "is open already, by Ada <ada@example.com>" in cli("gate", "open", name, *ada)
    assert "gate release (confirm-promotion) is closed" in cli("gate", "close", name)
    assert f"{name} has no gate approval; it has: release" in cli("gate", "open", name, "approval", code=5)
    assert "there is no app nobody" in cli("gate", "open", "nobody", code=5)


def test_where_no_agent_answers_the_request_about_a_group_waits_for_one(cli: Cli, world: Scenario) -> None:
    store = Store(world)
    store.begin()
    store.spec["webhooks"] = [RELEASE]
    store.activate("v2")
    name = f"{world.namespace}/store"
    eventually(store.shut_gates, what="it waits")
    world.stop()
    assert "no agent answered within" in cli("gate", "open", name, *ALONE, code=1)
    world.start()
    store.wait("v1L v2A")
