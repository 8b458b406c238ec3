"""The one table of events of apps and release groups: the words of the ledger, alerts, commits and Kubernetes for each
event, and its severity. What happened in a decision is a list of them (`core.model.decision.Occurrence`).

A new event is a row here and a name in `record.Event`, or in `Notice` where only Kubernetes shows it. No other file
holds a word or a severity of an event.
"""

from collections.abc import Mapping
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import AnalysisPhase
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import SubjectKind, version_name

INFO, WARN, ERROR = Severity
APPS, GROUPS = frozenset({SubjectKind.APP}), frozenset({SubjectKind.GROUP})
BOTH = APPS | GROUPS


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event. In a sentence, {to} and {origin} are versions; in a remedy, {app} is the app."""

    kinds: frozenset[SubjectKind] = APPS
    """Of what it is told."""
    verb: str
    """The verb in the commit of the ledger, between the app or the group and the versions."""
    sentence: str
    """The sentence of an alert (flagger.md §3.7)."""
    severity: Severity = Severity.INFO
    reason: str
    """The reason of the Kubernetes Event: one CamelCase word, Argo Rollouts' where it has one (argo-rollouts.md §4)."""
    remedy: str = ""
    """What people can do about it."""
    group_remedy: str = ""
    """The same of a release group, where that is something else: main names its version before anything is checked."""
    asks: str = ""
    """The verb in the commit that asks for the event, where a commit does."""
    moves_traffic: bool = False
    of_repository: bool = False
    """The ledger has it once for the repository: no app's object, alert or metric shows it."""
    by_hand: Severity | None = None
    """The severity where a person asked for it; None: the same as ``severity``."""
    argo: str = ""
    """The name of Argo Rollouts' Event for it (argo-rollouts.md §4); empty where there is none."""


_RETRY = "`gitops-bg retry {app}` tries it again"
_EXPLAIN = "`gitops-bg explain {app}` says more"

