"""An agent that acts as a ServiceAccount of each namespace: what that may not do, no app there gets. On real RBAC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.actions import ApplyApp, DeleteConfiguration
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.record import Record
from tests.integration.cluster.scene import PASSWORDS, SETTINGS, Scene, create, snapshot, watching
from tests.support.cluster import rights
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import Json
from tests.support.scenario import scenario
from tests.support.waiting import eventually

pytestmark = pytest.mark.control_plane

TENANT = "apps"
NOW = datetime.now(UTC)


@pytest.fixture
def cluster(control_plane_cluster: ControlPlaneCluster) -> ControlPlaneCluster:
    """Only the real one has RBAC."""
    return control_plane_cluster


@pytest.fixture
def scene(cluster: ControlPlaneCluster, namespace: str) -> Iterator[Scene]:
    """The agent with all rights that it may be granted, and a tenant who has none yet."""
    kubeconfig = rights.install(cluster)
    for role in (rights.APP_SECRETS, rights.SECRETS, rights.AGENT):
        rights.bind(cluster, namespace, role)
    rights.wait_bound(kubeconfig, namespace)
    with watching(cluster, namespace, kubeconfig=kubeconfig, impersonate=TENANT) as scene:
        yield scene


def grant(scene: Scene, role: str) -> None:
    """Let the tenant do in the namespace what a role allows."""
    assert isinstance(scene.cluster, ControlPlaneCluster)
    namespace = scene.app.namespace
    account: Json = {"kind": "ServiceAccount", "name": TENANT, "namespace": namespace}
    kubeconfig = scene.cluster.control_plane.service_account(namespace, TENANT)
    rights.bind(scene.cluster, namespace, role, account, name=f"{TENANT}-{role}")
    if role == rights.AGENT:
        rights.wait_bound(kubeconfig, namespace)


def let_impersonate(scene: Scene) -> None:
    """Let the agent act as accounts of the namespace."""
    assert isinstance(scene.cluster, ControlPlaneCluster)
    rights.bind(scene.cluster, scene.app.namespace, rights.IMPERSONATOR)
    eventually(lambda: f":{TENANT}" in _refusal(scene), what="the tenant is refused, and no longer the agent")


def _refusal(scene: Scene) -> str:
    """What the server says to a read of a Secret that nobody may read."""
    with pytest.raises(Refused) as refused:
        scene.subject.secret(scene.app.namespace, "anything")
    return str(refused.value)


def test_without_the_right_to_act_as_another_the_refusal_says_how_to_grant_it(scene: Scene) -> None:
    scene.do(ApplyApp())
    command = f"kubectl -n {scene.app.namespace} create rolebinding gitops-bg-impersonator"
    with pytest.raises(Refused, match=f"cannot impersonate serviceaccounts .*: {command}"):
        scene.do(create(snapshot("v1")))


def test_what_the_tenant_may_not_the_agent_does_not_do_for_its_apps(scene: Scene) -> None:
    let_impersonate(scene)
    scene.do(ApplyApp())
    with pytest.raises(Refused, match=f"system:serviceaccount:{scene.app.namespace}:{TENANT} cannot "):
        scene.do(create(snapshot("v1")))
    with pytest.raises(Refused, match=TENANT):
        scene.copied(SETTINGS)
    for kind, version in (("ReplicaSet", "apps/v1"), ("ConfigMap", "v1")):
        assert not scene.cluster.list(collection(version, kind, scene.app.namespace))


def test_all_of_an_app_is_done_as_the_tenant_and_its_record_is_the_agents(scene: Scene) -> None:
    let_impersonate(scene)
    grant(scene, rights.AGENT)
    scene.serve(snapshot("v1"))
    scene.do(DeleteConfiguration("ConfigMap", *scene.copied(SETTINGS)))
    scene.subject.save(scene.app, Decision((), Record(epoch="e"), Phase.HEALTHY), NOW)
    scene.subject.record_event(scene.app, "PreviewSwitched", "told to", NOW)
    assert isinstance(scene.cluster, ControlPlaneCluster)
    cluster, namespace = scene.cluster, scene.app.namespace
    eventually(lambda: "events" in dict(cluster.acting(namespace)), what="the Event is written")
    agent, tenant = "system:serviceaccount:gitops-bg:gitops-bg", f"system:serviceaccount:{namespace}:{TENANT}"
    done = cluster.acting(namespace)
    own = {"bluegreendeployments", "events", "namespaces"}
    assert {resource for resource, who in done if who == agent} == own
    assert {resource for resource, who in done if who == tenant} >= {"replicasets", "services", "configmaps"}


def test_a_template_reads_no_secret_that_its_namespace_may_not_read(scene: Scene) -> None:
    """Though the agent itself may: whoever writes an AnalysisTemplate gets what the namespace has, and no more."""
    let_impersonate(scene)
    grant(scene, rights.AGENT)
    namespace = scene.app.namespace
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "metrics"}, "data": {"token": "eA=="}}
    scene.cluster.create(collection("v1", "Secret", namespace), secret)
    scene.do(ApplyApp())
    with pytest.raises(Refused, match=TENANT):
        scene.subject.secret(namespace, "metrics")
    with pytest.raises(Refused, match=TENANT):
        scene.copied(PASSWORDS)
    grant(scene, rights.SECRETS)
    eventually(lambda: _read(scene) == {"token": b"x"}, what="the tenant's right has arrived")


def test_an_agent_promotes_and_reverts_as_the_tenant(cluster: ControlPlaneCluster, tmp_path: Path) -> None:
    """With its own rights at their least: those of the tenant are the same role, bound to the tenant."""
    access = Access(rights.install(cluster), impersonate=TENANT)
    with scenario(cluster, tmp_path, access=access) as world:
        account: Json = {"kind": "ServiceAccount", "name": TENANT, "namespace": world.namespace}
        tenant = cluster.control_plane.service_account(world.namespace, TENANT)
        rights.bind(cluster, world.namespace)
        rights.bind(cluster, world.namespace, account=account, name=TENANT)
        rights.bind(cluster, world.namespace, rights.IMPERSONATOR)
        for kubeconfig in (access.kubeconfig, tenant):
            assert kubeconfig is not None
            rights.wait_bound(kubeconfig, world.namespace)
        world.start()
        web = world.app().deploy("v1")
        promotion = web.promote("v2")
        web.revert(promotion)
        web.wait_live("v1")
        assert dict(cluster.acting(world.namespace))["services"] == f"system:serviceaccount:{world.namespace}:{TENANT}"


def _read(scene: Scene) -> object:
    with suppress(Refused):
        return scene.subject.secret(scene.app.namespace, "metrics")
    return None
