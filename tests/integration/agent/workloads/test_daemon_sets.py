"""An app whose target is a DaemonSet: a DaemonSet for each version, beside each other, on both clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.support.cluster import rights
from tests.support.cluster.clusters import ControlPlaneCluster, TestCluster
from tests.support.cluster.paths import collection, daemon_sets, pods, replica_sets
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, scenario
from tests.support.waiting import eventually

DELAY = 300
NODES = 4


@pytest.fixture
def web(cluster: TestCluster, tmp_path: Path) -> Iterator[App]:
    """The app `web`, a DaemonSet; nothing is pushed yet, the agent runs."""
    with scenario(cluster, tmp_path) as world:
        world.start()
        app = world.app()
        app.workload = "DaemonSet"
        app.strategy["scaleDownDelaySeconds"] = DELAY
        yield app


def nodes_of(web: App, tag: str) -> list[str]:
    labels = ",".join(f"{key}={value}" for key, value in names.selector(web.key, web.digest(tag)).items())
    found = web.scenario.cluster.list(pods(web.key.namespace), labelSelector=labels)
    return sorted(each["spec"]["nodeName"] for each in found if "deletionTimestamp" not in each["metadata"])


def live(web: App, tag: str) -> Json:
    path = f"{daemon_sets(web.key.namespace)}/{web.versions()[tag].name}"
    return web.scenario.cluster.get(path)


def test_a_daemon_set_for_each_version_goes_live_goes_back_and_comes_back_from_no_node(web: App) -> None:
    cluster, world = web.scenario.cluster, web.scenario
    web.deploy("v1")
    assert not cluster.list(replica_sets(web.key.namespace))
    assert len(set(nodes_of(web, "v1"))) == NODES
    assert (web.status["replicas"], web.status["availableReplicas"]) == (NODES, NODES)

    web.push_image("v2")
    web.wait_offered("v2")
    assert web.live_tag() == "v1"
    assert nodes_of(web, "v1") == nodes_of(web, "v2"), "both versions are on every node"
    merge = web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")
    uid = web.versions()["v1"].uid
    world.wait_idle()
    world.restart(fresh_mirror=True)
    world.advance(DELAY + 1)
    web.wait(lambda: not nodes_of(web, "v1"), "v1 is taken off its nodes")
    assert web.versions()["v1"].uid == uid, "it stays, with its snapshot"
    world.wait_idle()
    before = len(world.writes())
    world.advance(60)
    world.wait_idle()
    assert not [each for each in world.writes()[before:] if "daemonsets" in each.path], "nothing is written again"

    web.revert(merge)
    web.wait_live("v1")
    web.wait_told("rolled-back")
    assert web.versions()["v1"].uid == uid
    assert len(set(nodes_of(web, "v1"))) == NODES


@pytest.mark.control_plane
def test_without_the_right_the_app_names_the_role_and_goes_on_once_it_is_bound(
    control_plane_cluster: ControlPlaneCluster, tmp_path: Path
) -> None:
    with scenario(control_plane_cluster, tmp_path) as world:
        bindings = collection(f"{rights.GROUP}/v1", "RoleBinding", world.namespace)
        control_plane_cluster.delete(f"{bindings}/{rights.DAEMON_SETS}")
        world.start()
        web = world.app()
        web.workload = "DaemonSet"
        web.add("v1")
        eventually(lambda: world.live(names.PLURAL, "web"), what="the app is there")
        message = web.wait_condition("Refused")["message"]
        assert "daemonsets" in message
        assert f"--clusterrole={rights.DAEMON_SETS}" in message
        rights.bind(control_plane_cluster, world.namespace, rights.DAEMON_SETS)
        web.wait_live("v1")


def test_a_version_for_fewer_nodes_and_one_for_none(web: App) -> None:
    """0 of 0 pods prove nothing: a version that no node is chosen for waits."""
    web.deploy("v1")
    spec = web.pod_template("v2")["spec"]
    spec["nodeSelector"] = {"kubernetes.io/hostname": "node-2"}
    web.template = {"spec": spec}
    web.push_image("v2")
    web.merge_promotion("v2")
    web.wait_live("v2")
    assert nodes_of(web, "v2") == ["node-2"]
    spec = {**spec, "nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
    spec["containers"][0]["image"] = "registry.example/web:v3"
    web.template = {"spec": spec}
    web.push_image("v3")
    web.wait(lambda: "v3" in web.versions(), "there is a DaemonSet")
    web.scenario.wait_idle()
    assert web.condition("CandidateReady")["status"] == "False"
    assert not web.offered()


def test_a_deployment_becomes_a_daemon_set_and_goes_back(web: App) -> None:
    """Another kind is another version: both run beside each other, and traffic moves by a promotion."""
    web.workload = "ReplicaSet"
    web.deploy("v1")
    web.workload = "DaemonSet"
    web.push_image("v1", "web is a DaemonSet")
    web.wait_offered("v1")
    merge = web.merge_offer()
    web.wait_live("v1")
    web.wait_told("promoted")
    assert len(set(nodes_of(web, "v1"))) == NODES
    web.workload = "ReplicaSet"
    assert web.versions()["v1"].replicas == web.replicas, "it keeps its own size"
    web.revert(merge)
    web.wait_live("v1")
    web.wait_told("rolled-back")
