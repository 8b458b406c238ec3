"""People use a release group all the while, with and without its header: no request fails, and none goes astray.

Rows 41 and 26 of the table in `tests/core/groups` as real requests, through the sandbox's Gateway and Traefik's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from tests.core.groups.gateway import DENIED, NOBODY
from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Answer, Load
from tests.support.agent.mortality import Mortals
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.gateway_api import open_gateway
from tests.support.groups import Store
from tests.support.scenario import scenario
from tests.support.waiting import PATIENCE, eventually

REQUESTS = [("/cart", ""), ("/cart", "v1"), ("/cart", "v2"), ("/cart", "v9"), ("/auth", ""), ("/auth", "v2")]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SandboxCluster]:
    with SandboxCluster.run(tmp_path, traffic=True) as running:
        yield running


@contextmanager
def used(cluster: GatewayCluster, tmp_path: Path) -> Iterator[tuple[Store, Load]]:
    """A group of two versions behind a Gateway, and its users; all of them are answered, and nobody asks yet."""
    with scenario(cluster, tmp_path) as world:
        store = Store(world)
        _gateway(store)
        store.begin()
        load = Load(cluster, world.namespace, REQUESTS)
        load.until_answered()
        yield store, load


def revert(store: Store, commit: str) -> None:
    store.world.pull()
    store.world.remote.revert(commit)
    store.world.push()


def all_is_well(load: Load) -> None:
    """No request failed, and each that named a version was answered by that version."""
    assert {each.status for each in load.answers} == {200}
    for version in ("v1", "v2"):
        assert {each.by for each in load.answers if each[1:3] == ("/cart", version)} == {f"cart-{version}"}
    assert {each.by for each in load.answers if each.path == "/auth"} == {"auth-v1"}


@pytest.mark.slow
def test_no_request_fails_while_a_group_is_promoted_and_rolled_back(gateway: GatewayCluster, tmp_path: Path) -> None:
    """Also where the agent dies; Traefik takes its time and reports nothing. A third version archives the first."""
    with used(gateway, tmp_path) as (store, load):
        with load.running():
            load.expect({("/cart", ""): "cart-v1", ("/cart", "v2"): "cart-v2", ("/auth", "v2"): "auth-v1"})
            commit = store.activate("v2")
            store.wait("v1L v2A")
            load.expect({("/cart", ""): "cart-v2", ("/cart", "v1"): "cart-v1", ("/auth", ""): "auth-v1"})
            revert(store, commit)
            store.wait("v1A v2C")
            load.expect({("/cart", ""): "cart-v1", ("/cart", "v2"): "cart-v2", ("/cart", "v9"): "cart-v1"})
            assert there_and_back_with_deaths(store, writes=5, deaths=1) == 1
            load.expect({("/cart", ""): "cart-v1", ("/cart", "v2"): "cart-v2", ("/auth", ""): "auth-v1"})
        all_is_well(load)
        print(f"{len(load.answers)} requests, 0 failed")
        with urllib3.PoolManager(retries=False) as pool:
            denied = load.ask(pool, "/old", "v2")
            assert (denied.status, denied.by) == (500, ""), "what v2 left out is answered by nobody of the group"
        archive(store, load)


def archive(store: Store, load: Load) -> None:
    """Row 43: v1 is archived, v2 legacy, v4 active; archived and unknown versions are answered by the active one."""
    store.activate("v2")
    store.wait("v1L v2A")
    store.world.publish("The next one", store.version("v4", cart="/cart"))
    store.wait("v1L v2A v4C")
    store.activate("v4")
    store.wait("v1A v2L v4A")
    wanted = {("/cart", version): "cart-v4" for version in ("", "v1", "v99", "v4")} | {("/cart", "v2"): "cart-v2"}
    after = load.anew(*wanted)
    after.until_answered()
    with after.running():
        after.expect(wanted)


BEFORE = {
    "/c": ["ts-v1", "ts-v1", "ts-v2"],
    "/u1": ["ts-v1", "ts-v1", DENIED],
    "/u2": [NOBODY, NOBODY, "ts-v2"],
}
AFTER = {
    "/c": ["ts-v2", "ts-v1", "ts-v2"],
    "/u1": [NOBODY, "ts-v1", NOBODY],
    "/u2": ["ts-v2", DENIED, "ts-v2"],
}


@pytest.mark.slow
def test_each_version_answers_for_its_own_routes_alone(gateway: GatewayCluster, tmp_path: Path) -> None:
    """Row 41: who answers without a header, with v1 and with v2, before, after the promotion and after the rollback."""
    with scenario(gateway, tmp_path) as world, urllib3.PoolManager(retries=False) as pool:
        store = Store(world)
        _gateway(store)
        world.start()
        versions = store.version("v1", ts="/c /u1") | store.version("v2", ts="/c /u2")
        world.publish("The store", {**store.group(), **versions})
        store.wait("v1A v2C")
        load = Load(gateway, world.namespace, ())

        def answers(wanted: dict[str, list[str]]) -> bool:
            found = {path: [_who(load.ask(pool, path, version)) for version in ("", "v1", "v2")] for path in wanted}
            assert found == wanted
            return True

        eventually(lambda: answers(BEFORE), what="before")
        commit = store.activate("v2")
        store.wait("v1L v2A")
        eventually(lambda: answers(AFTER), what="after the promotion")
        revert(store, commit)
        store.wait("v1A v2C")
        eventually(lambda: answers(BEFORE), what="after the rollback")


def _who(answer: Answer) -> str:
    return {200: answer.by, 404: NOBODY, 500: DENIED}[answer.status]


@pytest.mark.slow
def test_no_request_fails_or_goes_astray_whenever_the_agent_dies(cluster: SandboxCluster, tmp_path: Path) -> None:
    """Each agent of a promotion and a rollback dies after its first write; then after its third, with what it knows."""
    with used(cluster, tmp_path) as (store, load):
        with load.running():
            for writes, fewest in ((1, 10), (3, 3)):
                deaths = there_and_back_with_deaths(store, writes)
                assert deaths > fewest, f"every {writes} writes of a promotion and a rollback, an agent died"
                print(f"{deaths} deaths after {writes} writes each")
            load.expect({("/cart", ""): "cart-v1", ("/cart", "v2"): "cart-v2", ("/auth", ""): "auth-v1"})
        all_is_well(load)
        print(f"{len(load.answers)} requests, 0 failed")


def there_and_back_with_deaths(store: Store, writes: int, deaths: int = 1_000) -> int:
    """Promote v2 and revert it; the first agents die after so many writes each. Says how many died."""
    store.world.stop()
    agents = Mortals(store.world, writes=writes, mortal=deaths)
    commit = store.activate("v2")
    agents.until(lambda: _rests_at(store, "v1L v2A"), "v2 is active", timeout=PATIENCE)
    revert(store, commit)
    agents.until(lambda: _rests_at(store, "v1A v2C"), "v1 is active again", timeout=PATIENCE)
    store.world.restart()
    return agents.deaths


def _rests_at(store: Store, stages: str) -> bool:
    return (store.stages(), store.status().get("phase")) == (stages, "Healthy")


def _gateway(store: Store) -> None:
    """A Gateway, and a Service for what nobody may answer; its pods answer 500 here."""
    namespace, cluster = store.world.namespace, store.world.cluster
    open_gateway(cluster, namespace)
    labels = {"app": "deny"}
    pod = {"containers": [{"name": "deny", "image": "deny:error", "ports": [{"containerPort": 8080}]}]}
    replica_set = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    metadata = {"name": "gitops-bg-deny", "namespace": namespace}
    cluster.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": replica_set})
    service = {"selector": labels, "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}]}
    cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
