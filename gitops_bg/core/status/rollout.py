"""What changed between two records, told once: as Kubernetes Events of an app or a release group, and as the trace of a
rollout.

The words of Events are in the one table, `core.model.events`; each action on the cluster has one, by its result. There
is one trace for each rollout. Its ids follow from the app's epoch and the number of the rollout, and its times from the
record, so that an agent that is restarted in between goes on with the same trace. Knows no tracing system.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gitops_bg.core.checks.versions import RolloutStage, milestones
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
)
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage, MetricRun, RunRecord, why
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.events import EVENTS, MOVES, NOTICES, Notice, analysis_notice, metric_notice, severity_of
from gitops_bg.core.model.hooks import HookRun, Severity
from gitops_bg.core.model.record import Event, LedgerEntry, Record, Rollout, RolloutOutcome
from gitops_bg.core.model.version import AppKey, version_name

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
    left, there = version_name(entry.from_version, entry.from_digest), version_name(entry.to_version, entry.to_digest)
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
    called = f"rollout {after.number} of {version_name(after.version, after.digest)}"
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


Attribute = str | int

NAMES = {
    RolloutStage.AVAILABLE: "deploy",
    RolloutStage.PROMOTED: "gates",
    RolloutStage.SWITCHED: "switch",
    RolloutStage.SETTLED: "settle",
}
"""The span of each stage: until pods are available, until ``primary.yaml`` names the version, until traffic has moved,
until endpoints have followed and the analysis after promotion has passed.
"""
_ROOT, _GATES, _SETTLE = "", NAMES[RolloutStage.PROMOTED], NAMES[RolloutStage.SETTLED]
_NO_FAULT = (RolloutOutcome.SUPERSEDED, RolloutOutcome.CANCELLED)


@dataclass(frozen=True, slots=True)
class Span:
    """Something that has ended. Ids are hexadecimal, of 16 and 8 bytes; a root has no parent."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: datetime
    end: datetime
    attributes: tuple[tuple[str, Attribute], ...] = ()
    error: str = ""
    """What failed; empty where nothing did."""


@dataclass(frozen=True, slots=True)
class _Trace:
    """The trace of one rollout: makes its spans."""

    app: AppKey
    rollout: int
    epoch: str
    common: tuple[tuple[str, Attribute], ...] = field(default=())

    def span(
        self, key: str, name: str, start: datetime, end: datetime, *more: tuple[str, Attribute], **how: str
    ) -> Span:
        """A span that ``key`` tells from the others of the trace; its parent is that of the key ``under``."""
        trace_id = _id(32, self.epoch, str(self.app), str(self.rollout))
        parent_id = _id(16, trace_id, how.get("under", _ROOT)) if key != _ROOT else ""
        said = tuple((name, value) for name, value in (*self.common, *more) if value != "")
        return Span(trace_id, _id(16, trace_id, key), parent_id, name, min(start, end), end, said, how.get("error", ""))


def spans(app: AppKey, before: Record, after: Record, now: datetime) -> Iterator[Span]:
    """The spans that ended between two records, of which ``after`` was saved at ``now``; roots come last."""
    if before == after or not after.epoch:
        return
    known = {rollout.number: rollout for rollout in before.rollouts}
    traces = {rollout.number: _trace(app, after, rollout) for rollout in after.rollouts}
    yield from _moments(traces, before, after)
    yield from _analyses(traces, before, after)
    yield from _hooks(traces, before, after)
    for rollout in after.rollouts:
        trace, old = traces[rollout.number], known.get(rollout.number)
        yield from _stages(trace, old, rollout)
        yield from _waiting(trace, old, rollout, now)
        yield from _probation(trace, rollout, before, after, now)
        yield from _end(trace, old, rollout, after)


def _trace(app: AppKey, record: Record, rollout: Rollout) -> _Trace:
    version = record.version(rollout.digest)
    source = version.source if version is not None and version.rollout == rollout.number else None
    common: tuple[tuple[str, Attribute], ...] = (
        ("k8s.namespace.name", app.namespace),
        ("gitops_bg.app", app.name),
        ("gitops_bg.rollout", rollout.number),
        ("gitops_bg.version", f"v{rollout.version}"),
        ("gitops_bg.digest", rollout.digest),
        ("gitops_bg.commit", source.commit if source else ""),
        ("gitops_bg.author", source.author if source else ""),
    )
    return _Trace(app, rollout.number, record.epoch, common)


def _moments(traces: dict[int, _Trace], before: Record, after: Record) -> Iterator[Span]:
    """Each new ledger entry of a rollout, as a span without length: the record forgets entries that Git has, so that
    only what is sent at once survives a restart.
    """
    for entry in after.ledger:
        if entry.sequence > before.sequence and (trace := traces.get(entry.rollout)) is not None:
            yield trace.span(
                f"ledger {entry.sequence}", entry.event, entry.at, entry.at, *_of(entry), error=_bad(entry)
            )


def _of(entry: LedgerEntry) -> Iterator[tuple[str, Attribute]]:
    yield "gitops_bg.event", str(entry.event)
    yield "gitops_bg.by", entry.by
    yield "gitops_bg.reason", entry.reason
    yield "gitops_bg.asked_by_commit", entry.commit


