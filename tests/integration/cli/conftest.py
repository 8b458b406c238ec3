"""The command line as people use it: against a real Git remote, a cluster, and an agent that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gitops_bg.cli.main import app as command_line
from tests.support.clusters import SandboxCluster, TestCluster
from tests.support.gitremote import GitRemote
from tests.support.scenario import App, Scenario, scenario

AUTHOR = "Grace Hopper <grace@example.com>"


class Cli:
    """Runs verbs in this process; the environment says where everything is, as in a user's shell."""

    def __init__(self, remote: GitRemote, kubeconfig: Path, folder: Path) -> None:
        self.env = {
            "GITOPS_BG_REPO": remote.url,
            "GITOPS_BG_KUBECONFIG": str(kubeconfig),
            "GITOPS_BG_AUTHOR": AUTHOR,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "COLUMNS": "240",
        }

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a verb that is to end with this exit code; what it printed, stdout and stderr."""
        return self.run(*arguments, code=code).output

    def json(self, *arguments: str, code: int = 0) -> Any:
        """The same with ``-o json``, parsed."""
        return json.loads(self.run(*arguments, "-o", "json", code=code).stdout)

    def run(self, *arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(command_line, list(arguments), env=self.env)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, f"{arguments}: exit {result.exit_code}\n{result.output}"
        return result


@pytest.fixture
def world(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    """An empty remote and an empty namespace of the sandbox; no agent runs yet."""
    with scenario(sandbox_cluster, tmp_path) as made:
        yield made


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web`, its v1 live; the agent runs."""
    world.start()
    return world.app().deploy("v1")


@pytest.fixture
def cli(world: Scenario, tmp_path: Path) -> Cli:
    """The command line for that world."""
    return Cli(world.remote, world.cluster.kubeconfig, tmp_path)


@pytest.fixture
def either_world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """The same on both clusters, one after the other."""
    with scenario(cluster, tmp_path) as made:
        yield made
