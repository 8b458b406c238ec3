"""`gitops-bg get`, and the metrics of every agent, show who holds the lease."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.runtime.leadership import LeaseSettings
from gitops_bg.agent.settings import AgentSettings
from tests.support.agent.agents import agent_settings, running
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection
from tests.support.command_line import Cli
from tests.support.scenario import Scenario, scenario
from tests.support.waiting import eventually


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(cluster, tmp_path) as made:
        yield made


def test_get_and_the_metrics_show_who_works(world: Scenario, tmp_path: Path) -> None:
    lease = LeaseSettings(namespace=world.namespace, name="gitops-bg-shown", retry=0.2)
    cli = Cli(world.remote, world.cluster.kubeconfig, tmp_path)

    def settings(name: str) -> AgentSettings:
        namespaces = (world.namespace,)
        url, kubeconfig = world.remote.url, world.cluster.kubeconfig
        return agent_settings(tmp_path / name, url, kubeconfig, lease=lease, namespaces=namespaces)

    world.app().add("v1")
    with running(settings("second")) as second:
        with running(settings("first")) as first:
            eventually(lambda: {_leads(first), _leads(second)} == {0.0, 1.0}, what="one works, the other stands by")
            leader, other = (first, second) if _leads(first) else (second, first)
            holder = _holder(world)
            eventually(lambda: _says(leader, holder) and _says(other, holder), what="both say who works")
            assert f"lease {world.namespace}/{lease.name}: held by {holder}" in cli("get", "-v")
        eventually(lambda: _leads(second), what="the one that is left works")
        eventually(lambda: _says(second, _holder(world)), what="and says so")
    assert f"lease {world.namespace}/{lease.name}: held by nobody, no agent works" in cli("get")


def _leads(agent: Agent) -> float | None:
    return agent.metrics.registry.get_sample_value("gitops_bg_leader")


def _says(agent: Agent, holder: str) -> bool:
    return agent.metrics.registry.get_sample_value("gitops_bg_lease_holder", {"holder": holder}) == 1


def _holder(world: Scenario) -> str:
    [lease] = world.cluster.list(collection("coordination.k8s.io/v1", "Lease", world.namespace))
    return str(lease["spec"].get("holderIdentity") or "")
