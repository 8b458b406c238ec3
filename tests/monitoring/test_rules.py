"""Every alert says for how long, how grave, what, which command mends it, and where more is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from deploy.release.source import EXAMPLE_URL
from gitops_bg.cli.registry import GROUPS, VERBS
from gitops_bg.core.errors import PASSING, GitopsBgError
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import RolloutStage
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.forge.port import HeadMoved
from gitops_bg.repo.git.errors import RemoteMoved
from tests.documentation.citations import anchor
from tests.monitoring.queries import (
    MONITORING,
    TARGET_LABELS,
    dashboard_queries,
    labels_in_text,
    matched_values,
    named_labels,
    rules,
)

ROOT = MONITORING.parents[1]
RULES = rules()
NAMES = [rule["alert"] for rule in RULES]
WORDS: dict[str, set[str]] = {
    "phase": {phase.value for phase in Phase},
    "kind": {"app", "group", "main", "ledger", "offer"},
    "type": {kind.value for kind in SwitchKind},
    "stage": {stage.value for stage in RolloutStage},
}
"""The values that a label can have."""
KNOWN = {verb.name for verbs in VERBS.values() for verb in verbs} | {name for _, name, _, _ in GROUPS}
COMMAND = re.compile(r"`(?:(gitops-bg) ([a-z-]+)|kubectl )[^`]*`")


def test_each_alert_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 12


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_says_all_that_somebody_needs_who_is_woken_by_it(rule: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+[mhd]", rule["for"])
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    said = rule["annotations"]
    assert said["summary"].endswith(".")
    assert len(said["summary"]) < 120
    commands = COMMAND.findall(said["description"])
    assert commands, "which command mends it?"
    assert {verb for program, verb in commands if program} <= KNOWN


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_the_runbook_of_an_alert_is_a_section_that_exists_and_names_it(rule: dict[str, Any]) -> None:
    page, _, section = rule["annotations"]["runbook_url"].partition("#")
    text = (ROOT / page.removeprefix(f"{EXAMPLE_URL}/blob/main/")).read_text()
    assert section in {anchor(title) for title in re.findall(r"^#+ (.+)$", text, flags=re.M)}
    assert f"`{rule['alert']}`" in text


def test_the_message_on_the_page_is_that_of_its_rule() -> None:
    page = (ROOT / "docs" / "features" / "monitoring.md").read_text()
    name, severity, labels, summary, description = re.findall(
        r"^(Gitops\w+) +(\w+) +(.+)\n  (.+)\n  (.+)$", page, flags=re.M
    )[0]
    (rule,) = (each for each in RULES if each["alert"] == name)
    texts = dict(rule["annotations"])
    for label, value in (each.split("=") for each in labels.split()):
        texts = {key: text.replace(f"{{{{ $labels.{label} }}}}", value) for key, text in texts.items()}
    assert (severity, summary, description) == (rule["labels"]["severity"], texts["summary"], texts["description"])


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_the_texts_of_an_alert_show_only_labels_that_its_query_leaves(rule: dict[str, Any]) -> None:
    query = promql_parser.parse(rule["expr"])
    assert query is not None
    without = "without" in rule["expr"]
    grouped = named_labels(rule["expr"])
    left = TARGET_LABELS | {"kind"} if without or " by " not in rule["expr"] else grouped
    assert labels_in_text(rule) <= left


@pytest.mark.parametrize("query", [rule["expr"] for rule in RULES] + dashboard_queries())
def test_a_query_asks_only_for_values_that_a_label_can_have(query: str) -> None:
    wrong = {
        (name, label): more
        for name, label, values in matched_values(query)
        if (more := values - WORDS.get(label, values))
    }
    assert not wrong


def test_every_phase_in_which_nothing_goes_on_by_itself_has_an_alert() -> None:
    alerted = {
        value
        for rule in RULES
        for _, label, values in matched_values(rule["expr"])
        if label == "phase"
        for value in values
    }
    assert {phase.value for phase in Phase} - alerted == {"Healthy", "ScaledToZero", "Suspended"}


def test_an_alert_on_errors_passes_over_each_kind_for_which_nobody_has_to_act() -> None:
    (asked,) = (
        values
        for rule in RULES
        for name, label, values in matched_values(rule["expr"])
        if (name, label) == ("gitops_bg_errors_total", "reason")
    )
    kinds: list[type[GitopsBgError]] = list(PASSING)
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert {RemoteMoved, HeadMoved} <= set(kinds), "the errors of the adapters are among them"
    assert asked == {kind.reason for kind in kinds}


def test_the_operator_finds_the_pods_of_the_agent_by_their_labels_and_port() -> None:
    (monitor,) = yaml.safe_load_all((MONITORING / "podmonitor.yaml").read_text())
    (agent,) = yaml.safe_load_all(Path(ROOT / "deploy" / "agent.yaml").read_text())
    pod = agent["spec"]["template"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
    assert endpoint["honorLabels"], "else the namespace of every series would be the agent's"
