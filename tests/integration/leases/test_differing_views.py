"""Two agents that both work, with different views: one status, which they do not overwrite in turns for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.reconcile import reconciler
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.git.errors import RemoteUnreachable
from tests.support.agent.agents import agent_settings
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

PASSES = 20


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


def _unreachable() -> bytes:
    raise RemoteUnreachable("no route to host")


def _status_writes(world: Scenario, kind: str = "") -> int:
    found = (write.path for write in world.writes() if write.status == 200)
    return sum(path.endswith("/status") and kind in path for path in found)


def _other_agent(world: Scenario, tmp_path: Path) -> Agent:
    url, kubeconfig = world.remote.url, world.cluster.kubeconfig
    settings = agent_settings(tmp_path / "other", url, kubeconfig, namespaces=(world.namespace,))
    return Agent(settings, clock=world.clock, steady=world.clock.steady)


def _loses_the_remote(other: Agent) -> None:
    other.repository.mirror.advertised = _unreachable  # type: ignore[method-assign]
    other.wake("a test")
    eventually(lambda: bool(other.catalog.unreachable), what="it has noticed")


def _may_not_push(other: Agent) -> None:
    other.catalog.main_refused = "protected branch"
    other.catalog.refusal_of = lambda branch: f"the remote refuses {branch}: no right"  # type: ignore[method-assign]


VIEWS = {
    "its remote is away": _loses_the_remote,
    "it may push nothing": _may_not_push,
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_only_one_of_them_sees_is_not_written_in_turns(
    world: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    """Found: each pass of the one took back what the other one's last pass had written."""
    sees = VIEWS[view]
    for limit in ("FIRST_SECONDS", "MOST_SECONDS"):  # However slow the machine is, one pause outlasts the test.
        monkeypatch.setattr(reconciler, limit, 3600.0)
    world.start()
    app = world.app().deploy("v1")
    app.push_image("v2")
    app.wait_offered("v2")
    world.settle()
    other = _other_agent(world, tmp_path)
    try:
        other.start()
        eventually(lambda: other.catalog.seen, what="it has read main")
        _rest(world, other)
        before, common = _status_writes(world), app.record
        sees(other)
        for _ in range(PASSES):
            for agent in (other, world.agent):
                assert agent is not None
                agent.wake_all([app.key])
                _rest(world, other)
        written = _status_writes(world) - before
        assert 1 <= written <= 4, f"{written} in {PASSES} passes of each"
        assert app.record == common, "what they have in common is as it was"
    finally:
        other.stop()
    world.advance(3600)
    for condition in ("GitReachable", "MainWritable", "OfferWritable"):
        app.wait_condition(condition, "Absent")  # Who is left says what it sees.


def test_the_status_of_a_group_is_not_written_in_turns_either(
    world: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("FIRST_SECONDS", "MOST_SECONDS"):
        monkeypatch.setattr(reconciler, limit, 3600.0)
    store = Store(world)
    store.begin()
    world.settle()
    other = _other_agent(world, tmp_path)
    try:
        other.start()
        eventually(lambda: other.catalog.seen, what="it has read main")
        _rest(world, other)
        before, common = _status_writes(world, "releasegroups"), store.status()["record"]
        _loses_the_remote(other)
        for _ in range(PASSES):
            for agent in (other, world.agent):
                assert agent is not None
                agent.wake_all([GroupKey(world.namespace, store.name)])
                _rest(world, other)
        written = _status_writes(world, "releasegroups") - before
        assert 1 <= written <= 4, f"{written} in {PASSES} passes of each"
        assert store.status()["record"] == common, "what they have in common is as it was"
    finally:
        other.stop()


def _rest(world: Scenario, other: Agent) -> None:
    eventually(lambda: other.queue.idle and other.git.idle, what="it rests")
    world.wait_idle()


def test_who_is_alone_says_at_once_what_it_sees_whenever_that_changes(world: Scenario) -> None:
    agent = world.start()
    app: App = world.app().deploy("v1")
    app.wait_phase("Healthy")
    world.wait_idle()
    mirror = agent.repository.mirror
    ask = mirror.advertised
    for _ in range(4):
        for answer, status in ((_unreachable, "False"), (ask, "Absent")):
            before = _status_writes(world)
            mirror.advertised = answer  # type: ignore[method-assign]
            agent.wake("a test")
            world.wait_idle()
            assert app.condition("GitReachable")["status"] == status
            assert _status_writes(world) == before + 1
