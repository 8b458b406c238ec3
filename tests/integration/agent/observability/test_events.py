"""A rollout's Events in Kubernetes and series at /metrics: each once, also across restarts."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from gitops_bg.agent.agent import Agent
from gitops_bg.web.app import exposition
from tests.support.scenario import App
from tests.support.waiting import eventually

STRETCHES = ["available", "promoted", "switched", "settled", "total"]


def counted(web: App, name: str, by: str) -> dict[str, float]:
    """What a scrape of the running agent says about the app: the samples of a name by one of their labels."""
    agent: Agent | None = web.scenario.agent
    assert agent is not None
    text, _ = exposition(agent.metrics.registry, "")
    samples = [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]
    ours = {"kind": "app", "namespace": web.key.namespace, "name": web.key.name}
    return {
        sample.labels[by]: sample.value
        for sample in samples
        if sample.name == f"gitops_bg_{name}" and ours.items() <= sample.labels.items()
    }


def told(web: App) -> list[str]:
    """The reasons of the Events about the app."""
    return [each["reason"] for each in web.scenario.events()]


def test_each_stage_of_a_rollout_is_measured_once_and_not_again_after_a_restart(web: App) -> None:
    world = web.scenario
    merged = web.promote("v2")
    world.settle()
    assert web.record.rollouts[-1].settled_at, "the rollout is settled"
    first = dict.fromkeys(STRETCHES, 2.0)
    eventually(lambda: counted(web, "rollout_stage_duration_seconds_count", "stage") == first, what="both are counted")
    assert counted(web, "rollout_duration_seconds_count", "outcome") == {"Promoted": 2}

    world.restart()
    world.wait_idle()
    assert counted(web, "rollout_stage_duration_seconds_count", "stage") == {}

    web.revert(merged)
    web.wait_live("v1")
    web.wait_told("rolled-back")
    eventually(lambda: counted(web, "rollout_duration_seconds_count", "outcome") == {"RolledBack": 1}, what="counted")
    shown = web.status["rollouts"][0]
    assert shown["outcome"] == "RolledBack"
    assert shown["commit"] == merged
    moments = [shown[name] for name in ("startedAt", "availableAt", "promotedAt", "switchedAt", "settledAt")]
    assert moments == sorted(moments)


EVENTS = [
    "Candidate",
    "PreviewSwitched",
    "RolloutPaused",
    "Promoted",
    "RolloutCompleted",
    "Aborted",
    "RolloutNotCompleted",
]


def test_events_of_a_rollout_and_of_one_that_is_aborted(web: App) -> None:
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    web.strategy["expireAfterSeconds"] = 60
    web.configure()
    web.scenario.wait_idle()
    web.scenario.advance(61)
    web.wait_told("aborted")
    eventually(lambda: set(EVENTS) <= set(told(web)), what="all are told")
    counts = counted(web, "kubernetes_events_total", "reason")
    assert counts["RolloutCompleted"] == 2
    assert counts["RolloutNotCompleted"] == counts["Aborted"] == 1


def test_series_of_an_app_that_is_gone_are_gone(web: App) -> None:
    def series() -> list[dict[str, float]]:
        by = {"rollout_duration_seconds_count": "outcome", "kubernetes_events_total": "reason"}
        return [counted(web, name, label) for name, label in by.items()]

    eventually(lambda: all(series()), what="both are counted")
    web.spec["deletionPolicy"] = "delete"
    web.configure()
    web.scenario.wait_idle()
    web.scenario.publish("Remove web", {web.folder: None})
    eventually(lambda: not any(series()), what="no series is left")
