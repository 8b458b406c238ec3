"""The record: what the agent must remember of an app because nobody can observe it (DESIGN §2, §5).

It is the status of the BlueGreenDeployment, saved before the actions it leads to and locked by its
resourceVersion. Whatever can be seen in the cluster or in Git is not in it.
"""

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.model.analysis_runs import AnalysisRun
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.hooks import HookRun, OpenGate, OutboxMessage
from gitops_bg.core.model.looks import Awaited
from gitops_bg.core.model.main import NO_MAIN, Main
from gitops_bg.core.model.metrics import AnalysisStage
from gitops_bg.core.model.stored import INLINED, STORED_AS
from gitops_bg.core.model.version import Version


class Event(StrEnum):
    """What a ledger entry says happened; the value of the trailer ``Bg-Event``."""

    DEPLOYED = "deployed"
    CANDIDATE = "candidate"
    PROMOTED = "promoted"
    ROLLED_BACK = "rolled-back"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    RESTARTED = "restarted"
    RESTART_CANCELLED = "restart-cancelled"
    ANALYSED = "analysed"
    SKIPPED = "skipped"
    PAUSED = "paused"
    ABORTED = "aborted"
    RETRIED = "retried"
    FAILED = "failed"
    RECOVERED = "recovered"
    HELD = "held"
    HOLD_LIFTED = "hold-lifted"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    INVALID = "invalid"
    VALID = "valid"
    DIVERGED = "diverged"
    CONVERGED = "converged"
    ORPHANED = "orphaned"
    ADOPTED = "adopted"
    DELETED = "deleted"
    HOOK_REFUSED = "hook-refused"
    HOOK_EXPIRED = "hook-expired"
    HOOK_UNDELIVERED = "hook-undelivered"
    GATE_OPENED = "gate-opened"
    GATE_CLOSED = "gate-closed"
    OVERRIDDEN = "overridden"
    HISTORY_REWRITTEN = "history-rewritten"
    HISTORY_ACCEPTED = "history-accepted"


class SwitchKind(StrEnum):
    """Why traffic moves: first deployment, forward through every gate, or back through none."""

    FIRST = "first"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of an app's history, on its way to the state branch."""

    sequence: int
    at: datetime
    event: Event
    rollout: int = 0
    from_version: int | None = None
    from_digest: str = ""
    to_version: int | None = None
    to_digest: str = ""
    commit: str = ""
    """The commit of main that asked for it, where there is one."""
    source_commit: str = ""
    """The commit that brought the template."""
    by: str = ""
    reason: str = ""


class Cause(StrEnum):
    """What put a hold on a digest."""

    ROLLED_BACK = "rolled-back"
    """Somebody sent traffic back from it: a revert, `rollback`."""
    ABORTED = "aborted"
    ANALYSIS_FAILED = "analysis-failed"
    HOOK_REFUSED = "hook-refused"
    PODS_FAILED = "pods-failed"
    """Its pods failed after the switch (``core.transitions.traffic.stabilization``)."""
    LATE = "late"
    """Its pods did not become available in time (``progressDeadlineAbort``)."""
    EXPIRED = "expired"
    """Nobody promoted it in time (``expireAfterSeconds``)."""
    TAKEN_BACK = "taken-back"
    """Its promotion was taken back in Git before traffic moved."""
    CLOSED = "closed"
    """Somebody closed what offered it."""
    UNKNOWN = "unknown"
    """An older release did not write it down."""

    @property
    def is_bad(self) -> bool:
        """Whether it speaks against the version itself, and not only against promoting it then."""
        return self not in (Cause.EXPIRED, Cause.TAKEN_BACK, Cause.CLOSED)


class Lift(StrEnum):
    """Why a hold stops no promotion any more."""

    PASSED_OVER = "passed-over"
    """The target named a new version. Nobody said so for this digest: named again, it is on hold again."""
    SAID_SO = "said-so"
    """Somebody said so for this digest: `resume`, `retry`."""
    NAMED = "named"
    """``primary.yaml`` names it again: a promotion, through every gate."""


