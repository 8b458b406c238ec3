"""The one table of events: the words of the ledger, alerts, commits and Kubernetes for each event, and its severity.

A new event is a row here and a name in `record.Event`, or in `Notice` where only Kubernetes shows it. No other file
holds a word or a severity of an event.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event, LedgerEntry

INFO, WARN, ERROR = Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event. In a sentence, {to} and {origin} are versions, and {app} is the app."""

    verb: str
    """The verb in the commit of the ledger, between the app and the versions."""
    sentence: str
    """The sentence of an alert (flagger.md §3.7)."""
    severity: Severity = Severity.INFO
    reason: str
    """The reason of the Kubernetes Event: one CamelCase word, Argo Rollouts' where it has one (argo-rollouts.md §4)."""
    remedy: str = ""
    """What people can do about it."""
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

EVENTS: Mapping[Event, EventRow] = {
    Event.DEPLOYED: EventRow(
        verb="deployed",
        asks="deploy",
        sentence="{to} is live, the first version",
        reason="Deployed",
        moves_traffic=True,
        argo="SwitchService",
    ),
    Event.CANDIDATE: EventRow(
        verb="has the candidate",
        sentence="new version {to} comes up, live traffic is untouched",
        reason="Candidate",
        argo="RolloutUpdated, RolloutNotCompleted (“started update”)",
    ),
    Event.PROMOTED: EventRow(
        verb="promoted",
        asks="promote",
        sentence="{to} is live",
        reason="Promoted",
        moves_traffic=True,
        argo="SwitchService",
    ),
    Event.ROLLED_BACK: EventRow(
        verb="rolled back",
        asks="roll back",
        sentence="live traffic went back from {origin} to {to}",
        severity=ERROR,
        # Flagger's manual rollback is a warning as well.
        by_hand=WARN,
        reason="RolledBack",
        remedy=_RETRY,
        moves_traffic=True,
        argo="SwitchService",
    ),
    Event.SUPERSEDED: EventRow(verb="superseded", sentence="{origin} gave way to {to}", reason="Superseded"),
    Event.CANCELLED: EventRow(verb="cancelled", sentence="{origin} was cancelled", reason="Cancelled"),
    Event.RESTARTED: EventRow(verb="was restarted", sentence="the pods of {to} were restarted", reason="Restarted"),
    Event.RESTART_CANCELLED: EventRow(
        verb="is not restarted after all", sentence="the restart was cancelled", reason="RestartCancelled"
    ),
    Event.ANALYSED: EventRow(verb="was analysed", sentence="{to} passed its analysis", reason="Analysed"),
    Event.SKIPPED: EventRow(
        verb="skips pause and analyses", sentence="{to} goes on without its checks", reason="Skipped"
    ),
    Event.PAUSED: EventRow(
        verb="is paused",
        sentence="{to} waits for somebody to decide",
        severity=WARN,
        reason="Paused",
        remedy="`gitops-bg promote {app}` measures anew",
    ),
    Event.ABORTED: EventRow(
        verb="aborted",
        sentence="{to} was aborted",
        severity=ERROR,
        by_hand=WARN,
        reason="Aborted",
        argo="RolloutAborted",
        remedy=_RETRY,
    ),
    Event.RETRIED: EventRow(verb="retries", sentence="{to} is tried again", reason="Retried"),
    Event.FAILED: EventRow(
        verb="failed",
        sentence="{to} failed",
        severity=ERROR,
        reason="Failed",
        remedy="`gitops-bg explain {app}` says more",
    ),
    Event.RECOVERED: EventRow(verb="recovered", sentence="{to} recovered", reason="Recovered"),
    Event.HELD: EventRow(
        verb="holds", sentence="{to} is on hold", reason="Held", remedy="`gitops-bg resume {app}` lifts the hold"
    ),
    Event.HOLD_LIFTED: EventRow(verb="no longer holds", sentence="the hold on {to} was lifted", reason="HoldLifted"),
    Event.SUSPENDED: EventRow(
        verb="suspended",
        sentence="the app is suspended",
        reason="Suspended",
        remedy="`gitops-bg resume {app}` ends it",
    ),
    Event.RESUMED: EventRow(verb="resumed", sentence="the suspension is over", reason="Resumed"),
    Event.INVALID: EventRow(
        verb="has invalid files",
        sentence="its files are invalid, the last good state keeps serving",
        severity=ERROR,
        reason="Invalid",
        remedy="`gitops-bg check`",
    ),
    Event.VALID: EventRow(verb="has valid files again", sentence="its files are valid again", reason="Valid"),
    Event.DIVERGED: EventRow(
        verb="diverged",
        sentence="live traffic and main differ",
        severity=WARN,
        reason="Diverged",
        remedy="merge the promotion branch",
    ),
    Event.CONVERGED: EventRow(verb="converged", sentence="live traffic and main agree again", reason="Converged"),
    Event.ORPHANED: EventRow(verb="left main", sentence="its folder is gone", severity=WARN, reason="Orphaned"),
    Event.ADOPTED: EventRow(
        verb="adopted", sentence="its folder is back", reason="Adopted", argo="RolloutAddedToInformer"
    ),
    Event.RELEASED: EventRow(
        verb="released",
        sentence="live traffic went back to what the app was adopted from",
        severity=WARN,
        reason="Released",
    ),
    Event.DELETED: EventRow(
        verb="deleted",
        sentence="the app is deleted, as its deletionPolicy says",
        severity=WARN,
        reason="Deleted",
        argo="RolloutDeleted",
    ),
    Event.HOOK_REFUSED: EventRow(
        verb="hook refused", sentence="{to} does not go on yet", severity=WARN, reason="HookRefused"
    ),
    Event.HOOK_EXPIRED: EventRow(verb="hook expired", sentence="{to} is stuck", severity=ERROR, reason="HookExpired"),
    Event.HOOK_UNDELIVERED: EventRow(
        verb="hook undelivered",
        sentence="a hook or an alert was not delivered",
        severity=WARN,
        reason="HookUndelivered",
    ),
    Event.GATE_OPENED: EventRow(verb="gate opened", sentence="a gate was opened", reason="GateOpened"),
    Event.GATE_CLOSED: EventRow(verb="gate closed", sentence="a gate was closed", reason="GateClosed"),
    Event.OVERRIDDEN: EventRow(
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
        verb="history rewritten",
        sentence="main moved backwards",
        severity=ERROR,
        reason="HistoryRewritten",
        remedy="`gitops-bg accept-history` goes on",
    ),
    Event.HISTORY_ACCEPTED: EventRow(
        verb="history accepted", sentence="the rewritten history was accepted", reason="HistoryAccepted"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRow:
    """One event that only Kubernetes shows."""

    when: str
    severity: Severity = Severity.INFO
    argo: str = ""
    """As in `EventRow`."""


NOTICES: Mapping[Notice, NoticeRow] = {
    Notice.ROLLOUT_STARTED: NoticeRow(when="a rollout begins that `Candidate` does not tell: a version is tried again"),
    Notice.ROLLOUT_PAUSED: NoticeRow(when="it waits for somebody to go on", argo="RolloutPaused"),
    Notice.ROLLOUT_RESUMED: NoticeRow(
        when="it goes on, but not yet to live traffic: then `Promoted` says so", argo="RolloutResumed"
    ),
    Notice.ROLLOUT_COMPLETED: NoticeRow(
        when="it is promoted and judged, and the endpoints have followed", argo="RolloutCompleted"
    ),
    Notice.ROLLOUT_NOT_COMPLETED: NoticeRow(
        when="it ended otherwise, but not by a way back that `RolledBack` tells; the message says how",
        argo="RolloutAborted",
    ),
    Notice.ANALYSIS_RUNNING: NoticeRow(when="an analysis begins", argo="AnalysisRunRunning"),
    Notice.ANALYSIS_SUCCESSFUL: NoticeRow(when="an analysis passed", argo="AnalysisRunSuccessful"),
    Notice.ANALYSIS_INCONCLUSIVE: NoticeRow(
        when="an analysis could not tell", severity=WARN, argo="AnalysisRunInconclusive"
    ),
    Notice.ANALYSIS_ERROR: NoticeRow(when="an analysis could not measure", severity=WARN, argo="AnalysisRunError"),
    Notice.ANALYSIS_FAILED: NoticeRow(when="an analysis failed", severity=WARN, argo="AnalysisRunFailed"),
    Notice.METRIC_SUCCESSFUL: NoticeRow(when="a metric passed", argo="MetricSuccessful"),
    Notice.METRIC_INCONCLUSIVE: NoticeRow(
        when="a metric could not tell; Normal where it is a dry run", severity=WARN, argo="MetricInconclusive"
    ),
    Notice.METRIC_ERROR: NoticeRow(
        when="a metric could not be measured; Normal where it is a dry run", severity=WARN, argo="MetricError"
    ),
    Notice.METRIC_FAILED: NoticeRow(
        when="a metric failed; Normal where it is a dry run", severity=WARN, argo="MetricFailed"
    ),
    Notice.PREVIEW_SWITCHED: NoticeRow(when="the preview Service moved", argo="SwitchService"),
    Notice.SERVICE_TAKEN_OVER: NoticeRow(
        when="an app with `spec.adopt` took a Service over: it was somebody else's, and its pods were the Deployment's"
    ),
    Notice.DEPLOYMENT_SCALED: NoticeRow(
        when="the Deployment that an app was adopted from lost pods, after traffic had left them; or gets them back"
    ),
    Notice.SERVICE_HANDED_BACK: NoticeRow(when="a Service that was taken over got back what it had before (`release`)"),
    Notice.SERVICE_APPLIED: NoticeRow(when="a Service was made, or what somebody changed of it was repaired"),
    Notice.REPLICA_SET_CREATED: NoticeRow(
        when="a version that served before gets a ReplicaSet again; of a new one `Candidate` says it",
        argo="NewReplicaSetCreated",
    ),
    Notice.REPLICA_SET_SCALED: NoticeRow(
        when="a version gets more pods or fewer; of the first pods, with which its rollout begins, `Candidate` tells",
        argo="ScalingReplicaSet",
    ),
    Notice.REPLICA_SET_REPAIRED: NoticeRow(when="somebody deleted or changed a ReplicaSet"),
    Notice.REPLICA_SET_DELETED: NoticeRow(when="a version is beyond revisionHistoryLimit"),
    Notice.POD_METADATA_CHANGED: NoticeRow(when="the pods of a version carry other activeMetadata or previewMetadata"),
    Notice.POD_EVICTED: NoticeRow(when="a restart replaces a pod"),
    Notice.CONFIGURATION_COPIED: NoticeRow(when="a version gets a copy of a ConfigMap or Secret"),
    Notice.CONFIGURATION_REPAIRED: NoticeRow(when="somebody deleted or changed a copy"),
    Notice.CONFIGURATION_DELETED: NoticeRow(when="no version needs a copy any more"),
    Notice.AUXILIARY_OBJECT_APPLIED: NoticeRow(
        when="an autoscaler, a budget or untracked configuration was made or repaired"
    ),
    Notice.AUXILIARY_OBJECT_DELETED: NoticeRow(when="Git names one no longer"),
    Notice.CREATE_REFUSED: NoticeRow(
        when="the API server refuses a ReplicaSet", severity=WARN, argo="ReplicaSetCreateError"
    ),
    Notice.WRITE_REFUSED: NoticeRow(when="the API server refuses any other write", severity=WARN),
    Notice.LEDGER_AHEAD: NoticeRow(when="the ledger has entries that this record never gave out", severity=WARN),
    Notice.CONFLICT: NoticeRow(when="somebody else's object has the name of the app", severity=WARN),
    Notice.CONTESTED: NoticeRow(
        when="somebody else changes an object again and again, every ten minutes; no repair of it has an Event",
        severity=WARN,
    ),
    Notice.RECORD_MADE_ANEW: NoticeRow(
        when="somebody edited the record in the status: it was made anew from Git, the ledger and the cluster",
        severity=WARN,
    ),
}
"""Every notice, in the order of the names; docs/reference/events.md has the same table."""


def analysis_notice(phase: AnalysisPhase) -> Notice:
    """The notice of an analysis run that reached ``phase``."""
    return Notice(f"AnalysisRun{phase}")


def metric_notice(phase: AnalysisPhase) -> Notice:
    """The notice of a metric that reached ``phase``."""
    return Notice(f"Metric{phase}")


MOVES = frozenset(event for event, row in EVENTS.items() if row.moves_traffic)
"""The events that move live traffic."""


def severity_of(entry: LedgerEntry) -> Severity:
    """The severity of a ledger entry. A failure that a person asked for is a warning (flagger.md §3.7)."""
    row = EVENTS[entry.event]
    return row.by_hand if row.by_hand is not None and entry.by else row.severity
