"""The record: what the agent must remember of an app because nobody can observe it (DESIGN §2, §5).

It is the status of the BlueGreenDeployment, saved before the actions that it leads to, and locked by its
resourceVersion. It holds nothing that can be seen in the cluster or in Git.
"""

from dataclasses import field, fields, is_dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import Proving, RefusedRelease
from gitops_bg.core.model.analysis import Analyses, AnalysisRun, AnalysisStage
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.hooks import HookRun, OpenGate, OutboxMessage
from gitops_bg.core.model.main import NO_MAIN, Main
from gitops_bg.core.model.statements import (
    Contract,
    Hold,
    Override,
    Statement,
    Statements,
    held,
    holds,
    objection,
    override,
    past_holds,
    refused_by_main,
    unwanted,
    with_statement,
    without,
)
from gitops_bg.core.model.version import ReleaseId, Version


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
    CONTRACTED = "contracted"
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
    RELEASED = "released"
    DELETED = "deleted"
    HOOK_REFUSED = "hook-refused"
    HOOK_EXPIRED = "hook-expired"
    HOOK_UNDELIVERED = "hook-undelivered"
    GATE_OPENED = "gate-opened"
    GATE_CLOSED = "gate-closed"
    OVERRIDDEN = "overridden"
    POLICY_CHANGED = "policy-changed"
    MERGED = "merged"
    HISTORY_REWRITTEN = "history-rewritten"
    HISTORY_ACCEPTED = "history-accepted"
    WITHDRAWN = "withdrawn"
    VERSION_DELETED = "version-deleted"
    SERVICE_REMOVED = "service-removed"
    ROUTES_MOVED = "routes-moved"
    TAKEN_OVER = "taken-over"
    PROVEN = "proven"
    ENTERED = "entered"


class SwitchKind(StrEnum):
    """Why traffic moves: the first deployment, forward through every gate, or back through one."""

    FIRST = "first"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of the history of an app or a release group, to be written to the state branch.

    A version of a group is known by its number alone: `v2`; of an app, by its digest.
    """

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
    approved_by: tuple[str, ...] = ()
    """Who approved it, by name; of `Event.MERGED`."""
    from_tag: str = ""
    to_tag: str = ""
    """`Version.tag` of the two; empty for a version of a group."""
    release: ReleaseId | None = None
    """The release of the version that it leads to; None where the repository has no environments."""


@dataclass(frozen=True, slots=True)
class FormerService:
    """A Service that carried live traffic until ``app.yaml`` named another (``former_services``)."""

    name: str
    left_at: datetime | None = None
    """When its manifest left Git; None while the manifest is still in the folder."""
    preview: bool = False
    """It showed the preview, and never carried live traffic: nobody follows it."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch that was decided, and that the Service may or may not show yet: the write-ahead of I4."""

    from_digest: str
    to_digest: str
    switch_kind: SwitchKind
    decided_at: datetime
    commit: str = ""
    by: str = ""
    reason: str = ""
    withdrawn: bool = False
    """The switch is no longer wanted; it is over once none of its writes can succeed any more (``settle_traffic``)."""
    pods: int = 0
    """How many pods of the version were available when it was decided."""


class RolloutOutcome(StrEnum):
    """How a rollout ended; in Argo Rollouts' words where it has one (argo-rollouts.md §4, completionStatus)."""

    PROMOTED = "Promoted"
    FAST_PROMOTED = "FastPromoted"
    ABORTED = "Aborted"
    SUPERSEDED = "Superseded"
    CANCELLED = "Cancelled"
    ROLLED_BACK = "RolledBack"

    @property
    def good(self) -> bool:
        """Whether its version came to serve, and still served when the rollout ended."""
        return self in (RolloutOutcome.PROMOTED, RolloutOutcome.FAST_PROMOTED)


