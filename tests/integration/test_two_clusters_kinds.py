"""The kinds that the agent uses, each in what is peculiar to it; and what a client asks before it begins."""

from __future__ import annotations

import pytest

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, config_maps, pods, replica_sets, services
from tests.support.cluster.rawapi import APPLY, JSON_PATCH, Json
from tests.support.waiting import eventually

GROUP = "kinds.example.com"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


@pytest.fixture
def machines(cluster: TestCluster, namespace: str) -> str:
    """The path of a custom kind with a strict schema."""
    definition = manifests.custom_resource_definition("Machine", GROUP)
    size = {"type": "integer", "minimum": 1, "maximum": 9}
    mode = {"type": "string", "enum": ["slow", "fast"], "default": "slow"}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    properties = {"size": size, "mode": mode, "free": anything}
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = {
        "spec": {"type": "object", "required": ["size"], "properties": properties},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    }
    cluster.install_crd(definition)
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/machines"


def machine(**spec: object) -> Json:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Machine", "metadata": {"name": "one"}, "spec": spec}


# Custom kinds.


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"size": "three"}, "spec.size"),
        ({"size": 99}, "spec.size"),
        ({}, "spec.size"),
        ({"size": 3, "mode": "warp"}, "spec.mode"),
        ({"size": 3, "free": "text"}, "spec.free"),
    ],
)
def test_a_custom_object_against_its_schema_is_a_422_that_names_the_field(
    cluster: TestCluster, machines: str, spec: Json, field: str
) -> None:
    status, body = cluster.request("POST", machines, machine(**spec))
    assert (status, body["reason"]) == (422, "Invalid")
    assert field in {cause["field"] for cause in body["details"]["causes"]}


def test_a_schema_prunes_what_it_does_not_know_and_fills_in_defaults(cluster: TestCluster, machines: str) -> None:
    made = cluster.create(machines, machine(size=3, stray=True, free={"any": ["thing"]}))
    assert made["spec"] == {"size": 3, "mode": "slow", "free": {"any": ["thing"]}}


def test_a_custom_object_is_applied_like_any_other(cluster: TestCluster, machines: str) -> None:
    path = f"{machines}/one"
    first = cluster.patch(path, machine(size=3), APPLY, fieldManager="one", force="true")
    again = cluster.patch(path, machine(size=3), APPLY, fieldManager="one", force="true")
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    status, _ = cluster.request("PATCH", path, machine(size=4), content_type=APPLY, fieldManager="two")
    assert status == 409


