"""What strikes a release group is shown, told and tried again as of an app, and holds up nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.groups import facts
from gitops_bg.agent.runtime import workers
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import Scenario, scenario
from tests.support.waiting import eventually


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


@pytest.fixture
def store(world: Scenario) -> Store:
    return Store(world)


def test_a_write_that_the_cluster_refuses_is_in_the_status_and_told_once_until_it_passes(
    store: Store, own_sandbox: SandboxCluster
) -> None:
    """Found so: only the log of the agent said it."""
    store.begin()
    faults, namespace = own_sandbox.sandbox.faults, store.world.namespace
    faults.refuse("patch", "httproutes", namespace)
    store.activate("v2")

    def says() -> str:
        accepted = store.condition("RoutesAccepted")
        return str(accepted["message"]) if accepted["status"] == "False" else ""

    eventually(lambda: "the cluster refuses a write" in says(), what="the status says it")
    assert (store.ask("/cart"), store.status()["transition"]["target"]) == ("cart-v1", "v2")
    for _ in range(3):
        store.look()
        store.world.wait_idle()
    cluster = store.world.agent.cluster if store.world.agent else None
    eventually(lambda: cluster is not None and cluster.events.idle, what="all Events are written")
    (told,) = (each for each in store.world.events() if each["reason"] == "WriteRefused")
    assert (told["type"], told.get("count", 1)) == ("Warning", 1)

    faults.clear()
    store.look()
    store.wait("v1L v2A")
    assert store.condition("RoutesAccepted")["status"] == "True"


def test_a_bug_in_what_is_decided_of_a_group_is_its_condition_and_nobody_elses(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.begin()
    web, agent = store.world.app().deploy("v1"), store.world.agent
    assert agent is not None

    def breaks(*_: object) -> GroupDecision:
        raise KeyError("v3")

    with monkeypatch.context() as broken:
        broken.setattr(facts, "decide_group", breaks)
        store.look()
        eventually(lambda: store.status().get("phase") == "Degraded", what="the group says it")
        condition = store.condition("InternalError")
        assert (condition["status"], store.condition("Ready")["status"]) == ("True", "False")
        assert "KeyError: 'v3'" in condition["message"]
        assert "kubectl patch releasegroup store" in condition["message"]
        web.push_image("v2")
        web.wait_offered("v2")
        assert store.ask("/cart") == "cart-v1"
    store.look()
    store.wait("v1A v2C")
    assert all(each["type"] != "InternalError" for each in store.status()["conditions"])
    assert agent.liveness_problems() == []


def test_a_look_at_a_group_that_hangs_is_its_condition_and_others_are_looked_at_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a look at an app; it ends when what it waits for does."""
    store.begin()
    monkeypatch.setattr(workers, "LONGEST", 1.0)
    monkeypatch.setattr(workers, "EVERY", 0.05)
    agent, group, may_end = store.world.agent, GroupKey(store.world.namespace, store.name), threading.Event()
    assert agent is not None
    gather = facts.GroupGatherer.gather

    def hangs(self: facts.GroupGatherer, reading: Reading, of: GroupKey, now: datetime) -> object:
        if of == group:
            may_end.wait(60)
        return gather(self, reading, of, now)

    with monkeypatch.context() as hanging:
        hanging.setattr(facts.GroupGatherer, "gather", hangs)
        store.look()
        said = f"a look at {group} has lasted for 1 s; the log says where it hangs"
        eventually(lambda: said in str(store.status().get("conditions")), what="the group says it")
        assert store.condition("InternalError")["status"] == "True"
        web = store.world.app().deploy("v1")
        web.wait_phase("Healthy")
        assert store.ask("/cart") == "cart-v1"
        may_end.set()
    store.look()
    store.wait("v1A v2C")
    assert all(each["type"] != "InternalError" for each in store.status()["conditions"])


def test_a_group_that_fails_waits_longer_each_time_and_a_run_once_names_it(store: Store) -> None:
    store.begin()
    store.damage_record()
    agent, group = store.world.agent, GroupKey(store.world.namespace, store.name)
    assert agent is not None
    store.look()
    assert agent.run_once(60) == frozenset({group})
    assert agent._failures._seconds(group, InvalidInput(Problem("status.record", "is garbage"))) >= 30
    web = store.world.app().deploy("v1")
    web.wait_phase("Healthy")
    told = [each for each in store.world.events() if each["involvedObject"]["name"] == store.name]
    assert any((each["reason"], each["type"]) == ("InvalidInput", "Warning") for each in told), told
