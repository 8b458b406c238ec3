"""What decides whether requests reach a group at all changes under load: its name, its Gateway, its hosts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.cluster.group_objects import read_route
from gitops_bg.core.model.auxiliary import HttpRoute
from tests.integration.traffic.gateway_users import Load
from tests.integration.traffic.test_groups import used
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.waiting import eventually


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SandboxCluster]:
    with SandboxCluster.run(tmp_path, traffic=True) as running:
        yield running


def rename(store: Store, name: str) -> Store:
    """`git mv` of the folder, with the name in group.yaml, in one commit; the group by its new name."""
    world = store.world
    world.pull()
    other = Store(world, name)
    other.spec = dict(store.spec)
    moved = {
        file.relative_to(world.remote.clone).as_posix(): file.read_text()
        for file in sorted((world.remote.clone / store.folder).rglob("*"))
        if file.is_file()
    }
    files = {path.replace(store.folder, other.folder): text for path, text in moved.items()}
    world.publish(f"Call it {name}", dict.fromkeys(moved) | files | other.group())
    return other


def answered_always(load: Load) -> None:
    assert [each for each in load.answers if each.status != 200] == []


@pytest.mark.slow
@pytest.mark.parametrize("reports", [True, False])
def test_a_folder_with_another_name_keeps_its_users_and_its_promotions_count(
    cluster: SandboxCluster, tmp_path: Path, reports: bool
) -> None:
    """Also behind a Gateway that never says anything of its routes."""
    cluster.sandbox.gateways.reports_status = reports
    with used(cluster, tmp_path) as (store, load):
        with load.running():
            load.expect({("/cart", ""): "cart-v1"})
            market = rename(store, "market")
            market.wait("v1A v2C")
            eventually(lambda: not store.status(), what="the former ReleaseGroup is gone")
            eventually(lambda: [each.name for each in _routes(market)] == ["market"], what="its route has the new name")
            market.activate("v2")
            market.wait("v1L v2A")
            load.expect({("/cart", ""): "cart-v2", ("/cart", "v1"): "cart-v1"})
            market.world.publish("v3", market.version("v3", cart="/cart"))
            market.wait("v1L v2A v3C")
            load.until_answered_by("/cart", "v3", "cart-v3")
            market.activate("v3")
            market.wait("v1A v2L v3A")
            load.expect({("/cart", ""): "cart-v3", ("/cart", "v2"): "cart-v2", ("/auth", ""): "auth-v1"})
        answered_always(load)


@pytest.mark.slow
def test_a_mistake_in_where_requests_come_in_takes_no_traffic(cluster: SandboxCluster, tmp_path: Path) -> None:
    with used(cluster, tmp_path) as (store, load), load.running():
        load.expect({("/cart", ""): "cart-v1"})
        store.spec["progressDeadlineSeconds"] = 1
        store.spec["gateway"] = {"parentRefs": [{"name": "public", "sectionName": "wbe"}]}
        store.activate("v1")
        store.wait("v1A v2C", "Degraded")
        assert "requests still come in by Gateway public, and not by Gateway" in store.status()["message"]
        load.expect({("/cart", ""): "cart-v1"})
        del store.spec["progressDeadlineSeconds"]  # On a busy machine a promotion takes longer.
        store.activate("v2")
        eventually(lambda: store.stages() == "v1L v2A", what="a promotion waits for no wrong Gateway")
        load.expect({("/cart", ""): "cart-v2"})
        store.spec["gateway"] = {"parentRefs": [{"name": "public"}]}
        store.activate("v2")
        store.wait("v1L v2A")
    answered_always(load)


def test_a_record_that_somebody_damaged_before_the_group_got_another_name_is_not_deleted(
    cluster: SandboxCluster, tmp_path: Path
) -> None:
    with used(cluster, tmp_path) as (store, _):
        store.activate("v2")
        store.wait("v1L v2A")
        store.world.stop()
        store.damage_record()
        market = rename(store, "market")
        store.world.start()
        eventually(lambda: market.status().get("phase") == "Degraded", what="the group says what is wrong")
        assert "is the release group store under another name, whose record" in market.status()["message"]
        store.world.settle()
        assert store.record["state"] == "garbage"
        assert (store.ask("/cart"), [each.name for each in _routes(store)]) == ("cart-v2", ["store"])
        assert market.stages() == ""


def _routes(store: Store) -> list[HttpRoute]:
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{store.world.namespace}/httproutes"
    return [route for body in store.world.cluster.list(path) if (route := read_route(body)) is not None]
