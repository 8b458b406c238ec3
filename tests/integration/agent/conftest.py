"""Each test here is a story of its own on the sandbox, told by a user's verbs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def world(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    """An empty remote and an empty namespace; no agent runs yet."""
    with scenario(sandbox_cluster, tmp_path) as made:
        yield made


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web`, its v1 live; the agent runs."""
    world.start()
    return world.app().deploy("v1")