@dataclass(frozen=True, slots=True)
class Hold:
    """This digest is not to be promoted again until somebody says so.

    That it was bad is a fact about the digest: it stays when the hold is lifted (``Record.past_holds``), until live
    traffic came to it again (decision 16).
    """

    digest: str
    reason: str
    since: datetime
    cause: Cause = Cause.UNKNOWN
    lifted: Lift | None = None
    """None while it is in force."""
    awaits: Awaited | None = None
    """Set until main was looked at after it was put by the agent or an operator."""
    sequence: int = 0
    """The ledger entry that says so; 0 where an older release did not write it down."""


@dataclass(frozen=True, slots=True)
class Override:
    """Traffic goes where Git does not say yet: an emergency, waiting for Git to follow (DESIGN §4.5)."""

    from_digest: str
    """What ``primary.yaml`` named, as far as anybody had seen, when the override was made."""
    to_digest: str
    reason: str
    by: str
    at: datetime
    cause: Cause = Cause.ROLLED_BACK
    """What the hold on the version that traffic leaves will say."""
    awaits: Awaited | None = None
    """Set until main was looked at after it was made; until then nothing there is an answer to it."""
    baseline: str = ""
    """What ``primary.yaml`` named at that look; only a later change of it ends the override. Empty: ``from_digest``."""
    diverged: bool = False
    """Main refused the commit; it is offered on the promotion branch and the ledger says so."""


@dataclass(frozen=True, slots=True)
class FormerService:
    """A Service that carried live traffic until ``app.yaml`` named another (``former_services``)."""

    name: str
    left_at: datetime | None = None
    """When it left Git; None while its manifest is still in the folder."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch that was decided and may or may not have reached the Service yet: the write-ahead of I4."""

    from_digest: str
    to_digest: str
    switch_kind: SwitchKind = field(metadata={STORED_AS: "lane"})
    decided_at: datetime
    commit: str = ""
    by: str = ""
    reason: str = ""
    withdrawn: bool = False
    """Not wanted any more, and over once no write of it can come through (``end_withdrawn``)."""


class RolloutOutcome(StrEnum):
    """How a rollout ended; Argo Rollouts' words where it has one (argo-rollouts.md §4, completionStatus)."""

    PROMOTED = "Promoted"
    FAST_PROMOTED = "FastPromoted"
    ABORTED = "Aborted"
    SUPERSEDED = "Superseded"
    CANCELLED = "Cancelled"
    ROLLED_BACK = "RolledBack"

    @property
    def good(self) -> bool:
        """Whether its version came to serve, and still did when it ended."""
        return self in (RolloutOutcome.PROMOTED, RolloutOutcome.FAST_PROMOTED)


@dataclass(frozen=True, slots=True)
class Rollout:
    """One attempt to bring one version forward: when it began, how long it waited for people, how it ended."""

    number: int
    version: int
    digest: str
    started_at: datetime
    waiting_since: datetime | None = None
    """Since when it waits for somebody to promote it, or to end a suspension; None while it does not."""
    waited_seconds: int = 0
    """How long it did so before."""
    hurried: bool = False
    """Somebody asked for `promote --full`."""
    finished_at: datetime | None = None
    outcome: RolloutOutcome | None = None
    """None while it is under way."""
    available_at: datetime | None = None
    """When its pods were available for the first time."""
    promoted_at: datetime | None = None
    """When ``primary.yaml`` was first seen to name its version."""
    commit: str = ""
    """The commit of main that did so."""
    switched_at: datetime | None = None
    """When live traffic moved to it."""
    settled_at: datetime | None = None
    """When it was promoted for good, and the endpoints had followed (``core.checks.milestones``)."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The restart that is asked for: scheduled, or ``begun``. It is of the rollout in which it was asked for."""

    at: datetime
    """Pods that were made before this are restarted."""
    rollout: int
    begun: bool = False
    youngest: datetime | None = None
    """When the youngest pod was made that there was to restart, by the cluster's clock; later ones are new."""
    asked: tuple[str, ...] = ()
    """The uids of the pods whose eviction was asked for last, at ``asked_at``."""
    asked_at: datetime | None = None
    count: int = 0
    """How many evictions were asked for so far."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Where live traffic goes, and how it came there."""

    traffic: str = ""
    """The digest live traffic goes to; empty until the first switch."""
    preview: str = ""
    """The digest the preview Service goes to."""
    switch: Switch | None = None
    override: Override | None = None
    former_services: tuple[FormerService, ...] = ()
    """Sorted by name, each as long as it exists."""
    activations: tuple[str, ...] = ()
    """Every digest that carried live traffic, in the order in which they came forward first; a way back changes nothing
    in it. So "older" is what came forward before, whatever its number (decision 17)."""
    past_digests: tuple[str, ...] = ()
    """Of an older release (``core.transitions.record.upgrade``)."""
    moves: int = 0
    """How often live traffic moved."""
    withdrawals: int = 0
    """How often a switch that was decided was withdrawn before the Services showed it: the number of the mark."""


