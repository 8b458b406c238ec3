"""Each test here is a story of its own on the sandbox, told by a user's verbs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from tests.integration.agent.three_apps import write_apps
from tests.support.cluster.clusters import SandboxCluster
from tests.support.git.remote import GitRemote
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


@pytest.fixture
def remote(tmp_path: Path) -> GitRemote:
    """A repository of three apps, not pushed yet."""
    made = GitRemote(tmp_path / "remote")
    write_apps(made)
    return made


@pytest.fixture
def catalog(remote: GitRemote, tmp_path: Path) -> Iterator[Catalog]:
    """What an agent would read of ``remote``; it has read nothing yet."""
    with Repository(RepositorySettings(url=remote.url, directory=tmp_path / "mirror", cluster="test")) as repository:
        yield Catalog(repository)
