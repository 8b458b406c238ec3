"""A remote that refuses a branch: every view shows its message, retries get rarer, and no other branch is affected."""

from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

LEDGERS, OFFERS = "gitops-bg/state/*", "gitops-bg/promote/*"


def busily(agent: Agent, web: App, passes: int) -> None:
    """Everything that could make it push again: polls, passes, new events of the app."""
    for _ in range(passes):
        web.scenario.wake()
        agent.queue.add(web.key)
        web.scenario.wait_idle()


def bring_live(web: App, tag: str) -> None:
    """A promotion that waits for no ledger."""
    web.push_image(tag)
    web.merge_promotion(tag)
    web.wait_live(tag)


def test_a_ledger_that_cannot_be_read_says_so_and_not_what_comes_of_it(
    own_sandbox: SandboxCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pushes are refused, because nobody here knows what they would be put on."""
    with scenario(own_sandbox, tmp_path) as world:
        agent = world.start()
        web = world.app().deploy("v1")
        web.wait_told("deployed")
        why = "the branch cannot be read: it needs more than 128 MiB of memory"
        ledger = agent.repository.settings.state_branch
        monkeypatch.setattr(agent.repository.mirror, "unread", lambda branch: why if branch == ledger else "")
        world.remote.refuse(LEDGERS)
        bring_live(web, "v2")
        eventually(lambda: web.condition("LedgerWritable")["message"] == why, what="the status says why")
        assert web.condition("LedgerWritable")["status"] == "False"


def test_a_ledger_that_is_refused_is_said_and_hardly_tried_and_written_when_it_may_be(world: Scenario) -> None:
    agent = world.start()
    web = world.app().deploy("v1")
    web.wait_told("deployed")
    world.remote.refuse(LEDGERS)
    bring_live(web, "v2")

    condition = web.wait_condition("LedgerWritable", "False")
    assert condition["reason"] == "PushRefused"
    assert "rule 7: robots may not write refs/heads/gitops-bg/state/test" in condition["message"]
    web.wait_phase("Degraded")
    assert "the ledger cannot be written" in web.status["message"]
    assert agent.metrics.registry.get_sample_value("gitops_bg_git_refs_refused", {"kind": "ledger"}) == 1

    busily(agent, web, 20)
    assert len(world.remote.refusals()) <= 5, "each time after twice as long"
    bring_live(web, "v3")  # Traffic and main never wait for it.

    world.remote.unprotect()
    world.advance(600)
    agent.git.try_again()
    web.wait_told("promoted")
    web.wait_condition("LedgerWritable", "Absent")
    web.wait_phase("Healthy")
    assert web.ledger_events().count("promoted") == 2
    assert agent.metrics.registry.get_sample_value("gitops_bg_git_refs_refused", {"kind": "ledger"}) == 0


def test_a_refused_branch_is_tried_again_when_its_time_has_come_without_anybody_asking(web: App) -> None:
    world = web.scenario
    world.remote.refuse(LEDGERS)
    bring_live(web, "v2")
    web.wait_condition("LedgerWritable", "False")
    before = len(world.remote.refusals())

    eventually(lambda: len(world.remote.refusals()) > before, what="it is tried again")

    world.remote.unprotect()
    web.wait_told("promoted")


def test_an_offer_for_which_the_whole_push_is_refused_keeps_no_other_app_and_no_ledger_from_being_written(
    world: Scenario,
) -> None:
    agent = world.start()
    apps = {name: world.app(name).deploy("v1") for name in ("api", "web", "mail")}
    world.remote.refuse(f"gitops-bg/promote/{world.namespace}/web", whole=True)
    files = {f"{app.folder}/target.yaml": app.target_yaml("v2") for app in apps.values()}
    world.publish("v2 of all", files)

    condition = apps["web"].wait_condition("OfferWritable", "False")
    assert f"robots may not write refs/heads/gitops-bg/promote/{world.namespace}/web" in condition["message"]
    apps["web"].wait_phase("Degraded")
    for name in ("api", "mail"):
        apps[name].wait_offered("v2")
        apps[name].wait_phase("AwaitingPromotion")
        assert apps[name].condition("OfferWritable")["status"] == "Absent"
        apps[name].merge_offer()
        apps[name].wait_live("v2")
        apps[name].wait_told("promoted")

    busily(agent, apps["web"], 10)
    assert len(world.remote.refusals()) <= 10
    world.remote.unprotect()
    agent.git.try_again()
    apps["web"].wait_offered("v2")
    apps["web"].wait_phase("AwaitingPromotion")

    world.remote.refuse(f"gitops-bg/promote/{world.namespace}/web")  # Branch by branch; the others are taken.
    world.publish("v3 of all", {f"{app.folder}/target.yaml": app.target_yaml("v3") for app in apps.values()})
    apps["web"].wait_condition("OfferWritable", "False")
    for name in ("api", "mail"):
        apps[name].wait_offered("v3")
        apps[name].wait_phase("AwaitingPromotion")
        assert apps[name].condition("OfferWritable")["status"] == "Absent"


def test_an_offer_that_nobody_wants_any_more_is_no_trouble_any_more(web: App) -> None:
    world = web.scenario
    world.remote.refuse(OFFERS)
    web.push_image("v2")
    web.wait_condition("OfferWritable", "False")

    web.push_image("v1")

    web.wait_condition("OfferWritable", "Absent")
    web.wait_phase("Healthy")
