"""Analysis with everything real: an agent, a Git remote, a cluster, and a metric backend that answers over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_bg.agent.agent import Agent
from gitops_bg.core.model.analysis import AnalysisRun, AnalysisStage
from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.support.agent.mortality import Killed, Life
from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.servers.backend import HANG, Backend, Reply, serving
from tests.support.waiting import eventually

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
GOOD, BAD, NOTHING = {"ok": True}, {"ok": False}, {}


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """Every story is told on both clusters."""
    with scenario(cluster, tmp_path) as made:
        yield made


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as server:
        server.says(GOOD)
        yield server


def analysed(
    web: App,
    backend: Backend,
    stage: AnalysisStage,
    *,
    args: tuple[dict[str, Any], ...] = (),
    request: dict[str, Any] | None = None,
    **metric: Any,
) -> App:
    """The app, promoted by itself, with an analysis in a stage that asks the backend for `ok`."""
    asked = {"url": f"{backend.url}/{{{{args.of}}}}", "jsonPath": "{$.ok}", **(request or {})}
    one = {"name": "ok", "provider": {"web": asked}, "successCondition": "result == true", **metric}
    head = {"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "health"}}
    template = yaml.safe_dump({**head, "spec": {"args": [{"name": "of"}, *args], "metrics": [one]}})
    web.scenario.publish("Say what healthy is", {"analysis/health.yaml": template})
    given = [{"name": "of", "valueFrom": {"podTemplateHashValue": "Latest"}}]
    web.strategy |= {
        "autoPromotionEnabled": True,
        f"{stage}PromotionAnalysis": {"templates": [{"templateName": "health"}], "args": given},
    }
    web.configure()
    web.scenario.wait_idle()
    return web


def run_of(web: App, stage: AnalysisStage) -> AnalysisRun:
    found = web.record.run(stage)
    assert found is not None
    return found


def reason(web: App, event: str) -> str:
    web.wait_told(event)
    return next(entry["Reason"] for entry in reversed(web.ledger()) if entry["Event"] == event)


# --- before promotion ---


def test_a_failing_analysis_before_promotion_aborts_and_holds(web: App, backend: Backend) -> None:
    backend.says(BAD)
    analysed(web, backend, PRE)

    web.push_image("v2")

    assert "successCondition result == true is false" in reason(web, "aborted")
    web.wait_phase("Held")
    assert web.live_tag() == "v1"
    assert web.primary_digest() == web.digest("v1")
    assert web.record.held(web.digest("v2"))
    assert len(backend.asked) == 1


def test_no_data_pauses_and_promote_measures_afresh(web: App, backend: Backend) -> None:
    backend.says(NOTHING)
    analysed(web, backend, PRE)
    web.push_image("v2")
    assert "no data: {$.ok} finds nothing in the body" in reason(web, "paused")
    assert web.live_tag() == "v1"
    assert not web.record.held(web.digest("v2"))
    backend.says(GOOD)

    web.ask(Request("1", OperatorCommand.PROMOTE, "ada", web.scenario.clock()))

    web.wait_live("v2")
    assert run_of(web, PRE).attempt == 2
    assert [asked.path for asked in backend.asked] == [f"/{web.digest('v2').partition(':')[2][:10]}"] * 2
    agent = web.scenario.agent
    assert agent is not None
    labels = {"kind": "app", "namespace": web.key.namespace, "name": "web", "provider": "web"}
    for phase in ("Inconclusive", "Successful"):
        name = "gitops_bg_analysis_measurements_total"
        assert agent.metrics.registry.get_sample_value(name, {**labels, "phase": phase}) == 1
    took = agent.metrics.registry.get_sample_value("gitops_bg_analysis_measurement_seconds_count", {"provider": "web"})
    assert took == 2


# --- after promotion ---


def test_a_failing_analysis_after_promotion_rolls_back_commits_and_holds(web: App, backend: Backend) -> None:
    analysed(web, backend, POST, count=2, interval="5m")
    web.push_image("v2")
    web.wait_live("v2")
    web.wait(lambda: [one.successful for one in run_of(web, POST).metrics] == [1], "the first was good")
    backend.says(BAD)
    web.scenario.wait_idle()

    web.scenario.advance(301)

    web.wait_live("v1")
    web.wait_primary("v1")
    assert "post-promotion analysis failed" in reason(web, "rolled-back")
    assert web.record.held(web.digest("v2"))
    assert len(backend.asked) == 2


# --- beside the reconciling ---


def test_a_backend_that_hangs_holds_up_no_other_app_and_no_stop(web: App, backend: Backend) -> None:
    backend.answer = lambda _: HANG
    analysed(web, backend, PRE, request={"timeoutSeconds": 300})
    other = web.scenario.app("api").deploy("v1")
    other.strategy["autoPromotionEnabled"] = True
    other.configure()
    web.push_image("v2")
    web.wait(lambda: backend.asked, "the backend is asked")

    other.push_image("v2")

    other.wait_live("v2")
    assert web.live_tag() == "v1"
    web.scenario.stop()


def test_a_secret_reaches_the_backend_and_nobody_else(
    web: App, backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "metrics", "namespace": web.key.namespace}}
    web.scenario.cluster.apply({**head, "stringData": {"token": "s3cr3t-t0ken"}})
    backend.answer = lambda asked: Reply({"message": f"who is {asked.headers['x-token']}?"}, 401)
    secret = {"name": "token", "valueFrom": {"secretKeyRef": {"name": "metrics", "key": "token"}}}
    headers = [{"key": "X-Token", "value": "{{args.token}}"}]
    analysed(web, backend, PRE, consecutiveErrorLimit=0, args=(secret,), request={"headers": headers})

    web.push_image("v2")

    assert "who is ***?" in reason(web, "aborted")
    assert backend.asked[0].headers["x-token"] == "s3cr3t-t0ken"
    everything = str([web.object(), web.scenario.events(), web.ledger(), caplog.text])
    assert "s3cr3t" not in everything
    assert "s3cr3t" not in web.scenario.remote.run("log", "-p", "--all", cwd=web.scenario.remote.bare)


def test_once_measures_what_is_due_before_it_ends(web: App, backend: Backend) -> None:
    analysed(web, backend, PRE)
    web.scenario.stop()
    web.push_image("v2")
    eventually(lambda: once(web) == "v2", what="v2 is live")
    assert len(backend.asked) == 1


def once(web: App) -> str:
    """What a CronJob with `agent --once` does, which awaits neither pods nor endpoints; the tag that is live then."""
    agent = web.scenario.start()
    assert agent.run_once(60) == frozenset()
    web.scenario.stop()
    return web.live_tag()


# --- agents that die ---


class Grave:
    """An agent that dies when it is about to save a record that has counted a measurement, or right after."""

    def __init__(self, *, saved: bool) -> None:
        self._saved = saved
        self.life: Life | None = None

    def prepare(self, agent: Agent) -> None:
        life = self.life = Life(agent, writes=1_000_000)
        put = agent.cluster.client.save_status

        def save_status(*arguments: Any) -> Any:
            counted = '"successful": 1' in json.dumps(arguments[1:])
            if counted and not self._saved:
                life.dead.set()
            answer = put(*arguments)
            if counted:
                life.dead.set()
                raise Killed
            return answer

        agent.cluster.client.save_status = save_status  # type: ignore[method-assign]

    def wait(self) -> None:
        assert self.life is not None
        eventually(self.life.dead.is_set, what="the agent is dead")


@pytest.mark.slow
def test_a_measurement_counts_once_wherever_the_agent_dies(web: App, backend: Backend) -> None:
    """What was not saved is measured again; what was saved never is."""
    analysed(web, backend, PRE, count=2, interval="5m")
    for deaths, saved in enumerate((False, True), start=1):
        grave = Grave(saved=saved)
        web.scenario.restart(prepare=grave.prepare)
        if deaths == 1:
            web.push_image("v2")
        grave.wait()
        assert len(backend.asked) == deaths

    web.scenario.restart()

    web.wait(lambda: run_of(web, PRE).metrics[0].successful == 1, "one has counted")
    web.scenario.wait_idle()
    web.scenario.advance(301)
    web.wait_live("v2")
    assert run_of(web, PRE).metrics[0].successful == 2
    assert len(run_of(web, PRE).metrics[0].measurements) == 2
    assert len(backend.asked) == 3
