"""The answer of `decide`: the record to save first, the actions to carry out then, what happened, and what to show.

What happened is one list, of an app as of a release group (`Occurrence`): Kubernetes Events, the log, metrics, traces
and the ledger each take from it what is theirs, and none of them compares records.

Not every new record has to be saved at once: that the endpoints have followed, and what Git has done, are notes, which
any look finds again. A note that is lost with the process is taken again: later, and never earlier. Everything else in
a record is a decision, or a moment that nobody could find again, and is saved before anything follows from it (decision
1).
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.actions import (
    Action,
    ApplyAuxiliaryObject,
    ApplyConfiguration,
    ApplyService,
    ClusterAction,
    CommitPrimary,
    CreateReplicaSet,
    DeleteAuxiliaryObject,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    HandBack,
    PointPreview,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.analysis import AnalysisRun, MeasurementRequest
from gitops_bg.core.model.conditions import Condition, Phase, progresses
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.events import NOTICES, Notice
from gitops_bg.core.model.hooks import HookCall, Severity
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.record import Event, LedgerEntry, Record, Rollout, RolloutOutcome, SeenInGit, SwitchKind
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

    JOB = "job"
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
    WAVE = "wave"


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


class RolloutStage(StrEnum):
    """The part of a rollout that ends with a milestone; `TOTAL` is the whole."""

    AVAILABLE = "available"
    """From the push, as the agent saw it (or from the retry), to available pods."""
    PROMOTED = "promoted"
    """From there to the commit that names the version in ``primary.yaml``: analysis, pauses, people."""
    SWITCHED = "switched"
    """From there to the moved Service."""
    SETTLED = "settled"
    """From there to endpoints that have followed, and a successful analysis after promotion."""
    TOTAL = "total"
    """From the push to the end of `SETTLED`."""


@dataclass(frozen=True, slots=True)
class StageEnd:
    """A stage of a rollout ended after so many seconds."""

    stage: RolloutStage
    seconds: float


@dataclass(frozen=True, slots=True)
class RolloutEnd:
    """A rollout ended after so many seconds, of which it waited for people for ``waited``. One that is rolled back
    after its promotion ends a second time.
    """

    outcome: RolloutOutcome
    seconds: float
    waited: int


@dataclass(frozen=True, slots=True)
class TrafficMoved:
    """Live traffic moved, so many seconds after that was decided."""

    switch_kind: SwitchKind
    seconds: float


Fact = LedgerEntry | TrafficMoved | StageEnd | RolloutEnd | AnalysisRun | ActionResult
"""What metrics count; an `AnalysisRun` is one that ended."""

Attribute = str | int


@dataclass(frozen=True, slots=True)
class Span:
    """Something of a rollout that has ended, for a trace. Ids are hexadecimal, of 16 and 8 bytes; a root has no parent.

    Its ids follow from the life of the record and the number of the rollout, and its times from the record, so that an
    agent that is restarted in between goes on with the same trace.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: datetime
    end: datetime
    attributes: tuple[tuple[str, Attribute], ...] = ()
    error: str = ""
    """What failed; empty where nothing did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One thing that happened to an app or a release group. Each sink takes those with what is its own."""

    reason: str = ""
    """The reason of the Kubernetes Event, one CamelCase word; empty: Kubernetes is not told."""
    message: str = ""
    severity: Severity = Severity.INFO
    logged: bool = False
    """Whether the log has a line for it; it has one for each decision anyway."""
    fact: Fact | None = None
    """What metrics count; also an entry of the ledger, which stays in the record until Git has it (I4)."""
    span: Span | None = None

    @classmethod
    def of(
        cls, notice: Notice, message: str, *, dry_run: bool = False, fact: Fact | None = None, span: Span | None = None
    ) -> "Occurrence":
        """Return what only Kubernetes is told, besides metrics and traces; from a ``dry_run`` nothing follows, however
        bad.
        """
        row = NOTICES[notice]
        severity = Severity.INFO if dry_run else row.severity
        return cls(reason=notice, message=message, severity=severity, logged=row.logged, fact=fact, span=span)

    @property
    def warning(self) -> bool:
        """Whether the type of the Kubernetes Event is Warning instead of Normal."""
        return self.severity is not Severity.INFO