EVENTS: Mapping[Event, EventRow] = {
    Event.DEPLOYED: EventRow(
        kinds=BOTH,
        verb="deployed",
        asks="deploy",
        sentence="{to} is live, the first version",
        reason="Deployed",
        moves_traffic=True,
        argo="SwitchService",
    ),
    Event.CANDIDATE: EventRow(
        kinds=BOTH,
        verb="has the candidate",
        sentence="new version {to} comes up, live traffic is untouched",
        reason="Candidate",
        argo="RolloutUpdated, RolloutNotCompleted (“started update”)",
    ),
    Event.PROMOTED: EventRow(
        kinds=BOTH,
        verb="promoted",
        asks="promote",
        sentence="{to} is live",
        reason="Promoted",
        moves_traffic=True,
        argo="SwitchService",
    ),
    Event.ROLLED_BACK: EventRow(
        kinds=BOTH,
        verb="rolled back",
        asks="roll back",
        sentence="live traffic went back from {origin} to {to}",
        severity=ERROR,
        # Flagger's manual rollback is a warning as well.
        by_hand=WARN,
        reason="RolledBack",
        remedy=_RETRY,
        group_remedy=_EXPLAIN,
        moves_traffic=True,
        argo="SwitchService",
    ),
    Event.SUPERSEDED: EventRow(verb="superseded", sentence="{origin} gave way to {to}", reason="Superseded"),
    Event.CANCELLED: EventRow(verb="cancelled", sentence="{origin} was cancelled", reason="Cancelled"),
    Event.RESTARTED: EventRow(verb="was restarted", sentence="the pods of {to} were restarted", reason="Restarted"),
    Event.RESTART_CANCELLED: EventRow(
        verb="is not restarted after all", sentence="the restart was cancelled", reason="RestartCancelled"
    ),
    Event.ANALYSED: EventRow(kinds=BOTH, verb="was analysed", sentence="{to} passed its analysis", reason="Analysed"),
    Event.CONTRACTED: EventRow(
        verb="closes the way back to older versions",
        sentence="no version older than {to} can come back, but by force",
        reason="Contracted",
    ),
    Event.SKIPPED: EventRow(
        verb="skips pause and analyses", sentence="{to} goes on without its checks", reason="Skipped"
    ),
    Event.PAUSED: EventRow(
        kinds=BOTH,
        verb="is paused",
        sentence="{to} waits for somebody to decide",
        severity=WARN,
        reason="Paused",
        remedy="`gitops-bg promote {app}` measures anew",
        group_remedy=_EXPLAIN,
    ),
    Event.ABORTED: EventRow(
        kinds=BOTH,
        verb="aborted",
        sentence="{to} was aborted",
        severity=ERROR,
        by_hand=WARN,
        reason="Aborted",
        argo="RolloutAborted",
        remedy=_RETRY,
        group_remedy=_EXPLAIN,
    ),
    Event.RETRIED: EventRow(kinds=BOTH, verb="retries", sentence="{to} is tried again", reason="Retried"),
    Event.FAILED: EventRow(
        verb="failed",
        sentence="{to} failed",
        severity=ERROR,
        reason="Failed",
        remedy=_EXPLAIN,
    ),
    Event.RECOVERED: EventRow(verb="recovered", sentence="{to} recovered", reason="Recovered"),
    Event.HELD: EventRow(
        verb="holds", sentence="{to} is on hold", reason="Held", remedy="`gitops-bg resume {app}` lifts the hold"
    ),
    Event.HOLD_LIFTED: EventRow(
        kinds=BOTH, verb="no longer holds", sentence="the hold on {to} was lifted", reason="HoldLifted"
    ),
    Event.SUSPENDED: EventRow(
        kinds=BOTH,
        verb="suspended",
        sentence="it is suspended",
        reason="Suspended",
        remedy="`gitops-bg resume {app}` ends it",
    ),
    Event.RESUMED: EventRow(kinds=BOTH, verb="resumed", sentence="the suspension is over", reason="Resumed"),
    Event.INVALID: EventRow(
        kinds=BOTH,
        verb="has invalid files",
        sentence="its files are invalid, the last good state keeps serving",
        severity=ERROR,
        reason="Invalid",
        remedy="`gitops-bg check`",
    ),
    Event.VALID: EventRow(
        kinds=BOTH, verb="has valid files again", sentence="its files are valid again", reason="Valid"
    ),
    Event.DIVERGED: EventRow(
        kinds=BOTH,
        verb="diverged",
        sentence="live traffic and main differ",
        severity=WARN,
        reason="Diverged",
        remedy="`gitops-bg explain {app}` says what to merge",
    ),
    Event.CONVERGED: EventRow(
        kinds=BOTH, verb="converged", sentence="main says again what shall serve", reason="Converged"
    ),
    Event.ORPHANED: EventRow(
        kinds=BOTH, verb="left main", sentence="its folder is gone", severity=WARN, reason="Orphaned"
    ),
    Event.ADOPTED: EventRow(
        kinds=BOTH, verb="adopted", sentence="its folder is back", reason="Adopted", argo="RolloutAddedToInformer"
    ),
    Event.RELEASED: EventRow(
        verb="released",
        sentence="live traffic went back to what the app was adopted from",
        severity=WARN,
        reason="Released",
    ),
    Event.DELETED: EventRow(
        kinds=BOTH,
        verb="deleted",
        sentence="it is deleted, as its deletionPolicy says",
        severity=WARN,
        reason="Deleted",
        argo="RolloutDeleted",
    ),
    Event.HOOK_REFUSED: EventRow(
        kinds=BOTH, verb="hook refused", sentence="{to} does not go on yet", severity=WARN, reason="HookRefused"
    ),
    Event.HOOK_EXPIRED: EventRow(
        kinds=BOTH, verb="hook expired", sentence="{to} is stuck", severity=ERROR, reason="HookExpired"
    ),
    Event.HOOK_UNDELIVERED: EventRow(
        kinds=BOTH,
        verb="hook undelivered",
        sentence="a hook or an alert was not delivered",
        severity=WARN,
        reason="HookUndelivered",
    ),
    Event.GATE_OPENED: EventRow(kinds=BOTH, verb="gate opened", sentence="a gate was opened", reason="GateOpened"),
    Event.GATE_CLOSED: EventRow(kinds=BOTH, verb="gate closed", sentence="a gate was closed", reason="GateClosed"),
    Event.OVERRIDDEN: EventRow(
        kinds=BOTH,
        verb="overrode a policy for",
        sentence="{to} is promoted in spite of a policy",
        severity=ERROR,
        reason="PolicyOverridden",
    ),
    Event.POLICY_CHANGED: EventRow(
        verb="has other policies",
        sentence="promotion policies changed",
        reason="PolicyChanged",
        of_repository=True,
    ),
    Event.MERGED: EventRow(
        verb="merged", sentence="who merged {to}, and who approved it, is known", reason="PromotionMerged"
    ),
    Event.HISTORY_REWRITTEN: EventRow(
        kinds=BOTH,
        verb="history rewritten",
        sentence="main moved backwards",
        severity=ERROR,
        reason="HistoryRewritten",
        remedy="`gitops-bg accept-history` goes on",
    ),
    Event.HISTORY_ACCEPTED: EventRow(
        kinds=BOTH, verb="history accepted", sentence="the rewritten history was accepted", reason="HistoryAccepted"
    ),
    Event.WITHDRAWN: EventRow(
        kinds=GROUPS,
        verb="took back",
        sentence="the move from {origin} to {to} was taken back, {origin} stays active",
        severity=WARN,  # What failed, or was aborted, has an entry of its own.
        reason="MoveWithdrawn",
    ),
    Event.VERSION_DELETED: EventRow(
        kinds=GROUPS, verb="lost a version", sentence="{to} was deleted", reason="VersionDeleted"
    ),
    Event.SERVICE_REMOVED: EventRow(
        kinds=GROUPS, verb="lost a service", sentence="{to} has a service less", reason="ServiceRemoved"
    ),
    Event.ROUTES_MOVED: EventRow(
        kinds=GROUPS,
        verb="moved its routes",
        sentence="requests come in by another Gateway, or for other hosts",
        reason="RoutesMoved",
    ),
    Event.TAKEN_OVER: EventRow(
        kinds=GROUPS,
        verb="takes over",
        sentence="it has what another one had, whose folder left main",
        reason="TakenOver",
    ),
    Event.PROVEN: EventRow(
        verb="has proven",
        sentence="the release of {to} is proven for later environments",
        reason="ReleaseProven",
    ),
    Event.ENTERED: EventRow(
        verb="takes in",
        asks="take",
        sentence="another release came into its environment",
        reason="ReleaseEntered",
    ),
}
"""Every event; docs/reference/events.md has the same table."""


