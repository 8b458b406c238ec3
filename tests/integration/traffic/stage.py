"""A sandbox that carries traffic, an app in it, people who use the app, and a judge of what they get."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitops_bg.cli.demo.traffic import Traffic
from tests.integration.traffic.law import Law
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.sightings import Sightings
from tests.support.waiting import eventually

UNTIL_THE_POD_ENDS = 1_000_000
CLIENTS = (1, 1, 25, UNTIL_THE_POD_ENDS)
"""Requests on each connection of a client: fresh connections, kept ones, and one that no client ever ends."""

_ENOUGH = 100


@dataclass(frozen=True, slots=True)
class Stage:
    """The app `web` of a world; nobody uses it before `load.start`."""

    world: Scenario
    cluster: SandboxCluster
    web: App
    law: Law
    load: Traffic
    seen: Sightings

    def judge(self, what: str, mark: int) -> None:
        """No request failed, and none went where I3 forbids; say how many there were from number ``mark`` on."""
        eventually(lambda: len(self.load) >= mark + _ENOUGH, what="people go on asking")
        shares = self.load.shares(mark)
        print(f"{what}: {shares.total()} requests: {dict(sorted(shares.items()))}")
        wrong = [answer.failure for answer in self.load.failures()] + self.law.breaches(self.load.since(0))
        assert not wrong, f"{what}: {wrong}"

    @property
    def url(self) -> str:
        """Where people find the app."""
        return self.cluster.sandbox.service_url(self.world.namespace, self.web.name)

    def wait_used(self, tag: str) -> None:
        """Wait until new connections reach a version."""
        eventually(lambda: self.load.lately(0.3)[tag], what=f"{tag} answers")


@contextmanager
def stage(folder: Path, route_delay: float = 0.0, namespace: str = "") -> Iterator[Stage]:
    """A stage in a sandbox of its own, whose nodes are `route_delay` seconds late; no agent runs yet."""
    running = SandboxCluster.run(folder, ready_after=0.05, traffic=True, route_delay=route_delay)
    with running as cluster, _world(cluster, folder, namespace) as world:
        web = world.app()
        load = Traffic(cluster.sandbox.service_url(world.namespace, web.name), CLIENTS)
        with Sightings(cluster, world.namespace) as seen:
            try:
                yield Stage(world, cluster, web, Law(web, seen), load, seen)
            finally:
                load.stop()


@contextmanager
def _world(cluster: SandboxCluster, folder: Path, namespace: str) -> Iterator[Scenario]:
    if namespace:
        cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    with scenario(cluster, folder, namespace=namespace) as made:
        yield made
