"""The seams of the cluster hold: any router, and any kind of workload, keeps the same promises; the executor and the
observation work through any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client, EndpointSliceVersion
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.execution.auxiliary import AuxiliaryWriter
from gitops_bg.cluster.execution.executor import Executor, Parts, scale_deployment
from gitops_bg.cluster.execution.replica_sets import ReplicaSets
from gitops_bg.cluster.execution.services import Services
from gitops_bg.cluster.execution.writer import Guards, Intents, Writer
from gitops_bg.cluster.observation.additions import AppliedStates
from gitops_bg.cluster.observation.observe import ObservationSources
from gitops_bg.cluster.observation.on_demand import Pods, deployment_view
from gitops_bg.cluster.observation.ownership import UNOWNED
from gitops_bg.cluster.observation.reader import LiveReader
from gitops_bg.cluster.observation.routes import ForeignServices
from gitops_bg.cluster.observation.views import AppContext
from gitops_bg.cluster.ports import TrafficRouter, Workloads
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ApplyApp, DeleteReplicaSet, PointPreview, ScaleReplicaSet
from gitops_bg.core.model.observed import DeploymentView, ServiceView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.core.names import replica_set_name
from tests.integration.cluster.memory_ports import MemoryRouter, MemoryWorkloads
from tests.integration.cluster.scene import Scene, create, snapshot, switch
from tests.support.cluster.paths import replica_sets, services

ONE, TWO = snapshot("v1"), snapshot("v2")


@dataclass
class Bench:
    """A cluster that reads live, put together from parts; by default those of Kubernetes."""

    scene: Scene
    client: Client

    def __post_init__(self) -> None:
        self.reader = LiveReader(self.client, EndpointSliceVersion(self.client), (self.scene.app.namespace,))
        self.writer, self.settled = Writer(self.client, self.reader), AppliedStates()
        self.guards, self.pods = Guards(self.reader, self.reader, self.writer), Pods(self.client)
        self.replica_sets = ReplicaSets(self.reader, self.writer, self.guards, self.settled, self.pods)
        self.services = self.services_beside(self.replica_sets)

    def services_beside(self, workloads: Workloads) -> Services:
        return Services(self.reader, self.writer, self.guards, self.settled, workloads, self.pods)

    def cluster(self, router: TrafficRouter, workloads: Workloads) -> Cluster:
        beside = AuxiliaryWriter(self.client, self.writer.anchors, Intents(), self.reader)
        parts = Parts(router, workloads, self.pods, beside, partial(scale_deployment, self.client))
        executor = Executor(self.reader, self.writer, self.guards, self.settled, parts, UNOWNED)
        others = ForeignServices(self.client)
        anchors = self.writer.anchors
        sources = ObservationSources(
            self.reader, router, workloads, self.pods, beside, anchors, self.deployment, others
        )
        return Cluster(self.client, sources, self.writer, executor, self.settled)

    def deployment(self, app: AppKey, name: str) -> DeploymentView:
        return deployment_view(self.client, app, name)

    def route(self, router: TrafficRouter, name: str = "web") -> ServiceView | None:
        look = AppContext(self.scene.app, self.reader.app(self.scene.app), self.scene.config, Record(), self.settled)
        return router.current(self.scene.app, [name]).view(look, name)


@pytest.fixture
def bench(scene: Scene) -> Iterator[Bench]:
    scene.do(ApplyApp())
    client = Client(Access(scene.cluster.kubeconfig))
    with closing(client):
        yield Bench(scene, client)


ROUTERS: dict[str, Callable[[Bench], TrafficRouter]] = {
    "services": lambda bench: bench.services,
    "memory": lambda bench: MemoryRouter(),
}


@pytest.mark.parametrize("kind", ROUTERS)
def test_router_moves_traffic_by_compare_and_swap(kind: str, bench: Bench) -> None:
    scene, router = bench.scene, ROUTERS[kind](bench)
    app, config = scene.app, scene.config
    to_one, to_two = tuple(sorted(scene.selector(ONE).items())), tuple(sorted(scene.selector(TWO).items()))
    assert bench.route(router) is None
    assert router.serving(app, config, scene.selector(ONE)) == ""
    with pytest.raises(WorldChanged):
        router.switch(app, config, switch(ONE, dict(to_two)), "")

    router.switch(app, config, switch(ONE, create=True), "")
    first = bench.route(router)
    assert first
    assert (first.digest, first.selector, first.ours) == (short(ONE.digest), to_one, True)
    assert router.serving(app, config, {**scene.selector(ONE), "team": "shop"}) == "web"
    with pytest.raises(WorldChanged):
        router.switch(app, config, switch(TWO, create=True), "")
    with pytest.raises(WorldChanged):
        router.switch(app, config, switch(ONE, dict(to_two)), "")
    assert bench.route(router) == first, "what was refused moved nothing"

    [entry] = router.switch(app, config, switch(TWO, dict(to_one)), "")
    assert (entry.name, entry.change) == ("web", "configured")
    second = bench.route(router)
    assert second
    assert (second.digest, second.selector) == (short(TWO.digest), to_two)
    assert router.serving(app, config, scene.selector(ONE)) == ""
    with pytest.raises(WorldChanged):
        router.point(app, None, PointPreview("web", to_one, ONE.digest))
    router.point(app, None, PointPreview("web", to_two, ONE.digest))
    assert router.serving(app, config, scene.selector(ONE)) == "web"


WORKLOADS: dict[str, Callable[[Bench], Workloads]] = {
    "replica sets": lambda bench: bench.replica_sets,
    "memory": lambda bench: MemoryWorkloads(),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_workloads_are_made_counted_and_spared(kind: str, bench: Bench) -> None:
    scene, workloads = bench.scene, WORKLOADS[kind](bench)
    app, name = scene.app, replica_set_name(scene.app, 1, ONE.digest)
    look = AppContext(app, bench.reader.app(app), scene.config, Record(), bench.settled)

    def serves(spared: str, labels: object) -> None:
        raise WorldChanged(f"{spared} serves")

    with pytest.raises(WorldChanged):
        workloads.require_available(app, 1, ONE.digest, 1)
    [made] = workloads.create(app, create(ONE), {})
    assert (made.name, made.change) == (name, "created")
    if kind == "replica sets":
        scene.available(ONE)
    workloads.require_available(app, 1, ONE.digest, 1)
    with pytest.raises(WorldChanged):
        workloads.require_available(app, 1, ONE.digest, 2)
    [view] = workloads.current(app).views(look)
    assert (view.name, view.snapshot, view.replicas) == (name, ONE, 1)
    assert workloads.current(app).snapshots() == {short(ONE.digest): ONE.text}

    down, gone = ScaleReplicaSet(ONE.digest, 1, 1, 0, "told to"), DeleteReplicaSet(name, ONE.digest, "told to")
    for loses_pods in (lambda: workloads.scale(app, down, serves), lambda: workloads.delete(app, gone, serves)):
        with pytest.raises(WorldChanged, match=f"{name} serves"):
            loses_pods()
    workloads.scale(app, down, lambda *_: None)
    assert [each.replicas for each in workloads.current(app).views(look)] == [0]
    workloads.delete(app, gone, lambda *_: None)
    assert workloads.current(app).views(look) == ()


def test_an_app_serves_through_another_router_and_no_service_is_made(bench: Bench) -> None:
    scene, router = bench.scene, MemoryRouter()
    cluster, name = bench.cluster(router, bench.replica_sets), replica_set_name(scene.app, 1, ONE.digest)
    cluster.carry_out(scene.app, scene.config, create(ONE))
    scene.available(ONE)
    cluster.carry_out(scene.app, scene.config, switch(ONE, create=True))
    seen = cluster.observe(scene.app, scene.config, Record()).active_service
    assert seen
    assert seen.digest == short(ONE.digest)
    with pytest.raises(WorldChanged, match=f"web selects {name}"):
        cluster.carry_out(scene.app, scene.config, ScaleReplicaSet(ONE.digest, 1, 1, 0, "told to"))
    assert scene.cluster.list(services(scene.app.namespace)) == []


def test_services_lead_to_another_kind_of_workload_and_no_replica_set_is_made(bench: Bench) -> None:
    scene, workloads = bench.scene, MemoryWorkloads(pods=1)
    cluster = bench.cluster(bench.services_beside(workloads), workloads)
    cluster.carry_out(scene.app, scene.config, create(ONE, replicas=2))
    with pytest.raises(WorldChanged, match="1 available pods, not 2"):
        cluster.carry_out(scene.app, scene.config, switch(ONE, create=True, needs_available=2))
    cluster.carry_out(scene.app, scene.config, switch(ONE, create=True))
    seen = cluster.observe(scene.app, scene.config, Record())
    assert seen.active_service
    assert (seen.active_service.digest, seen.replica_sets[0].available) == (short(ONE.digest), 1)
    assert scene.cluster.list(replica_sets(scene.app.namespace)) == []
