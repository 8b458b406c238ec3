"""Two agents that both work, and see different things: one status, which they do not write in turns for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent import reconciler
from gitops_bg.agent.agent import Agent
from gitops_bg.repo.errors import RemoteUnreachable
from tests.support.agents import agent_settings
from tests.support.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

PASSES = 20


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


def _unreachable() -> bytes:
    raise RemoteUnreachable("no route to host")


def _status_writes(world: Scenario) -> int:
    return sum(write.path.endswith("/status") and write.status == 200 for write in world.writes())


@pytest.mark.parametrize("candidate_waits", [False, True])
def test_the_remote_of_one_is_away(
    world: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, candidate_waits: bool
) -> None:
    """Found: each pass of the one took back what the other one's last pass had written."""
    for limit in ("FIRST_SECONDS", "MOST_SECONDS"):  # However slow the machine is, one pause outlasts the test.
        monkeypatch.setattr(reconciler, limit, 3600.0)
    world.start()
    app = world.app().deploy("v1")
    if candidate_waits:
        app.push_image("v2")
        app.wait_offered("v2")
    settings = agent_settings(
        tmp_path / "away", world.remote.url, world.cluster.kubeconfig, namespaces=(world.namespace,)
    )
    other = Agent(settings, clock=world.clock)
    try:
        other.start()
        eventually(lambda: other.catalog.seen, what="it has read main")
        _rest(world, other)
        other.repository._mirror.advertised = _unreachable  # type: ignore[method-assign]
        before = _status_writes(world)
        other.wake("a test")
        eventually(lambda: bool(other.catalog.unreachable), what="it has noticed")
        for _ in range(PASSES):
            for agent in (other, world.agent):
                assert agent is not None
                agent.wake_apps([app.key])
                _rest(world, other)
        written = _status_writes(world) - before
        assert 1 <= written <= 4, f"{written} in {PASSES} passes of each"
    finally:
        other.stop()
    world.advance(3600)
    eventually(lambda: app.condition("GitReachable")["status"] == "True", what="who is left says what it sees")


def _rest(world: Scenario, other: Agent) -> None:
    eventually(lambda: other.queue.idle and other.git.idle, 30, what="it rests")
    world.wait_idle()


def test_who_is_alone_says_at_once_what_it_sees_whenever_that_changes(world: Scenario) -> None:
    agent = world.start()
    app: App = world.app().deploy("v1")
    mirror = agent.repository._mirror
    ask = mirror.advertised
    for _ in range(4):
        for answer, status in ((_unreachable, "False"), (ask, "True")):
            before = _status_writes(world)
            mirror.advertised = answer  # type: ignore[method-assign]
            agent.wake("a test")
            world.wait_idle()
            assert app.condition("GitReachable")["status"] == status
            assert _status_writes(world) == before + 1