@dataclass(frozen=True, slots=True)
class SeenInGit:
    """What Git said last, and what the agent itself wrote there."""

    main: Main = NO_MAIN
    """The main that this was decided from (``core.transitions.git.main``); empty in a record of the code of before."""
    primary: str = ""
    """The digest of ``primary.yaml`` seen last."""
    named_before: tuple[str, ...] = ()
    """What it named before that and main did not take back, oldest first (``transitions.git.naming``)."""
    primary_by: str = ""
    """The commit that let into main what it named then; empty in a record of the code of before."""
    offered: str = ""
    """The digest that the agent itself put on the promotion branch; what else is there, a person offers."""
    target_revert: str = ""
    """The commit that reverted the target back to an older version, and was carried out."""
    history: str = ""
    """The rewritten history the ledger already knows of."""
    lost: str = ""
    """The commit that main lacks though it was seen: who said so first names it, a main that counts takes it back."""


@dataclass(frozen=True, slots=True)
class Analyses:
    """What was measured."""

    runs: tuple[AnalysisRun, ...] = field(default=(), metadata={STORED_AS: "analysis"})
    """At most one run a stage: the last."""
    past: tuple[AnalysisRun, ...] = field(default=(), metadata={STORED_AS: "past_runs"})
    """Those that made room for these, oldest first, without what was asked and with the last answers only."""


@dataclass(frozen=True, slots=True)
class HookState:
    """What hooks that gate a rollout have answered, and which manual gates are open."""

    runs: tuple[HookRun, ...] = field(default=(), metadata={STORED_AS: "hooks"})
    """For the rollouts that are on their way."""
    open_gates: tuple[OpenGate, ...] = ()


@dataclass(frozen=True, slots=True)
class Outbox:
    """What hooks are still to be told (``core.transitions.notifications``)."""

    messages: tuple[OutboxMessage, ...] = field(default=(), metadata={STORED_AS: "deliveries"})
    """Oldest first."""
    last_number: int = field(default=0, metadata={STORED_AS: "delivery"})
    """The number of the last of them."""
    notified_sequence: int = field(default=0, metadata={STORED_AS: "told"})
    """The last ledger entry that hooks are told of, or need not be."""
    notified_phase: str = field(default="", metadata={STORED_AS: "told_phase"})
    alerted: int = 0
    """The last rollout that alerts told of as waiting for a person."""
    undelivered: tuple[str, ...] = ()
    """Hooks that did not take what they were told last."""


@dataclass(frozen=True, slots=True)
class OperatorState:
    """What people asked for outside of ``primary.yaml`` and the target, as far as it was carried out."""

    request: str = ""
    """The id of the last operator request carried out."""
    retry: int = 0
    """The number of the last ``spec.retry`` carried out."""
    promote_full: str = field(default="", metadata={STORED_AS: "in_full"})
    """The digest that somebody promotes without pause and analyses (``core.transitions.traffic.promote_full``)."""
    suspended: bool = False
    restart: Restart | None = None
    restarted: datetime | None = None
    """The last ``spec.restartAt`` that was carried out or cancelled."""


Part = Routing | SeenInGit | Analyses | HookState | Outbox | OperatorState

_INLINED = {INLINED: ""}
"""Stored beside the record's other fields, as before the record had parts: releases on both sides read each other's."""


