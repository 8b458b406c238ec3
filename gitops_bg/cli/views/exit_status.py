"""Whether an app has settled, and the exit code that says how: of what the agent wrote last. Decides nothing itself.

As `kubectl argo rollouts status` has it: good or bad ends the wait, a pause does not (argo-rollouts.md §5.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.cli.exit_codes import ASKED, NOT_SO, NOT_YET, OK
from gitops_bg.cli.views.condition_meanings import live_conditions
from gitops_bg.core.model.decision import ASKS_PEOPLE, Condition, Phase
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
"""Of the phases that say it alone; all others are on their way."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an app is, in a word and a sentence. ``code`` is the exit code if nothing more is waited for."""

    phase: str
    message: str
    code: int
    demands: tuple[Condition, ...] = ()
    """What somebody is to do something about."""
    pull_request: str = ""
    """Number, address and state; empty where there is none."""

    def ends(self, *, until_asked: bool) -> bool:
        """Whether nothing more is to be waited for."""
        return self.code in (OK, NOT_SO) or (until_asked and self.code == ASKED)


def standing_of(body: Mapping[str, Any]) -> Standing:
    """The standing of a live BlueGreenDeployment."""
    status = body.get("status") or {}
    phase = status.get("phase", "Unknown")
    asked = tuple(demands(live_conditions(body)))
    pull = Status.read(status).pull_request
    return Standing(phase, status.get("message", ""), _code(phase, status), asked, str(pull) if pull else "")


def _code(phase: str, status: Mapping[str, Any]) -> int:
    if phase in (Phase.WAITING, Phase.AWAITING_PROMOTION) and _person_asked(status):
        return ASKED
    return _CODES.get(Phase(phase), NOT_YET) if phase in set(Phase) else NOT_YET


def _person_asked(status: Mapping[str, Any]) -> bool:
    """Whether nothing but a person moves the app on: one who approves, or opens a gate."""
    shut = {gate["kind"] for gate in status.get("gates") or [] if not gate["open"]}
    return bool(shut) and shut <= ASKS_PEOPLE
