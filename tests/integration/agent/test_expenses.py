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


def test_a_promotion_and_a_rollback_cost_one_question_one_fetch_and_two_saves_each(
    web: App, expenses: Expenses
) -> None:
    """The switch that is decided, before traffic moves, and that it is true. That endpoints have followed, and what Git
    did, is noted, and saved a minute later.
    """
    told = [each["reason"] for each in web.scenario.events()]
    promoted = [SAVED, *live_reads("v2", web), "PATCH services/web", SAVED]
    merged = web.merge_offer()
    finish(web, "promoted")
    web.wait(lambda: is_complete(web), "the endpoints have followed")
    before = expenses.until(MOVES)
    assert before.processes() == ["ls-remote", "fetch"]
    assert before.requests() == [SAVED, *live_reads("v2", web)]
    assert expenses.requests(OF_THE_APP) == promoted
    assert events_since(told, web, "RolloutCompleted") == ["Promoted", "RolloutCompleted"]
    web.scenario.settle()
    assert expenses.requests(OF_THE_APP) == [*promoted, SAVED]
    assert not web.record.ledger, "Git has it"
    assert web.status["rollouts"][0]["settledAt"], "it is complete"
    assert web.record.git.offered == "", "the offer is gone"

    expenses.begin()
    web.revert(merged)
    finish(web, "rolled-back")
    before = expenses.until(MOVES)
    assert before.processes() == ["ls-remote", "fetch"]
    assert before.requests() == [SAVED, *live_reads("v1", web)]
    assert expenses.requests(OF_THE_APP) == [SAVED, *live_reads("v1", web), "PATCH services/web", SAVED]
    assert events_since([*told, "Promoted", "RolloutCompleted"], web, "RolledBack") == ["Held", "RolledBack"]


def test_a_push_is_three_processes_until_its_pods_are_asked_for_and_two_saves_until_it_waits_for_its_promotion(
    web: App, expenses: Expenses
) -> None:
    """Notes go with the next save. A wake without news is one question."""
    web.scenario.wake()
    web.scenario.wait_idle()
    assert expenses.processes() == ["ls-remote"]
    assert expenses.requests() == []

    expenses.begin()
    told = [each["reason"] for each in web.scenario.events()]
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_phase("AwaitingPromotion")
    settle(web.scenario, Expenses())
    before = expenses.until(lambda each: each.what.startswith("PATCH replicasets/"))
    assert before.processes() == ["ls-remote", "fetch", "fetch"]  # the branch, then the file: a partial clone
    assert len(before.requests(SAVE)) == 1
    made = web.replica_set(web.digest("v3"))["metadata"]["name"]
    at_zero, scaled = f"PATCH replicasets/{made}", f"PATCH replicasets/{made}"
    assert expenses.requests(SAVED) == [SAVED, SAVED]
    names = [each for each in expenses.requests("replicasets") if made.rpartition("-")[2] in each]
    assert names == [f"GET replicasets/{made}", at_zero, scaled], "no other name is asked for"
    assert expenses.requests("web-preview") == ["PATCH services/web-preview"]
    events = events_since(told, web, "PreviewSwitched")
    assert sorted(events) == ["Candidate", "PreviewSwitched", "RolloutNotCompleted", "RolloutPaused", "Superseded"]
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


def test_a_promotion_long_after_the_last_one_costs_no_more_and_a_rollback_some_pushes_later_one_process(
    web: App, expenses: Expenses
) -> None:
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
    merged = web.merge_offer()
    web.wait_live("v2")
    assert expenses.until(MOVES).processes() == ["ls-remote", "fetch"]

    web.wait_told("promoted")
    for number in range(5):
        world.publish(f"Tell more again: {number}", {"README.md": f"again {number}\n"})
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