@dataclass(frozen=True, slots=True)
class Record:
    """All the agent remembers of one app. A new app has the empty record."""

    epoch: str = ""
    """Tells the ledger entries of one life of the record from those of another; from the object's uid."""
    sequence: int = 0
    """Of the last ledger entry made."""
    rollout: int = 0
    last_version: int = 0
    versions: tuple[Version, ...] = ()
    """Ordered by number."""
    rollouts: tuple[Rollout, ...] = ()
    """The last ones, oldest first (``core.transitions.record.rollouts``)."""
    holds: tuple[Hold, ...] = ()
    """Those in force."""
    past_holds: tuple[Hold, ...] = ()
    """Lifted ones whose digests did not serve since, oldest first: no traffic goes there without gates."""
    routing: Routing = field(default=Routing(), metadata=_INLINED)
    git: SeenInGit = field(default=SeenInGit(), metadata=_INLINED)
    analyses: Analyses = field(default=Analyses(), metadata=_INLINED)
    hook_state: HookState = field(default=HookState(), metadata=_INLINED)
    outbox: Outbox = field(default=Outbox(), metadata=_INLINED)
    operator: OperatorState = field(default=OperatorState(), metadata=_INLINED)
    replicas: int | None = None
    """The size the target asked for last; None where none was seen. A target that breaks must not shrink the app."""
    auxiliary_objects: tuple[AuxiliaryObject, ...] = field(default=(), metadata={STORED_AS: "companions"})
    """Those that Git names, and those that it named and that may still be live; sorted."""
    autoscaler: Autoscaler | None = None
    """Who decides how many pods the live version has; None: the target's ``replicas``."""
    unrecalled: bool = False
    """It began while nobody could ask the ledger what it knows."""
    invalid: str = ""
    """The problems that the ledger already knows of."""
    orphaned: bool = False
    ledger: tuple[LedgerEntry, ...] = ()
    """Entries that have not reached Git yet."""

    def version(self, digest: str) -> Version | None:
        """The version of this digest, or None."""
        for version in reversed(self.versions):  # Asked a hundred times a decision, mostly for the newest.
            if version.snapshot.digest == digest:
                return version
        return None

    def numbered(self, number: int) -> Version | None:
        """The version of this number, or None."""
        return next((version for version in self.versions if version.number == number), None)

    def run(self, stage: AnalysisStage) -> AnalysisRun | None:
        """The last analysis run of a stage, or None."""
        return next((run for run in self.analyses.runs if run.stage is stage), None)

    def keeps_warm(self, digest: str) -> bool:
        """Whether a version stays up because the verdict about its successor is not in yet."""
        run = self.run(AnalysisStage.POST)
        return run is not None and run.fallback == digest and (run.running or run.paused)

    def held(self, digest: str) -> Hold | None:
        """The hold on this digest that is in force, or None."""
        return next((hold for hold in self.holds if hold.digest == digest), None)

    def objection(self, digest: str) -> Hold | None:
        """What speaks against this digest: the hold on it, or one that was lifted and not disproven; else None."""
        return self.held(digest) or next((hold for hold in self.past_holds if hold.digest == digest), None)

    @property
    def withdrawn(self) -> str:
        """The mark that the active Services are to wear since the last withdrawal; empty where there was none."""
        return f"{self.epoch}-{self.routing.withdrawals}" if self.routing.withdrawals else ""

    @property
    def awaits_look(self) -> bool:
        """Whether a decision waits for the first look at main that begins after it."""
        pending = self.routing.override
        return bool(pending and pending.awaits) or any(hold.awaits for hold in self.holds)

    def came_before(self, digest: str, other: str) -> bool:
        """Whether traffic came forward to one digest before it came to another; both are known to have served."""
        order = self.routing.activations
        return digest in order and other in order and order.index(digest) < order.index(other)

    def gate(self, name: str) -> OpenGate | None:
        """The manual gate of this name, if somebody opened it."""
        return next((gate for gate in self.hook_state.open_gates if gate.name == name), None)

    def with_version(self, changed: Version) -> "Record":
        """A copy in which ``changed`` stands in place of the version with its digest, or is added."""
        others = [version for version in self.versions if version.digest != changed.digest]
        return replace(self, versions=tuple(sorted([*others, changed], key=lambda version: version.number)))

    def with_part(self, part: Part) -> "Record":
        """A copy with ``part`` in place of its own of that kind."""
        return replace(self, **{_NAMES[type(part)]: part})  # type: ignore[arg-type]


_NAMES = {type(each.default): each.name for each in fields(Record) if INLINED in each.metadata}
