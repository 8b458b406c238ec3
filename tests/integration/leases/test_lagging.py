"""Of two working agents, the one with a lagging remote moves nothing, and does not undo the other's writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.desired.lineage import LEAST_BETWEEN
from tests.support.agent.agent_processes import Movements, told
from tests.support.agent.agents import agent_settings
from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import Clock, Scenario, scenario
from tests.support.waiting import eventually

POLLS = 12


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(cluster, tmp_path) as made:
        yield made


def test_an_agent_whose_remote_lags_moves_nothing_and_is_contradicted_once(world: Scenario, tmp_path: Path) -> None:
    """Found: two agents wrote the status in turns as long as one of them saw an older main than the record's."""
    world.start()
    app = world.app().deploy("v1")
    with Movements(app) as movements:
        promotion = app.promote("v2")
        world.wait_idle()
        settings = agent_settings(
            tmp_path / "lagging", world.remote.url, world.cluster.kubeconfig, namespaces=(world.namespace,)
        )
        clock = Clock()
        lagging = Agent(settings, clock=clock, steady=clock.steady)
        mirror = lagging.repository._mirror
        old, ask = mirror.advertised(), mirror.advertised
        mirror.advertised = lambda: old  # type: ignore[method-assign]
        try:
            lagging.start()
            eventually(lambda: lagging.catalog.seen, what="it has read main")
            app.revert(promotion)
            app.wait_live("v1")
            app.wait_told()
            before = len(_statuses(world))
            for _ in range(POLLS):
                clock.ahead += LEAST_BETWEEN
                lagging.wake("a test")
                lagging.wake_apps([app.key])
                eventually(lambda: lagging.queue.idle and lagging.git.idle, what="it rests")
                world.wait_idle()
            assert lagging.catalog.rewritten, "it does lag"
            assert len(_statuses(world)) - before <= 6, "said, taken back; and once again"
            assert app.condition("HistoryRewritten")["status"] == "False"
            mirror.advertised = ask  # type: ignore[method-assign]
            lagging.wake("a test")
            eventually(lambda: not lagging.catalog.rewritten, what="it has caught up")
        finally:
            lagging.stop()
        world.wait_idle()
        app.wait_told()
        assert movements.seen[-2:] == [app.digest(tag)[3:13] for tag in ("v2", "v1")]
        assert told(app) == ["deployed", "promoted", "rolled-back"]
        assert not [entry for entry in app.ledger() if entry["Event"].startswith("history")]


def _statuses(world: Scenario) -> list[str]:
    return [write.path for write in world.writes() if write.path.endswith("/status") and write.status == 200]