class Notice(StrEnum):
    """Events that only Kubernetes shows, by reason: results of actions, progress of rollouts and analyses."""

    ROLLOUT_STARTED = "RolloutStarted"
    ROLLOUT_PAUSED = "RolloutPaused"
    ROLLOUT_RESUMED = "RolloutResumed"
    ROLLOUT_COMPLETED = "RolloutCompleted"
    ROLLOUT_NOT_COMPLETED = "RolloutNotCompleted"
    ANALYSIS_RUNNING = "AnalysisRunRunning"
    ANALYSIS_SUCCESSFUL = "AnalysisRunSuccessful"
    ANALYSIS_INCONCLUSIVE = "AnalysisRunInconclusive"
    ANALYSIS_ERROR = "AnalysisRunError"
    ANALYSIS_FAILED = "AnalysisRunFailed"
    METRIC_SUCCESSFUL = "MetricSuccessful"
    METRIC_INCONCLUSIVE = "MetricInconclusive"
    METRIC_ERROR = "MetricError"
    METRIC_FAILED = "MetricFailed"
    PREVIEW_SWITCHED = "PreviewSwitched"
    SERVICE_TAKEN_OVER = "ServiceTakenOver"
    DEPLOYMENT_SCALED = "ScalingDeployment"
    SERVICE_HANDED_BACK = "ServiceHandedBack"
    SERVICE_APPLIED = "ServiceApplied"
    REPLICA_SET_CREATED = "NewReplicaSetCreated"
    REPLICA_SET_SCALED = "ScalingReplicaSet"
    REPLICA_SET_REPAIRED = "ReplicaSetRepaired"
    REPLICA_SET_DELETED = "ReplicaSetDeleted"
    POD_METADATA_CHANGED = "PodMetadataChanged"
    POD_EVICTED = "PodEvicted"
    CONFIGURATION_COPIED = "ConfigurationCopied"
    CONFIGURATION_REPAIRED = "ConfigurationRepaired"
    CONFIGURATION_DELETED = "ConfigurationDeleted"
    AUXILIARY_OBJECT_APPLIED = "AuxiliaryObjectApplied"
    AUXILIARY_OBJECT_DELETED = "AuxiliaryObjectDeleted"
    CREATE_REFUSED = "ReplicaSetCreateError"
    WRITE_REFUSED = "WriteRefused"
    LEDGER_AHEAD = "LedgerAhead"
    CONFLICT = "Conflict"
    CONTESTED = "Contested"
    RECORD_MADE_ANEW = "RecordMadeAnew"
    PROMOTION_STARTED = "PromotionStarted"
    ROLLBACK_STARTED = "RollbackStarted"
    REPAIRED = "Repaired"
    MAIN_MOVED_BACKWARDS = "MainMovedBackwards"
    HISTORY_KEPT = "HistoryKept"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRow:
    """One event that only Kubernetes shows."""

    kinds: frozenset[SubjectKind] = APPS
    """Of what it is told."""
    when: str
    severity: Severity = Severity.INFO
    logged: bool = False
    """Whether the log has a line for it."""
    argo: str = ""
    """As in `EventRow`."""


