"""No right of deploy/rbac.yaml is one too many: without it, the API server refuses what the agent does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gitops_bg.agent.runtime.leadership import Lease, LeaseSettings
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.core import names
from gitops_bg.core.errors import Refused, WorldChanged
from gitops_bg.core.groups.record import (
    ApplyGroup,
    ApplyRoute,
    DeleteGroup,
    DeleteRoute,
    DeleteService,
    FollowMember,
    GroupDecision,
    GroupRecord,
)
from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyAuxiliaryObject,
    DeleteApp,
    DeleteAuxiliaryObject,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    ScaleDeployment,
    ScaleReplicaSet,
    SyncPodMetadata,
)
from gitops_bg.core.model.analysis import due
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.digest import digest_of
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Adopted, OperatorState, Record, Restart
from gitops_bg.core.model.spec import Adoption, ScaleDown
from gitops_bg.core.model.version import GroupKey, PodMetadata, Source, WorkloadKind
from gitops_bg.core.names import configuration_name
from gitops_bg.spec.manifests.auxiliary import AuxiliaryObjects
from gitops_bg.spec.manifests.configuration import Configuration
from tests.core.groups.notation import group
from tests.integration.cluster.execution import test_app_routes as routes
from tests.integration.cluster.execution.test_jobs import FOR_EVER, Lab, metric, record
from tests.integration.cluster.groups.test_group_cluster import ROUTE, SPEC
from tests.integration.cluster.scene import PASSWORDS, SETTINGS, Scene, create, snapshot, watching
from tests.support import manifests
from tests.support.auxiliary_objects import budget, hpa, keda, scaled_object
from tests.support.cluster import rights
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.gateway_api import install_grpc_routes
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import Json
from tests.support.cluster.rights import Right
from tests.support.waiting import eventually

pytestmark = [pytest.mark.control_plane, pytest.mark.slow]

NOW = datetime.now(UTC)


def refused(scene: Scene) -> bool:
    """Whether something was refused to the agent in the namespace; Secrets, which few need, aside."""
    assert isinstance(scene.cluster, ControlPlaneCluster)
    return any(resource != "secrets" for _, resource, _ in scene.cluster.refusals(scene.app.namespace))


def an_app(scene: Scene) -> None:
    """It serves, is promoted, says so, and goes."""
    scene.serve_and_promote()
    scene.do(DeleteApp())


def an_app_whose_services_are_looked_up(scene: Scene) -> None:
    """What has a name that the app needs, and no label of ours, is read by its name."""
    scene.do(ApplyApp())
    scene.observe()
    scene.do(create(snapshot("v1")))


def events(scene: Scene) -> None:
    """One happens twice: the second is a patch of the first."""
    scene.do(ApplyApp())
    path = collection("v1", "Event", scene.app.namespace)
    scene.subject.record_event(scene.app, "PreviewSwitched", "told to", NOW)
    eventually(lambda: scene.cluster.list(path) or refused(scene), what="it is written")
    scene.subject.record_event(scene.app, "PreviewSwitched", "told to", NOW)


def copies(scene: Scene, of: Configuration) -> None:
    """The copy of a ConfigMap or Secret of a version."""
    scene.do(ApplyApp())
    scene.copied(of)
    scene.subject.executor.copies.held(scene.app, of.ref)
    scene.do(DeleteConfiguration(of.ref.kind, configuration_name(scene.app, of.ref)))


def config_maps(scene: Scene) -> None:
    copies(scene, SETTINGS)


def secrets(scene: Scene) -> None:
    copies(scene, PASSWORDS)


def a_secret_of_a_measurement(scene: Scene) -> None:
    scene.subject.secret(scene.app.namespace, "metrics")


def auxiliary(scene: Scene, manifest: Json, *more: tuple[str, int]) -> None:
    """An object beside the versions: made, looked at, aimed at a version, deleted."""
    one = snapshot("v1")
    auxiliary_object = AuxiliaryObject(manifest["kind"], manifest["metadata"]["name"])
    config = replace(scene.config, auxiliary_objects=AuxiliaryObjects({auxiliary_object: manifest}))
    scene.do(ApplyApp())
    scene.observe(config)  # The first look begins to watch its kind.
    scene.do(create(one))
    woken = len(scene.woken)
    scene.do(ApplyAuxiliaryObject(auxiliary_object, "told to", *(more and (one.digest, 1))), config=config)
    eventually(lambda: len(scene.woken) > woken or refused(scene), what="what watches it has seen it")
    troubles = [each.trouble for each in scene.observe(config).auxiliary_objects if each.trouble]
    assert not troubles
    scene.do(DeleteAuxiliaryObject(auxiliary_object, "told to"), config=config)


def autoscalers(scene: Scene) -> None:
    auxiliary(scene, hpa(), ("", 1))


def scaled_objects(scene: Scene) -> None:
    auxiliary(scene, scaled_object(), ("", 1))


def budgets(scene: Scene) -> None:
    auxiliary(scene, budget())


def route(scene: Scene, protocol: str) -> None:
    scene.do(ApplyApp())
    routes.apply(scene, protocol)
    routes.seen(scene, protocol)
    written = routes.written(scene, protocol)
    scene.do(DeleteAuxiliaryObject(routes.route_in(protocol), "told to"), config=written)


def grpc_routes(scene: Scene) -> None:
    route(scene, "grpc")


def jobs(scene: Scene) -> None:
    """One is started, one ended, and one has a name that another Job has already."""
    scene.do(ApplyApp())
    lab, taken = Lab(scene), record(metric(name="taken"))
    (measurement,) = due(taken.analyses.runs[0], taken.epoch, NOW)
    namespace, name = scene.app.namespace, names.job_name(scene.app, measurement.id)
    scene.cluster.create(collection("batch/v1", "Job", namespace), manifests.job(namespace, name))
    lab.measure(record(metric(name="taken"), metric(FOR_EVER, name="slow")))
    eventually(lambda: len(lab.live()) == 2 or refused(scene), what="the other Job is started")
    eventually(lambda: scene.subject.jobs_started or refused(scene), what="both were tried")
    scene.subject.measure(scene.app, Record(epoch="e1"), (), NOW)
    eventually(lambda: len(lab.live()) == 1 or refused(scene), what="it is ended")


def release_groups(scene: Scene) -> None:
    """The object of a group, its route, and a Service that follows a member."""
    subject, key = GroupCluster(scene.subject.client), GroupKey(scene.app.namespace, "store")
    spec = {"selector": {"app": "cart"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    admin_made = {"metadata": {"name": "cart-v1"}, "spec": spec}
    scene.cluster.create(f"/api/v1/namespaces/{key.namespace}/services", admin_made)
    scene.cluster.add_ready_endpoint(key.namespace, "cart-v1")
    subject.carry_out(key, SPEC, ApplyGroup())
    subject.observe(key, subject.seen(key), SPEC, {}, [key])
    decision = GroupDecision((), GroupRecord(state=group("v1A", "cart@v1")), Phase.HEALTHY, ())
    subject.save(subject.seen(key), decision, "c1", NOW)
    for action in (ApplyRoute(ROUTE), DeleteRoute("store"), FollowMember("cart", "cart-v1"), DeleteService("cart")):
        subject.carry_out(key, SPEC, action)
    subject.carry_out(key, SPEC, DeleteGroup("store"))


def a_request_about_a_group(scene: Scene) -> None:
    """An agent hears of it by its watch."""
    key, heard = GroupKey(scene.app.namespace, "asked"), list[GroupKey]()
    subject = GroupCluster(scene.subject.client)
    subject.carry_out(key, SPEC, ApplyGroup())
    agent = Cluster.watching(Access(scene.kubeconfig), lambda _: None, [key.namespace], on_group=heard.append)
    agent.start()
    try:
        subject.request(key, Request("r1", OperatorCommand.ABORT, "ada", NOW))
        eventually(lambda: key in heard or refused(scene), what="it is heard of")
    finally:
        agent.stop()


def a_lease(scene: Scene) -> None:
    settings = LeaseSettings(namespace=scene.app.namespace, name="agents")
    lease = Lease(scene.subject.client, settings, "me")
    lease.attempt()
    lease.give_back()


def pods_in_place(scene: Scene) -> None:
    """Metadata of a role, and a restart."""
    one, metadata = snapshot("v1"), PodMetadata((("role", "active"),))
    scene.serve(one)
    scene.do(create(one, repair=True, metadata=metadata))
    scene.until(lambda seen: any(each.pods_outdated for each in seen.replica_sets))
    begun = Record(operator=OperatorState(restart=Restart(NOW, 1, begun=True)))
    pods = scene.observe(record=begun).pods or ()
    evictions = (EvictPod(pod.name, pod.uid, one.digest, 1) for pod in pods)
    for action in (SyncPodMetadata(one.digest, 1, metadata), *evictions):
        with suppress(Refused):
            scene.do(action)


def a_daemon_set(scene: Scene) -> None:
    """It is watched from the first look on, made, put on its nodes, and deleted."""
    one = replace(snapshot("v1"), workload=WorkloadKind.DAEMON_SET)
    one = replace(one, digest=digest_of(one.text, workload=one.workload))
    scene.do(ApplyApp())
    with suppress(Refused):
        scene.observe(replace(scene.config, target=Target(one, None, Source("c0ffee"))))
    name = names.replica_set_name(scene.app, 1, one.digest)
    for action in (
        create(one, 0),
        ScaleReplicaSet(one.digest, 1, 0, 1, "told to", workload=one.workload),
        DeleteReplicaSet(name, one.digest, "told to", one.workload),
    ):
        with suppress(Refused, WorldChanged):
            scene.do(action)


def an_adopted_deployment(scene: Scene) -> None:
    """It is looked at, and scaled down, after its Service was taken over."""
    scene.cluster.apply(manifests.deployment(scene.app.namespace, "old"))
    spec = scene.config.spec
    assert spec is not None
    config = replace(scene.config, spec=replace(spec, adopt=Adoption("old", scale_down=ScaleDown.ON_SUCCESS)))
    scene.do(ApplyApp())
    scene.observe(config, Record(adopted=Adopted("old")))
    with suppress(Refused):
        scene.do(ScaleDeployment("old", 2, 0, "told to"))


SCENARIOS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "bluegreendeployments": (an_app,),
    "bluegreendeployments/status": (an_app,),
    "replicasets": (an_app,),
    "daemonsets": (a_daemon_set,),
    "services": (an_app, release_groups),
    "endpointslices": (an_app,),
    "namespaces": (an_app,),
    "events": (events,),
    "configmaps": (config_maps,),
    "secrets": (secrets, a_secret_of_a_measurement),
    "releasegroups": (release_groups, a_request_about_a_group),
    "releasegroups/status": (release_groups,),
    "httproutes": (release_groups,),
    "grpcroutes": (grpc_routes,),
    "horizontalpodautoscalers": (autoscalers,),
    "scaledobjects": (scaled_objects,),
    "poddisruptionbudgets": (budgets,),
    "jobs": (jobs,),
    "deployments": (an_adopted_deployment,),
    "deployments/scale": (an_adopted_deployment,),
    "pods": (jobs, pods_in_place),
    "pods/eviction": (pods_in_place,),
    "leases": (a_lease,),
}
"""What the agent does with each resource."""


@pytest.fixture(scope="module")
def kinds(control_plane_cluster: ControlPlaneCluster) -> Iterator[None]:
    """All kinds that the rights are about."""
    control_plane_cluster.install_our_kind()
    install_grpc_routes(control_plane_cluster)
    with keda(control_plane_cluster):
        yield


@pytest.fixture
def cluster(control_plane_cluster: ControlPlaneCluster, kinds: None) -> ControlPlaneCluster:
    """Only the real one has RBAC."""
    return control_plane_cluster


@pytest.mark.parametrize("right", rights.rights(), ids=str)
def test_without_this_right_the_agent_is_refused(cluster: ControlPlaneCluster, namespace: str, right: Right) -> None:
    kubeconfig = rights.bind_all_but(cluster, namespace, right)
    rights.wait_bound(kubeconfig, namespace)
    for act in SCENARIOS[right.resource]:
        # A watch that is refused ends a scene before it begins.
        with suppress(Refused, AssertionError), watching(cluster, namespace, kubeconfig=kubeconfig) as scene:
            act(scene)
    eventually(lambda: right.is_missed_in(cluster.refusals(namespace)), 10, what=f"{right} is missed")


def test_every_resource_has_a_scenario() -> None:
    assert {right.resource for right in rights.rights()} == SCENARIOS.keys()
