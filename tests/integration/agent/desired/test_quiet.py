"""A converged agent is quiet, also after a restart: no write, no fetch, no commit (DESIGN §5 I5, §8)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from git.cmd import Git

from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


def test_restarted_agent_writes_nothing_in_whatever_state_the_app_is(web: App) -> None:
    world = web.scenario

    def restart() -> None:
        web.wait_told()
        world.settle()
        before = (world.writes(), world.remote.branches())
        world.restart()
        world.wait_idle()
        world.restart(fresh_mirror=True)
        world.wait_idle()
        assert (world.writes(), world.remote.branches()) == before, web.phase()

    web.push_image("v2")
    web.wait_phase("AwaitingPromotion")
    restart()
    promotion = web.merge_offer()
    web.wait_live("v2")
    web.wait_phase("Healthy")
    restart()
    world.advance(301)
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 is archived")
    v1 = web.versions()["v1"].name
    web.wait(lambda: not (world.live("replicasets", v1) or {}).get("status", {}).get("replicas"), "its pods are gone")
    restart()
    web.revert(promotion)
    web.wait_live("v1")
    web.wait_phase("Held")
    restart()
    web.push_image("bad")
    web.wait_phase("Progressing")
    restart()
    web.spec["suspend"] = {"reason": "incident"}
    web.configure()
    web.wait_phase("Suspended")
    restart()
    del web.spec["suspend"]
    web.configure()
    web.wait_phase("Progressing")
    web.scenario.publish("Break it", {f"{web.folder}/target.yaml": "{"})
    web.wait_phase("Invalid")
    restart()
    web.scenario.publish("Remove it", {web.folder: None})
    web.wait_told("orphaned")
    restart()


@pytest.fixture
def git_commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of every git process that the agent has started since this was last cleared, in order."""
    commands: list[str] = []
    execute = Git.execute

    def recorded(git: Git, command: list[str], *arguments: Any, **named: Any) -> Any:
        words = command[command.index("git") + 1 :]
        while words[0] == "-c":
            words = words[2:]
        commands.append(words[0])
        return execute(git, command, *arguments, **named)

    monkeypatch.setattr(Git, "execute", recorded)
    return commands


def test_idle_agent_asks_git_one_question_a_tick_and_the_cluster_none(
    web: App, own_sandbox: SandboxCluster, git_commands: list[str]
) -> None:
    world = web.scenario
    web.promote("v2")
    world.wait_idle()
    git_commands.clear()
    own_sandbox.sandbox.requests.clear()
    before = world.remote.branches()

    for _ in range(20):
        world.wake()
        world.wait_idle()

    assert git_commands == ["ls-remote"] * 20
    asked = [request for request in own_sandbox.sandbox.requests.all() if request.user_agent.startswith("gitops-bg")]
    assert not [request for request in asked if request.verb != "watch"]
    assert world.remote.branches() == before


def test_pods_that_come_and_go_behind_a_converged_app_cost_no_write_of_the_status(web: App) -> None:
    world = web.scenario
    world.wait_idle()
    selector = {"gitops-bg.dev/digest": web.versions()["v1"].digest}
    before = [write for write in world.writes() if "/events/" not in write.path]

    for ready in (False, True):
        world.cluster.set_ready(world.namespace, selector, ready)
        web.wait(lambda ready=ready: (web.versions()["v1"].available == 2) is ready, "seen")
        world.wait_idle()

    after = [write for write in world.writes() if "/events/" not in write.path]
    assert len(after) - len(before) <= 2, "Available went away and came back: two conditions, two writes"
