"""Evictions: what the API server and the disruption controller of a real cluster do, the sandbox does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, pods, replica_sets
from tests.support.cluster.rawapi import Json
from tests.support.waiting import eventually


def budget(cluster: TestCluster, namespace: str, name: str = "web", **spec: Any) -> str:
    """A PodDisruptionBudget of the pods of `web`, in the version this cluster has; its path."""
    version = cluster.preferred("policy")
    body = {
        "apiVersion": version,
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }
    cluster.apply(body)
    return f"{collection(version, 'PodDisruptionBudget', namespace)}/{name}"


def wait_status(cluster: TestCluster, path: str, **numbers: int) -> None:
    """Wait until the budget counts these; 0 may be left out of a status."""

    def counted() -> bool:
        found = cluster.get(path)
        status = found.get("status") or {}
        assert {key: status.get(key, 0) for key in numbers} == numbers
        return bool(status.get("observedGeneration") == found["metadata"]["generation"])

    eventually(counted, what=f"{path}: {numbers}")


def running(cluster: TestCluster, namespace: str, replicas: int = 2, **how: Any) -> list[Json]:
    """The pods of a ReplicaSet `web`, once they are available."""
    cluster.apply(manifests.replica_set(namespace, replicas=replicas, **how))

    def available() -> bool:
        return cluster.get(f"{replica_sets(namespace)}/web").get("status", {}).get("availableReplicas") == replicas

    eventually(available, what="available pods")
    return cluster.list(pods(namespace))


def evict(cluster: TestCluster, pod: Json, uid: str = "", name: str = "") -> tuple[int, Json]:
    """Ask for the eviction of a pod; the code and the answer."""
    namespace, found = pod["metadata"]["namespace"], pod["metadata"]["name"]
    resources = cluster.get("/api/v1")["resources"]
    version = next(each["version"] for each in resources if each["name"] == "pods/eviction")
    options = {"preconditions": {"uid": uid}} if uid else {}
    body = {
        "apiVersion": f"policy/{version}",
        "kind": "Eviction",
        "metadata": {"name": name or found, "namespace": namespace},
        "deleteOptions": options,
    }
    return cluster.request("POST", f"{pods(namespace)}/{found}/eviction", body)


def is_going(cluster: TestCluster, pod: Json) -> bool:
    path = f"{pods(pod['metadata']['namespace'])}/{pod['metadata']['name']}"
    found = cluster.find(path)
    return found is None or "deletionTimestamp" in found["metadata"]


def test_pod_without_a_budget_is_deleted_and_another_takes_its_place(cluster: TestCluster, namespace: str) -> None:
    one, other = running(cluster, namespace)
    status, answer = evict(cluster, one, uid=one["metadata"]["uid"])
    assert (status, answer["status"]) == (201, "Success")
    assert is_going(cluster, one)
    assert not is_going(cluster, other)
    eventually(lambda: len(running(cluster, namespace)) == 2, what="a new pod")


def test_another_pod_of_that_name_is_left_alone(cluster: TestCluster, namespace: str) -> None:
    one, _ = running(cluster, namespace)
    assert evict(cluster, one, uid="somebody-else")[0] == 409
    assert not is_going(cluster, one)


def test_eviction_names_its_pod(cluster: TestCluster, namespace: str) -> None:
    one, _ = running(cluster, namespace)
    assert evict(cluster, one, name="other")[0] == 400
    one["metadata"]["name"] = "gone"
    assert evict(cluster, one)[0] == 404


@pytest.mark.parametrize(
    ("spec", "desired"),
    [
        ({"minAvailable": 2}, 2),
        ({"minAvailable": "51%"}, 2),
        ({"maxUnavailable": 1}, 1),
        ({"maxUnavailable": "0%"}, 2),
        ({"maxUnavailable": 5}, 0),
        ({"minAvailable": 0}, 0),
    ],
    ids=str,
)
def test_budget_counts_its_pods(cluster: TestCluster, namespace: str, spec: dict[str, Any], desired: int) -> None:
    running(cluster, namespace)
    path = budget(cluster, namespace, **spec)
    wait_status(cluster, path, currentHealthy=2, desiredHealthy=desired, expectedPods=2, disruptionsAllowed=2 - desired)


def test_budget_refuses_what_it_cannot_spare_and_says_so(cluster: TestCluster, namespace: str) -> None:
    one, other = running(cluster, namespace)
    path = budget(cluster, namespace, minAvailable=2)
    wait_status(cluster, path, disruptionsAllowed=0)
    status, answer = evict(cluster, one)
    assert (status, answer["reason"]) == (429, "TooManyRequests")
    assert answer["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    (why,) = answer["details"]["causes"]
    assert why["reason"] == "DisruptionBudget"
    assert why["message"] == "The disruption budget web needs 2 healthy pods and has 2 currently"
    assert not is_going(cluster, one)

    budget(cluster, namespace, minAvailable=1)
    wait_status(cluster, path, disruptionsAllowed=1)
    assert evict(cluster, one)[0] == 201
    assert not is_going(cluster, other)


def test_budget_comes_back_with_the_new_pod(cluster: TestCluster, namespace: str) -> None:
    one, _ = running(cluster, namespace)
    path = budget(cluster, namespace, maxUnavailable=1)
    wait_status(cluster, path, disruptionsAllowed=1)
    assert evict(cluster, one)[0] == 201
    wait_status(cluster, path, disruptionsAllowed=1, currentHealthy=2)
    assert not cluster.get(path)["status"].get("disruptedPods")


def test_pod_with_two_budgets_is_not_evicted(cluster: TestCluster, namespace: str) -> None:
    one, _ = running(cluster, namespace)
    for name in ("one", "two"):
        wait_status(cluster, budget(cluster, namespace, name, minAvailable=0), disruptionsAllowed=2)
    status, answer = evict(cluster, one)
    assert (status, answer["message"]) == (
        500,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    )
    assert not is_going(cluster, one)


def test_pod_that_never_ran_needs_no_budget(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.replica_set(namespace, image="registry.example/web:missing"))

    def pulling() -> list[Json]:
        return [pod for pod in cluster.list(pods(namespace)) if pod["status"].get("containerStatuses")]

    eventually(pulling, what="a pod that cannot be pulled")
    wait_status(cluster, budget(cluster, namespace, minAvailable=1), currentHealthy=0)
    (pod,) = pulling()
    assert evict(cluster, pod)[0] == 201
