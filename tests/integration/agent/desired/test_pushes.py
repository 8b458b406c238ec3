"""What pushes and merges do: preview, promotion, a newer target on the way, a target set back (DESIGN §4)."""

import threading

import pytest
import yaml

from gitops_bg.repo.read.polling import Poll
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually


def test_first_deployment_waits_for_nobody_and_commits_what_serves(world: Scenario) -> None:
    world.start()
    web = world.app()
    added = web.add("v1")

    web.wait_live("v1")
    web.wait_primary("v1")
    primary = yaml.safe_load(world.remote.show("main", f"{web.folder}/primary.yaml") or "")
    assert (primary["version"], primary["source"]["commit"]) == (1, added)
    assert primary["template"] == web.pod_template("v1")
    assert "Bg-Event: deployed" in world.remote.message()
    web.wait_told("deployed")


def test_push_of_a_tag_brings_a_preview_and_an_offer_and_leaves_traffic_alone(web: App) -> None:
    pushed = web.push_image("v2")

    web.wait_offered("v2")
    web.wait_preview("v2")
    web.wait_phase("AwaitingPromotion")
    assert web.live_tag() == "v1"
    assert web.versions()["v2"].color == "green"
    assert web.primary_digest() == web.digest("v1")
    message = web.scenario.remote.message(web.promotion_branch)
    assert f"Bg-Source-Commit: {pushed}" in message
    changed = web.scenario.remote.run(
        "diff", "--name-only", f"main...{web.promotion_branch}", cwd=web.scenario.remote.bare
    )
    assert changed.split() == [f"{web.folder}/primary.yaml"]


def test_merge_of_the_offer_moves_traffic_removes_the_branch_and_is_told_with_who_merged(web: App) -> None:
    web.push_image("v2")
    merged = web.merge_promotion("v2")

    web.wait_live("v2")
    web.wait(lambda: not web.offered(), "the branch is gone")
    web.wait_phase("Healthy")
    web.wait_told("promoted")
    promoted = web.ledger()[-1]
    assert (promoted["From"], promoted["To"]) == (f"v1 {web.digest('v1')}", f"v2 {web.digest('v2')}")
    assert promoted["Commit"] == merged
    assert promoted["By"].startswith(web.scenario.remote.log(merged)[0].author)


def test_what_is_promoted_is_what_was_checked_even_if_the_target_moved_on(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    world = web.scenario
    world.stop()
    web.push_image("v3")
    web.merge_offer()
    world.start()

    web.wait_live("v2")
    web.wait_offered("v3")
    assert web.ledger_events().count("promoted") <= 1
    web.merge_offer()
    web.wait_live("v3")
    web.wait_told("promoted", times=2)


def test_newer_target_supersedes_a_candidate_and_updates_the_offer_in_place(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.push_image("v3")

    web.wait_offered("v3")
    web.wait_told("superseded")
    assert web.versions()["v2"].available == 2, "its pods keep their delay"
    bare = web.scenario.remote.bare
    ahead = web.scenario.remote.run("rev-list", "--count", f"main..{web.promotion_branch}", cwd=bare)
    assert ahead == "1"
    web.scenario.advance(301)
    web.wait(lambda: web.versions()["v2"].replicas == 0, "v2 is archived")
    assert web.live_tag() == "v1"


def test_a_flood_of_webhooks_is_one_poll_at_a_time_and_each_is_followed_by_one(
    world: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = world.start()
    world.app().deploy("v1")
    world.wait_idle()
    sound, may_end, polls = agent.repository.poll, threading.Event(), list[str]()

    def slow() -> Poll:
        polls.append(threading.current_thread().name)
        assert may_end.wait(20)
        return sound()

    monkeypatch.setattr(agent.repository, "poll", slow)
    agent.wake("the first webhook")
    eventually(lambda: polls, what="a poll runs")
    for _ in range(100):
        agent.wake("one of many")
    assert len(polls) == 1
    may_end.set()
    world.wait_idle()
    assert polls == ["git", "git"], "one more, which began after the last webhook"
