"""Of two working agents, the one with a lagging remote moves nothing, and does not undo the other's writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.desired.lineage import LEAST_BETWEEN
from tests.support.agent.agent_processes import Movements, told
from tests.support.agent.agents import agent_settings
from tests.support.cluster.clusters import TestCluster
from tests.support.groups import Store
from tests.support.scenario import Clock, Scenario, scenario
from tests.support.waiting import eventually

POLLS = 12


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(cluster, tmp_path) as made:
        yield made


@dataclass
class Lagging:
    """A second agent, whose remote shows main as it was when the agent was started."""

    world: Scenario
    agent: Agent
    clock: Clock

    def poll(self) -> None:
        """Let it look at its remote, and at everything, as often as a while brings; so does the other agent."""
        for _ in range(POLLS):
            self.clock.ahead += LEAST_BETWEEN
            self.agent.wake("a test")
            self.agent.wake_all(self.agent.catalog.apps())
            eventually(lambda: self.agent.queue.idle and self.agent.git.idle, what="it rests")
            self.world.wake()
            self.world.wait_idle()
        assert self.agent.catalog.rewritten, "it does lag"

    def catch_up(self) -> None:
        """Let its remote show what main is."""
        del self.agent.repository.mirror.advertised
        self.agent.wake("a test")
        eventually(lambda: not self.agent.catalog.rewritten, what="it has caught up")


@contextmanager
def lagging_agent(world: Scenario, tmp_path: Path) -> Iterator[Lagging]:
    settings = agent_settings(
        tmp_path / "lagging", world.remote.url, world.cluster.kubeconfig, namespaces=(world.namespace,)
    )
    clock = Clock()
    agent = Agent(settings, clock=clock, steady=clock.steady)
    old = agent.repository.mirror.advertised()
    agent.repository.mirror.advertised = lambda: old  # type: ignore[method-assign]
    try:
        agent.start()
        eventually(lambda: agent.catalog.seen, what="it has read main")
        yield Lagging(world, agent, clock)
    finally:
        agent.stop()


def test_an_agent_whose_remote_lags_moves_nothing_and_is_contradicted_once(world: Scenario, tmp_path: Path) -> None:
    """Found: two agents wrote the status in turns as long as one of them saw an older main than the record's."""
    world.start()
    app = world.app().deploy("v1")
    with Movements(app) as movements:
        promotion = app.promote("v2")
        world.wait_idle()
        with lagging_agent(world, tmp_path) as lagging:
            app.revert(promotion)
            app.wait_live("v1")
            app.wait_told()
            before = len(_statuses(world))
            lagging.poll()
            assert len(_statuses(world)) - before <= 6, "said, taken back; and once again"
            assert app.condition("HistoryRewritten")["status"] == "Absent"
            lagging.catch_up()
        world.wait_idle()
        app.wait_told()
        assert movements.seen[-2:] == [app.digest(tag)[3:13] for tag in ("v2", "v1")]
        assert told(app) == ["deployed", "promoted", "rolled-back"]
        assert not [entry for entry in app.ledger() if entry["Event"].startswith("history")]


def test_of_a_group_it_moves_nothing_either(world: Scenario, tmp_path: Path) -> None:
    """Found: it rolled the group back to what its main had named, and the other agent promoted it again, by turns."""
    store = Store(world)
    store.begin()
    world.wait_idle()
    with lagging_agent(world, tmp_path) as lagging:
        store.activate("v2")
        store.wait("v1L v2A")
        lagging.poll()
        world.wake()  # Nobody watches groups: what another agent says of one is read with the next poll.
        kept = lambda: store.condition("HistoryRewritten")["status"] == "Absent"  # noqa: E731
        eventually(kept, what="the agent that knows more has taken it back")
        lagging.catch_up()
    world.wait_idle()
    store.wait("v1L v2A")
    assert _moves(store) == ["promoted"]


def _moves(store: Store) -> list[str]:
    moves = ("promoted", "rolled-back", "withdrawn", "history-rewritten", "history-accepted")
    return [each for each in store.ledger() if each in moves]


def _statuses(world: Scenario) -> list[str]:
    return [write.path for write in world.writes() if write.path.endswith("/status") and write.status == 200]
