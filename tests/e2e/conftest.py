"""The agent as it is installed: on a real control plane, as the ServiceAccount of deploy/, with its rights in one
namespace.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.runtime.leadership import LeaseSettings
from tests.support.cluster import rights
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def world(control_plane_cluster: ControlPlaneCluster, tmp_path: Path) -> Iterator[Scenario]:
    """A scenario whose agent has no rights but those of deploy/ in this namespace, and works by its Lease."""
    cluster = control_plane_cluster
    kubeconfig = rights.install(cluster)
    lease = LeaseSettings(namespace="gitops-bg", name="gitops-bg-e2e")
    with scenario(cluster, tmp_path, kubeconfig=kubeconfig, lease=lease) as made:
        rights.bind(cluster, made.namespace)
        rights.wait_bound(kubeconfig, made.namespace)
        yield made


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web`, its v1 live; the agent runs."""
    world.start()
    return world.app().deploy("v1")
