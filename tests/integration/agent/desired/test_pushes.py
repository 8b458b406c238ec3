"""What pushes and merges do: preview, promotion, a newer target on the way, a target set back (DESIGN §4)."""

import threading

import pytest
import yaml

from gitops_bg.repo.read.polling import Poll
from tests.support.scenario import App, Scenario
from tests.support.sightings import Sightings
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


def test_target_set_back_by_hand_cancels_the_candidate(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.push_image("v1", "never mind")

    web.wait_phase("Healthy")
    web.wait_told("cancelled")
    web.wait(lambda: not web.offered(), "the offer is gone")
    assert web.preview_tag() == "v1"


def test_automatic_promotion_commits_first_and_moves_traffic_then(web: App) -> None:
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.push_image("v2")
        web.wait_primary("v2")
        web.wait_live("v2")
        web.wait_told("promoted")
    assert len(seen.moves("web")) == 1
    (commit, *_) = web.scenario.remote.log()
    assert commit.author == "gitops-bg"
    assert not web.offered()


def test_fifty_pushes_in_one_go_end_with_the_newest_live(web: App) -> None:
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    world = web.scenario
    world.pull()
    for number in range(50):
        world.remote.write(f"{web.folder}/target.yaml", web.target_yaml(f"v1.{number}"))
        world.remote.commit(f"web v1.{number}")
    world.push()

    web.wait_live("v1.49")
    web.wait_told("promoted")
    assert web.ledger_events().count("promoted") == 1


@pytest.mark.slow
def test_many_apps_changed_in_one_commit_are_all_switched(world: Scenario) -> None:
    world.start()
    apps = [world.app(f"app-{number}") for number in range(12)]
    for app in apps:
        app.strategy["autoPromotionEnabled"] = True
    world.publish("Add all", {f"{app.folder}/app.yaml": app.app_yaml() for app in apps})
    world.publish("Deploy all", {f"{app.folder}/target.yaml": app.target_yaml("v1") for app in apps})
    for app in apps:
        app.wait_primary("v1")

    world.publish("Change all", {f"{app.folder}/target.yaml": app.target_yaml("v2") for app in apps})

    for app in apps:
        app.wait_live("v2")
        app.wait_told("promoted")
        assert app.ledger_events().count("promoted") == 1


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
