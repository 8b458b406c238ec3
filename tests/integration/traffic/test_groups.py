"""People use a release group all the while, with and without its header: no request fails, and none goes astray.

Rows 41 and 26 of versions-and-routes.md B9 as real requests through the sandbox's Gateway.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import pytest
import urllib3

from tests.support.agent.mortality import Mortals
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import scenario
from tests.support.waiting import PATIENCE, eventually

GATEWAY = "gateway.networking.k8s.io/v1"
REQUESTS = [("/cart", ""), ("/cart", "v1"), ("/cart", "v2"), ("/cart", "v9"), ("/auth", ""), ("/auth", "v2")]


class Answer(NamedTuple):
    """One answered request: when it was sent, what for, and who answered with which status."""

    sent: float
    path: str
    version: str
    status: int
    app: str


class Load:
    """Users who ask without pause on kept connections."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: list[Answer] = []
        self._stop = Event()

    def ask(self, pool: urllib3.PoolManager, path: str, version: str) -> Answer:
        sent = time.monotonic()
        headers = {"X-Version": version} if version else {}
        answer = pool.request("GET", self.url + path, headers=headers, timeout=20)
        labels = answer.json()["labels"] if answer.status == 200 else {}
        return Answer(sent, path, version, answer.status, labels.get("gitops-bg.dev/app", ""))

    def _use(self) -> None:
        with urllib3.PoolManager(retries=False) as pool:
            while not self._stop.is_set():
                for path, version in REQUESTS:
                    self.answers.append(self.ask(pool, path, version))

    @contextmanager
    def running(self) -> Iterator[Load]:
        users = [Thread(target=self._use) for _ in range(2)]
        for user in users:
            user.start()
        try:
            yield self
        finally:
            self._stop.set()
            for user in users:
                user.join()

    def after(self, moment: float) -> dict[tuple[str, str], set[str]]:
        """Who answered which requests that were sent later."""
        found: dict[tuple[str, str], set[str]] = {}
        for each in [one for one in self.answers if one.sent > moment]:
            found.setdefault((each.path, each.version), set()).add(each.app)
        return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SandboxCluster]:
    with SandboxCluster.run(tmp_path, traffic=True) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("reports", [True, False], ids=["a Gateway that reports", "one that never does"])
def test_no_request_fails_while_a_group_is_promoted_and_rolled_back(
    cluster: SandboxCluster, tmp_path: Path, reports: bool
) -> None:
    cluster.sandbox.gateways.reports_status = reports
    with scenario(cluster, tmp_path) as world:
        store = Store(world)
        _gateway(store)
        store.begin()
        load = Load(cluster.sandbox.gateway_url(world.namespace, "public"))
        with urllib3.PoolManager(retries=False) as pool:
            for path, version in REQUESTS:
                _until_answered(load, pool, path, version)
        with load.running():
            _expect(load, {("/cart", ""): "cart-v1", ("/cart", "v2"): "cart-v2", ("/auth", "v2"): "auth-v1"})
            for _ in range(2):
                commit = store.activate("v2")
                store.wait("v1L v2A")
                _expect(load, {("/cart", ""): "cart-v2", ("/cart", "v1"): "cart-v1", ("/auth", ""): "auth-v1"})
                world.pull()
                world.remote.revert(commit)
                world.push()
                store.wait("v1A v2C")
                _expect(load, {("/cart", ""): "cart-v1", ("/cart", "v2"): "cart-v2", ("/cart", "v9"): "cart-v1"})
        assert {each.status for each in load.answers} == {200}
        assert {each.app for each in load.answers if each[1:3] == ("/cart", "v1")} == {"cart-v1"}
        assert {each.app for each in load.answers if each[1:3] == ("/cart", "v2")} == {"cart-v2"}
        assert {each.app for each in load.answers if each.path == "/auth"} == {"auth-v1"}
        print(f"{len(load.answers)} requests, 0 failed")
        with urllib3.PoolManager(retries=False) as pool:
            denied = load.ask(pool, "/old", "v2")
            assert (denied.status, denied.app) == (500, ""), "what v2 left out is answered by nobody of the group"


@pytest.mark.slow
def test_no_request_fails_or_goes_astray_whenever_the_agent_dies(cluster: SandboxCluster, tmp_path: Path) -> None:
    """In the n-th promotion and rollback one agent dies after its n-th write, and another one goes on."""
    with scenario(cluster, tmp_path) as world:
        store = Store(world)
        _gateway(store)
        store.begin()
        load = Load(cluster.sandbox.gateway_url(world.namespace, "public"))
        with urllib3.PoolManager(retries=False) as pool:
            for path, version in REQUESTS:
                _until_answered(load, pool, path, version)
        with load.running():
            stories, died = 0, True
            while died:
                stories += 1
                world.stop()
                agents = Mortals(world, writes=stories, mortal=1)
                commit = store.activate("v2")
                agents.until(lambda: _rests_at(store, "v1L v2A"), "v2 is active", timeout=PATIENCE)
                world.pull()
                world.remote.revert(commit)
                world.push()
                agents.until(lambda: _rests_at(store, "v1A v2C"), "v1 is active again", timeout=PATIENCE)
                died = agents.deaths == 1
                world.restart()
            _expect(load, {("/cart", ""): "cart-v1", ("/cart", "v2"): "cart-v2", ("/auth", ""): "auth-v1"})
        assert {each.status for each in load.answers} == {200}
        for version in ("v1", "v2"):
            assert {each.app for each in load.answers if each[1:3] == ("/cart", version)} == {f"cart-{version}"}
        assert {each.app for each in load.answers if each.path == "/auth"} == {"auth-v1"}
        assert stories > 10, "each write of a promotion and a rollback was the last one of an agent"
        print(f"{stories - 1} deaths, {len(load.answers)} requests, 0 failed")


def _rests_at(store: Store, stages: str) -> bool:
    return (store.stages(), store.status().get("phase")) == (stages, "Healthy")


def _until_answered(load: Load, pool: urllib3.PoolManager, path: str, version: str) -> None:
    eventually(lambda: load.ask(pool, path, version).status == 200, what=f"{path} of {version or 'no version'}")


def _gateway(store: Store) -> None:
    """A Gateway, and a Service for what nobody may answer; its pods answer 500 here."""
    namespace, cluster = store.world.namespace, store.world.cluster
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    spec = {"gatewayClassName": "sandbox", "listeners": [listener]}
    cluster.apply(
        {
            "apiVersion": GATEWAY,
            "kind": "Gateway",
            "metadata": {"name": "public", "namespace": namespace},
            "spec": spec,
        }
    )
    labels = {"app": "deny"}
    pod = {"containers": [{"name": "deny", "image": "deny:error", "ports": [{"containerPort": 80}]}]}
    replica_set = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    metadata = {"name": "gitops-bg-deny", "namespace": namespace}
    cluster.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": replica_set})
    service = {"selector": labels, "ports": [{"port": 80, "protocol": "TCP"}]}
    cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})


def _expect(load: Load, wanted: dict[tuple[str, str], str]) -> None:
    """Wait until requests sent from now on are answered by these apps only."""
    moment = time.monotonic()

    def all_seen() -> bool:
        found = load.after(moment)
        return all(request in found for request in wanted)

    eventually(all_seen, what="users asked for everything")
    found = load.after(moment)
    assert {request: found[request] for request in wanted} == {request: {app} for request, app in wanted.items()}
