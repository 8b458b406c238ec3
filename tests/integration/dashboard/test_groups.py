"""The page of a release group, whose services are apps of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from gitops_bg.web.dashboard.app import dashboard_server
from tests.integration.dashboard.test_pages import text_of
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import scenario
from tests.support.waiting import eventually


@pytest.fixture
def store(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Store]:
    with scenario(sandbox_cluster, tmp_path) as world:
        made = Store(world)
        world.start()
        files = made.version("v1", cart="/cart", auth="/auth") | made.version("v2", cart="/cart") | made.group()
        world.publish("Two versions of a store", files)
        yield made


def test_a_group_shows_its_versions_their_services_and_what_happened(store: Store) -> None:
    agent, namespace = store.world.agent, store.world.namespace
    assert agent is not None
    with (
        dashboard_server(agent, "127.0.0.1", 0) as server,
        httpx.Client(base_url=server.url, trust_env=False, timeout=60) as http,
    ):
        page, api = f"/groups/{namespace}/store", f"/api/v1/groups/{namespace}/store"
        eventually(lambda: "v1 serves" in text_of(http.get(page)), what="the group serves")
        eventually(lambda: "deployed v1" in text_of(http.get(page)), what="its history has an entry")
        shown = text_of(http.get(page))
        assert re.search(r"store . Healthy release group", shown)
        assert re.search(r"v1 cart-v1 . Healthy", shown)
        assert re.search(r"v1 auth-v1 . Healthy", shown)
        assert "cart Service stable → cart-v1" in shown

        def listed(line: str) -> bool:
            return re.search(line, text_of(http.get("/", params={"namespace": namespace}))) is not None

        eventually(lambda: listed(rf"{namespace}/ store group . Healthy v1"), what="the list has the group")
        eventually(lambda: listed(rf"{namespace}/ cart-v1 app of store . Healthy"), what="its members are below it")
        assert [each["name"] for each in http.get(api).json()["versions"]] == ["v1", "v2"]
        assert http.get(f"{api}/history").json()["entries"][-1]["event"] == "deployed"
        assert "This cluster has no release group" in text_of(http.get(f"/groups/{namespace}/stroe"))
