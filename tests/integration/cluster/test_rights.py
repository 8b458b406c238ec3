"""The agent's ServiceAccount can do all that the agent does, and nothing else (deploy/rbac.yaml)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import product

import pytest

from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyAuxiliaryObject,
    ClusterAction,
    DeleteApp,
    DeleteAuxiliaryObject,
    DeleteConfiguration,
    EvictPod,
    SyncPodMetadata,
)
from gitops_bg.core.model.analysis import AnalysisPhase
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.record import OperatorState, Record, Restart
from gitops_bg.core.model.version import PodMetadata
from gitops_bg.core.names import configuration_name
from gitops_bg.spec.manifests.auxiliary import AuxiliaryObjects
from tests.integration.cluster.execution.test_jobs import FOR_EVER, Lab, metric, record
from tests.integration.cluster.scene import PASSWORDS, SETTINGS, Scene, create, snapshot, watching
from tests.support.auxiliary_objects import budget, hpa, untracked
from tests.support.cluster import rights
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import RawApi
from tests.support.waiting import eventually

pytestmark = pytest.mark.control_plane

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
NEEDED = {
    ("gitops-bg.dev", "bluegreendeployments"): {"get", "list", "watch", "create", "patch", "delete"},
    ("gitops-bg.dev", "bluegreendeployments/status"): {"patch"},
    ("apps", "replicasets"): {"get", "list", "watch", "create", "patch", "delete"},
    ("apps", "daemonsets"): set(),
    ("", "namespaces"): {"get"},
    ("", "services"): {"get", "list", "watch", "create", "patch", "delete"},
    ("gitops-bg.dev", "releasegroups"): {"get", "list", "watch", "create", "patch", "delete"},
    ("gitops-bg.dev", "releasegroups/status"): {"patch"},
    ("gateway.networking.k8s.io", "httproutes"): {"get", "list", "create", "patch", "delete"},
    ("gateway.networking.k8s.io", "grpcroutes"): {"get", "create", "patch", "delete"},
    ("discovery.k8s.io", "endpointslices"): {"list", "watch"},
    ("", "events"): {"create", "patch"},
    ("", "secrets"): set(),
    ("", "configmaps"): {"get", "list", "watch", "create", "patch", "delete"},
    ("autoscaling", "horizontalpodautoscalers"): {"get", "list", "watch", "create", "patch", "delete"},
    ("keda.sh", "scaledobjects"): {"get", "create", "patch", "delete"},
    ("policy", "poddisruptionbudgets"): {"get", "list", "watch", "create", "patch", "delete"},
    ("policy", "poddisruptionbudgets/status"): set(),
    ("batch", "jobs"): {"get", "list", "watch", "create", "delete"},
    ("batch", "jobs/status"): set(),
    ("batch", "cronjobs"): set(),
    ("", "pods"): {"list", "watch"},
    ("", "pods/log"): set(),
    ("", "pods/eviction"): set(),
    ("", "pods/exec"): set(),
    ("coordination.k8s.io", "leases"): set(),
    ("apps", "deployments"): set(),
    ("", "serviceaccounts"): set(),
    ("rbac.authorization.k8s.io", "clusterroles"): set(),
}


@pytest.fixture
def agent(control_plane_cluster: ControlPlaneCluster, namespace: str) -> Iterator[Scene]:
    """The agent with its rights in one namespace, and no others."""
    cluster = control_plane_cluster
    kubeconfig = rights.install(cluster)
    rights.bind(cluster, namespace)
    rights.wait_bound(kubeconfig, namespace)
    with watching(cluster, namespace, kubeconfig=kubeconfig) as scene:
        yield scene


@pytest.fixture
def api(agent: Scene) -> Iterator[RawApi]:
    """The API server as the agent sees it."""
    with closing(RawApi(agent.kubeconfig)) as api:
        yield api


@pytest.fixture
def cluster(control_plane_cluster: ControlPlaneCluster) -> ControlPlaneCluster:
    """Only the real one has RBAC."""
    return control_plane_cluster


def test_all_the_agent_does_is_allowed(agent: Scene) -> None:
    agent.serve_and_promote()
    agent.subject.record_event(agent.app, "PreviewSwitched", "told to", datetime.now(UTC))
    events = collection("v1", "Event", agent.app.namespace)
    reasons = lambda: [event["reason"] for event in agent.cluster.list(events)]  # noqa: E731
    eventually(lambda: "PreviewSwitched" in reasons(), what="the Event is written")
    agent.do(DeleteConfiguration("ConfigMap", *agent.copied(SETTINGS)))
    agent.do(DeleteApp())
    agent.until(lambda seen: not seen.app_uid)
    assert agent.subject.caches.troubles() == []


def test_pods_are_changed_in_place_only_where_that_was_granted(
    agent: Scene, control_plane_cluster: ControlPlaneCluster
) -> None:
    """For activeMetadata, previewMetadata and restartAt; the refusal says which role to bind."""
    one = snapshot("v1")
    agent.serve(one)
    metadata = PodMetadata((("role", "active"),))
    agent.do(create(one, repair=True, metadata=metadata))
    agent.until(lambda seen: any(each.pods_outdated for each in seen.replica_sets))
    begun = Record(operator=OperatorState(restart=Restart(datetime.now(UTC), 1, begun=True)))
    (pod,) = agent.observe(record=begun).pods or ()
    in_place = (SyncPodMetadata(one.digest, 1, metadata), EvictPod(pod.name, pod.uid, one.digest, 1))
    for action in in_place:
        with pytest.raises(Refused, match=f"kubectl -n {agent.app.namespace} create rolebinding gitops-bg-app-pods"):
            agent.do(action)

    rights.bind(control_plane_cluster, agent.app.namespace, rights.IN_PLACE)

    for action in in_place:
        eventually(partial(_carried_out, agent, action), what="the right has arrived")


def _carried_out(agent: Scene, action: ClusterAction) -> bool:
    with suppress(Refused):
        agent.do(action)
        return True
    return False


def test_in_other_namespaces_it_may_nothing(api: RawApi, control_plane_cluster: ControlPlaneCluster) -> None:
    other = control_plane_cluster.namespace()
    asked = [(*what, verb) for what, verb in product(NEEDED, VERBS)]
    assert not [each for each in asked if rights.may(api, *each, other) or rights.may(api, *each, "")]


def test_auxiliary_objects_are_made_read_and_deleted(agent: Scene, control_plane_cluster: ControlPlaneCluster) -> None:
    """Autoscaler, budget and ConfigMap; of a Secret it is said which right is missing, until somebody grants it."""
    one = snapshot("v1")
    agent.do(ApplyApp(), create(one))
    given = {
        AuxiliaryObject(each["kind"], each["metadata"]["name"]): each
        for each in (hpa(), budget(), untracked(level="1"))
    }
    secret = AuxiliaryObject("Secret", "flags")
    written = replace(agent.config, auxiliary_objects=AuxiliaryObjects({**given, secret: untracked("Secret")}))
    for auxiliary_object in given:
        aim = (one.digest, 1) if auxiliary_object.kind == "HorizontalPodAutoscaler" else ("", None)
        agent.do(ApplyAuxiliaryObject(auxiliary_object, "told to", *aim), config=written)
    seen = {view.auxiliary_object.kind: view for view in agent.observe(written).auxiliary_objects}
    assert [kind for kind, view in seen.items() if view.trouble or view.drifted] == ["Secret"]
    assert f"gitops-bg-app-secrets to the agent in namespace {agent.app.namespace}" in seen["Secret"].trouble

    rights.bind(control_plane_cluster, agent.app.namespace, rights.APP_SECRETS)
    eventually(lambda: len(agent.observe(written).auxiliary_objects) == len(given), what="the right has arrived")
    agent.do(ApplyAuxiliaryObject(secret, "told to"), config=written)
    for auxiliary_object in (*given, secret):
        agent.do(DeleteAuxiliaryObject(auxiliary_object, "told to"), config=written)
    assert agent.observe(written).auxiliary_objects == ()


def test_a_job_is_measured_by_and_ended(agent: Scene) -> None:
    agent.do(ApplyApp())
    lab = Lab(agent)
    lab.measure(record(metric()))
    assert lab.result(record(metric())).phase is AnalysisPhase.SUCCESSFUL
    lab.measure(record(metric(), metric(FOR_EVER, name="slow")))
    lab.wait_live(2)
    lab.measure(Record(epoch="e1"))
    eventually(lambda: not lab.live(), what="the Jobs of a run that is forgotten are gone")


def test_secrets_are_read_only_where_that_was_granted(agent: Scene, control_plane_cluster: ControlPlaneCluster) -> None:
    admin, granted, other = control_plane_cluster, agent.app.namespace, control_plane_cluster.namespace()
    for namespace in (granted, other):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "metrics"}, "data": {"token": "eA=="}}
        admin.create(collection("v1", "Secret", namespace), secret)
    with pytest.raises(Refused, match="secrets"):
        agent.subject.secret(granted, "metrics")

    rights.bind(admin, granted, rights.SECRETS)

    eventually(lambda: _secret(agent, granted) == {"token": b"x"}, what="the right has arrived")
    with pytest.raises(Refused, match="secrets"):
        agent.subject.secret(other, "metrics")
    with pytest.raises(NotFound, match="nobody"):
        agent.subject.secret(granted, "nobody")
    admin.request("DELETE", f"/api/v1/namespaces/{other}")


def _secret(agent: Scene, namespace: str) -> object:
    with suppress(Refused):
        return agent.subject.secret(namespace, "metrics")
    return None


def test_secrets_are_copied_only_where_that_was_granted(
    agent: Scene, control_plane_cluster: ControlPlaneCluster
) -> None:
    """Where it was not, the agent works all the same: for all that needs no Secret."""
    agent.do(ApplyApp())
    agent.copied(SETTINGS)
    agent.until(lambda seen: [view.kind for view in seen.configurations] == ["ConfigMap"])
    assert agent.observe().unlisted == ("Secret",)
    with pytest.raises(
        Refused, match=f"bind the ClusterRole gitops-bg-app-secrets .* in namespace {agent.app.namespace}"
    ):
        agent.copied(PASSWORDS)

    rights.bind(control_plane_cluster, agent.app.namespace, rights.APP_SECRETS)

    eventually(lambda: _copied(agent), what="the right has arrived")
    # What the list then shows is known already: nothing changes that `until` would hear of.
    eventually(lambda: not agent.observe().unlisted, what="Secrets are listed")
    assert len(agent.observe().configurations) == 2
    agent.do(DeleteConfiguration("Secret", configuration_name(agent.app, PASSWORDS.ref)))


def _copied(agent: Scene) -> bool:
    with suppress(Refused):
        return bool(agent.copied(PASSWORDS))
    return False


def test_an_app_is_applied_again_and_again(agent: Scene) -> None:
    agent.do(ApplyApp(), ApplyApp())


def test_nothing_else_is_allowed(agent: Scene, api: RawApi) -> None:
    asked = product(NEEDED, VERBS)
    allowed = {(what, verb) for what, verb in asked if rights.may(api, *what, verb, agent.app.namespace)}
    assert allowed == {(what, verb) for what, verbs in NEEDED.items() for verb in verbs}


def test_its_lease_is_its_own(api: RawApi) -> None:
    """Of the namespace that the agent runs in it may take and give back Leases, and no more (docs/start/install.md)."""
    leases = ("coordination.k8s.io", "leases")
    assert {verb for verb in VERBS if rights.may(api, *leases, verb, "gitops-bg")} == {"get", "create", "update"}
