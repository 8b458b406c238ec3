"""Whether an app has settled, and with which exit code, from what the agent wrote last. Decides nothing itself.

As in `kubectl argo rollouts status`: good or bad ends the wait, a pause does not (argo-rollouts.md §5.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.cli.errors import ASKED, NOT_SO, NOT_YET, OK
from gitops_bg.cli.views.condition_meanings import live_conditions
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import ASKS_PEOPLE
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.status.conditions import FOLDER_IN_MAIN, LEAVING
from gitops_bg.core.status.meanings import demands
from gitops_bg.spec.status import Status

_CODES = {
    Phase.HEALTHY: OK,
    Phase.DEGRADED: NOT_SO,
    Phase.SCALED_TO_ZERO: NOT_SO,
    Phase.INVALID: NOT_SO,
    Phase.HELD: NOT_SO,
    Phase.SUSPENDED: ASKED,
    Phase.PAUSED: ASKED,
}
"""The codes of phases that decide alone; every other phase is in progress."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of an app, in a word and a sentence. ``code`` is the exit code if the wait ends now."""

    phase: str
    message: str
    code: int
    demands: tuple[Condition, ...] = ()
    """The conditions that demand an action of somebody."""
    pull_request: str = ""
    """Number, address and state; empty where there is no pull request."""

    def ends(self, *, until_asked: bool) -> bool:
        """Return whether the wait ends."""
        return self.code in (OK, NOT_SO) or (until_asked and self.code == ASKED)


def standing_of(body: Mapping[str, Any]) -> Standing:
    """Return the standing of a live BlueGreenDeployment."""
    status = body.get("status") or {}
    phase = status.get("phase", "Unknown")
    asked = tuple(demands(live_conditions(body)))
    pull = Status.read(status).pull_request
    return Standing(phase, status.get("message", ""), _code(phase, status), asked, str(pull) if pull else "")


def is_to_end(body: Mapping[str, Any]) -> bool:
    """Return whether main has asked that a live app ends: it is leaving, or may once its folder has left."""
    leaves = any(each.type == FOLDER_IN_MAIN and each.reason == LEAVING for each in live_conditions(body))
    return leaves or (body.get("spec") or {}).get("deletionPolicy") not in (None, DeletionPolicy.KEEP)


def _code(phase: str, status: Mapping[str, Any]) -> int:
    if phase in (Phase.WAITING, Phase.AWAITING_PROMOTION) and _person_asked(status):
        return ASKED
    return _CODES.get(Phase(phase), NOT_YET) if phase in set(Phase) else NOT_YET


def _person_asked(status: Mapping[str, Any]) -> bool:
    """Return whether only a person can move the app on: by an approval, or by opening a gate."""
    shut = {gate["kind"] for gate in status.get("gates") or [] if not gate["open"]}
    return bool(shut) and shut <= ASKS_PEOPLE
