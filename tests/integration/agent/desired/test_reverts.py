"""What a revert does, in every situation of the action table (gitops.md §3, DESIGN §4.5)."""

import threading

import pytest

from gitops_bg.core.model.statements import Hold
from gitops_bg.repo.write.push import Pusher, Update
from tests.support.cluster.paths import replica_sets
from tests.support.scenario import App
from tests.support.sightings import Sightings
from tests.support.waiting import eventually


def _still_up(web: App) -> None:
    assert web.versions()["v1"].available == 2


def _gone(web: App) -> None:
    """Archived, and the ReplicaSet deleted by hand; the agent looks away meanwhile."""
    world = web.scenario
    world.advance(301)
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 is archived")
    world.cluster.delete(f"{replica_sets(world.namespace)}/{web.versions()['v1'].name}")
    web.wait(lambda: "v1" not in web.versions(), "v1 is gone")


@pytest.mark.parametrize("situation", [_still_up, _gone], ids=lambda situation: situation.__name__.strip("_"))
def test_revert_of_the_promotion_moves_traffic_back(web: App, situation) -> None:
    promotion = web.promote("v2")
    situation(web)

    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.revert(promotion)
        web.wait_live("v1")
        web.wait_told("rolled-back")

    seen.assert_traffic_was_safe("web")
    assert [hold.digest for hold in web.record.holds] == [web.digest("v2")]
    web.wait_phase("Held")
    assert not web.offered(), "what was rolled back is not offered again"
    assert web.versions()["v2"].available == 2, "it stays for debugging"
    assert web.ledger_events()[-2:] == ["held", "rolled-back"]


def test_revert_of_the_target_before_promotion_withdraws_the_candidate(web: App) -> None:
    pushed = web.push_image("v2")
    web.wait_offered("v2")

    web.revert(pushed)

    web.wait(lambda: not web.offered(), "the promotion branch is gone")
    web.wait_phase("Healthy")
    web.wait_told("cancelled")
    assert web.live_tag() == web.preview_tag() == "v1"
    assert "promoted" not in web.ledger_events()


def test_revert_of_the_target_of_the_active_version_switches_now_and_commits_afterwards(web: App) -> None:
    pushed = web.push_image("v2")
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told("promoted")

    web.revert(pushed)

    web.wait_live("v1")
    web.wait_primary("v1")
    web.wait_told("rolled-back")
    web.wait_condition("Diverged", "Absent")
    web.wait_phase("Healthy")
    message = web.scenario.remote.message()
    assert "Bg-Event: rolled-back" in message
    assert pushed[:10] in message or "reverts the target commit" in message


def test_old_tag_pushed_again_without_a_marker_is_only_offered(web: App) -> None:
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_image("v2")
    web.wait_live("v2")
    web.wait_told("promoted")

    web.push_image("v1", "slow CI pushes v1 again")

    web.wait_offered("v1")
    web.scenario.wait_idle()
    assert web.live_tag() == "v2"
    web.merge_offer()
    web.wait_live("v1")


def test_revert_of_both_in_one_push_is_one_switch_and_no_hold_is_left_on_the_target(web: App) -> None:
    pushed = web.push_image("v2")
    promotion = web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told("promoted")

    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.revert(promotion, pushed)
        web.wait_live("v1")
        web.wait_told("rolled-back")
        web.wait_phase("Healthy")
        web.scenario.wait_idle()

    assert len(seen.moves("web")) == 1
    assert web.ledger_events().count("rolled-back") == 1
    assert web.primary_digest() == web.digest("v1")


def test_revert_of_a_promotion_that_has_not_moved_traffic_yet_holds_it(web: App) -> None:
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    world.cluster.set_ready(world.namespace, {"gitops-bg.dev/digest": web.versions()["v2"].digest}, False)
    web.wait(lambda: web.versions()["v2"].available == 0, "v2 is not ready")
    promotion = web.merge_offer()
    web.wait_phase("Promoting")

    web.revert(promotion)

    web.wait_phase("Held")
    web.wait_told("held")
    assert web.live_tag() == "v1"
    holds: tuple[Hold, ...] = web.record.holds
    assert [hold.digest for hold in holds] == [web.digest("v2")]
    eventually(lambda: not web.offered(), what="it is not offered again")


def test_a_promotion_that_was_taken_back_between_two_looks_is_not_made_again_by_the_agent(web: App) -> None:
    """main ends as it was, so the app's folder has not changed: what was decided twice is seen all the same."""
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    named = web.primary_digest()
    world.remote.run("pull", "--quiet", "--no-rebase", "origin", "main", web.promotion_branch)
    world.remote.revert("HEAD")
    world.push()

    web.wait_phase("Held")
    web.wait_told("held")
    assert [hold.digest for hold in web.record.holds] == [web.digest("v2")]
    eventually(lambda: not web.offered(), what="it is not offered again")
    web.strategy.update(autoPromotionEnabled=True)
    web.configure()
    world.wait_idle()
    assert (web.live_tag(), web.primary_digest()) == ("v1", named)


def test_the_agent_s_own_promotion_on_its_way_is_no_answer_to_a_revert(
    web: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was decided before anybody saw the revert: it must not land after that, as if it were a later decision."""
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    pushed, late = "", threading.Event()
    push = Pusher.push

    def pushing(self: Pusher, updates: list[Update]) -> object:
        if updates[0].branch == "main" and not late.is_set():
            late.set()
            user.pull()
            user.revert(pushed)
            user.push(permit=True)
        return push(self, updates)

    user = web.scenario.remote
    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        pushed = web.push_image("v2")
        monkeypatch.setattr(Pusher, "push", pushing)
        assert late.wait(20), "the agent promotes it"
        web.scenario.wait_idle()
        web.wait_phase("Healthy")

    assert [commit.subject for commit in user.log()][:1] == ['Revert "web v2"'], "nothing landed after it"
    assert web.primary_digest() == web.digest("v1")
    assert web.live_tag() == "v1"
    assert seen.moves("web") == [], "no switch at all"


def test_a_revert_that_somebody_overruled_does_not_count_with_the_next_one(web: App) -> None:
    second, _ = web.push_and_promote("v2")
    third, _ = web.push_and_promote("v3")
    web.revert(third)
    web.wait_live("v2")
    web.wait_primary("v2")
    web.wait_told()
    world = web.scenario
    world.settle()
    world.pull()
    web.revert(world.remote.tip)  # the agent's rollback: v3 serves again
    web.wait_live("v3")
    web.wait_told()
    world.settle()
    web.revert(second)  # takes back v2, which does not serve
    world.settle()
    assert web.live_tag() == "v3"
    assert web.ledger()[-1]["Event"] != "rolled-back"