NOTICES: Mapping[Notice, NoticeRow] = {
    Notice.ROLLOUT_STARTED: NoticeRow(when="a retry of a version begins; other rollouts begin with `Candidate`"),
    Notice.ROLLOUT_PAUSED: NoticeRow(when="a rollout waits for somebody", argo="RolloutPaused"),
    Notice.ROLLOUT_RESUMED: NoticeRow(
        when="a rollout continues, but not yet to live traffic: that is `Promoted`", argo="RolloutResumed"
    ),
    Notice.ROLLOUT_COMPLETED: NoticeRow(
        when="a version is promoted and judged, and the endpoints have followed", argo="RolloutCompleted"
    ),
    Notice.ROLLOUT_NOT_COMPLETED: NoticeRow(
        when="a rollout ended otherwise, except by a rollback, which is `RolledBack`; the message says how",
        argo="RolloutAborted",
    ),
    Notice.ANALYSIS_RUNNING: NoticeRow(kinds=BOTH, when="an analysis begins", argo="AnalysisRunRunning"),
    Notice.ANALYSIS_SUCCESSFUL: NoticeRow(kinds=BOTH, when="an analysis passed", argo="AnalysisRunSuccessful"),
    Notice.ANALYSIS_INCONCLUSIVE: NoticeRow(
        kinds=BOTH, when="an analysis was inconclusive", severity=WARN, argo="AnalysisRunInconclusive"
    ),
    Notice.ANALYSIS_ERROR: NoticeRow(
        kinds=BOTH, when="an analysis had too many errors", severity=WARN, argo="AnalysisRunError"
    ),
    Notice.ANALYSIS_FAILED: NoticeRow(kinds=BOTH, when="an analysis failed", severity=WARN, argo="AnalysisRunFailed"),
    Notice.METRIC_SUCCESSFUL: NoticeRow(kinds=BOTH, when="a metric passed", argo="MetricSuccessful"),
    Notice.METRIC_INCONCLUSIVE: NoticeRow(
        kinds=BOTH,
        when="a metric was inconclusive; Normal in a dry run",
        severity=WARN,
        argo="MetricInconclusive",
    ),
    Notice.METRIC_ERROR: NoticeRow(
        kinds=BOTH,
        when="a metric had too many errors; Normal in a dry run",
        severity=WARN,
        argo="MetricError",
    ),
    Notice.METRIC_FAILED: NoticeRow(
        kinds=BOTH, when="a metric failed; Normal in a dry run", severity=WARN, argo="MetricFailed"
    ),
    Notice.PREVIEW_SWITCHED: NoticeRow(when="the preview Service moved", argo="SwitchService"),
    Notice.SERVICE_TAKEN_OVER: NoticeRow(when="an app with `spec.adopt` took over a Service of the Deployment"),
    Notice.DEPLOYMENT_SCALED: NoticeRow(
        when="the agent scales the Deployment that an app was adopted from: down after traffic has left it, or up again"
    ),
    Notice.SERVICE_HANDED_BACK: NoticeRow(when="a Service that was taken over was restored (`release`)"),
    Notice.SERVICE_APPLIED: NoticeRow(when="a Service was created, or a change by somebody else was reverted"),
    Notice.REPLICA_SET_CREATED: NoticeRow(
        when="a version that served before gets a ReplicaSet again; for a new version that is `Candidate`",
        argo="NewReplicaSetCreated",
    ),
    Notice.REPLICA_SET_SCALED: NoticeRow(
        when="a version gets more or fewer pods; for its first pods that is `Candidate`",
        argo="ScalingReplicaSet",
    ),
    Notice.REPLICA_SET_REPAIRED: NoticeRow(when="somebody deleted or changed a ReplicaSet"),
    Notice.REPLICA_SET_DELETED: NoticeRow(when="a version exceeds revisionHistoryLimit"),
    Notice.POD_METADATA_CHANGED: NoticeRow(when="the pods of a version get other activeMetadata or previewMetadata"),
    Notice.POD_EVICTED: NoticeRow(when="a restart replaces a pod"),
    Notice.CONFIGURATION_COPIED: NoticeRow(when="a version gets a copy of a ConfigMap or Secret"),
    Notice.CONFIGURATION_REPAIRED: NoticeRow(when="somebody deleted or changed a copy"),
    Notice.CONFIGURATION_DELETED: NoticeRow(when="no version needs a copy any more"),
    Notice.AUXILIARY_OBJECT_APPLIED: NoticeRow(
        when="an autoscaler, a budget or untracked configuration was created or repaired"
    ),
    Notice.AUXILIARY_OBJECT_DELETED: NoticeRow(when="Git no longer has one"),
    Notice.CREATE_REFUSED: NoticeRow(
        when="the API server refuses a ReplicaSet", severity=WARN, argo="ReplicaSetCreateError"
    ),
    Notice.WRITE_REFUSED: NoticeRow(kinds=BOTH, when="the API server refuses any other write", severity=WARN),
    Notice.LEDGER_AHEAD: NoticeRow(
        kinds=BOTH, when="the ledger has entries that the record does not know", severity=WARN
    ),
    Notice.CONFLICT: NoticeRow(
        when="an object of somebody else has a name that the app needs", severity=WARN, logged=True
    ),
    Notice.CONTESTED: NoticeRow(
        kinds=BOTH,
        when="somebody else keeps changing an object; every ten minutes. The repairs of it have no Event",
        severity=WARN,
        logged=True,
    ),
    Notice.RECORD_MADE_ANEW: NoticeRow(
        when="somebody edited the record in the status: the agent rebuilt it from Git, the ledger and the cluster",
        severity=WARN,
        logged=True,
    ),
    Notice.PROMOTION_STARTED: NoticeRow(kinds=GROUPS, when="requests begin to move to a candidate"),
    Notice.ROLLBACK_STARTED: NoticeRow(kinds=GROUPS, when="requests begin to move back"),
    Notice.REPAIRED: NoticeRow(kinds=GROUPS, when="a change of a live object by somebody else was reverted"),
    Notice.MAIN_MOVED_BACKWARDS: NoticeRow(
        kinds=BOTH,
        when="`main` lacks a commit that the agent read from it; `HistoryRewritten` follows if that lasts",
        severity=WARN,
    ),
    Notice.HISTORY_KEPT: NoticeRow(kinds=BOTH, when="`main` has that commit again, or its loss was accepted"),
}
"""Every notice, in the order of the names; docs/reference/events.md has the same table."""