def _bad(entry: LedgerEntry) -> str:
    return (entry.reason or EVENTS[entry.event].verb) if severity_of(entry) is Severity.ERROR else ""


def _stages(trace: _Trace, before: Rollout | None, after: Rollout) -> Iterator[Span]:
    """The stages that ended; one whose milestone came out of order has no length."""
    known = milestones(before) if before else {}
    begun = after.started_at
    for stage, moment in milestones(after).items():
        end = max(begun, moment)
        if stage not in known:
            commit = after.commit if stage is RolloutStage.PROMOTED else ""
            yield trace.span(NAMES[stage], NAMES[stage], begun, end, ("gitops_bg.promotion.commit", commit))
        begun = end


def _waiting(trace: _Trace, before: Rollout | None, after: Rollout, now: datetime) -> Iterator[Span]:
    """The time until somebody decided, or the rollout ended."""
    since = before.waiting_since if before else None
    if since is not None and (after.waiting_since is None or (after.outcome and before and not before.outcome)):
        key = f"waiting {since.isoformat()}"
        yield trace.span(key, "waiting for people", since, after.finished_at or now, under=_GATES)


def _analyses(traces: dict[int, _Trace], before: Record, after: Record) -> Iterator[Span]:
    for old, run in runs(before, after):
        trace = traces.get(run.rollout)
        if trace is not None and run.started_at and run.finished_at and (old is None or old.finished_at is None):
            yield _analysis(trace, run, run.started_at, run.finished_at)


def _analysis(trace: _Trace, run: AnalysisRun, start: datetime, end: datetime) -> Span:
    metrics = ", ".join(one.metric.name for one in run.metrics)
    said = (("gitops_bg.analysis.phase", str(run.phase)), ("gitops_bg.analysis.metrics", metrics))
    under = _GATES if run.stage is AnalysisStage.PRE else _SETTLE
    error = why(run) if run.bad else ""
    return trace.span(f"{run.stage} {run.attempt}", run.stage.called, start, end, *said, under=under, error=error)


def _hooks(traces: dict[int, _Trace], before: Record, after: Record) -> Iterator[Span]:
    """The time until a hook accepted, or until nobody asks it any more."""
    known = {_key(run): run for run in before.hook_state.runs}
    for run in after.hook_state.runs:
        old, trace = known.get(_key(run)), traces.get(run.rollout)
        expired = run.expired and not (old and old.expired)
        accepted = run.accepted > (old.accepted if old else 0)
        if trace is not None and run.last_at is not None and (accepted or expired):
            said = (("gitops_bg.hook.type", str(run.type)), ("gitops_bg.hook.refused", run.refused))
            error = f"{run.type} hook {run.hook} expired" if expired else ""
            key = f"hook {_key(run)} {run.accepted} {run.expired}"
            since = old.since if old else run.last_at
            yield trace.span(key, f"hook {run.hook}", since, run.last_at, *said, under=_GATES, error=error)


def _key(run: HookRun) -> tuple[str, str, int, bool]:
    return run.hook, str(run.type), run.rollout, run.final


def _probation(trace: _Trace, rollout: Rollout, before: Record, after: Record, now: datetime) -> Iterator[Span]:
    """The time from the switch until a version was proven, or traffic left it."""
    old, new = before.version(rollout.digest), after.version(rollout.digest)
    if old is None or old.rollout != rollout.number or old.stabilization is None or old.activated_at is None:
        return
    if new is None or new.stabilization is None:
        error = "traffic left it before it was proven" if new is None or new.unproven else ""
        yield trace.span("probation", "probation", old.activated_at, now, error=error)


def _end(trace: _Trace, before: Rollout | None, after: Rollout, record: Record) -> Iterator[Span]:
    """The root, once nothing of the rollout is left to come; and the way back of one whose root was sent already."""
    ended, outcome = _ended_at(after), after.outcome
    if ended is None or outcome is None:
        return
    root_was_sent = before is not None and _ended_at(before) is not None
    if root_was_sent and before is not None and before.outcome is outcome:
        return
    said = (("gitops_bg.outcome", str(outcome)), ("gitops_bg.waited_seconds", waited(after)))
    error = "" if outcome.good or outcome in _NO_FAULT else _fault(after, record)
    if root_was_sent and after.settled_at is not None:
        yield trace.span("way back", "way back", after.settled_at, after.finished_at or ended, *said, error=error)
    else:
        name = f"rollout {trace.app.name} v{after.version}"
        yield trace.span(_ROOT, name, after.started_at, ended, *said, error=error)


def _ended_at(rollout: Rollout) -> datetime | None:
    """When a rollout is over: settled, or ended without its version serving."""
    if rollout.settled_at is not None:
        return rollout.settled_at
    return rollout.finished_at if rollout.outcome is not None and not rollout.outcome.good else None


def _fault(rollout: Rollout, record: Record) -> str:
    """Why a rollout did not succeed."""
    hold, version = record.objection(rollout.digest), record.version(rollout.digest)
    said = (hold.reason if hold else "") or (version.failure if version else "")
    return said or f"{version_name(rollout.version, rollout.digest)}: {rollout.outcome}"


def _id(digits: int, *parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:digits]
