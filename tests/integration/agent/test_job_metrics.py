"""Analysis by Jobs with everything real: one Job per measurement, whatever happens to agent and rollout."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.conformance.steps import abort, resume, suspend
from tests.support.agent.mortality import Mortals
from tests.support.analysis import analysed, made, measured, publish_templates, runs
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import jobs, pods
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario, scenario

PRE, POST = "prePromotionAnalysis", "postPromotionAnalysis"


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """Every story is told on both clusters."""
    with scenario(cluster, tmp_path) as made:
        publish_templates(made)
        yield made


def measuring(web: App, duration: str = "infinity") -> App:
    """v2 waits for a Job before its promotion."""
    analysed(web, PRE, duration=duration)
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_image("v2")
    web.wait(lambda: runs(web) == ["2.pre.1"], "the Job is there")
    return web


def _with_image(web: App, image: str) -> str:
    text = web.scenario.remote.show("main", "analysis/sleep-pre.yaml")
    assert text is not None
    return text.replace("registry.example/sleep:v1", f"registry.example/{image}")


def live_jobs(web: App) -> list[Json]:
    return web.scenario.cluster.list(jobs(web.key.namespace))


def wait_ended(web: App) -> None:
    """Wait until no Job is there, nor a pod of one."""
    web.wait(lambda: not live_jobs(web), "the Job is gone")
    path, labels = pods(web.key.namespace), "job-name"
    web.wait(lambda: not web.scenario.cluster.list(path, labelSelector=labels), "its pod is gone")


def run_of(web: App) -> AnalysisRun:
    found = web.record.run(AnalysisStage.PRE)
    assert found is not None
    return found


def test_once_does_not_wait_for_a_job_and_one_that_ended_while_no_agent_ran_counts(web: App) -> None:
    """`agent --once` as a CronJob."""
    measuring(web, duration="3")
    web.scenario.stop()
    once(web)
    web.wait(lambda: live_jobs(web)[0].get("status", {}).get("succeeded"), "the Job is complete")
    web.wait(lambda: once(web) == "v2", "v2 is live")
    assert (made(web), measured(web)) == (1, ["2.pre.1.sleep-job.0"])


def once(web: App) -> str:
    """What is live after a run of the CronJob."""
    assert web.scenario.start().run_once(60) == frozenset()
    web.scenario.stop()
    return web.live_tag()


@pytest.mark.slow
def test_an_agent_that_dies_after_every_write_measures_nothing_twice(web: App) -> None:
    world = web.scenario
    world.stop()
    web.strategy["autoPromotionEnabled"] = True
    for field in (PRE, POST):
        analysed(web, field, duration="1")
    web.configure()
    web.push_image("v2")
    agents = Mortals(world, writes=1)
    agents.until(
        lambda: web.condition("Healthy")["status"] == "True" and web.live_tag() == "v2", "v2 is live, and good"
    )
    agents.until(web.is_told, "told")
    world.stop()
    world.start()
    world.wait_idle()
    assert measured(web) == ["2.pre.1.sleep-job.0", "2.post.1.sleep-job.0"]
    assert made(web) == 2
    assert "create Job" in agents.done
    assert web.ledger_events().count("promoted") == 1


def test_an_image_that_cannot_be_had_pauses_and_a_promotion_measures_anew(web: App) -> None:
    web.scenario.publish("Templates", {"analysis/sleep-pre.yaml": _with_image(web, "sleep:missing")})
    analysed(web, PRE)
    web.configure()
    web.push_image("v2")
    web.wait_phase("Paused")
    run = run_of(web)
    assert run.phase is AnalysisPhase.INCONCLUSIVE
    assert "ImagePullBackOff" in run.metrics[0].measurements[-1].message
    wait_ended(web)
    assert (web.live_tag(), web.offered()) == ("v1", False)

    publish_templates(web.scenario)
    web.scenario.wait_idle()
    web.ask(Request("again", OperatorCommand.PROMOTE, "ada", datetime.now(UTC)))
    web.wait_offered("v2")
    assert measured(web) == ["2.pre.2.sleep-job.0"]


def test_a_run_that_is_dropped_ends_its_job(web: App) -> None:
    """By a newer target, by an abort, and where there is no analysis any more."""
    measuring(web)
    web.push_image("v3")
    web.wait(lambda: runs(web) == ["3.pre.1"], "only the Job of v3 is there")
    abort(web)
    wait_ended(web)
    web.push_image("v4")
    web.wait(lambda: runs(web) == ["4.pre.1"], "the Job of v4 is there")
    del web.strategy[PRE]
    web.configure()
    wait_ended(web)
    assert made(web) == 3


def test_a_job_outlives_a_suspension_is_in_the_histogram_and_goes_with_its_app(web: App) -> None:
    measuring(web, duration="2")
    suspend(web)
    before = live_jobs(web)[0]["metadata"]["uid"]
    web.wait(lambda: live_jobs(web)[0].get("status", {}).get("succeeded"), "the Job is complete")
    assert web.live_tag() == "v1"
    resume(web)
    web.wait_live("v2")
    assert [job["metadata"]["uid"] for job in live_jobs(web)] == [before]

    web.scenario.wait_idle()
    agent = web.scenario.agent
    assert agent is not None
    name = "gitops_bg_analysis_measurement_seconds"
    count, total = (
        agent.metrics.registry.get_sample_value(f"{name}_{each}", {"provider": "job"}) for each in ("count", "sum")
    )
    assert (count, total is not None and total >= 1) == (1, True)

    web.scenario.stop()
    path = f"/apis/{names.API_VERSION}/namespaces/{web.key.namespace}/{names.PLURAL}/web"
    web.scenario.cluster.delete(path, propagationPolicy="Background")
    web.wait(lambda: not live_jobs(web), "the Job is gone")


def test_a_secret_reaches_a_job_as_a_reference_and_the_agent_never_has_it(web: App) -> None:
    text = web.scenario.remote.show("main", "analysis/sleep-pre.yaml")
    assert text is not None
    secret = "- name: duration\n    valueFrom: {secretKeyRef: {name: api, key: token}}"
    text = text.replace("- name: duration\n    value: '0'", secret)
    text = text.replace("      - sleep {{args.duration}} && exit", "      - exit")
    env = "image: registry.example/sleep:v1\n                env: [{name: TOKEN, value: '{{args.duration}}'}]"
    text = text.replace("image: registry.example/sleep:v1", env)
    web.scenario.publish("Templates", {"analysis/sleep-pre.yaml": text})
    token = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "api", "namespace": web.key.namespace}}
    web.scenario.cluster.apply({**token, "stringData": {"token": "hunter2"}})
    web.strategy[PRE] = {"templates": [{"templateName": "sleep-pre"}]}
    web.configure()
    web.push_image("v2")
    web.wait_offered("v2")
    (job,) = live_jobs(web)
    assert job["spec"]["template"]["spec"]["containers"][0]["env"] == [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "api", "key": "token"}}}
    ]
