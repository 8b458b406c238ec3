"""A namespace where the agent has no rights is that namespace's trouble: on a real control plane, which has RBAC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core.errors import Refused
from tests.support.cluster import rights
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.scenario import Scenario, scenario
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.control_plane


@pytest.fixture
def closed(control_plane_cluster: ControlPlaneCluster) -> str:
    """A second namespace of the agent, without rights."""
    return control_plane_cluster.namespace()


@pytest.fixture
def world(control_plane_cluster: ControlPlaneCluster, closed: str, tmp_path: Path) -> Iterator[Scenario]:
    """An agent for two namespaces, with rights in one of them."""
    cluster = control_plane_cluster
    kubeconfig = rights.install(cluster)
    first = cluster.namespace()
    rights.bind(cluster, first)
    rights.wait_bound(kubeconfig, first)
    with scenario(cluster, tmp_path, namespace=first, namespaces=(first, closed), kubeconfig=kubeconfig) as made:
        yield made


def test_the_others_go_on_and_its_apps_do_once_the_rights_are_there(
    world: Scenario, closed: str, control_plane_cluster: ControlPlaneCluster
) -> None:
    """Nor is any app deleted until then: how many left main at once cannot be told."""
    agent = world.start()
    web = world.app().deploy("v1")
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    pay = world.elsewhere(closed).app()
    pay.add("v1")
    with pytest.raises(Refused, match=f"in namespace {closed}: gitops-bg install --namespace gitops-bg"):
        agent.cluster.demand_known(closed)
    world.wait_idle()
    assert pay.scenario.live("bluegreendeployments", "web") is None
    assert agent.readiness_problems() == []

    world.publish("Remove web", {web.folder: None})
    web.wait_told("orphaned")
    world.wait_idle()
    assert web.live_tag() == "v1"

    rights.bind(control_plane_cluster, closed)
    pay.wait_live("v1")
    eventually(lambda: agent.cluster.caches.knows_all, timeout=PATIENCE, what="all is known")
    assert agent.cluster.caches.troubles() == []
    agent.wake_all([web.key])
    eventually(lambda: world.live("bluegreendeployments", "web") is None, what="it is deleted")


def test_without_rights_in_any_namespace_the_agent_says_so_at_once(
    control_plane_cluster: ControlPlaneCluster, closed: str, tmp_path: Path
) -> None:
    kubeconfig = rights.install(control_plane_cluster)
    with (
        scenario(control_plane_cluster, tmp_path, namespace=closed, kubeconfig=kubeconfig) as world,
        pytest.raises(Refused, match=f"cannot list .* in namespace {closed}: gitops-bg install"),
    ):
        world.start()