@dataclass(frozen=True, slots=True)
class Rollout:
    """One attempt to promote one version: when it began, how long it waited for people, how it ended."""

    number: int
    version: int
    digest: str
    started_at: datetime
    waiting_since: datetime | None = None
    """Since when it has been waiting for a promotion by a person, or for the end of a suspension; None
    while it is not.
    """
    waited_seconds: int = 0
    """How many seconds it had waited before."""
    hurried: bool = False
    """Somebody asked for `promote --full`."""
    finished_at: datetime | None = None
    outcome: RolloutOutcome | None = None
    """None while the rollout is under way."""
    available_at: datetime | None = None
    """When its pods were available for the first time."""
    promoted_at: datetime | None = None
    """When ``primary.yaml`` was first seen to name its version."""
    commit: str = ""
    """The commit of main since which ``primary.yaml`` names it."""
    switched_at: datetime | None = None
    """When live traffic moved to its version."""
    settled_at: datetime | None = None
    """When it was promoted for good, and the endpoints had followed (``core.checks.versions``)."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The requested restart: scheduled, or ``begun``. It belongs to the rollout in which it was requested."""

    at: datetime
    """Pods created before this are restarted."""
    rollout: int
    begun: bool = False
    youngest: datetime | None = None
    """When the youngest pod to restart was created, by the cluster's clock; pods created later are new."""
    asked: tuple[str, ...] = ()
    """The uids of the pods that the agent last asked to evict, at ``asked_at``."""
    asked_at: datetime | None = None
    count: int = 0
    """How many evictions the agent has requested so far."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """The Deployment whose Services were taken over, until its pods have gone as the app's file says."""

    deployment: str
    replicas: int | None = None
    """How many pods it had when it was first looked at after the hand-over; None: nobody has looked yet."""
    left: bool = False
    """Its pods have gone: nobody looks at it again, whoever scales it."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Where live traffic goes, and how it came there."""

    traffic: str = ""
    """The digest that live traffic goes to; empty until the first switch."""
    preview: str = ""
    """The digest that the preview Service selects."""
    switch: Switch | None = None
    activations: tuple[str, ...] = ()
    """Every digest that carried live traffic, in the order in which they were first promoted; a rollback does not
    change it. "Older" means promoted before, whatever the number (decision 17).
    """
    withdrawals: int = 0
    """How often a decided switch was withdrawn before the Services showed it: the number of the mark."""


@dataclass(frozen=True, slots=True)
class LastRead:
    """What the app's folder said when it could be read last, with what has left it since and may still be live
    (``core.transitions.record``).
    """

    replicas: int | None = None
    """The size that the target asked for; None where none was seen. A target that breaks must not shrink the app."""
    auxiliary_objects: tuple[AuxiliaryObject, ...] = ()
    """The auxiliary objects that Git names, or that it named before and that may still be live; sorted."""
    autoscaler: Autoscaler | None = None
    """What sizes the live version; None: the target's ``replicas``."""
    former_services: tuple[FormerService, ...] = ()
    """The Services that ``app.yaml`` named before, sorted by name; each stays as long as it exists."""
    moved_to: str = ""
    """The app that this one is under a new name; until the folder is back, whatever main says by then."""


@dataclass(frozen=True, slots=True)
class PendingMergeLookup:
    """A promotion that traffic followed, and of which the forge is asked who merged and who approved it."""

    commit: str
    """Of main, which promoted it."""
    digest: str
    since: datetime
    """When traffic was there."""


@dataclass(frozen=True, slots=True)
class SeenInGit:
    """What Git said last, and what the agent itself wrote there."""

    main: Main = NO_MAIN
    """The main that this was decided from (``core.model.main``)."""
    named: tuple[str, ...] = ()
    """What ``primary.yaml`` named and main did not revert, oldest first (``core.transitions.decisions``)."""
    primary_by: str = ""
    """The commit that brought the last seen ``primary.yaml`` into main."""
    offered: str = ""
    """The digest that the agent itself put on the promotion branch; a person offers any other digest there."""
    beside: str = ""
    """The digest that the promotion branch offered together with other files, where a policy applies to the app.

    A squash may leave no trace of those files (``core.transitions.decisions``).
    """
    target_revert: str = ""
    """The commit that reverted the target to an older version, and that the agent carried out."""
    history: str = ""
    """The rewritten history that the ledger already knows of."""
    lost: str = ""
    """The commit that main lacks although it was seen.

    The first agent to notice notes it; a main that counts clears it.
    """
    asked_merges: tuple[PendingMergeLookup, ...] = ()
    """Oldest first, each until the forge answered or nobody waits for it any longer (``transitions.decisions``)."""
    refused: tuple[RefusedRelease, ...] = ()
    """The releases that people refused for this environment, oldest first, each until it came in or its pull request
    was reopened.
    """

    @property
    def primary(self) -> str:
        """The digest that ``primary.yaml`` was seen to name last; empty where it never did."""
        return self.named[-1] if self.named else ""


