"""Tools of any object judge an app as its phase says: by the rules of kstatus, and by the health check for Argo CD."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa.lua54 import LuaRuntime

from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.cluster.status import status_of, with_condition
from gitops_bg.core.model.conditions import HEALTH, Condition, Phase, kstatus_of
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.record import Record

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHECK = Path(__file__).parents[2] / "deploy" / "argo-cd-health.yaml"

# phase: kstatus's word, Argo CD's word
JUDGED = {
    Phase.HEALTHY: ("Current", "Healthy"),
    Phase.ADOPTING: ("InProgress", "Progressing"),
    Phase.DEPLOYING: ("InProgress", "Progressing"),
    Phase.PROGRESSING: ("InProgress", "Progressing"),
    Phase.PROMOTING: ("InProgress", "Progressing"),
    Phase.ROLLING_BACK: ("InProgress", "Progressing"),
    Phase.RESTARTING: ("InProgress", "Progressing"),
    Phase.AWAITING_PROMOTION: ("InProgress", "Suspended"),
    Phase.WAITING: ("InProgress", "Suspended"),
    Phase.PAUSED: ("InProgress", "Suspended"),
    Phase.SUSPENDED: ("InProgress", "Suspended"),
    Phase.SCALED_TO_ZERO: ("InProgress", "Suspended"),
    Phase.HELD: ("Failed", "Degraded"),
    Phase.INVALID: ("Failed", "Degraded"),
    Phase.DEGRADED: ("Failed", "Degraded"),
}


def test_every_phase_is_judged() -> None:
    assert set(JUDGED) == set(HEALTH) == set(Phase)


@pytest.mark.parametrize("phase", Phase)
def test_tools_judge_an_app_as_its_phase_says(phase: Phase) -> None:
    shown = _object(phase)
    assert (_kstatus(shown), _argo_cd(shown)) == (JUDGED[phase][0], (JUDGED[phase][1], "because"))


def test_spec_that_the_agent_has_not_seen_is_in_progress() -> None:
    shown = _object(Phase.HEALTHY)
    shown["metadata"]["generation"] += 1
    assert _kstatus(shown) == "InProgress"
    assert _argo_cd(shown)[0] == "Progressing"


def test_app_that_no_agent_has_looked_at_is_in_progress() -> None:
    assert _argo_cd({"metadata": {"generation": 1}})[0] == "Progressing"


def test_app_that_a_bug_keeps_the_agent_from_looking_at_has_failed() -> None:
    shown = _object(Phase.HEALTHY)
    bug = Condition("InternalError", True, "InternalError", "a bug")
    shown["status"] |= with_condition(shown["status"], 3, bug, NOW)
    assert (_kstatus(shown), _argo_cd(shown)) == ("Failed", ("Degraded", "a bug"))


@pytest.mark.parametrize("phase", Phase)
def test_a_bug_is_told_once_and_leaves_nothing_of_the_phase_before(phase: Phase) -> None:
    status, bug = _object(phase)["status"], Condition("InternalError", True, "InternalError", "a bug")
    told = with_condition(status, 3, bug, NOW)
    assert [(each["type"], each["status"]) for each in told["conditions"]] == [
        ("Ready", "False"),
        ("Stalled", "True"),
        ("InternalError", "True"),
    ]
    assert with_condition(status | told, 3, bug, NOW + timedelta(hours=1)) == told


def test_app_of_which_nothing_was_said_before_a_bug_has_failed() -> None:
    bug = Condition("InternalError", True, "InternalError", "a bug")
    shown = {"metadata": {"generation": 3}, "status": {"observedGeneration": 3, **with_condition({}, 3, bug, NOW)}}
    assert (_kstatus(shown), _argo_cd(shown)) == ("Failed", ("Degraded", "a bug"))


def _object(phase: Phase) -> dict[str, Any]:
    decision = Decision((), Record(), phase, conditions=tuple(kstatus_of(phase, "because")))
    return {"metadata": {"generation": 3}, "status": status_of(3, {}, decision, NOW)}


def _state(status: dict[str, Any]) -> AppState:
    metadata = {"namespace": "shop", "name": "web", "uid": "1", "resourceVersion": "1", "generation": 3}
    return app_state({"metadata": metadata, "spec": {}, "status": status})


def _kstatus(shown: dict[str, Any]) -> str:
    """The rules of pkg/kstatus/status/generic.go and its README, in their order."""
    status = shown["status"]
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    if status["observedGeneration"] != shown["metadata"]["generation"] or conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    return "Current" if conditions["Ready"] == "True" else "InProgress"


def _argo_cd(shown: dict[str, Any]) -> tuple[str, str]:
    """What the health check answers, run as Argo CD runs it: Lua, with the object as ``obj``."""
    [script] = yaml.safe_load(CHECK.read_text(encoding="utf-8"))["data"].values()
    lua = LuaRuntime(unpack_returned_tuples=True)
    lua.globals()["obj"] = lua.table_from(shown, recursive=True)
    answer = lua.execute(script)
    return answer["status"], answer["message"]