def analysis_notice(phase: AnalysisPhase) -> Notice:
    """Return the notice of an analysis run that reached ``phase``."""
    return Notice(f"AnalysisRun{phase}")


def metric_notice(phase: AnalysisPhase) -> Notice:
    """Return the notice of a metric that reached ``phase``."""
    return Notice(f"Metric{phase}")


MOVES = frozenset(event for event, row in EVENTS.items() if row.moves_traffic)
"""The events that move live traffic."""


def severity_of(entry: LedgerEntry) -> Severity:
    """Return the severity of a ledger entry. A failure that somebody asked for, by a commit or otherwise, is a warning
    (flagger.md §3.7).
    """
    row = EVENTS[entry.event]
    return row.by_hand if row.by_hand is not None and (entry.by or entry.commit) else row.severity


def origin_of(entry: LedgerEntry) -> str:
    """Return the version that an entry leads from, as a title; empty where it has none."""
    return version_name(entry.from_version, entry.from_digest, entry.from_tag)


def goal_of(entry: LedgerEntry) -> str:
    """Return the version that an entry is about, or leads to, as a title; empty where it has none."""
    return version_name(entry.to_version, entry.to_digest, entry.to_tag)


def sentence_of(entry: LedgerEntry, kind: SubjectKind) -> str:
    """Return a ledger entry in a sentence that lacks only its subject: versions, commit, person, reason."""
    goal = f"{goal_of(entry)}{of_commit(entry.source_commit)}" if goal_of(entry) else f"the {kind}"
    what = EVENTS[entry.event].sentence.format(to=goal, origin=origin_of(entry) or "the version before")
    by = f" (by {name_in(entry.by)})" if entry.by else ""
    because = f": {entry.reason}" if entry.reason else ""
    return f"{what}{by}{because}"


def name_in(author: str) -> str:
    """Return the name of a person, without the address.

    >>> name_in("Ada Lovelace <ada@example.com>"), name_in("ada")
    ('Ada Lovelace', 'ada')
    """
    return author.partition(" <")[0]


def entry_text(entry: LedgerEntry) -> str:
    """Return a ledger entry as event hooks are told of it.

    >>> from datetime import datetime
    >>> entry_text(LedgerEntry(1, datetime(2026, 1, 1), Event.HELD, to_version=2, reason="a bug"))
    'held v2: a bug'
    """
    goal = goal_of(entry)
    return " ".join(filter(None, (entry.event, goal))) + (f": {entry.reason}" if entry.reason else "")


SHORT_COMMIT = 10


def of_commit(commit: str) -> str:
    """Return the phrase that ends a sentence with its commit, or empty."""
    return f" of commit {commit[:SHORT_COMMIT]}" if commit else ""