@dataclass(frozen=True, slots=True)
class HookState:
    """The answers of the hooks that gate a rollout, and the open manual gates."""

    runs: tuple[HookRun, ...] = ()
    """The runs of the rollouts under way."""
    open_gates: tuple[OpenGate, ...] = ()

    def gate(self, name: str) -> OpenGate | None:
        """Return the manual gate of this name if it is open, else None."""
        return next((gate for gate in self.open_gates if gate.name == name), None)


@dataclass(frozen=True, slots=True)
class Outbox:
    """The messages that hooks have not received yet (``core.transitions.notifications``)."""

    messages: tuple[OutboxMessage, ...] = ()
    """Oldest first."""
    last_number: int = 0
    """The number of the newest message."""
    notified_sequence: int = 0
    """The last ledger entry that hooks were notified of, or need not be."""
    notified_phase: str = ""
    alerted: int | None = None
    """The last rollout that alerts reported as waiting for a person; None: none yet."""
    unsettled: str = ""
    """The digest that traffic moved to, and whose success the post-rollout hooks have not heard of yet."""
    undelivered: tuple[str, ...] = ()
    """Hooks that did not accept their last message."""


@dataclass(frozen=True, slots=True)
class OperatorState:
    """What people asked for outside of ``primary.yaml`` and the target, as far as it was carried out."""

    answered: tuple[str, ...] = ()
    """The ids of the operator requests that were answered, oldest first, as far as the record keeps them."""
    retry: int = 0
    """The number of the last ``spec.retry`` that was carried out."""
    promote_full: int | None = None
    """The rollout that somebody promotes without pause and analyses (``core.transitions.journal``), or did
    last; None: none yet. It counts for no other: ask `promotes_in_full`.
    """
    suspended: bool = False
    resumed_at: datetime | None = None
    """When the last suspension ended (`World.waits_since`)."""
    restart: Restart | None = None
    restarted: datetime | None = None
    """The last ``spec.restartAt`` that was carried out or cancelled."""

    @property
    def request(self) -> str:
        """The id of the operator request that was answered last; empty where there was none."""
        return self.answered[-1] if self.answered else ""

    def promotes_in_full(self, rollout: int) -> bool:
        """Return whether somebody promotes this rollout by `promote --full`."""
        return self.promote_full == rollout

    def resumed_by(self, now: datetime, *, suspended: bool) -> datetime | None:
        """Return when the last suspension ended, where it is known whether one lasts ``now``; None where there was
        none, or while the first one lasts.
        """
        return now if self.suspended and not suspended else self.resumed_at

    def has_answered(self, request: str) -> bool:
        """Return whether the request of this id is answered: nobody carries it out again, wherever it comes from."""
        return request in self.answered

    def answering(self, request: str) -> "OperatorState":
        """Return a copy that has answered the request of this id as well."""
        return replace(self, answered=(*self.answered, request)[-MOST_ANSWERED:])


MOST_ANSWERED = 20
"""How many ids of requests a record keeps: more than can wait at once (`requests_of`)."""

