"""Two and three agents, killed, frozen and thawed: traffic moves exactly as often as requested, with one entry each."""

from __future__ import annotations

import time
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
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.paths import collection
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

POLLS = ("0.3", "1.1", "2.3")
APART = [(f"--lease-name=mine-{poll}", "--poll", poll) for poll in POLLS]
"""Agents that do not know of each other."""
TOGETHER = [("--poll", poll) for poll in POLLS]


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


def _promote(app: App, tag: str) -> str:
    push_until_offered(app, tag)
    commit = app.merge_offer()
    wait_live(app, tag)
    return commit


def _end(app: App, movements: Movements, asked: list[str]) -> None:
    """All is told, nothing moves any more, and nothing moved but what was asked for."""
    count = len(asked)
    eventually(lambda: len(told(app)) >= count and app.is_told(), what=f"{count} movements are told")
    time.sleep(3)  # longer than the longest interval: who has old knowledge would act on it now
    eventually(lambda: not app.record.routing.switch, what="the last switch is settled")
    digests = [app.digest(tag)[3:13] for tag in asked]
    assert movements.seen == digests
    assert told(app) == [
        "deployed",
        *("rolled-back" if tag in asked[:at] else "promoted" for at, tag in list(enumerate(asked))[1:]),
    ]


def test_three_agents_of_which_each_believes_that_it_leads_move_traffic_as_often_as_asked(
    world: Scenario, tmp_path: Path
) -> None:
    """Found: 63 movements instead of 6, and a ledger that misses some."""
    app = world.app()
    with agents(world, tmp_path, *APART), Movements(app) as movements:
        app.add("v1")
        wait_live(app, "v1")
        wait_in_git(app, "v1")
        for tag in ("v2", "v3"):
            commit = _promote(app, tag)
            app.revert(commit)
            wait_live(app, "v1")
        _promote(app, "v4")
        _end(app, movements, ["v1", "v2", "v1", "v3", "v1", "v4"])


def test_a_frozen_agent_that_thaws_and_believes_that_it_leads_moves_nothing(world: Scenario, tmp_path: Path) -> None:
    app = world.app()
    with agents(world, tmp_path, *APART[:2]) as both, Movements(app) as movements:
        app.add("v1")
        wait_live(app, "v1")
        wait_in_git(app, "v1")
        for frozen, tag in zip((both[0], both[1], both[0]), ("v2", "v3", "v4"), strict=True):
            push_until_offered(app, tag)
            frozen.freeze()
            commit = app.merge_offer()
            wait_live(app, tag)
            app.revert(commit)
            wait_live(app, "v1")
            frozen.thaw()
        _end(app, movements, ["v1", "v2", "v1", "v3", "v1", "v4", "v1"])


def test_a_killed_agent_is_followed_by_another_one_and_a_stopped_one_at_once(world: Scenario, tmp_path: Path) -> None:
    app = world.app()
    with agents(world, tmp_path, *TOGETHER[:2]) as both, Movements(app) as movements:
        app.add("v1")
        wait_live(app, "v1")
        wait_in_git(app, "v1")
        leader = _leader(both)
        other = next(one for one in both if one is not leader)
        push_until_offered(app, "v2")
        leader.kill()
        app.merge_offer()
        eventually(lambda: other.leads, what="the other one takes over")
        wait_live(app, "v2")
        again = AgentProcess(world, tmp_path / "agent-2", *TOGETHER[0])
        try:
            eventually(lambda: "standing by" in again.log, what="it stands by")
            held = _holder(world)
            assert other.stop() == 0
            assert _holder(world) != held, "who stops gives the lease back"
            eventually(lambda: again.leads, what="the third one takes over")
            _promote(app, "v3")
            _end(app, movements, ["v1", "v2", "v3"])
        finally:
            again.close()


def _holder(world: Scenario) -> str:
    [lease] = world.cluster.list(collection("coordination.k8s.io/v1", "Lease", world.namespace))
    return str(lease["spec"].get("holderIdentity") or "")


def _leader(processes: list[AgentProcess]) -> AgentProcess:
    return eventually(lambda: next((one for one in processes if one.leads), None), what="one leads")  # type: ignore[return-value]
