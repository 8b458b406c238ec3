"""The condition InternalError: the agent cannot reconcile this app or group, because of a bug or an unreadable record.

It lasts from the pass that failed until one that succeeds, beside everything else that is known, and the app is
Degraded meanwhile. Where there is no decision, the condition is written alone. (Its `reason` is the error's.)
"""

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from gitops_bg.core.errors import Exhausted, GitopsBgError, InternalError
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.core.status.kstatus import OF_THE_PHASE, READY, STALLED

INTERNAL_ERROR = "InternalError"


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
    shown = {each.type: each for each in decision.conditions}
    others = (each for kind, each in shown.items() if kind not in OF_THE_PHASE)
    told = (*while_broken(shown, why), *others, why)
    return replace(decision, phase=Phase.DEGRADED, conditions=told)  # type: ignore[type-var]


def while_broken(shown: Container[str], why: Condition) -> Iterator[Condition]:
    """What takes the place of the conditions of the phase (`OF_THE_PHASE`) while ``why`` keeps the agent from doing
    anything; ``shown``: the types that are there already.
    """
    if "Healthy" in shown:
        yield replace(why, type="Healthy", status=False)
    yield replace(why, type=READY, status=False)
    yield replace(why, type=STALLED, status=True)
