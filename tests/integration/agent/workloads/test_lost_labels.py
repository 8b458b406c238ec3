"""Somebody overwrites, or takes off, the label by which the agent watches a workload: it is repaired, no pod goes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import daemon_sets, pods, replica_sets
from tests.support.cluster.rawapi import MERGE
from tests.support.scenario import App, scenario

PATHS = {"ReplicaSet": replica_sets, "DaemonSet": daemon_sets}


@pytest.fixture(params=PATHS)
def web(cluster: TestCluster, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[App]:
    """The app `web` with v1 live and v2 offered; the agent runs."""
    with scenario(cluster, tmp_path) as world:
        world.start()
        app = world.app()
        app.workload = request.param
        app.deploy("v1")
        app.push_image("v2")
        app.wait_offered("v2")
        world.wait_idle()
        yield app


def uids(web: App, tag: str) -> set[str]:
    labels = ",".join(f"{key}={value}" for key, value in names.selector(web.key, web.digest(tag)).items())
    found = web.scenario.cluster.list(pods(web.key.namespace), labelSelector=labels)
    return {each["metadata"]["uid"] for each in found if "deletionTimestamp" not in each["metadata"]}


def is_ours(web: App, path: str) -> bool:
    labels = web.scenario.cluster.get(path)["metadata"]["labels"]
    return bool(labels.get(names.MANAGED_BY) == names.MANAGER)


def test_workload_gets_its_label_back_and_keeps_its_pods(web: App) -> None:
    """That of what serves, and that of a candidate; overwritten, and taken off."""
    for tag, value in itertools.product(("v1", "v2"), ("Helm", None)):
        path = f"{PATHS[web.workload](web.key.namespace)}/{web.versions()[tag].name}"
        before = uids(web, tag)
        patch = {"metadata": {"labels": {names.MANAGED_BY: value}}}
        web.scenario.cluster.patch(path, patch, MERGE, fieldManager="kubectl-label")
        web.wait(lambda path=path: is_ours(web, path), "the label is repaired")
        web.scenario.wait_idle()
        assert uids(web, tag) == before, "nobody asked for new pods"

    web.push_image("v3")
    web.wait_offered("v3")
