"""Jobs before the pods of a version with everything real: what runs, when, and what becomes of the version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.version import short
from tests.conformance.steps import retry
from tests.support.agent.mortality import Mortals
from tests.support.analysis import made
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import jobs, pods
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario, scenario


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """Every story is told on both clusters."""
    with scenario(cluster, tmp_path) as made:
        yield made


def job(script: str, **container: Any) -> dict[str, Any]:
    """The manifest of a Job that runs this; without an image of its own."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "migrate", "command": ["sh", "-c", script], **container}]}
    spec = {"backoffLimit": 0, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "web-expand"}, "spec": spec}


def expanding(web: App, script: str, **container: Any) -> App:
    """v1 is live, and its Job was well; v2 has a Job that runs this."""
    web.spec["jobs"] = {"beforePods": ["expand.yaml"]}
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_object("expand.yaml", job(script, **container))
    web.push_image("v2")
    web.wait(lambda: name_of(web, "v2") in by_name(web), "the Job of v2 is there")
    return web


def by_name(web: App) -> dict[str, Json]:
    return {each["metadata"]["name"]: each for each in web.scenario.cluster.list(jobs(web.key.namespace))}


def name_of(web: App, tag: str) -> str:
    return f"web-expand-{short(web.digest(tag))}"


def pods_of(web: App, tag: str) -> list[Json]:
    labels = f"{names.DIGEST}={short(web.digest(tag))}"
    return web.scenario.cluster.list(pods(web.key.namespace), labelSelector=labels)


def gate(web: App) -> str:
    return next((each["reason"] for each in web.status.get("gates", ()) if each["kind"] == "job"), "")


def configured(web: App) -> None:
    """The target, and the Job, use a ConfigMap of the folder."""
    web.objects["settings.yaml"] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web-settings"},
        "data": {"a": "b"},
    }
    web.container["envFrom"] = [{"configMapRef": {"name": "web-settings"}}]


def test_the_first_pod_comes_when_the_job_is_complete_with_the_image_and_configuration_of_its_version(
    world: Scenario,
) -> None:
    world.start()
    web = world.app()
    configured(web)
    web.spec["jobs"] = {"beforePods": ["expand.yaml"]}
    web.strategy["autoPromotionEnabled"] = True
    web.objects["expand.yaml"] = job("sleep 1", envFrom=web.container["envFrom"])
    web.deploy()
    (only,) = by_name(web).values()
    (container,) = only["spec"]["template"]["spec"]["containers"]
    assert only["metadata"]["name"] == name_of(web, "v1")
    assert container["image"] == "registry.example/web:v1"
    assert container["envFrom"][0]["configMapRef"]["name"].startswith("web-settings-")
    assert only["status"]["succeeded"] == 1
    ended = only["status"]["completionTime"]
    assert pods_of(web, "v1")
    assert min(each["metadata"]["creationTimestamp"] for each in pods_of(web, "v1")) >= ended
    web.push_image("v2")
    web.wait_live("v2")
    assert (made(web), sorted(by_name(web))) == (2, sorted([name_of(web, "v1"), name_of(web, "v2")]))


def test_a_job_that_fails_holds_its_version_with_the_end_of_its_log_and_a_retry_runs_it_anew(web: App) -> None:
    expanding(web, "sleep 1; echo no such table; exit 3")
    web.wait_condition("OnHold")
    said = web.condition("OnHold")["message"]
    assert "BackoffLimitExceeded" in said
    assert "its log ends with: no such table" in said
    assert (web.live_tag(), pods_of(web, "v2")) == ("v1", [])

    web.push_object("expand.yaml", job("true"))
    retry(web, "v2")
    web.wait_live("v2")
    assert f"{name_of(web, 'v2')}-2" in by_name(web)
    assert made(web) == 2


def test_an_image_that_cannot_be_pulled_is_waited_for_and_makes_room_for_the_next_version(web: App) -> None:
    expanding(web, "true", image="registry.example/migrate:missing")
    web.wait(lambda: "ImagePull" in gate(web), "the gate says so")
    assert web.record.held(web.digest("v2")) is None
    web.push_object("expand.yaml", job("true"))
    web.push_image("v3")
    web.wait_live("v3")
    assert pods_of(web, "v2") == []
    web.wait(lambda: name_of(web, "v2") not in by_name(web), "the Job of v2 is gone")


def test_a_newer_version_waits_for_a_job_that_runs(web: App) -> None:
    expanding(web, "sleep 3")
    web.push_image("v3")
    web.wait(lambda: "which is not broken off" in gate(web), "the gate of v3 says what it waits for")
    web.wait_live("v3")
    assert by_name(web)[name_of(web, "v2")]["status"]["succeeded"] == 1
    assert pods_of(web, "v2") == []


def test_a_job_that_somebody_deletes_waits_for_a_retry(web: App) -> None:
    expanding(web, "sleep infinity")
    web.wait(lambda: gate(web).endswith("runs"), "the gate says that it runs")
    web.scenario.cluster.delete(f"{jobs(web.key.namespace)}/{name_of(web, 'v2')}", propagationPolicy="Background")
    web.wait(lambda: "was deleted" in gate(web), "the gate says so")
    web.push_object("expand.yaml", job("true"))
    retry(web, "v2")
    web.wait_live("v2")


def test_a_record_that_is_lost_finds_the_job_that_is_complete(web: App) -> None:
    """The record alone; with the object, everything goes that it owns."""
    expanding(web, "true")
    web.wait_live("v2")
    web.push_object("expand.yaml", job("sleep 5"))
    web.push_image("v3")
    web.wait(lambda: gate(web).endswith("runs"), "the Job of v3 runs")
    before = by_name(web)[name_of(web, "v3")]["metadata"]["uid"]
    path = f"/apis/{names.API_VERSION}/namespaces/{web.key.namespace}/{names.PLURAL}/web/status"
    web.scenario.stop()
    web.scenario.cluster.patch(path, {"status": {"record": None}})
    web.scenario.start()
    web.wait_live("v3")
    assert by_name(web)[name_of(web, "v3")]["metadata"]["uid"] == before


def test_a_job_that_goes_with_the_object_runs_anew(web: App) -> None:
    expanding(web, "sleep 5")
    web.delete_object()
    web.wait_live("v2")
    assert made(web) == 2


@pytest.mark.slow
def test_an_agent_that_dies_after_every_write_runs_one_job(web: App) -> None:
    world = web.scenario
    world.stop()
    web.spec["jobs"] = {"beforePods": ["expand.yaml"]}
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_object("expand.yaml", job("sleep 1"))
    web.push_image("v2")
    agents = Mortals(world, writes=1)
    agents.until(lambda: web.live_tag() == "v2", "v2 is live")
    agents.until(web.is_told, "told")
    assert made(web) == 1
    assert "create Job" in agents.done
