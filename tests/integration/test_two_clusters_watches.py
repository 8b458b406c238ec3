"""Watches and label selectors, proven on the real API server and demanded of the sandbox."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import config_maps, replica_sets
from tests.support.cluster.rawapi import JSON_PATCH, ApiError, Json, Watch

GROUP = "watched.example.com"


def now(cluster: TestCluster, path: str) -> str:
    """The version of a collection at this moment, to watch from."""
    return str(cluster.get(path)["metadata"]["resourceVersion"])


def events(watch: Watch) -> Iterator[tuple[str, str]]:
    """Type and name of each event, bookmarks left out."""
    for event in watch:
        if event["type"] != "BOOKMARK":
            yield event["type"], event["object"]["metadata"]["name"]


def take(watch: Watch, count: int) -> list[tuple[str, str]]:
    stream = events(watch)
    return [next(stream) for _ in range(count)]


def test_a_watch_tells_what_comes_changes_and_goes(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    with cluster.watch(path, resourceVersion=now(cluster, path)) as watch:
        cluster.create(path, manifests.config_map(namespace))
        cluster.patch(f"{path}/one", {"data": {"a": "1"}})
        cluster.delete(f"{path}/one")
        assert take(watch, 3) == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]


def test_each_event_carries_the_whole_object_and_its_version(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    with cluster.watch(path, resourceVersion=now(cluster, path)) as watch:
        made = cluster.create(path, manifests.config_map(namespace, a="1"))
        event = next(iter(watch))
    assert event["object"] == {**made, "kind": "ConfigMap", "apiVersion": "v1"}


def test_a_deletion_carries_a_newer_version_than_the_last_change(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    made = cluster.create(path, manifests.config_map(namespace))
    with cluster.watch(path, resourceVersion=now(cluster, path)) as watch:
        cluster.delete(f"{path}/one")
        event = next(iter(watch))
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_a_watch_without_a_version_begins_with_what_there_is(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    cluster.create(path, manifests.config_map(namespace))
    with cluster.watch(path) as watch:
        assert take(watch, 1) == [("ADDED", "one")]


def test_a_watch_resumes_after_the_version_it_is_given(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    start = now(cluster, path)
    middle = cluster.create(path, manifests.config_map(namespace, "one"))["metadata"]["resourceVersion"]
    cluster.create(path, manifests.config_map(namespace, "two"))
    with cluster.watch(path, resourceVersion=start) as watch:
        assert take(watch, 2) == [("ADDED", "one"), ("ADDED", "two")]
    with cluster.watch(path, resourceVersion=middle) as watch:
        assert take(watch, 1) == [("ADDED", "two")]


def test_a_write_that_changes_nothing_is_no_event(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    made = cluster.create(path, manifests.config_map(namespace, a="1"))
    with cluster.watch(path, resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        cluster.patch(f"{path}/one", {"data": {"a": "1"}})
        cluster.apply(manifests.config_map(namespace, "two"))
        assert take(watch, 1) == [("ADDED", "two")]


def test_a_watch_ends_by_itself_after_its_timeout(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    began = time.monotonic()
    with cluster.watch(path, seconds=1, resourceVersion=now(cluster, path)) as watch:
        assert list(watch) == []
    assert 0.5 < time.monotonic() - began < 5


def test_asking_for_bookmarks_disturbs_nothing(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    start = now(cluster, path)
    with cluster.watch(path, resourceVersion=start, allowWatchBookmarks="true") as watch:
        cluster.create(path, manifests.config_map(namespace))
        assert take(watch, 1) == [("ADDED", "one")]


def test_a_bookmark_carries_a_kind_and_a_version_only(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    start = now(cluster, path)
    # A server sends its last bookmark shortly before a watch's time is over; it may send none.
    with cluster.watch(path, seconds=3, resourceVersion=start, allowWatchBookmarks="true") as watch:
        bookmarks = [event["object"] for event in watch if event["type"] == "BOOKMARK"]
    for each in bookmarks:
        assert each["kind"] == "ConfigMap"
        assert each["metadata"]["resourceVersion"]
        assert "name" not in each["metadata"]


def test_a_watch_from_before_memory_is_410_gone(cluster: TestCluster, namespace: str) -> None:
    # Even a server that cannot be told to forget knows no history of a kind from before the kind existed.
    cluster.create(config_maps(namespace), manifests.config_map(namespace))
    cluster.install_crd(manifests.custom_resource_definition("Relic", GROUP))
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/relics"
    cluster.expire_history()
    try:
        with cluster.watch(path, resourceVersion="1") as watch:
            event = next(iter(watch))
    except ApiError as refused:
        body = refused.body
    else:
        assert event["type"] == "ERROR"
        body = event["object"]
    assert body["kind"] == "Status"
    assert (body["code"], body["reason"]) in {(410, "Expired"), (410, "Gone")}


def test_a_watch_by_selector_sees_objects_enter_and_leave_it(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    cluster.create(path, manifests.config_map(namespace))
    with cluster.watch(path, resourceVersion=now(cluster, path), labelSelector="color=blue") as watch:
        for color in ("blue", "green", "blue", None):
            cluster.patch(f"{path}/one", {"metadata": {"labels": {"color": color}}})
        assert [kind for kind, _ in take(watch, 4)] == ["ADDED", "DELETED", "ADDED", "DELETED"]


SELECTORS = {
    "color=blue": {"one"},
    "color==blue": {"one"},
    "color!=blue": {"two", "bare"},
    "color": {"one", "two"},
    "!color": {"bare"},
    "color in (blue,green)": {"one", "two"},
    "color notin (blue)": {"two", "bare"},
    "color,app=web": {"one"},
    "gitops-bg.dev/app": {"two"},
}


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_list_by_selector_has_what_matches(cluster: TestCluster, namespace: str, selector: str) -> None:
    path = config_maps(namespace)
    for name, labels in {
        "one": {"color": "blue", "app": "web"},
        "two": {"color": "green", "gitops-bg.dev/app": "web"},
        "bare": {},
    }.items():
        cluster.create(path, manifests.config_map(namespace, name, labels))
    found = {each["metadata"]["name"] for each in cluster.list(path, labelSelector=selector)}
    assert found == SELECTORS[selector]


def test_a_list_by_name_has_one(cluster: TestCluster, namespace: str) -> None:
    for name in ("one", "two"):
        cluster.create(config_maps(namespace), manifests.config_map(namespace, name))
    found = cluster.list(config_maps(namespace), fieldSelector="metadata.name=two")
    assert [each["metadata"]["name"] for each in found] == ["two"]


def test_a_watch_over_all_namespaces_sees_them_all(cluster: TestCluster, namespace: str) -> None:
    other = cluster.namespace()
    path = "/api/v1/configmaps"
    with cluster.watch(path, resourceVersion=now(cluster, path), labelSelector=f"by={namespace}") as watch:
        for where in (namespace, other):
            cluster.create(config_maps(where), manifests.config_map(where, labels={"by": namespace}))
        stream = iter(watch)
        assert {next(stream)["object"]["metadata"]["namespace"] for _ in range(2)} == {namespace, other}


def test_one_of_many_rivals_wins_a_compare_and_swap(cluster: TestCluster, namespace: str) -> None:
    path = config_maps(namespace)
    cluster.create(path, manifests.config_map(namespace, holder="nobody"))
    codes: list[int] = []

    def grab(who: int) -> None:
        swap: list[Json] = [
            {"op": "test", "path": "/data/holder", "value": "nobody"},
            {"op": "replace", "path": "/data/holder", "value": f"rival-{who}"},
        ]
        codes.append(cluster.request("PATCH", f"{path}/one", swap, content_type=JSON_PATCH)[0])

    rivals = [threading.Thread(target=grab, args=(who,)) for who in range(8)]
    for each in rivals:
        each.start()
    for each in rivals:
        each.join()
    assert sorted(codes) == [200] + [422] * 7


def test_a_watch_of_replica_sets_ends_in_the_state_that_a_list_shows(cluster: TestCluster, namespace: str) -> None:
    path = replica_sets(namespace)
    cluster.create(path, manifests.replica_set(namespace, replicas=2))
    watched = cluster.watch_until(path, lambda found: found[0].get("status", {}).get("readyReplicas") == 2)
    assert watched[0]["metadata"]["uid"] == cluster.get(f"{path}/web")["metadata"]["uid"]
