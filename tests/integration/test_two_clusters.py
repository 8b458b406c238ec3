"""What every API server that the agent meets has to do; proven on the real one, demanded of the sandbox.

Objects, writes and refusals. Watches stand in test_two_clusters_watches, workloads in test_two_clusters_workloads.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import config_maps, replica_sets, services
from tests.support.cluster.rawapi import APPLY, JSON_PATCH, MERGE, STRATEGIC, Json

GROUP = "conformance.example.com"


@pytest.fixture
def gadgets(cluster: TestCluster, namespace: str) -> str:
    """The path of a custom kind with a status subresource."""
    cluster.install_crd(manifests.custom_resource_definition("Gadget", GROUP))
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/gadgets"


def gadget(name: str = "one", **spec: object) -> Json:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def version(thing: Json) -> str:
    return str(thing["metadata"]["resourceVersion"])


# Objects come and go.


def test_an_object_is_created_read_replaced_and_deleted(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    made = cluster.create(path, manifests.config_map(namespace, a="1"))
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"].endswith("Z")
    assert cluster.get(f"{path}/one")["data"] == {"a": "1"}
    replaced = cluster.replace(f"{path}/one", {**made, "data": {"b": "2"}})
    assert replaced["data"] == {"b": "2"}
    assert version(replaced) != version(made)
    assert replaced["metadata"]["uid"] == made["metadata"]["uid"]
    cluster.delete(f"{path}/one")
    assert cluster.find(f"{path}/one") is None


def test_a_list_names_its_kind_and_version(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    answer = cluster.get(config_maps(namespace))
    assert (answer["kind"], answer["apiVersion"]) == ("ConfigMapList", "v1")
    assert answer["metadata"]["resourceVersion"]


def test_what_is_not_there_is_a_404_status_that_names_it(cluster: TestCluster, namespace: str) -> None:
    status, body = cluster.request("GET", f"{config_maps(namespace)}/absent")
    assert status == 404
    assert body["kind"] == "Status"
    assert (body["status"], body["reason"], body["code"]) == ("Failure", "NotFound", 404)
    assert body["details"]["name"] == "absent"
    assert body["details"]["kind"] == "configmaps"
    assert body["message"] == 'configmaps "absent" not found'


def test_a_second_create_is_a_409_already_exists(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    status, body = cluster.request("POST", config_maps(namespace), manifests.config_map(namespace))
    assert (status, body["reason"]) == (409, "AlreadyExists")


def test_an_object_in_a_namespace_that_is_not_there_is_a_404(cluster: TestCluster) -> None:
    status, body = cluster.request("POST", config_maps("nowhere"), manifests.config_map("nowhere"))
    assert (status, body["reason"]) == (404, "NotFound")


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_dry_run_answers_and_changes_nothing(cluster: TestCluster, namespace: str, method: str) -> None:
    path = config_maps(namespace)
    if method != "POST":
        cluster.create(path, manifests.config_map(namespace, a="1"))
    before = cluster.list(path)
    if method == "POST":
        answer = cluster.create(path, manifests.config_map(namespace, a="1"), dryRun="All")
        assert answer["data"] == {"a": "1"}
    elif method == "PATCH":
        assert cluster.patch(f"{path}/one", {"data": {"a": "2"}}, MERGE, dryRun="All")["data"] == {"a": "2"}
    else:
        cluster.delete(f"{path}/one", dryRun="All")
    assert cluster.list(path) == before


# Concurrency: the resourceVersion is a lock.


def test_a_replace_of_a_stale_version_is_a_409_conflict(cluster: TestCluster, namespace: str) -> None:
    path = f"{config_maps(namespace)}/one"
    stale = cluster.create(config_maps(namespace), manifests.config_map(namespace, a="1"))
    cluster.replace(path, {**stale, "data": {"a": "2"}})
    status, body = cluster.request("PUT", path, {**stale, "data": {"a": "3"}})
    assert (status, body["reason"]) == (409, "Conflict")
    assert cluster.get(path)["data"] == {"a": "2"}


def test_a_stale_put_of_a_status_is_a_409_conflict(cluster: TestCluster, gadgets: str) -> None:
    stale = cluster.create(gadgets, gadget())
    cluster.replace(f"{gadgets}/one/status", {**stale, "status": {"phase": "first"}})
    status, body = cluster.request("PUT", f"{gadgets}/one/status", {**stale, "status": {"phase": "second"}})
    assert (status, body["reason"]) == (409, "Conflict")
    assert cluster.get(f"{gadgets}/one")["status"] == {"phase": "first"}


@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
def test_a_patch_that_names_a_stale_version_is_a_409(cluster: TestCluster, namespace: str, content_type: str) -> None:
    path = f"{config_maps(namespace)}/one"
    stale = cluster.create(config_maps(namespace), manifests.config_map(namespace, a="1"))
    cluster.patch(path, {"data": {"a": "2"}}, content_type)
    body = {"metadata": {"resourceVersion": version(stale)}, "data": {"a": "3"}}
    assert cluster.request("PATCH", path, body, content_type=content_type)[0] == 409


def test_a_write_that_changes_nothing_keeps_the_version(cluster: TestCluster, namespace: str) -> None:
    path = f"{config_maps(namespace)}/one"
    made = cluster.create(config_maps(namespace), manifests.config_map(namespace, a="1"))
    assert version(cluster.patch(path, {"data": {"a": "1"}}, MERGE)) == version(made)
    assert version(cluster.replace(path, made)) == version(made)


def test_a_delete_of_another_uid_is_a_409(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    options = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}
    status, body = cluster.request("DELETE", f"{config_maps(namespace)}/one", options)
    assert (status, body["reason"]) == (409, "Conflict")


# The four kinds of patch.


def test_a_json_patch_whose_test_fails_is_a_422_and_changes_nothing(cluster: TestCluster, namespace: str) -> None:
    cluster.create(services(namespace), manifests.service(namespace, color="blue"))
    path = f"{services(namespace)}/web"
    swap: list[Json] = [
        {"op": "test", "path": "/spec/selector/color", "value": "blue"},
        {"op": "replace", "path": "/spec/selector/color", "value": "green"},
    ]
    assert cluster.patch(path, swap, JSON_PATCH)["spec"]["selector"] == {"color": "green"}
    status, body = cluster.request("PATCH", path, swap, content_type=JSON_PATCH)
    assert (status, body["reason"]) == (422, "Invalid")
    assert cluster.get(path)["spec"]["selector"] == {"color": "green"}


def test_a_json_patch_can_test_the_version_and_replace_the_whole_selector(cluster: TestCluster, namespace: str) -> None:
    made = cluster.create(services(namespace), manifests.service(namespace, color="blue"))
    swap: list[Json] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version(made)},
        {"op": "test", "path": "/spec/selector", "value": {"color": "blue"}},
        {"op": "replace", "path": "/spec/selector", "value": {"gitops-bg.dev/digest": "abc"}},
    ]
    path = f"{services(namespace)}/web"
    assert cluster.patch(path, swap, JSON_PATCH)["spec"]["selector"] == {"gitops-bg.dev/digest": "abc"}
    assert cluster.request("PATCH", path, swap, content_type=JSON_PATCH)[0] == 422


def test_a_json_patch_escapes_slashes_in_keys(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace, labels={"gitops-bg.dev/color": "blue"}))
    swap = [{"op": "replace", "path": "/metadata/labels/gitops-bg.dev~1color", "value": "green"}]
    answer = cluster.patch(f"{config_maps(namespace)}/one", swap, JSON_PATCH)
    assert answer["metadata"]["labels"] == {"gitops-bg.dev/color": "green"}


def test_a_null_in_a_merge_patch_deletes_and_the_rest_stays(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), manifests.config_map(namespace, a="1", b="2"))
    answer = cluster.patch(f"{config_maps(namespace)}/one", {"data": {"a": None, "c": "3"}}, MERGE)
    assert answer["data"] == {"b": "2", "c": "3"}


def test_a_merge_patch_merges_the_selector_of_a_service(cluster: TestCluster, namespace: str) -> None:
    cluster.create(services(namespace), manifests.service(namespace, color="blue"))
    answer = cluster.patch(f"{services(namespace)}/web", {"spec": {"selector": {"x": "y"}}}, MERGE)
    assert answer["spec"]["selector"] == {"color": "blue", "x": "y"}


def test_a_strategic_patch_merges_containers_by_name(cluster: TestCluster, namespace: str) -> None:
    cluster.create(replica_sets(namespace), manifests.replica_set(namespace, replicas=0))
    extra = {"name": "side", "image": "registry.example/side:v1"}
    body = {"spec": {"template": {"spec": {"containers": [extra]}}}}
    answer = cluster.patch(f"{replica_sets(namespace)}/web", body, STRATEGIC)
    names = {each["name"] for each in answer["spec"]["template"]["spec"]["containers"]}
    assert names == {"web", "side"}


def test_a_strategic_patch_of_a_custom_kind_is_a_415(cluster: TestCluster, gadgets: str) -> None:
    cluster.create(gadgets, gadget(size=1))
    assert cluster.request("PATCH", f"{gadgets}/one", {}, content_type=STRATEGIC)[0] == 415


def test_a_patch_of_what_is_not_there_is_a_404_but_an_apply_creates(cluster: TestCluster, namespace: str) -> None:
    path = f"{config_maps(namespace)}/one"
    assert cluster.request("PATCH", path, {"data": {"a": "1"}}, content_type=MERGE)[0] == 404
    manifest = manifests.config_map(namespace, a="1")
    status, made = cluster.request("PATCH", path, manifest, content_type=APPLY, fieldManager="tests")
    assert status == 201
    assert made["data"] == {"a": "1"}


# Generation, status, scale.


def test_the_generation_counts_changes_of_the_spec_only(cluster: TestCluster, gadgets: str) -> None:
    made = cluster.create(gadgets, gadget(size=1))
    assert made["metadata"]["generation"] == 1
    labelled = cluster.patch(f"{gadgets}/one", {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 1
    assert cluster.patch(f"{gadgets}/one", {"spec": {"size": 2}})["metadata"]["generation"] == 2
    reported = cluster.patch(f"{gadgets}/one/status", {"status": {"phase": "x"}})
    assert reported["metadata"]["generation"] == 2


def test_a_write_to_the_object_leaves_the_status_alone_and_the_other_way_round(
    cluster: TestCluster, gadgets: str
) -> None:
    made = cluster.create(gadgets, {**gadget(size=1), "status": {"phase": "smuggled"}})
    assert "status" not in made
    reported = cluster.replace(f"{gadgets}/one/status", {**made, "spec": {"size": 9}, "status": {"phase": "real"}})
    assert (reported["spec"], reported["status"]) == ({"size": 1}, {"phase": "real"})
    resized = cluster.patch(f"{gadgets}/one", {"spec": {"size": 2}, "status": {"phase": "smuggled"}})
    assert (resized["spec"], resized["status"]) == ({"size": 2}, {"phase": "real"})


def test_the_scale_of_a_replica_set_can_be_read_and_set(cluster: TestCluster, namespace: str) -> None:
    cluster.create(replica_sets(namespace), manifests.replica_set(namespace, replicas=0))
    scale = cluster.get(f"{replica_sets(namespace)}/web/scale")
    assert (scale["kind"], scale["spec"].get("replicas", 0)) == ("Scale", 0)
    cluster.patch(f"{replica_sets(namespace)}/web/scale", {"spec": {"replicas": 2}}, MERGE)
    resized = cluster.get(f"{replica_sets(namespace)}/web")
    assert (resized["spec"]["replicas"], resized["metadata"]["generation"]) == (2, 2)


# Refusals that name the field.

BAD_WRITES: dict[str, tuple[list[str | int], Any, str]] = {
    "selector that does not match the template": (
        ["spec", "selector", "matchLabels"],
        {"app": "other"},
        "spec.template.metadata.labels",
    ),
    "label with a space": (["metadata", "labels"], {"a": "no good"}, "metadata.labels"),
    "name in capitals": (["metadata", "name"], "Web", "metadata.name"),
    "negative replicas": (["spec", "replicas"], -1, "spec.replicas"),
    "container without an image": (
        ["spec", "template", "spec", "containers", 0, "image"],
        "",
        "spec.template.spec.containers[0].image",
    ),
    "no selector": (["spec", "selector"], {}, "spec.selector"),
}


@pytest.mark.parametrize("case", BAD_WRITES)
def test_an_invalid_replica_set_is_a_422_that_names_the_field(cluster: TestCluster, namespace: str, case: str) -> None:
    where, value, field = BAD_WRITES[case]
    manifest = manifests.replica_set(namespace)
    holder: Any = manifest
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = value
    status, body = cluster.request("POST", replica_sets(namespace), manifest)
    assert (status, body["reason"]) == (422, "Invalid")
    assert field in {cause["field"] for cause in body["details"]["causes"]}


def test_the_selector_of_a_replica_set_cannot_change(cluster: TestCluster, namespace: str) -> None:
    cluster.create(replica_sets(namespace), manifests.replica_set(namespace, replicas=0))
    labels = {"app": "web", "more": "yes"}
    body = {
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}},
    }
    status, answer = cluster.request("PATCH", f"{replica_sets(namespace)}/web", body, content_type=MERGE)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert "immutable" in answer["message"], answer
    assert answer["details"]["causes"][0]["field"] == "spec.selector"


def test_the_cluster_ip_of_a_service_cannot_change(cluster: TestCluster, namespace: str) -> None:
    made = cluster.create(services(namespace), manifests.service(namespace, color="blue"))
    assert made["spec"]["clusterIP"]
    path = f"{services(namespace)}/web"
    assert cluster.request("PATCH", path, {"spec": {"clusterIP": "10.96.0.77"}}, content_type=MERGE)[0] == 422


def test_a_bad_label_selector_is_a_400(cluster: TestCluster, namespace: str) -> None:
    status, body = cluster.request("GET", config_maps(namespace), labelSelector="a in (")
    assert (status, body["reason"]) == (400, "BadRequest")


def test_the_server_fills_in_defaults(cluster: TestCluster, namespace: str) -> None:
    made = cluster.create(services(namespace), manifests.service(namespace, color="blue"))
    assert (made["spec"]["type"], made["spec"]["sessionAffinity"]) == ("ClusterIP", "None")
    bare = manifests.replica_set(namespace)
    del bare["spec"]["replicas"]
    made = cluster.create(replica_sets(namespace), bare)
    assert made["spec"]["replicas"] == 1
    pod = made["spec"]["template"]["spec"]
    assert (pod["restartPolicy"], pod["terminationGracePeriodSeconds"]) == ("Always", 30)
    assert pod["containers"][0]["imagePullPolicy"] == "IfNotPresent"
