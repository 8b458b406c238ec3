"""The agent as it is installed: on a real control plane, as the ServiceAccount of deploy/, with its least rights."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitops_bg.cluster.api.lease import LeaseSettings
from tests.support.cluster.clusters import DEPLOY, ControlPlaneCluster
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def world(control_plane_cluster: ControlPlaneCluster, tmp_path: Path) -> Iterator[Scenario]:
    """A scenario whose agent has no rights but those of deploy/rbac.yaml, and works by its Lease."""
    cluster = control_plane_cluster
    cluster.install_our_kind()
    for file in ("namespace.yaml", "rbac.yaml"):
        for manifest in yaml.safe_load_all((DEPLOY / file).read_text()):
            cluster.apply(manifest)
    kubeconfig = cluster.control_plane.service_account("gitops-bg", "gitops-bg")
    lease = LeaseSettings(namespace="gitops-bg", name="gitops-bg-e2e")
    with scenario(cluster, tmp_path, kubeconfig=kubeconfig, lease=lease) as made:
        yield made


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web`, its v1 live; the agent runs."""
    world.start()
    return world.app().deploy("v1")