def result_event(result: ActionResult, events: Iterable[Occurrence] = ()) -> Occurrence:
    """Return the result of an action. Kubernetes is not told where it is not worth it, or an entry of the ledger among
    the ``events`` of the decision has told it: that a rollout begins is told once, and not for its first pods once
    more.
    """
    if result.refused:
        is_new = isinstance(result.action, CreateReplicaSet)
        return Occurrence.of(Notice.CREATE_REFUSED if is_new else Notice.WRITE_REFUSED, str(result), fact=result)
    notice = None if _is_told(result.action, events) else notice_of(result)
    return Occurrence(fact=result) if notice is None else Occurrence.of(notice, str(result), fact=result)


def _is_told(action: object, events: Iterable[Occurrence]) -> bool:
    if not isinstance(action, ScaleReplicaSet) or action.current:
        return False
    entries = (each.fact for each in events if isinstance(each.fact, LedgerEntry))
    return any(entry.event is Event.CANDIDATE and entry.to_digest == action.digest for entry in entries)


def notice_of(result: ActionResult) -> Notice | None:
    """Return the notice of an action that was carried out; None where it is not worth one."""
    match result.action:
        case SwitchTraffic(adopts=True):
            return Notice.SERVICE_TAKEN_OVER
        case CreateReplicaSet(repair=True):
            return Notice.REPLICA_SET_REPAIRED
        case CreateReplicaSet(replicas=0):
            return None  # it has no pods yet
        case ApplyConfiguration(repair=True):
            return Notice.CONFIGURATION_REPAIRED
        case action if isinstance(action, ClusterAction):
            return _NOTICES.get(type(action))
        case _:  # of a release group
            return Notice.REPAIRED if result.drifts else None


_NOTICES: Mapping[type, Notice] = {
    ScaleDeployment: Notice.DEPLOYMENT_SCALED,
    HandBack: Notice.SERVICE_HANDED_BACK,
    CreateReplicaSet: Notice.REPLICA_SET_CREATED,
    ScaleReplicaSet: Notice.REPLICA_SET_SCALED,
    DeleteReplicaSet: Notice.REPLICA_SET_DELETED,
    SyncPodMetadata: Notice.POD_METADATA_CHANGED,
    EvictPod: Notice.POD_EVICTED,
    ApplyConfiguration: Notice.CONFIGURATION_COPIED,
    DeleteConfiguration: Notice.CONFIGURATION_DELETED,
    PointPreview: Notice.PREVIEW_SWITCHED,
    RepairSelector: Notice.SERVICE_APPLIED,
    ApplyService: Notice.SERVICE_APPLIED,
    ApplyAuxiliaryObject: Notice.AUXILIARY_OBJECT_APPLIED,
    DeleteAuxiliaryObject: Notice.AUXILIARY_OBJECT_DELETED,
}
"""Without an Event: writes to the app's own object, marks on Services, and switches, whose ledger entry is told."""


@dataclass(frozen=True, slots=True)
class NamedInMain:
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
    target: NamedInMain | None = None
    primary: NamedInMain | None = None
    events: tuple[Occurrence, ...] = field(default=(), metadata=NOT_STORED)
    """What happened, in order, as the record says once it is saved (``core.status.events``)."""
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
    environment: str = ""
    """The environment that the app is in; empty where the repository has none."""


def goes_on_by_itself(phase: Phase, actions: Iterable[object]) -> bool:
    """Return whether an app or a group needs nobody and no later time to go on, by what was decided: it is progressing,
    or Git is about to promote it.
    """
    return progresses(phase) or any(isinstance(action, CommitPrimary) for action in actions)


def is_deferrable(saved: Record, record: Record) -> bool:
    """Return whether all that is new in ``record`` since it was ``saved`` are notes."""
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
    """Return what Git says, without that an offer is gone, and without a main that says the same of the app."""
    main = replace(git.main, commit=saved.main.commit)
    return replace(git, main=main, offered=git.offered or saved.offered)


def _version(saved: Version | None, version: Version) -> Version:
    """Return a version, without that the endpoints have followed since."""
    return version if saved is None or saved.routed_at else replace(version, routed_at=None)


def _rollout(saved: Rollout | None, rollout: Rollout) -> Rollout:
    return rollout if saved is None or saved.settled_at else replace(rollout, settled_at=None)
