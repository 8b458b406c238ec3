"""The Kubernetes Events of an app or a release group: of what changed between two records, so that each is sent once,
and of each action on the cluster, by its result. Their words are in the one table, `core.model.events`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitops_bg.core.delivery.ledger import Kept, news
from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ApplyConfiguration,
    ApplyService,
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
    label,
)
from gitops_bg.core.model.analysis.history import RunRecord
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun, MetricRun, why
from gitops_bg.core.model.change_set import ActionResult
from gitops_bg.core.model.events import MOVES, NOTICES, Notice, analysis_notice, metric_notice
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event, LedgerEntry, Record, Rollout, RolloutOutcome

# --- of what changed between two records: rollouts and analyses, besides the ledger ---


@dataclass(frozen=True, slots=True)
class RolloutEvent:
    """One event."""

    notice: Notice
    message: str
    dry_run: bool = False
    """Nothing follows from the event, however bad it is."""

    @property
    def reason(self) -> str:
        """The reason of the Kubernetes Event: one CamelCase word."""
        return str(self.notice)

    @property
    def warning(self) -> bool:
        """Whether the type of the Kubernetes Event is Warning instead of Normal."""
        return NOTICES[self.notice].severity is not Severity.INFO and not self.dry_run


def entry_message(entry: LedgerEntry) -> str:
    """The message of the Kubernetes Event of a ledger entry: the only one of a movement, and of a beginning."""
    left, there = label(entry.from_version, entry.from_digest), label(entry.to_version, entry.to_digest)
    what = there
    if entry.event in MOVES:
        what = f"live traffic goes{f' from {left}' if left else ''} to {there}"
    elif entry.event is Event.CANDIDATE and entry.rollout:
        what = f"rollout {entry.rollout} of {there} begins"
    return ": ".join(filter(None, (str(entry.event), what, entry.reason)))


def rollout_events(before: Record, after: Record) -> Iterator[RolloutEvent]:
    """All events between two records of an app, in the order in which they happened.

    What a ledger entry says is not told a second time: that the rollout of a candidate begins, that it goes on to live
    traffic, and that it ended because traffic went back.
    """
    yield from ledger_events(before, after)
    if before.rollouts == after.rollouts and before.analyses.runs == after.analyses.runs:
        return
    known = {rollout.number: rollout for rollout in before.rollouts}
    for rollout in after.rollouts:
        told = _of_rollout(known.get(rollout.number), rollout)
        yield from (one for one in told if not _is_covered_by_entry(one, rollout, before, after))
    yield from analysis_events(before, after)


def analysis_events(before: RunRecord, after: RunRecord) -> Iterator[RolloutEvent]:
    """What became of the analyses of an app or a group between two records."""
    for old, run in runs(before, after):
        yield from _of_run(old, run)


def _is_covered_by_entry(told: RolloutEvent, rollout: Rollout, before: Record, after: Record) -> bool:
    switch, fresh = after.routing.switch, news(before, after)
    if told.notice is Notice.ROLLOUT_STARTED:
        return any(entry.event is Event.CANDIDATE and entry.rollout == rollout.number for entry in fresh)
    if told.notice is Notice.ROLLOUT_RESUMED:
        return switch is not None and switch.to_digest == rollout.digest
    if told.notice is Notice.ROLLOUT_NOT_COMPLETED and rollout.outcome is RolloutOutcome.ROLLED_BACK:
        return any(entry.event is Event.ROLLED_BACK and entry.from_digest == rollout.digest for entry in fresh)
    return False


def ended(before: Record, after: Record) -> Iterator[Rollout]:
    """Rollouts that ended between two records; a rollout that was rolled back after its promotion ends a
    second time.
    """
    known = {rollout.number: rollout.outcome for rollout in before.rollouts}
    return (one for one in after.rollouts if one.outcome and one.outcome is not known.get(one.number))


def runs(before: RunRecord, after: RunRecord) -> Iterator[tuple[AnalysisRun | None, AnalysisRun]]:
    """The analysis runs of ``after``, each with its former state where it had one."""
    known = {(run.stage, run.rollout, run.attempt): run for run in before.analyses.runs}
    return ((known.get((run.stage, run.rollout, run.attempt)), run) for run in after.analyses.runs)


def waited(rollout: Rollout) -> int:
    """How many seconds a rollout waited for people until it ended."""
    if rollout.finished_at is None or rollout.waiting_since is None:
        return rollout.waited_seconds
    return rollout.waited_seconds + round((rollout.finished_at - rollout.waiting_since).total_seconds())


def ledger_events(before: Kept, after: Kept) -> Iterator[RolloutEvent]:
    """Report skipped numbers: the ledger claims to have those entries (``core.delivery.ledger``)."""
    claimed = after.sequence - len(news(before, after))
    if before.epoch and claimed > before.sequence:
        message = (
            f"the ledger says that entry {claimed} was told, and this record gave out {before.sequence}: "
            "somebody else wrote there, or the record is one of an earlier backup; what waits is told after that number"
        )
        yield RolloutEvent(Notice.LEDGER_AHEAD, message)


def _of_rollout(before: Rollout | None, after: Rollout) -> Iterator[RolloutEvent]:
    called = f"rollout {after.number} of {label(after.version, after.digest)}"
    if before is None:
        yield RolloutEvent(Notice.ROLLOUT_STARTED, f"{called} begins")
    was_waiting, waits = bool(before and before.waiting_since), bool(after.waiting_since)
    if waits and not was_waiting:
        yield RolloutEvent(Notice.ROLLOUT_PAUSED, f"{called} waits for somebody to go on")
    if was_waiting and not waits and (after.outcome is None or after.outcome.good):
        yield RolloutEvent(Notice.ROLLOUT_RESUMED, f"{called} goes on; it waited for {after.waited_seconds} s in all")
    if after.settled_at and not (before and before.settled_at):
        yield RolloutEvent(Notice.ROLLOUT_COMPLETED, f"{called} is complete")
    is_new = after.outcome is not (before.outcome if before else None)
    if is_new and after.outcome and not after.outcome.good:
        yield RolloutEvent(Notice.ROLLOUT_NOT_COMPLETED, f"{called} ended: {after.outcome}")


def _of_run(before: AnalysisRun | None, after: AnalysisRun) -> Iterator[RolloutEvent]:
    called = f"{after.stage.called} of rollout {after.rollout}"
    if after.started_at and not (before and before.started_at):
        yield RolloutEvent(
            Notice.ANALYSIS_RUNNING, f"{called} begins: {', '.join(one.metric.name for one in after.metrics)}"
        )
    known = {one.metric.name: one.phase for one in before.metrics} if before else {}
    for one in after.metrics:
        ended = one.phase is not AnalysisPhase.RUNNING and not one.terminated
        if ended and one.phase is not known.get(one.metric.name):
            yield _of_metric(called, one)
    if not after.running and (before is None or before.running):
        yield RolloutEvent(analysis_notice(after.phase), f"{called}: {why(after)}")


def _of_metric(called: str, one: MetricRun) -> RolloutEvent:
    return RolloutEvent(metric_notice(one.phase), f"{called}: {one}", one.metric.dry_run)


# --- of an action ---


def event_of(result: ActionResult, news: Sequence[LedgerEntry] = ()) -> RolloutEvent | None:
    """The Event for the result of an action; None where it is not worth one, or an entry of the ledger among the
    ``news`` has told it: that a rollout begins is told once, and not for its first pods once more.
    """
    if result.refused:
        refused = Notice.CREATE_REFUSED if isinstance(result.action, CreateReplicaSet) else Notice.WRITE_REFUSED
        return RolloutEvent(refused, str(result))
    notice = None if _is_covered(result.action, news) else notice_of(result.action)
    return RolloutEvent(notice, str(result)) if notice else None


def _is_covered(action: object, news: Sequence[LedgerEntry]) -> bool:
    if not isinstance(action, ScaleReplicaSet) or action.current:
        return False
    return any(entry.event is Event.CANDIDATE and entry.to_digest == action.digest for entry in news)


def notice_of(action: object) -> Notice | None:
    """The notice of an action that was carried out; None where it is not worth one."""
    match action:
        case SwitchTraffic(adopts=True):
            return Notice.SERVICE_TAKEN_OVER
        case CreateReplicaSet(repair=True):
            return Notice.REPLICA_SET_REPAIRED
        case CreateReplicaSet(replicas=0):
            return None  # it has no pods yet
        case ApplyConfiguration(repair=True):
            return Notice.CONFIGURATION_REPAIRED
        case _:
            return _NOTICES.get(type(action))


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
