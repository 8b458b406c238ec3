"""Server-side apply and paging, proven on the real API server and demanded of the sandbox."""

from __future__ import annotations

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import config_maps, replica_sets
from tests.support.cluster.rawapi import APPLY, MERGE, Json


def managers(thing: Json) -> set[tuple[str, str]]:
    return {(each["manager"], each["operation"]) for each in thing["metadata"]["managedFields"]}


def test_an_apply_creates_then_updates(cluster: TestCluster, namespace: str) -> None:
    made = cluster.apply(manifests.config_map(namespace, a="1"), manager="gitops-bg")
    assert managers(made) == {("gitops-bg", "Apply")}
    changed = cluster.apply(manifests.config_map(namespace, a="2"), manager="gitops-bg")
    assert changed["data"] == {"a": "2"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]


def test_an_apply_that_changes_nothing_keeps_the_version(cluster: TestCluster, namespace: str) -> None:
    for manifest in (
        manifests.config_map(namespace, a="1"),
        manifests.service(namespace, color="blue"),
    ):
        first = cluster.apply(manifest)
        again = cluster.apply(manifest)
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"], manifest["kind"]


def test_an_apply_of_a_settled_replica_set_keeps_the_version(cluster: TestCluster, namespace: str) -> None:
    manifest = manifests.replica_set(namespace, replicas=2)
    cluster.apply(manifest)
    settled = cluster.watch_until(
        replica_sets(namespace), lambda found: found[0].get("status", {}).get("availableReplicas") == 2
    )[0]
    again = cluster.apply(manifest)
    assert again["metadata"]["resourceVersion"] == settled["metadata"]["resourceVersion"]
    assert again["metadata"]["generation"] == 1


def test_a_field_left_out_of_an_apply_is_removed(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.config_map(namespace, labels={"a": "b"}, a="1", b="2"))
    answer = cluster.apply(manifests.config_map(namespace, a="1"))
    assert answer["data"] == {"a": "1"}
    assert "labels" not in answer["metadata"]


def test_a_field_left_out_of_an_apply_stays_if_another_manager_set_it(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.config_map(namespace, a="1"), manager="one")
    cluster.apply(manifests.config_map(namespace, b="2"), manager="two")
    cluster.apply(manifests.config_map(namespace, a="1"), manager="one")
    assert cluster.get(f"{config_maps(namespace)}/one")["data"] == {"a": "1", "b": "2"}


def test_an_apply_over_anothers_field_is_a_409_that_names_the_field(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.config_map(namespace, a="1"), manager="one")
    path = f"{config_maps(namespace)}/one"
    status, body = cluster.request(
        "PATCH", path, manifests.config_map(namespace, a="2"), content_type=APPLY, fieldManager="two"
    )
    assert (status, body["reason"]) == (409, "Conflict")
    assert [cause["field"] for cause in body["details"]["causes"]] == [".data.a"]
    assert '"one"' in body["details"]["causes"][0]["message"]
    assert cluster.get(path)["data"] == {"a": "1"}


def test_a_forced_apply_takes_the_field_over(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.config_map(namespace, a="1"), manager="one")
    taken = cluster.apply(manifests.config_map(namespace, a="2"), manager="two", force=True)
    assert taken["data"] == {"a": "2"}
    assert managers(taken) == {("two", "Apply")}


def test_an_apply_of_the_same_value_shares_the_field(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.config_map(namespace, a="1"), manager="one")
    shared = cluster.apply(manifests.config_map(namespace, a="1"), manager="two", force=False)
    assert managers(shared) == {("one", "Apply"), ("two", "Apply")}


def test_an_apply_replaces_the_selector_that_its_manager_set(cluster: TestCluster, namespace: str) -> None:
    # Of a selector that two managers set, 1.20 makes the union and later releases the last one's: do not do it.
    cluster.apply(manifests.service(namespace, color="blue", track="one"))
    assert cluster.apply(manifests.service(namespace, color="green"))["spec"]["selector"] == {"color": "green"}


def test_replicas_left_out_of_an_apply_belong_to_whoever_scales(cluster: TestCluster, namespace: str) -> None:
    manifest = manifests.replica_set(namespace)
    del manifest["spec"]["replicas"]
    cluster.apply(manifest)
    cluster.patch(f"{replica_sets(namespace)}/web/scale", {"spec": {"replicas": 3}}, MERGE)
    assert cluster.apply(manifest, force=False)["spec"]["replicas"] == 3


def test_an_apply_to_a_stale_version_is_a_409(cluster: TestCluster, namespace: str) -> None:
    first = cluster.apply(manifests.config_map(namespace, a="1"))
    cluster.apply(manifests.config_map(namespace, a="2"))
    stale = manifests.config_map(namespace, a="3")
    stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    path = f"{config_maps(namespace)}/one"
    status, body = cluster.request("PATCH", path, stale, content_type=APPLY, fieldManager="tests", force="true")
    assert (status, body["reason"]) == (409, "Conflict")


def test_an_apply_without_a_manager_or_with_managed_fields_is_a_400(cluster: TestCluster, namespace: str) -> None:
    path = f"{config_maps(namespace)}/one"
    assert cluster.request("PATCH", path, manifests.config_map(namespace), content_type=APPLY)[0] in {400, 422}
    read_back = cluster.apply(manifests.config_map(namespace, a="1"))
    assert cluster.request("PATCH", path, read_back, content_type=APPLY, fieldManager="tests")[0] == 400


def test_ports_are_merged_by_number_and_protocol(cluster: TestCluster, namespace: str) -> None:
    cluster.apply(manifests.service(namespace, color="blue"), manager="one")
    extra = manifests.service(namespace)
    extra["spec"] = {"ports": [{"name": "metrics", "port": 9090, "protocol": "TCP"}]}
    answer = cluster.apply(extra, manager="two", force=False)
    assert {port["port"] for port in answer["spec"]["ports"]} == {80, 9090}


def test_pages_join_to_the_whole_list(cluster: TestCluster, namespace: str) -> None:
    names = [f"n{number}" for number in range(7)]
    for name in names:
        cluster.create(config_maps(namespace), manifests.config_map(namespace, name))
    query, seen, pages = {"limit": "3"}, [], 0
    while True:
        page = cluster.get(config_maps(namespace), **query)
        seen += [each["metadata"]["name"] for each in page["items"]]
        pages += 1
        token = page["metadata"].get("continue")
        if not token:
            break
        assert page["metadata"]["remainingItemCount"] == len(names) - len(seen)
        query = {"limit": "3", "continue": token}
    assert (seen, pages) == (names, 3)


def test_kubectl_applies_reads_and_deletes(cluster: TestCluster, namespace: str) -> None:
    import json

    text = json.dumps(manifests.service(namespace, color="blue"))
    for verb in (["apply", "--server-side"], ["apply", "--server-side"]):
        done = cluster.kubectl(*verb, "-f", "-", input=text)
        assert done.returncode == 0, done.stderr
    shown = cluster.kubectl("get", "service", "web", "-n", namespace, "-o", "jsonpath={.spec.selector.color}")
    assert (shown.returncode, shown.stdout) == (0, "blue"), shown.stderr
    assert cluster.kubectl("delete", "service", "web", "-n", namespace).returncode == 0
    gone = cluster.kubectl("get", "service", "web", "-n", namespace)
    assert gone.returncode == 1
    assert "NotFound" in gone.stderr
