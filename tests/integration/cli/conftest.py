"""The command line as people use it: against a real Git remote, a cluster, and an agent that runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.command_line import AUTHOR, Cli
from tests.support.scenario import App, Scenario, scenario

__all__ = ["AUTHOR", "Cli"]


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
def on_main(world: Scenario) -> App:
    """The folder of `web` is on main; no agent runs."""
    web = world.app()
    web.add()
    return web


@pytest.fixture
def cli(world: Scenario, tmp_path: Path) -> Cli:
    """The command line for that world."""
    return Cli(world.remote, world.cluster.kubeconfig, tmp_path)


@pytest.fixture
def either_world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """The same on both clusters, one after the other."""
    with scenario(cluster, tmp_path) as made:
        yield made


def with_candidate(web: App) -> App:
    """Its v2 waits for somebody to merge its promotion."""
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_told()
    web.wait_phase("AwaitingPromotion")
    return web