def test_a_replace_of_a_custom_object_must_name_its_version(cluster: TestCluster, machines: str) -> None:
    cluster.create(machines, machine(size=3))
    status, body = cluster.request("PUT", f"{machines}/one", machine(size=4))
    assert (status, body["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


def test_a_replace_of_a_built_in_object_need_not_name_its_version(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace, a="1"))
    replaced = cluster.replace(f"{config_maps(namespace)}/one", manifests.config_map(namespace, a="2"))
    assert replaced["data"] == {"a": "2"}


def test_a_replace_of_what_is_not_there_is_a_404(cluster: TestCluster, namespace: str) -> None:
    path = f"{config_maps(namespace)}/one"
    assert cluster.request("PUT", path, manifests.config_map(namespace))[0] == 404


# Limits that the agent has to know.


def test_annotations_of_more_than_256_kib_are_a_422(cluster: TestCluster, namespace: str) -> None:
    manifest = manifests.replica_set(namespace, replicas=0)
    manifest["metadata"]["annotations"] = {"gitops-bg.dev/snapshot": "x" * (256 * 1024)}
    status, body = cluster.request("POST", replica_sets(namespace), manifest)
    assert (status, body["details"]["causes"][0]["field"]) == (422, "metadata.annotations")


def test_a_label_value_of_more_than_63_characters_is_a_422(cluster: TestCluster, namespace: str) -> None:
    manifest = manifests.config_map(namespace, labels={"gitops-bg.dev/digest": "f" * 64})
    assert cluster.request("POST", config_maps(namespace), manifest)[0] == 422


def test_a_service_name_of_more_than_63_characters_is_a_422(cluster: TestCluster, namespace: str) -> None:
    manifest = manifests.service(namespace, "s" * 64, app="web")
    status, body = cluster.request("POST", services(namespace), manifest)
    assert (status, body["details"]["causes"][0]["field"]) == (422, "metadata.name")


# Small kinds.


def test_a_lease_is_a_lock(cluster: TestCluster, namespace: str) -> None:
    path = LEASES.format(namespace)
    spec = {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.000006Z",
        "renewTime": "2026-01-02T03:04:05.000006Z",
        "leaseTransitions": 0,
    }
    made = cluster.create(path, {"metadata": {"name": "agent"}, "spec": spec})
    assert made["spec"] == spec
    renewed = {**made, "spec": {**spec, "renewTime": "2026-01-02T03:04:06.000007Z"}}
    assert cluster.replace(f"{path}/agent", renewed)["spec"]["renewTime"] == "2026-01-02T03:04:06.000007Z"
    status, body = cluster.request("PUT", f"{path}/agent", {**made, "spec": {**spec, "holderIdentity": "two"}})
    assert (status, body["reason"]) == (409, "Conflict")


def test_an_event_can_be_told_and_counted_up(cluster: TestCluster, namespace: str) -> None:
    path = collection("v1", "Event", namespace)
    event = {
        "metadata": {"generateName": "web."},
        "involvedObject": {"apiVersion": "v1", "kind": "Service", "name": "web", "namespace": namespace},
        "reason": "Switched",
        "message": "traffic moved",
        "type": "Normal",
        "source": {"component": "gitops-bg"},
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "count": 1,
    }
    made = cluster.create(path, event)
    assert made["metadata"]["name"].startswith("web.")
    assert len(made["metadata"]["name"]) > len("web.")
    assert cluster.patch(f"{path}/{made['metadata']['name']}", {"count": 2})["count"] == 2


REFERENCE = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
FILES_OF_AN_APP: list[tuple[str, str, Json]] = [
    ("apps", "Deployment", manifests.replica_set("x", replicas=0)["spec"]),
    ("autoscaling", "HorizontalPodAutoscaler", {"maxReplicas": 5, "scaleTargetRef": REFERENCE}),
    ("policy", "PodDisruptionBudget", {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}),
]


@pytest.mark.parametrize(("group", "kind", "spec"), FILES_OF_AN_APP)
def test_kinds_of_the_apps_files_are_taken(
    cluster: TestCluster, namespace: str, group: str, kind: str, spec: Json
) -> None:
    metadata = {"name": "web", "namespace": namespace}
    version = cluster.preferred(group)
    cluster.apply({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    (found,) = cluster.list(collection(version, kind, namespace))
    assert found["metadata"]["name"] == "web"


def test_a_deleted_namespace_takes_everything_with_it(cluster: TestCluster) -> None:
    name = cluster.namespace()
    cluster.create(config_maps(name), manifests.config_map(name))
    cluster.apply(manifests.replica_set(name))
    eventually(lambda: cluster.list(pods(name)), what="a pod")
    cluster.delete(f"/api/v1/namespaces/{name}")
    eventually(lambda: cluster.find(f"/api/v1/namespaces/{name}") is None, what="it is gone")
    assert cluster.list(config_maps(name)) == []
    assert cluster.list(pods(name)) == []


# What a client asks first, and asks wrongly.


def test_a_client_can_discover_versions_groups_and_kinds(cluster: TestCluster) -> None:
    assert cluster.get("/version")["gitVersion"].startswith("v1.")
    assert "v1" in cluster.get("/api")["versions"]
    groups = {group["name"]: group["preferredVersion"]["groupVersion"] for group in cluster.get("/apis")["groups"]}
    assert groups["apps"] == "apps/v1"
    core = {each["name"]: each for each in cluster.get("/api/v1")["resources"]}
    assert (core["services"]["kind"], core["services"]["namespaced"]) == ("Service", True)
    apps = {each["name"] for each in cluster.get("/apis/apps/v1")["resources"]}
    assert {"replicasets", "replicasets/status", "replicasets/scale"} <= apps


def test_the_server_says_that_it_is_ready(cluster: TestCluster) -> None:
    assert cluster.request("GET", "/readyz")[0] == 200


def test_a_kind_that_nobody_serves_is_a_404(cluster: TestCluster, namespace: str) -> None:
    assert cluster.request("GET", f"/apis/nobody.example.com/v1/namespaces/{namespace}/things")[0] == 404


def test_a_patch_of_an_unknown_content_type_is_a_415(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    path = f"{config_maps(namespace)}/one"
    assert cluster.request("PATCH", path, {}, content_type="application/json")[0] == 415


def test_a_json_patch_of_a_path_that_is_not_there_is_a_422(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    patch = [{"op": "replace", "path": "/data/absent", "value": "x"}]
    path = f"{config_maps(namespace)}/one"
    assert cluster.request("PATCH", path, patch, content_type=JSON_PATCH)[0] == 422


def test_a_body_of_another_name_or_namespace_is_a_400(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    other = manifests.config_map(namespace, "two")
    assert cluster.request("PUT", f"{config_maps(namespace)}/one", other)[0] == 400
    assert cluster.request("POST", config_maps(namespace), manifests.config_map("elsewhere"))[0] == 400


def test_kubectl_prints_a_table(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    done = cluster.kubectl("get", "configmaps", "-n", namespace)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("NAME")
    assert any(line.startswith("one ") for line in done.stdout.splitlines())
