"""A group whose folder left main with `deletionPolicy: delete` ends with all that it has; an accident ends nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.core import names
from tests.integration.traffic.moves.test_group_moves import rename
from tests.support.cluster.clusters import TestCluster
from tests.support.groups import API, Store
from tests.support.scenario import Scenario, scenario
from tests.support.waiting import eventually

SETTINGS = {"apiVersion": API, "kind": "Settings", "maxDeletedAppsPercent": 100}


def ending(world: Scenario) -> Store:
    """A group that is to end with its folder."""
    found = Store(world)
    found.spec["deletionPolicy"] = "delete"
    world.remote.write("gitops-bg.yaml", yaml.safe_dump(SETTINGS))
    return found


@pytest.fixture
def store(world: Scenario) -> Store:
    return ending(world)


def left(store: Store) -> dict[str, list[str]]:
    """What is live in the namespace, by kind."""
    namespace, cluster = store.world.namespace, store.world.cluster
    paths = {
        "routes": f"/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes",
        "services": f"/api/v1/namespaces/{namespace}/services",
        "apps": f"/apis/{API}/namespaces/{namespace}/bluegreendeployments",
        "groups": f"/apis/{API}/namespaces/{namespace}/releasegroups",
        "pods": f"/apis/apps/v1/namespaces/{namespace}/replicasets",
    }
    return {kind: sorted(each["metadata"]["name"] for each in cluster.list(path)) for kind, path in paths.items()}


def nothing(**but: list[str]) -> dict[str, Any]:
    return {"routes": [], "services": ["gitops-bg-deny"], "apps": [], "groups": [], "pods": [], **but}


def remove(store: Store) -> str:
    return store.world.publish("The store closes", {store.folder: None})


def test_it_ends_with_all_that_it_has_also_for_a_new_agent_unless_its_folder_comes_back(
    cluster: TestCluster, tmp_path: Path
) -> None:
    with scenario(cluster, tmp_path) as world:
        store = ending(world)
        store.begin()
        world.stop()
        commit = remove(store)
        world.start()
        eventually(lambda: left(store)["routes"] == [], what="no request is led to it")
        world.pull()
        world.remote.revert(commit)
        world.push()
        eventually(lambda: store.ask("/cart") == "cart-v1", what="it answers again")
        store.wait("v1A v2C")

        remove(store)
        eventually(lambda: left(store) == nothing(), what="nothing of it is left")
        eventually(lambda: "Deleted" in {each["reason"] for each in world.events()}, what="an Event tells it")


def test_one_that_left_main_and_is_kept_has_metrics_until_somebody_deletes_it(store: Store) -> None:
    """Found so: it served on, and no series said so."""
    del store.spec["deletionPolicy"]
    store.begin()
    before = series_of(store)
    assert before["gitops_bg_resource_info"]["version"] == "v1"
    remove(store)
    store.wait_for_ledger("orphaned")
    store.look()
    store.world.wait_idle()
    assert store.ask("/cart") == "cart-v1"
    assert series_of(store).keys() >= before.keys()
    assert series_of(store)["gitops_bg_resource_info"]["version"] == "v1"
    store.delete()
    store.look()  # Nobody watches groups: that it is gone is seen with the next poll.
    eventually(lambda: series_of(store) == {}, what="nothing tells of it any more")


def series_of(store: Store) -> dict[str, dict[str, str]]:
    """The labels of the last series of each name that is about the group."""
    assert store.world.agent is not None
    labels = {"kind": "group", "namespace": store.world.namespace, "name": store.name}
    samples = (sample for family in store.world.agent.metrics.registry.collect() for sample in family.samples)
    return {each.name: dict(each.labels) for each in samples if labels.items() <= each.labels.items()}


def test_a_policy_that_left_with_its_folder_counts_as_the_file_said_last(store: Store) -> None:
    del store.spec["deletionPolicy"]
    store.begin()
    store.world.stop()
    remove(store)
    store.world.start()
    eventually(lambda: store.status().get("phase") == "Degraded", what="the group says that it serves on")
    assert "v1 serves on, with its Services and routes" in store.status()["message"]
    assert store.ask("/cart") == "cart-v1"
    store.world.settle()
    assert {"cart-v1", "auth-v1"} <= set(left(store)["apps"])


def live_spec(store: Store) -> dict[str, Any]:
    found = store.world.live("releasegroups", store.name)
    return dict(found["spec"]) if found else {}


def test_many_apps_that_leave_at_once_look_like_an_accident(store: Store) -> None:
    store.begin()
    less = {**SETTINGS, "maxDeletedAppsPercent": 20}
    store.world.publish("All goes", {store.folder: None, "gitops-bg.yaml": yaml.safe_dump(less)})
    eventually(lambda: "maxDeletedAppsPercent" in store.status().get("message", ""), what="it says why it is kept")
    assert store.ask("/cart") == "cart-v1"


def test_another_name_is_no_end(store: Store) -> None:
    store.begin()
    market = rename(store, "market")
    market.wait("v1A v2C")
    eventually(lambda: not store.status(), what="the former ReleaseGroup is gone")
    assert store.ledger()[-1] == "deleted", "it is the other one now"
    assert "orphaned" not in store.ledger()
    assert market.ask("/cart") == "cart-v1"
    assert {"cart-v1", "cart-v2", "auth-v1"} <= set(left(store)["apps"])


def test_another_name_is_no_end_although_the_new_files_have_a_mistake(store: Store) -> None:
    """Nobody knows then what the new one has; and what is told of an end is not taken back."""
    store.begin()
    store.spec["archiveSize"] = -1
    market = rename(store, "market")
    eventually(lambda: "market" in store.status().get("message", ""), what="it is said what it may be by now")
    store.world.settle()
    assert "orphaned" not in store.ledger()
    market.spec["archiveSize"] = 1
    market.activate("v1")
    market.wait("v1A v2C")
    eventually(lambda: not store.status(), what="the former ReleaseGroup is gone")
    assert (store.ledger()[-1], "orphaned" in store.ledger()) == ("deleted", False)


def test_one_that_another_agent_follows_by_now_is_left_to_that(store: Store) -> None:
    """Its folder went to another repository; nothing that this agent remembers of it counts any more."""
    store.begin()
    store.spec["suspend"] = {"reason": "it moves", "until": "2099-01-01T00:00:00Z"}
    store.world.publish("It is about to move", store.group())
    eventually(lambda: "suspend" in live_spec(store), what="the cluster knows that nothing of it is to move")
    remove(store)
    eventually(lambda: "it is suspended" in store.status().get("message", ""), what="the group says why it is kept")
    follow_elsewhere(store)
    store.world.publish("Something else", {"readme.txt": "main is looked at again"})
    store.world.settle()
    assert store.ask("/cart") == "cart-v1"
    assert left(store)["groups"] == ["store"]


def follow_elsewhere(store: Store) -> None:
    """What the agent of another repository writes once that has the folder, without a suspension."""
    path = f"/apis/{API}/namespaces/{store.world.namespace}/releasegroups/{store.name}"
    change = {
        "metadata": {"annotations": {names.REPOSITORY: "https://git.example.com/other.git"}},
        "spec": {"suspend": None},
    }
    store.world.cluster.ask("PATCH", path, change, content_type="application/merge-patch+json")
