"""The agent's ServiceAccount can do all that the agent does, and nothing else (deploy/rbac.yaml)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
import yaml

from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyAuxiliaryObject,
    ApplyService,
    DeleteApp,
    DeleteAuxiliaryObject,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    ScaleReplicaSet,
    SyncPodMetadata,
)
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.decision import Decision, Phase
from gitops_bg.core.model.record import OperatorState, Record, Restart
from gitops_bg.core.model.version import PodMetadata
from gitops_bg.core.names import configuration_name, replica_set_name
from gitops_bg.spec.manifests.auxiliary import AuxiliaryObjects
from tests.integration.cluster.execution.test_jobs import FOR_EVER, Lab, metric, record
from tests.integration.cluster.scene import PASSWORDS, SETTINGS, Scene, create, snapshot, switch, watching
from tests.support.auxiliary_objects import budget, hpa, untracked
from tests.support.cluster.clusters import DEPLOY, ControlPlaneCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import RawApi
from tests.support.waiting import eventually

pytestmark = pytest.mark.control_plane

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
NEEDED = {
    ("gitops-bg.dev", "bluegreendeployments", ""): {"get", "list", "watch", "create", "patch", "delete"},
    ("gitops-bg.dev", "bluegreendeployments", "status"): {"update"},
    ("apps", "replicasets", ""): {"get", "list", "watch", "create", "patch", "delete"},
    ("", "namespaces", ""): {"get"},
    ("", "services", ""): {"get", "list", "watch", "create", "patch", "delete"},
    ("gitops-bg.dev", "releasegroups", ""): {"get", "list", "create", "patch"},
    ("gitops-bg.dev", "releasegroups", "status"): {"update"},
    ("gateway.networking.k8s.io", "httproutes", ""): {"get", "list", "create", "patch", "delete"},
    ("gateway.networking.k8s.io", "grpcroutes", ""): {"get", "create", "patch", "delete"},
    ("discovery.k8s.io", "endpointslices", ""): {"list", "watch"},
    ("", "events", ""): {"create", "patch"},
    ("", "secrets", ""): set(),
    ("", "configmaps", ""): {"get", "list", "watch", "create", "patch", "delete"},
    ("autoscaling", "horizontalpodautoscalers", ""): {"get", "create", "patch", "delete"},
    ("keda.sh", "scaledobjects", ""): {"get", "create", "patch", "delete"},
    ("policy", "poddisruptionbudgets", ""): {"get", "create", "patch", "delete"},
    ("policy", "poddisruptionbudgets", "status"): set(),
    ("batch", "jobs", ""): {"get", "list", "watch", "create", "delete"},
    ("batch", "jobs", "status"): set(),
    ("batch", "cronjobs", ""): set(),
    ("", "pods", ""): {"list", "watch", "patch"},
    ("", "pods", "log"): set(),
    ("", "pods", "eviction"): {"create"},
    ("", "pods", "exec"): set(),
    ("coordination.k8s.io", "leases", ""): set(),
    ("apps", "deployments", ""): set(),
    ("", "serviceaccounts", ""): set(),
    ("rbac.authorization.k8s.io", "clusterroles", ""): set(),
}


def binding(role: str) -> dict[str, Any]:
    """What docs/features/analysis.md and docs/features/configuration.md have somebody make for a namespace."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "gitops-bg", "namespace": "gitops-bg"}],
    }


@pytest.fixture
def agent(control_plane_cluster: ControlPlaneCluster, namespace: str) -> Iterator[Scene]:
    cluster = control_plane_cluster
    cluster.install_our_kind()
    cluster.apply(yaml.safe_load((DEPLOY / "namespace.yaml").read_text()))
    for manifest in yaml.safe_load_all((DEPLOY / "rbac.yaml").read_text()):
        cluster.apply(manifest)
    admin, cluster.kubeconfig = cluster.kubeconfig, cluster.control_plane.service_account("gitops-bg", "gitops-bg")
    try:
        with watching(cluster, namespace) as scene:
            yield scene
    finally:
        cluster.kubeconfig = admin


@pytest.fixture
def cluster(control_plane_cluster: ControlPlaneCluster) -> ControlPlaneCluster:
    """Only the real one has RBAC."""
    return control_plane_cluster


def test_all_the_agent_does_is_allowed(agent: Scene) -> None:
    one, two = snapshot("v1"), snapshot("v2")
    agent.serve(one)
    agent.do(create(two, number=2), ApplyService("preview", "web-preview", two.digest, "told to"))
    agent.available(two)
    agent.do(switch(two, agent.selector(one), number=2), ScaleReplicaSet(one.digest, 1, 1, 0, "told to"))
    agent.do(DeleteReplicaSet(replica_set_name(agent.app, 1, one.digest), one.digest, "told to"))
    metadata = PodMetadata((("role", "active"),))
    agent.do(create(two, number=2, repair=True, metadata=metadata))
    agent.until(lambda seen: any(each.pods_outdated for each in seen.replica_sets))
    agent.do(SyncPodMetadata(two.digest, 2, metadata))
    begun = Record(operator=OperatorState(restart=Restart(datetime.now(UTC), 1, begun=True)))
    (pod,) = agent.observe(record=begun).pods or ()
    agent.do(EvictPod(pod.name, pod.uid, two.digest, 2))
    agent.subject.save(agent.app, Decision((), Record(epoch="e"), Phase.HEALTHY), datetime.now(UTC))
    agent.subject.record_event(agent.app, "TrafficSwitched", "told to", datetime.now(UTC))
    events = collection("v1", "Event", agent.app.namespace)
    reasons = lambda: [event["reason"] for event in agent.cluster.list(events)]  # noqa: E731
    eventually(lambda: "TrafficSwitched" in reasons(), what="the Event is written")
    agent.do(DeleteConfiguration("ConfigMap", *agent.copied(SETTINGS)))
    agent.do(DeleteApp())
    agent.until(lambda seen: not seen.app_uid)
    assert agent.subject.troubles() == []


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

    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{agent.app.namespace}/rolebindings"
    control_plane_cluster.create(path, binding("gitops-bg-app-secrets"))
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

    admin.create(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{granted}/rolebindings", binding("gitops-bg-secrets"))

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

    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{agent.app.namespace}/rolebindings"
    control_plane_cluster.create(path, binding("gitops-bg-app-secrets"))

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


def test_nothing_else_is_allowed(agent: Scene) -> None:
    api = RawApi(agent.cluster.kubeconfig)
    try:
        allowed = {(what, verb) for what, verb in product(NEEDED, VERBS) if _may(api, what, verb, agent.app.namespace)}
    finally:
        api.close()
    assert allowed == {(what, verb) for what, verbs in NEEDED.items() for verb in verbs}


def test_its_lease_is_its_own(agent: Scene) -> None:
    """Of the namespace that the agent runs in it may take and give back Leases, and no more (docs/start/install.md)."""
    leases = ("coordination.k8s.io", "leases", "")
    api = RawApi(agent.cluster.kubeconfig)
    try:
        allowed = {verb for verb in VERBS if _may(api, leases, verb, "gitops-bg")}
    finally:
        api.close()
    assert allowed == {"get", "create", "update"}


def _may(api: RawApi, what: tuple[str, str, str], verb: str, namespace: str) -> bool:
    group, resource, subresource = what
    attributes = {
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "verb": verb,
        "namespace": namespace,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    return bool(answer["status"]["allowed"])
