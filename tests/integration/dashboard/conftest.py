"""What the tests of the dashboard share: one shop, with a running agent and its dashboard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from gitops_bg.web.dashboard.app import dashboard_server
from tests.integration.dashboard.shop import NAMESPACE, Shop
from tests.support.browser import browser_at_hand
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.gateway_api import install_gateway_api
from tests.support.scenario import Scenario, scenario
from tests.support.servers.backend import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser  # type: ignore[import-not-found, unused-ignore]


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


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenario]:
    """An agent for tests that act, each on an app or a group of its own."""
    folder = tmp_path_factory.mktemp("acting")
    with SandboxCluster.run(folder) as cluster, scenario(cluster, folder) as made:
        install_gateway_api(cluster)
        made.start()
        yield made


@pytest.fixture(scope="session")
def acting(world: Scenario) -> Iterator[httpx.Client]:
    """A client of the dashboard of that agent, on loopback, as a page of it asks."""
    assert world.agent is not None
    headers = {"Sec-Fetch-Site": "same-origin"}
    with (
        dashboard_server(world.agent, "127.0.0.1", 0) as server,
        httpx.Client(base_url=server.url, trust_env=False, timeout=60, headers=headers) as client,
    ):
        yield client


_HOMES = ("HOME", *(f"XDG_{each}" for each in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR")))
"""Where a browser leaves things that are not of its profile, as folders for reports of crashes."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for a module; each test has a context of its own. While it is there, its thread has a loop that runs, so
    that nothing else can.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        folder = browser_at_hand()
        assert folder is not None
        home = str(tmp_path_factory.mktemp("home"))
        env: dict[str, str | float | bool] = {**os.environ, **dict.fromkeys(_HOMES, home)}
        made = driver.chromium.launch(executable_path=str(folder / "bin" / "chromium"), args=["--no-sandbox"], env=env)
        yield made
        made.close()
