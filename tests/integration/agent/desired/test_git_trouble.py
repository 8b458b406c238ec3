"""A remote that is down, slow, empty, or without the branch: a condition, and traffic is untouched (DESIGN §4, §10)."""

from datetime import UTC, datetime

from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.support.cluster.paths import replica_sets
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually


def test_while_the_remote_is_down_live_objects_are_repaired_and_a_rollback_moves_traffic_and_git_follows(
    web: App,
) -> None:
    web.promote("v2")
    world = web.scenario
    world.remote.go_down()
    world.wake()
    unreachable = web.wait_condition("GitReachable", "False")
    assert unreachable["reason"] == "Unreachable"
    assert web.live_tag() == "v2"

    world.cluster.delete(f"{replica_sets(world.namespace)}/{web.versions()['v2'].name}")
    web.wait(lambda: "v2" in web.versions() and web.versions()["v2"].available == 2, "v2 is back")

    web.ask(Request("1", OperatorCommand.ROLLBACK, "ada", datetime.now(UTC), "5xx"))
    web.wait_live("v1")
    web.wait_condition("Diverged")
    web.wait(
        lambda: [entry.event for entry in web.record.ledger][-2:] == ["held", "rolled-back"],
        "the record keeps what the ledger cannot be told yet",
    )

    world.restart()
    world.remote.come_back()
    world.wake()
    web.wait_condition("GitReachable", "Absent")
    web.wait_primary("v1")
    web.wait_told("rolled-back")
    web.wait_condition("Diverged", "Absent")
    rolled_back = [entry for entry in web.ledger() if entry["Event"] == "rolled-back"]
    assert [(entry["By"], entry["Reason"]) for entry in rolled_back] == [("ada", "5xx")]


def test_agent_that_starts_while_the_remote_is_down_keeps_everything_serving(web: App) -> None:
    world = web.scenario
    web.promote("v2")
    world.stop()
    world.remote.go_down()
    world.start(fresh_mirror=True)

    web.wait_condition("GitReachable", "False")
    world.cluster.delete(f"{replica_sets(world.namespace)}/{web.versions()['v2'].name}")
    web.wait(lambda: "v2" in web.versions() and web.versions()["v2"].available == 2, "v2 is back")
    assert web.live_tag() == "v2"

    world.remote.come_back()
    world.wake()
    web.wait_condition("GitReachable", "Absent")


def test_slow_remote_does_not_keep_live_objects_waiting(web: App) -> None:
    world = web.scenario
    assert world.agent is not None
    poll = world.agent.repository.poll
    world.agent.repository.poll = lambda: (eventually(lambda: released), poll())[1]
    released: list[bool] = []
    world.wake()
    before = web.versions()["v1"]

    world.cluster.delete(f"{replica_sets(world.namespace)}/{before.name}")

    web.wait(lambda: "v1" in web.versions() and web.versions()["v1"].available == 2, "v1 is back")
    released.append(True)
    web.promote("v2")


def test_empty_remote_and_one_without_the_branch_say_what_is_missing(world: Scenario) -> None:
    agent = world.start()
    eventually(lambda: "empty" in agent.catalog.unreachable, what="the remote is empty")
    assert "empty" in agent.readiness_problems()[0]

    world.remote.write("README.md", "hello")
    world.remote.commit("On another branch")
    world.remote.run("push", "--quiet", "origin", "HEAD:refs/heads/other")
    world.wake()
    eventually(lambda: "main" in agent.catalog.unreachable and "empty" not in agent.catalog.unreachable)

    world.app().deploy("v1")
    assert agent.readiness_problems() == []


def test_branch_that_is_deleted_is_an_unreachable_remote_not_the_end_of_all_apps(web: App) -> None:
    world = web.scenario
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    world.wait_idle()
    world.remote.run("update-ref", "-d", "refs/heads/main", cwd=world.remote.bare)
    world.wake()

    unreachable = web.wait_condition("GitReachable", "False")
    assert unreachable["reason"] == "BranchMissing"
    assert "main" in unreachable["message"]
    assert world.agent is not None
    assert world.agent.readiness_problems()
    assert web.live_tag() == "v1"

    world.remote.run("push", "--quiet", "origin", "main:main")
    world.wake()
    web.wait_condition("GitReachable", "Absent")
    web.promote("v2")
