"""The condition InternalError: the agent cannot reconcile this app or group, because of a bug or an unreadable record.

It lasts from the pass that failed until one that succeeds, beside everything else that is known, and the app is
Degraded meanwhile. Where there is no decision, the condition is written alone. (Its `reason` is the error's.)
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from gitops_bg.core.errors import Exhausted, GitopsBgError, InternalError
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.core.status.kstatus import READY, RECONCILING, STALLED

INTERNAL_ERROR = "InternalError"

STATUS_WHILE_BROKEN: Mapping[str, bool] = {"Healthy": False, READY: False, RECONCILING: False, STALLED: True}
"""The status of the conditions that follow from the phase, while the agent can do nothing for the app."""


class RecordUnreadable(InternalError):
    """An agent of another release wrote the record in the status, and this one cannot read it. Only a person may allow
    to forget it.
    """

    reason = "RecordUnreadable"


def internal_error(subject: AppOrGroup, error: GitopsBgError) -> Condition:
    """The condition for the error, with what to do about it."""
    what = "bgd" if isinstance(subject, AppKey) else "releasegroup"
    patch = f"""kubectl patch {what} {subject.name} -n {subject.namespace} --subresource=status --type=merge"""
    anew = f"""{patch} -p '{{"status":{{"record":null}}}}'"""
    if isinstance(error, RecordUnreadable):
        said = f"{error}. Run that release, or have it made anew from Git: {anew}"
        return Condition(INTERNAL_ERROR, True, "RecordUnreadable", said)
    if isinstance(error, Exhausted):
        return Condition(INTERNAL_ERROR, True, "InternalError", f"{error}. The agent tries again")
    said = (
        f"{error}. The agent tries again; report it, with the traceback in its log. Where it does not end, have the "
        f"record made anew from Git: {anew}"
    )
    return Condition(INTERNAL_ERROR, True, "InternalError", said)


class Shown(Protocol):
    """What a decision shows, of either kind."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions."""
        ...


S = TypeVar("S", bound=Shown)


def broken(decision: S, why: Condition) -> S:
    """Return the decision as the status shows it where ``why`` keeps the agent from carrying it out."""
    implied = {kind: replace(why, type=kind, status=value) for kind, value in STATUS_WHILE_BROKEN.items()}
    shown = (implied.get(each.type, each) for each in decision.conditions)
    return replace(decision, phase=Phase.DEGRADED, conditions=(*shown, why))  # type: ignore[type-var]
