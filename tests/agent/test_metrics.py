"""The agent's metrics: each verb moves its series, the names are fixed, and a deleted app leaves nothing behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version

import pytest

from gitops_bg import __version__
from gitops_bg.agent.metrics import Metrics
from gitops_bg.core.model.actions import SwitchTraffic
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Counts, RolloutEnd, RolloutStage, StageEnd, TrafficMoved
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.record import Event, LedgerEntry, RolloutOutcome, SwitchKind
from gitops_bg.core.model.version import AppKey, AppOrGroup, Color, GroupKey

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
STORE = GroupKey("shop", "store")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
SWITCH = SwitchTraffic("web", (), 1, "v1:0123456789", 2, "v1:9876543210", SwitchKind.PROMOTION, 3)
OF_WEB = {"kind": "app", "namespace": "shop", "name": "web"}
OF_STORE = {"kind": "group", "namespace": "shop", "name": "store"}


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def value(metrics: Metrics, series: str, /, **labels: str) -> float | None:
    """The value of one series, or None where there is no such series."""
    return metrics.registry.get_sample_value(f"gitops_bg_{series}", labels)


def series_of(metrics: Metrics, who: AppOrGroup) -> set[str]:
    """The names of all series that carry the labels of an app or a group."""
    kind = "group" if isinstance(who, GroupKey) else "app"
    labels = {"kind": kind, "namespace": who.namespace, "name": who.name}
    samples = (sample for family in metrics.registry.collect() for sample in family.samples)
    return {sample.name for sample in samples if labels.items() <= sample.labels.items()}


def everything(metrics: Metrics, app: AppOrGroup) -> None:
    """Say every verb about an app or a group."""
    metrics.decided(app, Phase.PROMOTING, 0.001)
    metrics.ledger_waits(app, 3)
    metrics.decided(app, Phase.HEALTHY, 0.001)
    metrics.happened(app, ActionResult(SWITCH))
    metrics.happened(app, ActionResult(SWITCH, refused="no rights"))
    metrics.failed(app, "Transient")
    metrics.happened(app, TrafficMoved(SwitchKind.ROLLBACK, 0.2))
    metrics.happened(app, LedgerEntry(1, NOW, Event.PROMOTED))
    metrics.kubernetes_event(app, "Normal", "RolloutCompleted")
    metrics.happened(app, StageEnd(RolloutStage.PROMOTED, 90))
    metrics.happened(app, RolloutEnd(RolloutOutcome.PROMOTED, 120, 60))
    metrics.happened(app, AnalysisRun(AnalysisStage.PRE, "v1:0123456789", 1, phase=AnalysisPhase.FAILED))
    metrics.info(app, Phase.HEALTHY, Color.BLUE, "3", "")
    metrics.replicas(app, Counts(desired=3, current=5, updated=2, ready=3, available=1))
    metrics.suspended_since(app, NOW)


def test_each_verb_about_an_app_moves_its_series(metrics: Metrics) -> None:
    everything(metrics, WEB)
    assert value(metrics, "decisions_total", **OF_WEB, phase="Promoting") == 1
    assert value(metrics, "decision_seconds_count") == 2
    assert value(metrics, "actions_total", **OF_WEB, action="SwitchTraffic") == 1
    assert value(metrics, "errors_total", **OF_WEB, reason="Transient") == 1
    assert value(metrics, "switches_total", **OF_WEB, type="rollback") == 1
    assert value(metrics, "switch_seconds_sum", type="rollback") == 0.2
    assert value(metrics, "switch_seconds_bucket", type="rollback", le="0.25") == 1
    assert value(metrics, "switch_seconds_bucket", type="rollback", le="0.1") == 0
    assert value(metrics, "events_total", **OF_WEB, event="promoted") == 1
    assert value(metrics, "kubernetes_events_total", **OF_WEB, type="Normal", reason="RolloutCompleted") == 1
    assert value(metrics, "analysis_runs_total", **OF_WEB, stage="pre", phase="Failed") == 1
    sizes = {"desired": 3, "current": 5, "updated": 2, "ready": 3, "available": 1, "unavailable": 2}
    assert {name: value(metrics, f"app_replicas_{name}", **OF_WEB) for name in sizes} == sizes
    assert value(metrics, "app_suspended_since_timestamp_seconds", **OF_WEB) == 1772323200


@pytest.mark.parametrize(
    ("name", "label", "sum_", "at_most"),
    [
        ("rollout_stage_duration_seconds", {"stage": "promoted"}, 90, {"60.0": 0, "300.0": 1, "+Inf": 1}),
        ("rollout_duration_seconds", {"outcome": "Promoted"}, 120, {"60.0": 0, "300.0": 1, "+Inf": 1}),
        ("rollout_waiting_duration_seconds", {"outcome": "Promoted"}, 60, {"15.0": 0, "60.0": 1, "+Inf": 1}),
    ],
)
def test_histogram_of_an_app(
    metrics: Metrics, name: str, label: dict[str, str], sum_: float, at_most: dict[str, float]
) -> None:
    everything(metrics, WEB)
    assert value(metrics, f"{name}_count", **OF_WEB, **label) == 1
    assert value(metrics, f"{name}_sum", **OF_WEB, **label) == sum_
    assert {le: value(metrics, f"{name}_bucket", **OF_WEB, **label, le=le) for le in at_most} == at_most


def test_an_app_that_never_rolled_has_no_histogram(metrics: Metrics) -> None:
    metrics.decided(WEB, Phase.HEALTHY, 0.001)
    metrics.info(WEB, Phase.HEALTHY, Color.GREEN, "1", "")
    assert series_of(metrics, WEB) == {
        "gitops_bg_decisions_total",
        "gitops_bg_decisions_created",
        "gitops_bg_resource_info",
        "gitops_bg_resource_phase",
    }


def test_each_verb_about_the_agent_moves_its_series(metrics: Metrics) -> None:
    metrics.resources(2, 1)
    metrics.polled("unchanged", 0.03)
    metrics.git_wrote("ledger", 5, 0.3)
    metrics.kubernetes_request("patch", 409, 0.01)
    metrics.kubernetes_request("patch", "timeout", 30)
    assert [value(metrics, "resources", kind=kind) for kind in ("app", "group")] == [2, 1]
    assert value(metrics, "git_poll_seconds_count", outcome="unchanged") == 1
    assert value(metrics, "git_commits_total", kind="ledger") == 5
    assert value(metrics, "git_push_seconds_count", kind="ledger") == 1
    assert value(metrics, "kubernetes_requests_total", verb="patch", code="409") == 1
    assert value(metrics, "kubernetes_requests_total", verb="patch", code="timeout") == 1
    assert value(metrics, "kubernetes_request_seconds_count", verb="patch") == 2


def test_whether_it_is_ready_and_how_many_wait_is_asked_at_each_scrape(metrics: Metrics) -> None:
    problems, queue = ["the repository was not read yet"], [WEB, API]
    metrics.ask_at_each_scrape(lambda: problems, queue)
    assert (value(metrics, "ready"), value(metrics, "queue_depth")) == (0, 2)
    problems.clear()
    queue.pop()
    assert (value(metrics, "ready"), value(metrics, "queue_depth")) == (1, 1)


def test_git_is_reachable_while_the_last_poll_was_answered(metrics: Metrics) -> None:
    metrics.poll_failed("Transient", 1.0)
    assert value(metrics, "git_reachable") == 0
    metrics.polled("quiet", 0.03)
    assert value(metrics, "git_reachable") == 1
    metrics.poll_failed("Transient", 1.0)
    assert value(metrics, "git_reachable") == 0
    assert value(metrics, "git_poll_seconds_count", outcome="Transient") == 2


def test_a_main_that_is_not_verified_is_no_remote_out_of_reach(metrics: Metrics) -> None:
    assert value(metrics, "git_verified") == 1
    metrics.polled("quiet", 0.03)
    metrics.poll_failed("MainNotVerified", 1.0, answered=True)
    metrics.main_verified(False)
    assert (value(metrics, "git_reachable"), value(metrics, "git_verified")) == (1, 0)
    metrics.main_verified(True)
    assert value(metrics, "git_verified") == 1


def test_entries_that_wait_for_git_go_with_the_app(metrics: Metrics) -> None:
    metrics.ledger_waits(WEB, 3)
    assert value(metrics, "ledger_entries_waiting", **OF_WEB) == 3
    metrics.forget(WEB)
    assert value(metrics, "ledger_entries_waiting", **OF_WEB) is None


def info(color: str, version: str, candidate: str) -> dict[str, str]:
    """The labels of the info series of WEB."""
    return OF_WEB | {"color": color, "version": version, "candidate": candidate}


def test_the_info_of_an_app_is_one_series_that_follows_it(metrics: Metrics) -> None:
    metrics.info(WEB, Phase.DEPLOYING, None, "", "1")
    assert value(metrics, "resource_info", **info("", "", "1")) == 1
    metrics.info(WEB, Phase.HEALTHY, Color.GREEN, "1", "")
    metrics.info(WEB, Phase.HEALTHY, Color.GREEN, "1", "")
    assert value(metrics, "resource_info", **info("", "", "1")) is None
    assert value(metrics, "resource_info", **info("green", "1", "")) == 1


def test_an_app_has_a_series_for_each_phase_and_1_for_the_one_that_it_is_in(
    metrics: Metrics,
) -> None:
    def phases() -> dict[str, float | None]:
        return {each: value(metrics, "resource_phase", **OF_WEB, phase=each) for each in Phase}

    metrics.info(WEB, Phase.DEPLOYING, None, "", "1")
    assert phases() == {each: each is Phase.DEPLOYING for each in Phase}
    metrics.info(WEB, Phase.HEALTHY, Color.GREEN, "1", "")
    assert phases() == {each: each is Phase.HEALTHY for each in Phase}


def test_an_app_that_is_resumed_has_no_time_of_suspension(metrics: Metrics) -> None:
    metrics.suspended_since(WEB, datetime(2026, 3, 1, tzinfo=UTC))
    metrics.suspended_since(API, datetime(2026, 3, 1, tzinfo=UTC))
    metrics.suspended_since(WEB, None)
    metrics.suspended_since(WEB, None)
    assert series_of(metrics, WEB) == set()
    assert series_of(metrics, API) == {"gitops_bg_app_suspended_since_timestamp_seconds"}


def test_a_forgotten_app_leaves_no_series_and_takes_none_of_others(metrics: Metrics) -> None:
    everything(metrics, WEB)
    everything(metrics, API)
    everything(metrics, AppKey("other", "web"))
    before = series_of(metrics, API)
    metrics.forget(WEB)
    metrics.forget(WEB)
    assert series_of(metrics, WEB) == set()
    assert series_of(metrics, API) == before
    assert series_of(metrics, AppKey("other", "web")) == before


def test_a_group_has_the_series_of_an_app_and_no_series_in_common_with_one_of_its_name(metrics: Metrics) -> None:
    everything(metrics, STORE)
    everything(metrics, AppKey(STORE.namespace, STORE.name))
    assert value(metrics, "switches_total", **OF_STORE, type="rollback") == 1
    assert series_of(metrics, STORE) == series_of(metrics, AppKey(STORE.namespace, STORE.name))
    metrics.forget(STORE)
    assert series_of(metrics, STORE) == set()
    assert value(metrics, "switches_total", kind="app", namespace="shop", name="store", type="rollback") == 1


def test_an_app_that_comes_back_is_described_again(metrics: Metrics) -> None:
    metrics.info(WEB, Phase.HEALTHY, Color.GREEN, "1", "")
    metrics.forget(WEB)
    metrics.info(WEB, Phase.HEALTHY, Color.GREEN, "1", "")
    assert series_of(metrics, WEB) == {"gitops_bg_resource_info", "gitops_bg_resource_phase"}


def test_the_agent_says_its_version(metrics: Metrics) -> None:
    assert value(metrics, "build_info", version=__version__, python_version=python_version()) == 1


def test_the_page_about_metrics_names_every_series_of_ours(metrics: Metrics) -> None:
    everything(metrics, WEB)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text()
    families = {family.name for family in metrics.registry.collect() if family.name.startswith("gitops_bg_")}
    sizes = {name for name in families if name.startswith("gitops_bg_app_replicas_")}
    assert "gitops_bg_app_replicas_{desired,current,updated,ready,available,unavailable}" in page
    assert sorted(name for name in families - sizes if name not in page) == []


def test_two_agents_in_one_process_count_apart(metrics: Metrics) -> None:
    other = Metrics()
    metrics.resources(3, 0)
    assert value(other, "resources", kind="app") is None


def test_every_name_is_ours_and_has_a_help_text_and_its_unit(metrics: Metrics) -> None:
    ours = [family for family in metrics.registry.collect() if not family.name.startswith("process_")]
    assert all(family.name.startswith("gitops_bg_") and family.documentation.endswith(".") for family in ours)
    histograms = [family.name for family in ours if family.type == "histogram"]
    assert histograms
    assert all(name.endswith("_seconds") for name in histograms)


def test_threads_lose_no_count_and_leave_one_info(metrics: Metrics) -> None:
    def one(number: int) -> None:
        metrics.happened(WEB, ActionResult(SWITCH))
        metrics.info(WEB, Phase.HEALTHY, Color.GREEN, str(number), "")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(400)))
    assert value(metrics, "actions_total", **OF_WEB, action="SwitchTraffic") == 400
    infos = [family for family in metrics.registry.collect() if family.name == "gitops_bg_resource_info"]
    assert len(infos[0].samples) == 1
