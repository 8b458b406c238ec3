"""`restartAt` with everything real: new pods for what runs, a few at a time, as budgets allow; no switch."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.integration.test_two_clusters_evictions import budget, wait_status
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import pods, replica_sets
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, scenario
from tests.support.sightings import Sightings

MIN_READY_SECONDS = 3


@pytest.fixture
def web(cluster: TestCluster, tmp_path: Path) -> Iterator[App]:
    """The app `web`, its v1 live with three pods; the agent runs."""
    with scenario(cluster, tmp_path) as world:
        app = world.app()
        app.replicas = 3
        world.start()
        yield app.deploy("v1")


def metadata(web: App, tag: str) -> list[Json]:
    """The metadata of the pods of a version that stay."""
    labels = f"{names.DIGEST}={web.versions()[tag].digest}"
    found = web.scenario.cluster.list(pods(web.key.namespace), labelSelector=labels)
    return [pod["metadata"] for pod in found if "deletionTimestamp" not in pod["metadata"]]


def uids(web: App, tag: str) -> set[str]:
    return {each["uid"] for each in metadata(web, tag)}


def made_at(web: App, tag: str) -> list[datetime]:
    return sorted(datetime.fromisoformat(each["creationTimestamp"]) for each in metadata(web, tag))


def replace_pods(web: App, tag: str) -> None:
    """Somebody deletes all pods of a version; new ones are ready."""
    cluster, path = web.scenario.cluster, pods(web.key.namespace)
    labels, name = f"{names.DIGEST}={web.versions()[tag].digest}", web.versions()[tag].name
    old = [pod["metadata"]["name"] for pod in cluster.list(path, labelSelector=labels)]
    for each in old:
        cluster.delete(f"{path}/{each}")

    def are_new() -> bool:
        found = [pod["metadata"]["name"] for pod in cluster.list(path, labelSelector=labels)]
        replica_set = cluster.get(f"{replica_sets(web.key.namespace)}/{name}")
        return not set(found) & set(old) and replica_set["status"].get("readyReplicas") == len(old)

    web.wait(are_new, "new pods serve")


def restart(web: App, seconds: float = 2) -> None:
    """Ask for new pods; from two seconds ahead, because those of a test are that young."""
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
    web.spec["restartAt"] = moment.isoformat().replace("+00:00", "Z")
    web.configure()


def recheck(web: App) -> None:
    """The half minute is over in which a pod that stays is not asked for again."""
    web.scenario.advance(31)


def test_every_pod_is_new_one_after_the_other_and_nothing_else_has_changed(web: App) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_phase("AwaitingPromotion")
    live, preview = uids(web, "v1"), uids(web, "v2")

    with Sightings(web.scenario.cluster, web.key.namespace) as seen:
        restart(web)
        web.wait_told("restarted")
    assert seen.fewest_available(web.versions()["v1"].digest) == 2
    assert not live & uids(web, "v1")
    assert not preview & uids(web, "v2")
    assert (web.live_tag(), web.preview_tag()) == ("v1", "v2")
    assert set(web.versions()) == {"v1", "v2"}
    (entry,) = [each for each in web.ledger() if each["Event"] == "restarted"]
    assert entry["Reason"].startswith("6 pods older than ")
    web.wait_phase("AwaitingPromotion")


def test_pods_that_serve_but_are_not_available_yet_go_one_after_the_other(cluster: TestCluster, tmp_path: Path) -> None:
    with scenario(cluster, tmp_path) as world:
        web = world.app()
        web.spec["minReadySeconds"] = MIN_READY_SECONDS
        world.start()
        web.deploy("v1")
        world.wait_idle()
        replace_pods(web, "v1")
        assert web.versions()["v1"].available < web.replicas, "they serve, and are not available yet"
        before = uids(web, "v1")
        restart(web)
        web.wait_told("restarted")
        assert not before & uids(web, "v1")
        first, second = made_at(web, "v1")
        assert second - first >= timedelta(seconds=MIN_READY_SECONDS - 1)  # The API server says whole seconds.


def test_budget_that_refuses_is_heard_and_asked_again(web: App) -> None:
    """By the next agent, if another one goes on with it."""
    before = uids(web, "v1")
    path = budget(web.scenario.cluster, web.key.namespace, minAvailable=3)
    wait_status(web.scenario.cluster, path, currentHealthy=3, disruptionsAllowed=0)
    restart(web)
    web.wait(lambda: web.condition("Restarting")["reason"] == "EvictionRefused", "the refusal is told")
    assert "a PodDisruptionBudget may refuse" in web.condition("Restarting")["message"]
    assert web.phase() == "Restarting"
    assert uids(web, "v1") == before

    web.scenario.stop()
    budget(web.scenario.cluster, web.key.namespace, minAvailable=2)
    wait_status(web.scenario.cluster, path, disruptionsAllowed=1)
    web.scenario.start()
    recheck(web)
    web.wait(lambda: not before & uids(web, "v1") or recheck(web), "all are new")
    web.wait_told("restarted")
    web.wait_phase("Healthy")
    assert web.ledger_events().count("restarted") == 1
