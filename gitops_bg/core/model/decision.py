"""What `decide` answers: the record to save first, the actions to carry out then, and what to tell people."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.model.actions import Action
from gitops_bg.core.model.analysis_runs import MeasurementRequest
from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.pulls import PullRequest
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.stored import NOT_STORED


@dataclass(frozen=True, slots=True)
class Counts:
    """Pods: ``ready`` and ``available`` are those that live traffic can reach; the others count all versions."""

    desired: int = 0
    """What the target asks for."""
    current: int = 0
    """Of all versions."""
    updated: int = 0
    """Of the version that the target names."""
    ready: int = 0
    """Of the active version."""
    available: int = 0
    """Of the active version: ready for ``minReadySeconds``."""

    @property
    def unavailable(self) -> int:
        """How many live traffic lacks."""
        return max(0, self.desired - self.available)


class Phase(StrEnum):
    """One word for where an app is; first match wins, see ``core.status.conditions``."""

    INVALID = "Invalid"
    SUSPENDED = "Suspended"
    DEPLOYING = "Deploying"
    ROLLING_BACK = "RollingBack"
    DEGRADED = "Degraded"
    SCALED_TO_ZERO = "ScaledToZero"
    WAITING = "Waiting"
    PAUSED = "Paused"
    PROMOTING = "Promoting"
    RESTARTING = "Restarting"
    PROGRESSING = "Progressing"
    AWAITING_PROMOTION = "AwaitingPromotion"
    HELD = "Held"
    HEALTHY = "Healthy"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of the status; ``kubectl wait --for=condition=<type>`` reads it.

    The time of the last transition is kept by who writes the status: it is not part of the decision.
    """

    type: str
    status: bool | None
    """None: not known just now, ``Unknown`` on Kubernetes."""
    reason: str
    message: str


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
"""The gates that somebody is asked to open, and nothing else does."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate says of one version (``core.checks.gates``): open or shut, why, and until when if that is known."""

    kind: str
    """The word that the status has for it; those of the engine itself are in `GateKind`."""
    open: bool
    reason: str
    until: datetime | None = None
    remedy: str = field(default="", compare=False, metadata=NOT_STORED)
    """What a person can do about it while it is shut, for who asks (``explain``); in no status. Empty: wait."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that one version waits for (``core.status.waits``)."""

    gate: str
    """The kind of the gate; or ``git``, ``probation``, ``draining``, ``restart``, ``scaleDown``."""
    version: int
    commit: str
    """The commit that brought the version."""
    reason: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """What a file of main names, and the commit that made it do so."""

    digest: str
    commit: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The record is saved before any action; an action that fails leaves a record that leads to it again.

    ``gates`` are those of the version that traffic is to move to next. ``wake_at`` is when time alone changes
    the decision; None where only an event can.
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
    """Hooks to call now, beside the reconciling; those being called already are named again."""
    silent: bool = False
    """Another agent knows more: neither the record nor the status is saved, and nobody is told anything."""
    look_again: bool = False
    """Nothing was decided, because main is older than the record's: look at the remote first, and save nothing."""
    pull: PullRequest | None = None
    """The pull request of its promotion branch, as far as it is known."""
    measurements: tuple[MeasurementRequest, ...] = ()
    """What is to be measured now, beside the reconciling; those under way already are named again."""
