"""The answer of `decide`: the record to save first, the actions to carry out then, and what to show to people.

Not every new record has to be saved at once: that the endpoints have followed, and what Git has done, are notes, which
any look finds again. A note that is lost with the process is taken again: later, and never earlier. Everything else in
a record is a decision, or a moment that nobody could find again, and is saved before anything follows from it (decision
1).
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.model.actions import Action
from gitops_bg.core.model.analysis import MeasurementRequest
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.record import Record, Rollout, SeenInGit
from gitops_bg.core.model.version import NOT_STORED, Version


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of pods: ``ready`` and ``available`` cover the pods that live traffic can reach, the others
    all versions.
    """

    desired: int = 0
    """The pods that the target asks for."""
    current: int = 0
    """The pods of all versions."""
    updated: int = 0
    """The pods of the version that the target names."""
    ready: int = 0
    """The ready pods of the active version."""
    available: int = 0
    """The pods of the active version that have been ready for ``minReadySeconds``."""

    @property
    def unavailable(self) -> int:
        """How many available pods the active version lacks."""
        return max(0, self.desired - self.available)


class GateKind(StrEnum):
    """What the engine itself waits for before traffic moves (DESIGN §2)."""

    AVAILABILITY = "availability"
    ENDPOINTS = "endpoints"
    HOOK = "hook"
    MANUAL = "manual"
    ANALYSIS = "analysis"
    PAUSE = "pause"
    APPROVAL = "approval"
    POLICY = "policy"
    HOLD = "hold"
    SUSPENSION = "suspension"
    HISTORY = "history"
    SPEC = "spec"


ASKS_PEOPLE = frozenset((GateKind.APPROVAL, GateKind.MANUAL))
"""The gates that only a person can open."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate says of one version (``core.checks.gates``): open or shut, why, and until when if that is known."""

    kind: str
    """The word for the gate in the status; the engine's own words are in `GateKind`."""
    open: bool
    reason: str
    until: datetime | None = None
    remedy: str = field(default="", compare=False, metadata=NOT_STORED)
    """What a person can do while the gate is shut, as `explain` shows it; not in the status. Empty: wait."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that one version waits for (``core.status.deadlines``)."""

    gate: str
    """The kind of the gate; or ``git``, ``probation``, ``draining``, ``restart``, ``scaleDown``."""
    version: int
    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """What a file of main names, and the commit since which it does."""

    digest: str
    commit: str


@dataclass(frozen=True, slots=True)
class HandledPoll:
    """The answer to somebody who asked for a look at main: what this look read."""

    request: str
    """The request, in the words of who made it."""
    commit: str
    """The head of main that was read, and decided from."""
    contains: bool | None = None
    """Whether main has the commit that was asked about; None where it was about none."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of `decide`. The record is saved before any action, so a failed action is decided again.

    ``gates`` are those of the version that traffic is to move to next. ``wake_at`` is when time alone changes the
    decision; None where only an event can.
    """

    actions: tuple[Action, ...]
    record: Record
    phase: Phase
    conditions: tuple[Condition, ...] = ()
    gates: tuple[GateResult, ...] = ()
    wake_at: datetime | None = None
    waits: tuple[Wait, ...] = ()
    counts: Counts = field(default_factory=Counts)
    target: Named | None = None
    primary: Named | None = None
    calls: tuple[HookCall, ...] = ()
    """Hooks to call now, in the background; hooks that are being called already are listed again."""
    silent: bool = False
    """Another agent knows more: save neither the record nor the status, and notify nobody."""
    look_again: bool = False
    """Nothing was decided, because main is older than the record's: look at the remote first, and save nothing."""
    pull: PullRequest | None = None
    """The pull request of the app's promotion branch, as far as it is known."""
    handled: HandledPoll | None = None
    """What is answered to the last who asked for a look at main."""
    measurements: tuple[MeasurementRequest, ...] = ()
    """Measurements to take now, in the background; measurements under way are listed again."""


def is_deferrable(saved: Record, record: Record) -> bool:
    """Whether all that is new in ``record`` since it was ``saved`` are notes."""
    return record == saved or _without_notes(saved, record) == saved


def _without_notes(saved: Record, record: Record) -> Record:
    known = {rollout.number: rollout for rollout in saved.rollouts}
    has_entries = record.ledger == saved.ledger[len(saved.ledger) - len(record.ledger) :]
    return replace(
        record,
        ledger=saved.ledger if has_entries else record.ledger,
        git=_git(saved.git, record.git),
        versions=tuple(_version(saved.version(each.digest), each) for each in record.versions),
        rollouts=tuple(_rollout(known.get(each.number), each) for each in record.rollouts),
    )


def _git(saved: SeenInGit, git: SeenInGit) -> SeenInGit:
    """What Git says, without that an offer is gone, and without a main that says the same of the app."""
    main = replace(git.main, commit=saved.main.commit)
    return replace(git, main=main, offered=git.offered or saved.offered)


def _version(saved: Version | None, version: Version) -> Version:
    """A version, without that the endpoints have followed since."""
    return version if saved is None or saved.routed_at else replace(version, routed_at=None)


def _rollout(saved: Rollout | None, rollout: Rollout) -> Rollout:
    return rollout if saved is None or saved.settled_at else replace(rollout, settled_at=None)
