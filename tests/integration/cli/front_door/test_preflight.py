"""What a cluster lacks is told in one sentence, at once, with the command that mends it: on a real control plane."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.integration.cli.test_agent_process import SCRIPT
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.git.remote import GitRemote
from tests.support.waiting import HANGS

pytestmark = pytest.mark.control_plane

APP = {
    "apps/shop/web/app.yaml": (
        "apiVersion: gitops-bg.dev/v1alpha1\nkind: BlueGreenDeployment\nmetadata: {name: web, namespace: shop}\n"
        "spec: {target: target.yaml, strategy: {blueGreen: {activeService: web}}}\n"
    ),
    "apps/shop/web/target.yaml": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n"
        "  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: 'web:v1'}]}\n"
    ),
}
NO_KIND = "error: this cluster has no kind BlueGreenDeployment: gitops-bg install"


@pytest.fixture
def cli(control_plane_cluster: ControlPlaneCluster, git_remote: GitRemote, tmp_path: Path) -> Cli:
    git_remote.publish("first", APP)
    return Cli(git_remote, control_plane_cluster.kubeconfig, tmp_path)


def agent(cli: Cli, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the agent, which is to end by itself, and long before its patience with a list is over."""
    command = [SCRIPT, "agent", "--cluster", "test", "--http", "off", *arguments]
    return subprocess.run(command, env=os.environ | cli.env, capture_output=True, text=True, timeout=HANGS, check=False)


def test_a_missing_kind_ends_every_verb_at_once(own_control_plane: ControlPlaneCluster, cli: Cli) -> None:
    """Nobody has installed anything here yet; `get -w` and `agent` do not wait for the first list to succeed."""
    kubeconfig = ("--kubeconfig", str(own_control_plane.kubeconfig))
    for verb in (["get"], ["get", "shop/web"], ["get", "-w"], ["plan"], ["explain", "shop/web"]):
        assert cli(*verb, *kubeconfig, code=5).strip() == NO_KIND
    ended = agent(cli, *kubeconfig)
    assert (ended.returncode, ended.stderr.strip()) == (5, NO_KIND)


def test_a_missing_right_ends_the_agent_at_once(control_plane_cluster: ControlPlaneCluster, cli: Cli) -> None:
    """As a ServiceAccount of that name without its rights; for a person `get` and `plan` name a role for people."""
    cluster = control_plane_cluster
    cluster.install_our_kind()
    account = cluster.control_plane.service_account(cluster.namespace(), "gitops-bg")
    namespace = account.name.partition(".")[0]
    ended = agent(cli, "--kubeconfig", str(account))
    assert ended.returncode == 3
    assert ended.stderr.startswith(f"error: system:serviceaccount:{namespace}:gitops-bg cannot list ")
    assert ended.stderr.strip().endswith(f": gitops-bg install --namespace {namespace} --watch-all-namespaces")
    ida = ("--kubeconfig", str(cluster.control_plane.user("ida")))
    mended = "ida cannot list bluegreendeployments.gitops-bg.dev in all namespaces: kubectl create clusterrolebinding"
    for verb in ("get", "plan"):
        assert mended in cli(verb, *ida, code=3)
