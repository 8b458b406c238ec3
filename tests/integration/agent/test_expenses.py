"""What a change costs, in processes of git and requests to the API server: counts, which no busy machine changes.

Traffic waits for what comes before the write that moves it; everything else follows.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.expenses import Expenses, expenses_of, is_write
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

SAVED = "PATCH bluegreendeployments/web/status"
SAVE = f"^{SAVED}$"
OF_THE_APP = "/web"
"""All but the list of other people's Services, which is of the namespace and asked for once in a while."""
MOVES = is_write("PATCH", "services/web")


@pytest.fixture
def expenses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Expenses]:
    with expenses_of(tmp_path, monkeypatch) as counted:
        yield counted


@pytest.fixture
def web(expenses: Expenses, own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[App]:
    """The app `web`, its v1 live and v2 offered; nothing is left to do, and the count begins."""
    with scenario(own_sandbox, tmp_path) as world:
        world.start()
        made = world.app().deploy("v1")
        made.push_image("v2")
        made.wait_offered("v2")
        made.wait_phase("AwaitingPromotion")
        settle(made.scenario, expenses)
        yield made


def settle(world: Scenario, expenses: Expenses) -> None:
    """Wait for all that follows; count what comes after."""
    world.wait_idle()
    expenses.begin()


def events_since(before: list[str], web: App, last: str) -> list[str]:
    """The reasons of the Events after those of ``before``, once the ``last`` is told."""

    def told() -> list[str]:
        events = sorted(web.scenario.events(), key=lambda each: int(each["metadata"]["resourceVersion"]))
        found = [str(each["reason"]) for each in events][len(before) :]
        return found if last in found else []

    return eventually(told, what=f"{last} is told")


def live_reads(tag: str, web: App) -> list[str]:
    """What is read live right before traffic moves to a tag: its pods, the Service, the record (DESIGN §5.5)."""
    name = web.replica_set(web.digest(tag))["metadata"]["name"]
    return [f"GET replicasets/{name}", "GET services/web", "GET bluegreendeployments/web"]


def test_a_promotion_moves_traffic_after_one_question_one_fetch_and_one_save(web: App, expenses: Expenses) -> None:
    web.merge_offer()
    web.wait_live("v2")
    before = expenses.until(MOVES)
    assert before.processes() == ["ls-remote", "fetch"]
    assert before.requests() == ["PATCH bluegreendeployments/web/status", *live_reads("v2", web)]


def test_a_promotion_is_two_saves_and_what_is_only_noted_a_third_a_minute_later(web: App, expenses: Expenses) -> None:
    """The switch that is decided, and that it is true. That endpoints have followed, and what Git did, is noted."""
    promoted = [SAVED, *live_reads("v2", web), "PATCH services/web", SAVED]
    merged = web.merge_offer()
    finish(web, "promoted")
    web.wait(lambda: is_complete(web), "the endpoints have followed")
    assert expenses.requests(OF_THE_APP) == promoted
    web.scenario.settle()
    assert expenses.requests(OF_THE_APP) == [*promoted, SAVED]
    assert not web.record.ledger, "Git has it"
    assert web.status["rollouts"][0]["settledAt"], "it is complete"
    assert web.record.git.offered == "", "the offer is gone"

    expenses.begin()
    web.revert(merged)
    finish(web, "rolled-back")
    assert expenses.requests(OF_THE_APP) == [SAVED, *live_reads("v1", web), "PATCH services/web", SAVED]


def test_a_push_is_two_saves_until_it_waits_for_its_promotion_and_notes_go_with_the_next(
    web: App, expenses: Expenses
) -> None:
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_phase("AwaitingPromotion")
    settle(web.scenario, Expenses())
    made = web.replica_set(web.digest("v3"))["metadata"]["name"]
    at_zero, scaled = f"PATCH replicasets/{made}", f"PATCH replicasets/{made}"
    assert expenses.requests(SAVED) == [SAVED, SAVED]
    names = [each for each in expenses.requests("replicasets") if made.rpartition("-")[2] in each]
    assert names == [f"GET replicasets/{made}", at_zero, scaled], "no other name is asked for"
    assert expenses.requests("web-preview") == ["PATCH services/web-preview"]
    assert web.record.ledger, "that the ledger has them is noted"
    web.merge_offer()
    finish(web, "promoted")
    assert [entry.event for entry in web.record.ledger] == ["promoted"]


def finish(web: App, event: str) -> None:
    """Wait until the ledger has the movement, and nothing is left to do."""
    web.wait_told(event)
    web.scenario.wait_idle()


def is_complete(web: App) -> bool:
    """Whether the Event says so: it is told before it is saved."""
    rollout = web.status["rollouts"][0]["number"]
    told = (each for each in web.scenario.events() if each["reason"] == "RolloutCompleted")
    return any(f"rollout {rollout} " in each["message"] for each in told)


def test_a_promotion_long_after_the_last_one_costs_no_more(web: App, expenses: Expenses) -> None:
    """Main has moved on a lot since `primary.yaml` changed, all of it before the eyes of the agent."""
    world, commits = web.scenario, 30
    world.pull()
    for number in range(commits):
        world.remote.stage({"README.md": f"{number}\n"})
        world.remote.commit(f"Tell more: {number}")
    world.push()
    world.wait_idle()
    web.wait_offered("v2")
    settle(world, expenses)
    web.merge_offer()
    web.wait_live("v2")
    assert expenses.until(MOVES).processes() == ["ls-remote", "fetch"]


def test_a_rollback_some_pushes_after_the_promotion_costs_one_process_more(web: App, expenses: Expenses) -> None:
    world = web.scenario
    merged = web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")
    for number in range(5):
        world.publish(f"Tell more: {number}", {"README.md": f"{number}\n"})
        world.wait_idle()
    settle(world, expenses)
    web.revert(merged)
    web.wait_live("v1")
    # Who made the target that main still names is asked of git where that is more than a few commits ago.
    assert expenses.until(MOVES).processes() == ["ls-remote", "fetch", "log"]


def test_a_promotion_whose_branch_the_forge_deletes_costs_one_process_more(web: App, expenses: Expenses) -> None:
    remote = web.scenario.remote
    remote.merge(web.promotion_branch)
    remote.run("update-ref", "-d", f"refs/heads/{web.promotion_branch}", cwd=remote.bare)
    web.scenario.wake()
    web.wait_live("v2")
    assert expenses.until(MOVES).processes() == ["ls-remote", "fetch", "update-ref"]


def test_a_rollback_moves_traffic_after_one_question_one_fetch_and_one_save(web: App, expenses: Expenses) -> None:
    merged = web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")
    settle(web.scenario, expenses)
    web.revert(merged)
    web.wait_live("v1")
    before = expenses.until(MOVES)
    assert before.processes() == ["ls-remote", "fetch"]
    assert before.requests() == ["PATCH bluegreendeployments/web/status", *live_reads("v1", web)]


def test_a_promotion_is_two_events_and_a_rollback_two(web: App) -> None:
    before = [each["reason"] for each in web.scenario.events()]
    merged = web.merge_offer()
    web.wait_live("v2")
    promoted = events_since(before, web, "RolloutCompleted")
    assert promoted == ["Promoted", "RolloutCompleted"]
    web.wait_told("promoted")
    web.revert(merged)
    web.wait_live("v1")
    assert events_since([*before, *promoted], web, "RolledBack") == ["Held", "RolledBack"]


def test_the_beginning_of_a_rollout_is_one_event_and_so_are_its_preview_and_its_wait(web: App) -> None:
    before = [each["reason"] for each in web.scenario.events()]
    web.push_image("v3")
    web.wait_offered("v3")
    told = events_since(before, web, "PreviewSwitched")
    assert sorted(told) == ["Candidate", "PreviewSwitched", "RolloutNotCompleted", "RolloutPaused", "Superseded"]


def test_a_new_image_costs_three_processes_until_its_pods_are_asked_for(web: App, expenses: Expenses) -> None:
    web.push_image("v3")
    web.wait(lambda: "v3" in web.versions(), "the candidate is there")
    before = expenses.until(lambda each: each.what.startswith("PATCH replicasets/"))
    assert before.processes() == ["ls-remote", "fetch", "fetch"]  # the branch, then the file: a partial clone
    assert len(before.requests(SAVE)) == 1


def test_a_wake_without_news_costs_one_question(web: App, expenses: Expenses) -> None:
    web.scenario.wake()
    web.scenario.wait_idle()
    assert expenses.processes() == ["ls-remote"]
    assert expenses.requests() == []
