"""An agent gets, loses and regains the lease in one process: it always watches, and works only while it leads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.runtime.leadership import LeaseSettings
from tests.support.agent.agents import agent_settings, running
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import MERGE
from tests.support.scenario import Scenario, scenario
from tests.support.waiting import eventually


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(cluster, tmp_path) as made:
        yield made


def test_leadership_is_taken_lost_and_taken_again(world: Scenario, tmp_path: Path) -> None:
    lease = LeaseSettings(namespace=world.namespace, name="gitops-bg-turns", retry=0.2)
    url, kubeconfig = world.remote.url, world.cluster.kubeconfig
    settings = agent_settings(tmp_path / "agent", url, kubeconfig, lease=lease, namespaces=(world.namespace,))
    web = world.app()
    web.add("v1")
    with running(settings) as agent:
        eventually(lambda: web.live_tag() == "v1", what="it leads, and v1 is live")
        first = _holder(world)
        _hand_over(world, "somebody-else")
        eventually(lambda: not agent.leadership.holds and not _working(agent), what="it stands by")
        assert agent.liveness_problems() == agent.readiness_problems() == []

        pushed = web.push_image("v2")
        agent.wake("a push")
        eventually(lambda: agent.catalog.commit == pushed, what="it reads Git all the same")
        assert agent.queue.idle
        assert set(web.versions()) == {"v1"}, "and does nothing about it"

        _hand_over(world, "")
        eventually(lambda: agent.leadership.holds and _holder(world) == first, what="it leads again")
        eventually(lambda: "v2" in web.versions(), what="and works")
        web.wait_offered("v2")
        assert agent.liveness_problems() == []


def _working(agent: Agent) -> bool:
    return any(thread.is_alive() for thread in agent._workers._threads)


def _path(world: Scenario) -> str:
    return f"{collection('coordination.k8s.io/v1', 'Lease', world.namespace)}/gitops-bg-turns"


def _holder(world: Scenario) -> str:
    return str(world.cluster.get(_path(world))["spec"].get("holderIdentity") or "")


def _hand_over(world: Scenario, holder: str) -> None:
    """The lease is somebody else's by now, or nobody's."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec: dict[str, Any] = {"holderIdentity": holder, "renewTime": now, "leaseDurationSeconds": 3600}
    world.cluster.patch(_path(world), {"spec": spec}, MERGE)
