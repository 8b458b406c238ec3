"""Each conformance test is a story of its own, told on either cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster.clusters import TestCluster
from tests.support.command_line import Cli
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """An empty remote and an empty namespace; no agent runs yet."""
    with scenario(cluster, tmp_path) as made:
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
