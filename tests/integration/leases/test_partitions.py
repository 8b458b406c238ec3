"""An agent that is cut off from the API server: another takes over, and only requested moves happen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.agent_processes import (
    AgentProcess,
    Movements,
    agents,
    push_until_offered,
    told,
    wait_in_git,
    wait_live,
)
from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.servers.wire import wire
from tests.support.waiting import eventually


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(cluster, tmp_path) as made:
        yield made


def _there(app: App, tag: str) -> None:
    wait_live(app, tag)
    wait_in_git(app, tag)


def _rests(app: App, movements: Movements, *asked: str) -> None:
    eventually(lambda: app.is_told() and len(told(app)) >= len(asked), what="all is told")
    eventually(lambda: not app.record.routing.switch, what="the last switch is settled")
    assert movements.seen == [app.digest(tag)[3:13] for tag in asked]
    assert len(told(app)) == len(asked)


def test_a_leader_that_loses_the_api_server_is_followed_and_moves_nothing_when_it_is_back(
    world: Scenario, tmp_path: Path
) -> None:
    app = world.app()
    with wire(world.cluster.kubeconfig, tmp_path) as (line, wired), Movements(app) as movements:
        cut_off = AgentProcess(world, tmp_path / "cut-off", "--poll", "0.5", kubeconfig=wired)
        try:
            app.add("v1")
            _there(app, "v1")
            with agents(world, tmp_path, ("--poll", "0.7")) as [other]:
                push_until_offered(app, "v2")
                line.cut()
                commit = app.merge_offer()
                eventually(lambda: other.leads, what="the other one takes over")
                wait_live(app, "v2")
                app.revert(commit)
                wait_live(app, "v1")
                line.mend()
                eventually(lambda: "lost the lease" in cut_off.log, what="it knows that it lost")
                _rests(app, movements, "v1", "v2", "v1")
        finally:
            cut_off.close()
