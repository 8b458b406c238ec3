"""`kubectl delete bgd` takes the record along; what the agent writes later, to main and the cluster, is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.version import short
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.paths import replica_sets
from tests.support.cluster.rawapi import MERGE
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def world(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(sandbox_cluster, tmp_path) as made:
        yield made


def roll_back(web: App) -> None:
    """What `gitops-bg rollback --offline` does."""
    web.ask(Request("r1", OperatorCommand.ROLLBACK, "ada", datetime.now(UTC), "5xx"))


@contextmanager
def rebuilt(web: App, tmp_path: Path) -> Iterator[App]:
    """The app in a new cluster, whose agent has nothing but the repository."""
    world, folder = web.scenario, tmp_path / "another"
    world.stop()
    folder.mkdir()
    with (
        SandboxCluster.run(folder) as cluster,
        scenario(cluster, folder, namespace=world.namespace, remote=world.remote) as another,
    ):
        cluster.create("/api/v1/namespaces", {"metadata": {"name": world.namespace}})
        another.start()
        yield another.app()


def test_the_rollback_that_the_agent_commits_is_valid(world: Scenario, tmp_path: Path) -> None:
    """Found so: the version that came back had no source, main said `commit: ""`, and the app was invalid for ever."""
    world.start()
    web = world.app().deploy("v1")
    before = world.remote.show("main", f"{web.folder}/primary.yaml")
    web.promote("v2")
    world.wait_idle()
    web.lose_record()
    assert web.live_tag() == "v2"
    roll_back(web)
    web.wait_live("v1")
    web.wait_told("rolled-back")
    web.wait(lambda: web.primary_digest() == web.digest("v1"), "the agent committed the way back")
    assert world.remote.show("main", f"{web.folder}/primary.yaml") == before
    web.push_image("v3")
    web.wait(web.offered, "the next version is offered")
    world.wait_idle()
    assert web.condition("InvalidSpec")["status"] == "Absent"
    with rebuilt(web, tmp_path) as there:
        there.wait(lambda: there.live_tag() == "v1", "the rebuilt cluster serves what was rolled back to")


@pytest.fixture
def unnamed(world: Scenario) -> App:
    """v2 is live. While the agent was down, its ReplicaSet lost its digest, and the object was deleted."""
    world.start()
    web = world.app().deploy("v1")
    web.promote("v2")
    world.wait_idle()
    world.stop()
    path = f"{replica_sets(world.namespace)}/{web.versions()['v2'].name}"
    patch = {"metadata": {"annotations": {names.FULL_DIGEST: None}}}
    world.cluster.patch(path, patch, MERGE, fieldManager="kubectl-annotate")
    web.delete_object()
    world.start()
    web.wait_phase("Healthy")
    world.wait_idle()
    assert web.live_tag() == "v2"
    return web


def test_the_rollback_to_it_names_the_whole_digest_and_a_rebuilt_cluster_serves_it(
    unnamed: App, tmp_path: Path
) -> None:
    """Found so: ten digits were the digest of what serves, in the record and then in main."""
    web, world = unnamed, unnamed.scenario
    live = world.cluster.get(f"{replica_sets(world.namespace)}/{web.versions()['v2'].name}")
    assert web.record.routing.traffic == live["metadata"]["annotations"][names.FULL_DIGEST] == web.digest("v2")
    web.promote("v3")
    roll_back(web)
    web.wait_live("v2")
    web.wait_told("rolled-back")
    web.wait(lambda: web.primary_digest() == web.digest("v2"), "main names v2 again")
    with rebuilt(web, tmp_path) as there:
        there.wait(lambda: there.live_tag() == "v2", "the rebuilt cluster serves what was rolled back to")


def test_a_service_that_app_yaml_named_before_still_moves_with_live_traffic(world: Scenario) -> None:
    """Found so: nothing but the record knew `web`; it kept leading to v1, whose pods went after the delay."""
    world.start()
    web = world.app()
    web.strategy = {"activeService": "web", "scaleDownDelaySeconds": 300, "autoPromotionEnabled": False}
    web.deploy("v1")
    web.strategy["activeService"] = "web-api"
    world.stop()
    web.delete_object()
    web.configure()
    world.start()
    assert web.wait_condition("ServicesInGit", "False")["reason"] == "Followed"
    web.push_image("v2")
    web.merge_promotion("v2")
    both = ("web-api", "web")
    web.wait(lambda: {web.selected(name) for name in both} == {short(web.digest("v2"))}, "both select v2")
    world.wait_idle()
    world.advance(301)
    web.wait(lambda: web.condition("ServicesInGit")["reason"] == "NotManaged", "it is said")
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 has no pods any more")
    assert world.cluster.ready_addresses(world.namespace, "web"), "clients of the former name reach pods"
