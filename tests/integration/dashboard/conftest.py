"""What the tests of the dashboard share: one shop, with a running agent and its dashboard."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from gitops_bg.web.dashboard.app import dashboard_server
from tests.integration.dashboard.shop import NAMESPACE, Shop
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import scenario
from tests.support.servers.backend import serving


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The shop, open, on a sandbox of its own. Tests that change an app say so in their names."""
    folder = tmp_path_factory.mktemp("shop")
    with SandboxCluster.run(folder) as cluster, serving() as backend:
        cluster.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        with scenario(cluster, folder, namespace=NAMESPACE) as world:
            world.start()
            made = Shop(world, backend)
            made.open()
            yield made


@pytest.fixture(scope="session")
def address(shop: Shop) -> Iterator[str]:
    """Where the dashboard of the shop's agent listens."""
    agent = shop.world.agent
    assert agent is not None
    with dashboard_server(agent, "127.0.0.1", 0) as server:
        yield server.url


@pytest.fixture
def http(address: str) -> Iterator[httpx.Client]:
    """A client of the dashboard."""
    with httpx.Client(base_url=address, trust_env=False, timeout=20) as client:
        yield client
