"""ReplicaSets, EndpointSlices, owners and finalizers: what the controllers of a real cluster do, the sandbox does."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, config_maps, pods, replica_sets, services
from tests.support.cluster.rawapi import JSON, JSON_PATCH, Json
from tests.support.waiting import eventually


def status_is(**wanted: int) -> Callable[[list[Json]], bool]:
    """The first ReplicaSet reports these numbers; 0 may be left out of a status."""

    def check(found: list[Json]) -> bool:
        status = found[0].get("status", {}) if found else {}
        return bool(found) and all(status.get(key, 0) == value for key, value in wanted.items())

    return check


def count_is(wanted: int) -> Callable[[list[Json]], bool]:
    """There are this many objects."""
    return lambda found: len(found) == wanted


def live_pods(cluster: TestCluster, namespace: str) -> list[Json]:
    return [each for each in cluster.list(pods(namespace)) if "deletionTimestamp" not in each["metadata"]]


def test_a_replica_set_gets_its_pods_and_reports_them(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace, replicas=3))
    numbers = {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "fullyLabeledReplicas": 3}
    found = cluster.watch_until(replica_sets(namespace), status_is(**numbers))
    assert found[0]["status"]["observedGeneration"] == found[0]["metadata"]["generation"]
    made = live_pods(cluster, namespace)
    assert len(made) == 3
    for pod in made:
        assert pod["metadata"]["name"].startswith("web-")
        assert pod["metadata"]["labels"]["app"] == "web"
        owner = pod["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["uid"]) == ("ReplicaSet", found[0]["metadata"]["uid"])
        assert (owner["controller"], pod["status"]["phase"]) == (True, "Running")
        assert pod["status"]["podIP"]
        assert pod["spec"]["nodeName"]


def test_scaling_adds_and_removes_pods(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace, replicas=1))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    for replicas in (3, 0):
        cluster.patch(f"{replica_sets(namespace)}/web/scale", {"spec": {"replicas": replicas}})
        cluster.watch_until(replica_sets(namespace), status_is(replicas=replicas, availableReplicas=replicas))
        cluster.watch_until(pods(namespace), count_is(replicas))


def test_a_deleted_pod_is_replaced(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace, replicas=1))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    first = cluster.list(pods(namespace))[0]["metadata"]["name"]
    cluster.delete(f"{pods(namespace)}/{first}")
    eventually(
        lambda: [each["metadata"]["name"] for each in cluster.list(pods(namespace))] not in ([], [first]),
        what="another pod is there",
    )


def test_a_change_of_the_template_leaves_running_pods_alone(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    cluster.apply(manifests.replica_set(namespace, image="registry.example/web:v2"))
    settled = cluster.watch_until(replica_sets(namespace), status_is(observedGeneration=2))
    assert settled[0]["status"]["availableReplicas"] == 1
    assert cluster.list(pods(namespace))[0]["spec"]["containers"][0]["image"] == "registry.example/web:v1"


@pytest.mark.parametrize(
    ("tag", "reason"),
    [("bad", "ImagePullBackOff"), ("v2-missing", "ImagePullBackOff"), ("crash", "CrashLoopBackOff")],
)
def test_a_broken_image_never_gets_ready_and_says_why(
    cluster: TestCluster, namespace: str, tag: str, reason: str
) -> None:
    cluster.apply(manifests.replica_set(namespace, image=f"registry.example:5000/web:{tag}"))
    cluster.watch_until(pods(namespace), lambda found: _waiting_reasons(found) == {reason})
    found = cluster.watch_until(replica_sets(namespace), status_is(replicas=1))
    assert found[0]["status"].get("readyReplicas", 0) == 0


def _waiting_reasons(found: list[Json]) -> set[str]:
    return {
        each["state"].get("waiting", {}).get("reason", "")
        for pod in found
        for each in pod.get("status", {}).get("containerStatuses") or []
    }


def test_available_means_ready_for_min_ready_seconds(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace, replicas=2, minReadySeconds=2))
    found = cluster.watch_until(replica_sets(namespace), status_is(readyReplicas=2))
    ready_at = time.monotonic()
    assert found[0]["status"].get("availableReplicas", 0) == 0
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=2))
    assert 0.9 < time.monotonic() - ready_at < 6  # condition times have whole seconds


def test_a_change_of_min_ready_seconds_changes_what_is_available(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace, minReadySeconds=3600))
    cluster.watch_until(replica_sets(namespace), status_is(readyReplicas=1, availableReplicas=0))
    cluster.apply(manifests.replica_set(namespace, minReadySeconds=0))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))


def test_pods_that_get_unready_are_unavailable_and_come_back(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace, replicas=2))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=2))
    cluster.set_ready(namespace, {"app": "web"}, False)
    cluster.watch_until(replica_sets(namespace), status_is(readyReplicas=0, availableReplicas=0, replicas=2))
    cluster.set_ready(namespace, {"app": "web"}, True)
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=2))


def test_the_endpoints_of_a_service_follow_readiness(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.service(namespace, app="web"))
    cluster.apply(manifests.replica_set(namespace, replicas=2))
    eventually(lambda: len(cluster.ready_addresses(namespace, "web")) == 2, what="two ready addresses")
    addresses = {pod["status"]["podIP"] for pod in cluster.list(pods(namespace))}
    assert cluster.ready_addresses(namespace, "web") == addresses
    cluster.set_ready(namespace, {"app": "web"}, False)
    eventually(lambda: not cluster.ready_addresses(namespace, "web"), what="no ready address")
    cluster.set_ready(namespace, {"app": "web"}, True)
    eventually(lambda: cluster.ready_addresses(namespace, "web") == addresses, what="both are back")


def test_the_endpoints_of_a_service_follow_its_selector(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.service(namespace, app="blue"))
    for color in ("blue", "green"):
        cluster.apply(manifests.replica_set(namespace, color))
    eventually(lambda: len(cluster.ready_addresses(namespace, "web")) == 1, what="blue serves")
    blue = cluster.ready_addresses(namespace, "web")
    cluster.apply(manifests.service(namespace, app="green"))
    eventually(
        lambda: len(after := cluster.ready_addresses(namespace, "web")) == 1 and after != blue,
        what="green serves, and it alone",
    )


def test_an_endpoint_slice_follows_the_labels_of_its_service(cluster: TestCluster, namespace: str) -> None:
    """What was handed over by a label is seen by a watch of that label."""
    cluster.apply(manifests.replica_set(namespace))
    cluster.apply(manifests.service(namespace, app="web"))
    path = cluster.endpoint_slices(namespace)
    cluster.watch_until(path, count_is(1))
    with cluster.watch(path, labelSelector="owner=us") as seen:
        cluster.patch(f"{services(namespace)}/web", {"metadata": {"labels": {"owner": "us"}}})
        assert next(iter(seen))["type"] == "ADDED"


def deployment_is(**wanted: int) -> Callable[[list[Json]], bool]:
    """The Deployment reports these numbers of the newest generation."""
    counts = status_is(**wanted)

    def check(found: list[Json]) -> bool:
        new = found and found[0].get("status", {}).get("observedGeneration") == found[0]["metadata"]["generation"]
        return bool(new) and counts(found)

    return check


def test_a_deployment_has_a_replica_set_for_each_template(cluster: TestCluster, namespace: str) -> None:
    path = collection("apps/v1", "Deployment", namespace)
    cluster.apply(manifests.deployment(namespace, replicas=2))
    cluster.watch_until(path, deployment_is(replicas=2, availableReplicas=2, updatedReplicas=2))
    (made,) = cluster.list(replica_sets(namespace))
    mark = made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["name"] == f"web-{mark}"
    assert made["metadata"]["ownerReferences"][0]["kind"] == "Deployment"
    assert {pod["metadata"]["labels"]["pod-template-hash"] for pod in live_pods(cluster, namespace)} == {mark}

    cluster.apply(manifests.deployment(namespace, replicas=2, tag="v1"))
    cluster.watch_until(path, deployment_is(replicas=2, availableReplicas=2, updatedReplicas=2))
    cluster.watch_until(replica_sets(namespace), lambda found: sorted(_sizes(found)) == [0, 2])
    eventually(lambda: _images(cluster, namespace) == {"registry.example/web:v1"}, what="the old pods have gone")


def test_a_deployment_is_scaled_by_its_scale(cluster: TestCluster, namespace: str) -> None:
    path = collection("apps/v1", "Deployment", namespace)
    cluster.apply(manifests.deployment(namespace, replicas=2))
    cluster.watch_until(path, deployment_is(availableReplicas=2))

    def scaled(replicas: int) -> list[Json]:
        """The change that scaled it; none where its controller wrote to it since it was read."""
        version = cluster.get(f"{path}/web")["metadata"]["resourceVersion"]
        guarded = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/spec/replicas", "value": replicas},
        ]
        status = cluster.request("PATCH", f"{path}/web/scale", guarded, content_type=JSON_PATCH)[0]
        return guarded if status == 200 else []

    for replicas in (0, 3):
        guarded = eventually(lambda size=replicas: scaled(size), what="it is scaled")
        cluster.watch_until(path, deployment_is(replicas=replicas, availableReplicas=replicas))
        cluster.watch_until(pods(namespace), count_is(replicas))
        assert cluster.request("PATCH", f"{path}/web/scale", guarded, content_type=JSON_PATCH)[0] in (409, 422)


def _sizes(found: list[Json]) -> list[int]:
    return [each["spec"]["replicas"] for each in found]


def _images(cluster: TestCluster, namespace: str) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in live_pods(cluster, namespace)}


def test_an_endpoint_slice_names_service_pods_and_ports(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.service(namespace, app="web"))
    cluster.apply(manifests.replica_set(namespace))
    eventually(lambda: cluster.ready_addresses(namespace, "web"), what="an address")
    slices = cluster.list(cluster.endpoint_slices(namespace), labelSelector="kubernetes.io/service-name=web")
    assert len(slices) == 1
    assert slices[0]["addressType"] == "IPv4"
    assert slices[0]["metadata"]["ownerReferences"][0]["kind"] == "Service"
    assert [(port["name"], port["port"], port["protocol"]) for port in slices[0]["ports"]] == [("http", 8080, "TCP")]
    target = slices[0]["endpoints"][0]["targetRef"]
    assert (target["kind"], target["name"]) == ("Pod", cluster.list(pods(namespace))[0]["metadata"]["name"])


def test_a_named_target_port_that_no_container_has_is_left_out_of_the_slice(
    cluster: TestCluster, namespace: str
) -> None:
    written = manifests.service(namespace, app="web")
    dangling = {"name": "metrics", "port": 9090, "protocol": "TCP", "targetPort": "metrics"}
    cluster.apply({**written, "spec": {**written["spec"], "ports": [*written["spec"]["ports"], dangling]}})
    cluster.apply(manifests.replica_set(namespace))
    eventually(lambda: cluster.ready_addresses(namespace, "web"), what="an address")
    slices = cluster.list(cluster.endpoint_slices(namespace), labelSelector="kubernetes.io/service-name=web")
    assert [[port["name"] for port in each["ports"]] for each in slices] == [["http"]]


def test_what_an_object_owns_goes_with_it(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.service(namespace, app="web"))
    cluster.apply(manifests.replica_set(namespace, replicas=2))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=2))
    eventually(lambda: cluster.list(cluster.endpoint_slices(namespace)), what="an EndpointSlice")
    cluster.delete(f"{replica_sets(namespace)}/web", propagationPolicy="Background")
    cluster.delete(f"{services(namespace)}/web")
    eventually(lambda: not cluster.list(pods(namespace)), what="the pods are gone")
    eventually(lambda: not cluster.list(cluster.endpoint_slices(namespace)), what="the slices are gone")


def test_an_orphaning_delete_leaves_the_pods_to_run(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    cluster.delete(f"{replica_sets(namespace)}/web", propagationPolicy="Orphan")
    eventually(lambda: not cluster.list(replica_sets(namespace)), what="the ReplicaSet is gone")
    (pod,) = cluster.list(pods(namespace))
    assert not pod["metadata"].get("ownerReferences")
    assert "deletionTimestamp" not in pod["metadata"]


def test_an_orphan_with_matching_labels_is_adopted(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    before = cluster.list(pods(namespace))[0]["metadata"]["uid"]
    cluster.delete(f"{replica_sets(namespace)}/web", propagationPolicy="Orphan")
    eventually(lambda: not cluster.list(replica_sets(namespace)), what="the ReplicaSet is gone")
    again = cluster.apply(manifests.replica_set(namespace))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    (pod,) = live_pods(cluster, namespace)
    assert pod["metadata"]["uid"] == before
    assert pod["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]


def test_any_kind_can_own_any_other(cluster: TestCluster, namespace: str) -> None:
    owner = cluster.create(config_maps(namespace), manifests.config_map(namespace, "owner"))
    owned = manifests.config_map(namespace, "owned")
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    ]
    cluster.create(config_maps(namespace), owned)
    cluster.delete(f"{config_maps(namespace)}/owner")
    eventually(lambda: not cluster.find(f"{config_maps(namespace)}/owned"), what="the owned one is gone")


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_what_has_a_second_owner_outlives_its_first(cluster: TestCluster, namespace: str, policy: str) -> None:
    space = cluster.get(f"/api/v1/namespaces/{namespace}")["metadata"]["uid"]
    owner = cluster.create(config_maps(namespace), manifests.config_map(namespace, "owner"))["metadata"]["uid"]
    first = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner, "controller": True}
    second = {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": space}
    for name, owners in (("kept", [first, second]), ("lost", [first])):
        owned = manifests.config_map(namespace, name)
        owned["metadata"]["ownerReferences"] = owners
        cluster.create(config_maps(namespace), owned)
    cluster.request("DELETE", f"{config_maps(namespace)}/owner", {"propagationPolicy": policy})
    eventually(lambda: cluster.find(f"{config_maps(namespace)}/owner") is None, what="the first owner is gone")

    def left() -> bool:
        kept = cluster.get(f"{config_maps(namespace)}/kept")["metadata"]
        lost = cluster.find(f"{config_maps(namespace)}/lost")
        uids = [each["uid"] for each in kept["ownerReferences"]]
        return uids == [space] and (lost is not None) == (policy == "Orphan")

    eventually(left, what="only the reference to the first owner is gone")


def test_a_finalizer_holds_a_deletion_until_it_is_removed(cluster: TestCluster, namespace: str) -> None:
    path = f"{config_maps(namespace)}/one"
    held = manifests.config_map(namespace)
    held["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.create(config_maps(namespace), held)
    status, answer = cluster.request("DELETE", path)
    assert status == 200
    assert answer["metadata"]["deletionTimestamp"]
    assert cluster.get(path)["metadata"]["deletionTimestamp"]
    cluster.patch(path, {"metadata": {"finalizers": None}})
    assert cluster.find(path) is None


def test_a_pod_on_a_node_terminates_in_grace_and_goes(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    (pod,) = cluster.list(pods(namespace))
    cluster.patch(f"{replica_sets(namespace)}/web", {"spec": {"replicas": 0}})
    path = f"{pods(namespace)}/{pod['metadata']['name']}"
    eventually(lambda: cluster.find(path) is None, what="the pod is gone")


def test_a_delete_takes_its_options_as_a_body(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace))
    cluster.watch_until(replica_sets(namespace), status_is(availableReplicas=1))
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    cluster.ask("DELETE", f"{replica_sets(namespace)}/web", options, content_type=JSON)
    eventually(lambda: not cluster.list(pods(namespace)), what="the pods are gone")
