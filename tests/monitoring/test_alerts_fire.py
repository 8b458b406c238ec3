"""Each alert on samples, by real promtool: when it fires, with which labels and words, and when it does not."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import yaml

from tests.monitoring.queries import rule_groups, rules
from tests.support.prometheus.program import prometheus_program
from tests.support.waiting import HANGS

LEADER = ('gitops_bg_leader{instance="a:8080", pod="a", namespace="gitops-bg"}', "1+0x11000")
STANDBY = ('gitops_bg_leader{instance="b:8080", pod="b", namespace="gitops-bg"}', "0+0x11000")
STORE = 'kind="group", namespace="shop", name="store"'
WEB = 'kind="app", namespace="shop", name="web"'
ON_A, ON_B = 'instance="a:8080", pod="a"', 'instance="b:8080", pod="b"'


class Row(NamedTuple):
    """Samples, and looks at them, every so often; at ``quiet`` nothing fires yet, at ``fires`` the alert does, with
    these labels.
    """

    alert: str
    samples: list[tuple[str, str]]
    quiet: str
    fires: str = ""
    labels: Mapping[str, str] = MappingProxyType({})
    summary: str = ""
    every: str = "1m"


def in_phase(phase: str, values: str, where: str = ON_A) -> tuple[str, str]:
    return (
        f'gitops_bg_resource_phase{{{WEB}, {where}, phase="{phase}"}}',
        values,
    )


def of_agent(name: str, values: str, more: str = "", where: str = ON_A) -> tuple[str, str]:
    return f'gitops_bg_{name}{{namespace="gitops-bg", {where}{more}}}', values


def of_web(name: str, values: str, more: str = "", where: str = ON_A) -> tuple[str, str]:
    return f"gitops_bg_{name}{{{WEB}, {where}{more}}}", values


OF_WEB = {"kind": "app", "namespace": "shop", "name": "web"}
AGENT = {"namespace": "gitops-bg"}
UP = of_agent("build_info", "1+0x11000", ', version="1"')
REQUESTS = of_agent("kubernetes_requests_total", "0+90x60", ', verb="patch", code="200"')

FIRES = [
    Row("AgentDown", [of_agent("build_info", "1 1 stale")], "6m", "8m", {}, "No agent of gitops-bg is scraped."),
    Row("AgentNotReady", [of_agent("ready", "0+0x60")], "4m", "5m", AGENT | {"instance": "a:8080", "pod": "a"}),
    Row("NoLeader", [of_agent("leader", "1 0+0x60"), STANDBY], "5m", "6m", AGENT),
    Row(
        "GitUnreachable",
        [LEADER, of_agent("git_reachable", "1 0+0x60")],
        "5m",
        "6m",
        AGENT | {"instance": "a:8080", "pod": "a"},
    ),
    Row(
        "MainNotVerified",
        [LEADER, of_agent("git_verified", "1 0+0x60")],
        "5m",
        "6m",
        AGENT | {"instance": "a:8080", "pod": "a"},
    ),
    Row(
        "GitRefusesBranches",
        [LEADER, of_agent("git_refs_refused", "2+0x60", ', kind="ledger"')],
        "14m",
        "15m",
        AGENT | {"instance": "a:8080", "pod": "a", "kind": "ledger"},
        "Git refuses 2 branches of the kind ledger.",
    ),
    Row(
        "LedgerBehind",
        [LEADER, of_web("ledger_entries_waiting", "0 3+0x60")],
        "15m",
        "16m",
        {},
        "Ledger entries of 1 apps and release groups wait for Git.",
    ),
    Row(
        "ApiErrors",
        [REQUESTS, of_agent("kubernetes_requests_total", "0+30x60", ', verb="patch", code="503"')],
        "10m",
        "12m",
        AGENT,
        "25% of the requests to the API server fail.",
    ),
    Row(
        "ForgeBehind",
        [LEADER, of_agent("forge_oldest_wait_seconds", "900+60x60")],
        "10m",
        "11m",
        AGENT | {"instance": "a:8080", "pod": "a"},
        "A write to the forge waits for 26m 0s.",
    ),
    Row(
        "ClockSkew",
        [of_agent("clock_skew_seconds", "-8+0x60")],
        "9m",
        "10m",
        AGENT | {"instance": "a:8080", "pod": "a"},
        "The clocks of agent and API server differ by 8s.",
    ),
    Row(
        "NothingServes",
        [LEADER, of_web("app_replicas_desired", "2+0x60"), of_web("app_replicas_available", "2 0+0x60")],
        "5m",
        "6m",
        OF_WEB,
        "shop/web has no available pod.",
    ),
    Row(
        "Degraded",
        [LEADER, in_phase("Degraded", "1+0x60")],
        "4m",
        "5m",
        OF_WEB | {"phase": "Degraded"},
        "The app shop/web is degraded.",
    ),
    Row("Invalid", [LEADER, in_phase("Invalid", "1+0x60")], "9m", "10m", OF_WEB | {"phase": "Invalid"}),
    Row(
        "SwitchPending",
        [LEADER, in_phase("Promoting", "1+0x60")],
        "9m",
        "10m",
        OF_WEB | {"phase": "Promoting"},
        "shop/web was told to move traffic, and has not (Promoting).",
    ),
    Row("RolloutStuck", [LEADER, in_phase("Progressing", "1+0x90")], "59m", "60m", OF_WEB | {"phase": "Progressing"}),
    Row("RolloutHeld", [LEADER, in_phase("Held", "1+0x60")], "14m", "15m", OF_WEB | {"phase": "Held"}),
    Row(
        "PromotionWaits",
        [LEADER, in_phase("AwaitingPromotion", "1+0x1500")],
        "1439m",
        "1440m",
        OF_WEB | {"phase": "AwaitingPromotion"},
    ),
    Row(
        "RolledBack",
        [of_web("switches_total", "_x20 1+0x60", ', type="rollback"')],
        "19m",
        "20m",
        OF_WEB,
        "Live traffic of the app shop/web went back.",
    ),
    Row(
        "AppSuspended",
        [LEADER, of_web("app_suspended_since_timestamp_seconds", "0+0x11000")],
        "10140m",
        "10160m",
        OF_WEB,
        "shop/web has been suspended for 7d 1h 20m 0s.",
        every="20m",  # a week of minutes takes promtool 20 seconds
    ),
    Row(
        "Degraded",
        [LEADER, (f'gitops_bg_resource_phase{{{STORE}, {ON_A}, phase="Degraded"}}', "1+0x20")],
        "4m",
        "5m",
        {"kind": "group", "namespace": "shop", "name": "store", "phase": "Degraded"},
        "The group shop/store is degraded.",
    ),
    Row(
        "ReconcileErrors",
        [of_web("errors_total", "0+1x60", ', reason="Refused"')],
        "15m",
        "25m",
        OF_WEB | {"reason": "Refused"},
        "The agent fails at the app shop/web (Refused).",
    ),
]

QUIET = [
    Row("AgentDown", [UP], "1h"),
    Row("NoLeader", [LEADER, STANDBY], "1h"),
    # An agent that stands by does not work, so what it last saw of the apps is old.
    Row("GitUnreachable", [LEADER, STANDBY, of_agent("git_reachable", "0+0x90", where=ON_B)], "1h"),
    Row("MainNotVerified", [LEADER, STANDBY, of_agent("git_verified", "0+0x90", where=ON_B)], "1h"),
    Row("Degraded", [LEADER, STANDBY, in_phase("Degraded", "1+0x90", ON_B)], "1h"),
    Row("Degraded", [LEADER, in_phase("Healthy", "1+0x90")], "1h"),
    Row("LedgerBehind", [LEADER, of_web("ledger_entries_waiting", "0+0x90")], "1h"),
    # Ledger entries come and go with every rollout.
    Row("LedgerBehind", [LEADER, of_web("ledger_entries_waiting", "1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0")], "19m"),
    Row("ApiErrors", [REQUESTS, of_agent("kubernetes_requests_total", "0+30x60", ', verb="patch", code="409"')], "40m"),
    Row(
        "NothingServes",
        [LEADER, of_web("app_replicas_desired", "0+0x90"), of_web("app_replicas_available", "0+0x90")],
        "1h",
    ),
    Row("SwitchPending", [LEADER, in_phase("Promoting", "1x5 stale 1x8")], "14m"),
    # Only a move back within the last quarter of an hour counts, and a new agent counts from 0.
    Row("RolledBack", [of_web("switches_total", "1+0x90", ', type="rollback"')], "1h"),
    Row("RolledBack", [of_web("switches_total", "0+1x90", ', type="promotion"')], "1h"),
    Row("ReconcileErrors", [of_web("errors_total", "0+1x90", ', reason="WorldChanged"')], "1h"),
    Row("ReconcileErrors", [of_web("errors_total", "0 1 2 3+0x90", ', reason="Refused"')], "1h"),
]


def test_every_alert_has_a_row() -> None:
    assert {f"GitopsBg{row.alert}" for row in FIRES} == {rule["alert"] for rule in rules()}


@pytest.mark.parametrize("row", FIRES, ids=[f"{row.alert}-{number}" for number, row in enumerate(FIRES)])
def test_it_fires_in_time_and_not_before(row: Row, tmp_path: Path) -> None:
    judge(tmp_path, row, [expectation(row, row.quiet, fires=False), expectation(row, row.fires, fires=True)])


@pytest.mark.parametrize("row", QUIET, ids=[f"{row.alert}-{number}" for number, row in enumerate(QUIET)])
def test_it_stays_quiet_where_nobody_has_to_act(row: Row, tmp_path: Path) -> None:
    judge(tmp_path, row, [expectation(row, row.quiet, fires=False)])


def expectation(row: Row, at: str, *, fires: bool) -> dict[str, Any]:
    (rule,) = (each for each in rules() if each["alert"] == f"GitopsBg{row.alert}")
    labels = {**row.labels, **rule["labels"]}
    return {
        "eval_time": at,
        "alertname": rule["alert"],
        "exp_alerts": [{"exp_labels": labels, "exp_annotations": filled(rule, row)}] if fires else [],
    }


def filled(rule: dict[str, Any], row: Row) -> dict[str, str]:
    """The texts of a rule with this row's labels; the summary is the row's where it shows a value."""
    texts = dict(rule["annotations"])
    for name, value in row.labels.items():
        texts = {key: text.replace(f"{{{{ $labels.{name} }}}}", value) for key, text in texts.items()}
    texts["description"] = texts["description"].replace("{{ $value }}", "2")
    return texts | ({"summary": row.summary} if row.summary else {})


def judge(folder: Path, row: Row, expectations: list[dict[str, Any]]) -> None:
    """Run promtool's own test of rules."""
    program = prometheus_program("promtool")
    (folder / "rules.yaml").write_text(yaml.safe_dump(rule_groups()))
    series = [{"series": name, "values": values} for name, values in row.samples]
    test = {"interval": row.every, "input_series": series, "alert_rule_test": expectations}
    (folder / "test.yaml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": row.every, "tests": [test]})
    )
    done = subprocess.run(
        [program, "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
