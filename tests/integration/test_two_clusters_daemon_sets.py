"""DaemonSets: a pod on each node that the template chooses; what a real cluster does, the sandbox does."""

from __future__ import annotations

from collections.abc import Callable

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import daemon_sets, pods
from tests.support.cluster.rawapi import MERGE, Json

NODES = {"node-2", "node-3", "node-4"}
"""Those that both clusters have; the first one has its own name in each."""
HOSTNAME = "kubernetes.io/hostname"


def status_is(**wanted: int) -> Callable[[list[Json]], bool]:
    """The first DaemonSet reports these numbers, of its newest generation; 0 may be left out of a status."""

    def check(found: list[Json]) -> bool:
        status = found[0].get("status", {}) if found else {}
        seen = bool(found) and status.get("observedGeneration") == found[0]["metadata"]["generation"]
        return seen and all(status.get(key, 0) == value for key, value in wanted.items())

    return check


def all_are_up(found: list[Json]) -> bool:
    return status_is(**_numbers(4))(found)


def _numbers(nodes: int) -> dict[str, int]:
    counted = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
    return {**dict.fromkeys(counted, nodes), "numberMisscheduled": 0, "numberUnavailable": 0}


def nodes_of(found: list[Json]) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in found}


def test_a_daemon_set_gets_a_pod_on_each_node_and_reports_them(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.daemon_set(namespace))
    (found,) = cluster.watch_until(daemon_sets(namespace), all_are_up)
    assert found["status"]["updatedNumberScheduled"] == 4
    made = cluster.list(pods(namespace))
    assert nodes_of(made) > NODES
    for pod in made:
        owner = pod["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("DaemonSet", found["metadata"]["uid"], True)
        assert pod["metadata"]["name"].rpartition("-")[0] == "web"


def test_a_node_selector_that_matches_nothing_takes_every_pod_away_and_gives_them_back(
    cluster: TestCluster, namespace: str
) -> None:
    """What takes the place of `replicas: 0`; with `OnDelete` nothing else becomes of a change of the template."""
    cluster.apply(manifests.daemon_set(namespace, updateStrategy={"type": "OnDelete"}))
    cluster.watch_until(daemon_sets(namespace), all_are_up)
    path = f"{daemon_sets(namespace)}/web"
    for value, nodes in (("true", 0), (None, 4)):
        selector = {"nodeSelector": {"example.com/nowhere": value}}
        cluster.patch(path, {"spec": {"template": {"spec": selector}}}, MERGE)
        cluster.watch_until(daemon_sets(namespace), status_is(**_numbers(nodes)))
        cluster.watch_until(pods(namespace), lambda found, nodes=nodes: len(found) == nodes)  # type: ignore[misc]


def test_a_change_of_the_template_leaves_running_pods_alone_on_delete(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.daemon_set(namespace, updateStrategy={"type": "OnDelete"}))
    cluster.watch_until(daemon_sets(namespace), all_are_up)
    before = {each["metadata"]["uid"] for each in cluster.list(pods(namespace))}
    newer = manifests.daemon_set(namespace, image="registry.example/web:v2", updateStrategy={"type": "OnDelete"})
    cluster.apply(newer)
    cluster.watch_until(daemon_sets(namespace), status_is(updatedNumberScheduled=0, numberAvailable=4))
    assert {each["metadata"]["uid"] for each in cluster.list(pods(namespace))} == before


def test_a_rolling_update_replaces_every_pod(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.daemon_set(namespace))
    cluster.watch_until(daemon_sets(namespace), all_are_up)
    cluster.apply(manifests.daemon_set(namespace, image="registry.example/web:v2"))
    cluster.watch_until(daemon_sets(namespace), status_is(updatedNumberScheduled=4, numberAvailable=4))
    images = {each["spec"]["containers"][0]["image"] for each in cluster.list(pods(namespace))}
    assert images == {"registry.example/web:v2"}


def test_only_the_nodes_that_the_template_chooses_get_a_pod(cluster: TestCluster, namespace: str) -> None:
    made = manifests.daemon_set(namespace)
    made["spec"]["template"]["spec"]["nodeSelector"] = {HOSTNAME: "node-3"}
    cluster.apply(made)
    cluster.watch_until(daemon_sets(namespace), status_is(**_numbers(1)))
    assert nodes_of(cluster.list(pods(namespace))) == {"node-3"}


def test_a_deleted_pod_is_replaced_on_its_node(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.daemon_set(namespace))
    cluster.watch_until(daemon_sets(namespace), all_are_up)
    gone = next(each for each in cluster.list(pods(namespace)) if each["spec"].get("nodeName") == "node-2")
    cluster.delete(f"{pods(namespace)}/{gone['metadata']['name']}")

    def replaced(found: list[Json]) -> bool:
        uids = {each["metadata"]["uid"] for each in found if each["spec"].get("nodeName") == "node-2"}
        return len(uids) == 1 and gone["metadata"]["uid"] not in uids

    cluster.watch_until(pods(namespace), replaced)