Part = Routing | SeenInGit | Analyses | HookState | Outbox | OperatorState | LastRead | Proving


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the records of apps and of release groups have in common: the memory of `core.delivery`."""

    epoch: str = ""
    """Tells the ledger entries of one life of the record from those of another; made from the object's uid."""
    sequence: int = 0
    """The sequence number of the newest ledger entry."""
    rollout: int = 0
    """The number of the newest try to promote a version."""
    statements: Statements = ()
    """Who said what about a version: holds, and what was bad, follow from it."""
    analyses: Analyses = field(default=Analyses())
    hook_state: HookState = HookState()
    outbox: Outbox = Outbox()
    operator: OperatorState = OperatorState()
    unrecalled: bool = False
    """The record began while the ledger could not be read."""
    invalid: str = ""
    """The problems that the ledger already knows of."""
    orphaned: bool = False
    """Whether the ledger knows that its folder left main."""
    ledger: tuple[LedgerEntry, ...] = ()
    """Entries that have not reached Git yet."""
    ledger_claimed: int = 0
    """The entry that the ledger claimed although this record never gave it out, until Git has a later one; 0: none."""

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The holds in force."""
        return holds(self.statements)

    @property
    def past_holds(self) -> tuple[Hold, ...]:
        """Lifted holds whose digests have not served since, oldest first: no rollback leads to these digests."""
        return past_holds(self.statements)

    def held(self, digest: str) -> Hold | None:
        """Return the hold in force on this digest, or None."""
        return held(self.statements, digest)

    def objection(self, digest: str) -> Hold | None:
        """Return what speaks against this digest: the hold on it, or a lifted hold since which it has not served; else
        None.
        """
        return objection(self.statements, digest)

    @property
    def override(self) -> Override | None:
        """Where traffic is to go instead of where main says, or None."""
        return override(self.statements)

    def saying(self, statement: Statement) -> Self:
        """Return a copy with one more statement."""
        return replace(self, statements=with_statement(self.statements, statement))

    def without_override(self) -> Self:
        """Return a copy in which traffic is to go where main says."""
        return replace(self, statements=unwanted(self.statements))

    def with_divergence(self) -> Self:
        """Return a copy in which the next ledger entry says that main refuses what is wanted."""
        return replace(self, statements=refused_by_main(self.statements, self.sequence + 1))

    def without_objection(self, digest: str) -> Self:
        """Return a copy without anything that speaks against a digest: itself where nothing does."""
        statements = without(self.statements, digest)
        return self if statements == self.statements else replace(self, statements=statements)

    def with_part(self, part: Part) -> Self:
        """Return a copy with ``part`` in place of the part of that type; this very record where it has that part."""
        name = _NAMES[type(part)]
        return self if getattr(self, name) == part else replace(self, **{name: part})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Record(Delivery):
    """All that the agent remembers of one app. A new app has the empty record."""

    last_version: int = 0
    versions: tuple[Version, ...] = ()
    """Ordered by number."""
    rollouts: tuple[Rollout, ...] = ()
    """The last ones, oldest first (``core.transitions.record``)."""
    routing: Routing = Routing()
    git: SeenInGit = SeenInGit()
    last_read: LastRead = LastRead()
    proving: Proving = Proving()
    contract: Contract | None = None
    """The newest version whose contract may have begun: no older one comes back but by force."""
    adopted: Adopted | None = None
    """What served before the agent did; None where nothing was taken over."""
    release: str = ""
    """The Deployment that live traffic goes back to, whatever anybody asks by now: from before the first Service is
    handed back until the app begins again. What has begun is finished.
    """
    moved_at: datetime | None = None
    """Since when another app has its Services; its pods stay warm for a while."""
    released: bool = False
    """Live traffic went back to what the app was adopted from; ``routing.traffic`` is what served last."""

    def version(self, digest: str) -> Version | None:
        """Return the version of this digest, or None."""
        for version in reversed(self.versions):  # Asked a hundred times a decision, mostly for the newest.
            if version.snapshot.digest == digest:
                return version
        return None

    def numbered(self, number: int) -> Version | None:
        """Return the version of this number, or None."""
        return next((version for version in self.versions if version.number == number), None)

    def run(self, stage: AnalysisStage) -> AnalysisRun | None:
        """Return the last analysis run of a stage, or None."""
        return self.analyses.run(stage)

    def keeps_warm(self, digest: str) -> bool:
        """Return whether a version stays up because its successor has no verdict yet."""
        run = self.run(AnalysisStage.POST)
        return run is not None and run.fallback == digest and run.open

    @property
    def withdrawn(self) -> str:
        """The mark that the active Services must carry since the last withdrawal; empty where there was none."""
        return f"{self.epoch}-{self.routing.withdrawals}" if self.routing.withdrawals else ""

    @property
    def awaits_poll(self) -> bool:
        """Whether a decision still waits for the first look at main that begins after it."""
        return any(each.awaits for each in self.statements)

    def came_before(self, digest: str, other: str) -> bool:
        """Return whether ``digest`` was first promoted before ``other``; both must have served."""
        order = self.routing.activations
        return digest in order and other in order and order.index(digest) < order.index(other)

    def is_closed(self, digest: str) -> bool:
        """Return whether a contract has closed the way back to a digest."""
        return self.contract is not None and self.came_before(digest, self.contract.digest)

    def with_version(self, changed: Version) -> "Record":
        """Return a copy in which ``changed`` replaces the version with its digest, or is added."""
        others = [version for version in self.versions if version.digest != changed.digest]
        return replace(self, versions=tuple(sorted([*others, changed], key=lambda version: version.number)))


_NAMES = {type(each.default): each.name for each in fields(Record) if is_dataclass(each.default)}
