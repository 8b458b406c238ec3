"""What happened in a decision, in order: one list of an app or a release group, from the record before and after.

The record is saved before any sink gets the list, and a restart goes on from the saved record. So nothing is told
twice, but for notes that were not saved yet (``core.model.decision``). A crash between the save and a sink loses a
Kubernetes Event, a count or a span; never an entry of the ledger, nor a message: these stay in the record until Git,
or who listens, has them. What an entry of the ledger says, no other Kubernetes Event says again.

What only the executor knows, the result of an action, is one of them as well (``core.model.decision.result_event``).
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain

from gitops_bg.core.checks.git import why_rewritten
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.ledger import new_entries
from gitops_bg.core.groups.record import GroupRecord, Transition
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage, MetricRun, why
from gitops_bg.core.model.decision import Attribute, Occurrence, RolloutEnd, RolloutStage, Span, StageEnd, TrafficMoved
from gitops_bg.core.model.events import (
    EVENTS,
    MOVES,
    Notice,
    analysis_notice,
    goal_of,
    metric_notice,
    origin_of,
    severity_of,
)
from gitops_bg.core.model.hooks import HookRun, Severity
from gitops_bg.core.model.record import Delivery, Event, LedgerEntry, Record, Rollout, RolloutOutcome, SwitchKind
from gitops_bg.core.model.version import AppKey, version_name

# --- of an app, and of a release group ---


def app_events(app: AppKey, before: Record, after: Record, now: datetime) -> tuple[Occurrence, ...]:
    """Return what happened to an app between two records, of which ``after`` is saved at ``now``."""
    if before == after:
        return ()
    switch, entries = before.routing.switch, new_entries(before, after)
    moving = (switch.switch_kind, switch.decided_at) if switch is not None else None
    traces = {rollout.number: _trace(app, after, rollout) for rollout in after.rollouts}
    known = {rollout.number: rollout for rollout in before.rollouts}
    return (
        *_of_ledger(before, after, moving, traces),
        *_of_history(before.git.lost, after.git.lost),
        *_of_analyses(before, after, traces),
        *_of_hooks(before, after, traces),
        *chain.from_iterable(
            _OfRollout(traces[each.number], known.get(each.number), each, before, after, entries, now).events()
            for each in after.rollouts
        ),
    )


def group_events(before: GroupRecord, after: GroupRecord) -> tuple[Occurrence, ...]:
    """Return what happened to a release group between two records; it has no rollouts, and no traces."""
    if before == after:
        return ()
    moving = before.transition
    under_way = (SwitchKind(moving.kind.lower()), moving.started_at) if moving is not None else None
    return (
        *_of_ledger(before, after, under_way),
        *_of_history(before.lost, after.lost),
        *_of_transition(moving, after.transition),
        *_of_analyses(before, after),
    )


def _of_transition(before: Transition | None, after: Transition | None) -> Iterator[Occurrence]:
    """Say that requests begin to move, or go on to where a move that was taken back led."""
    if after is None or after.withdrawn:
        return
    source, more = after.source, ""
    if before is not None and before.withdrawn:
        goes_on = after.target == before.target
        source = after.source if goes_on else before.target
        more = " goes on: group.yaml asks for it again" if goes_on else f": {after.source} has no pods to go back to"
    elif before is not None and before.started_at == after.started_at:
        return
    said = f"{after.kind.lower()} from {source} to {after.target}{more}"
    yield Occurrence.of(Notice(f"{after.kind}Started"), said)


_UNTRACED: Mapping[int, "_Trace"] = {}
"""No rollout has a trace."""


def _of_ledger(
    before: Delivery,
    after: Delivery,
    moving: tuple[SwitchKind, datetime] | None,
    traces: Mapping[int, "_Trace"] = _UNTRACED,
) -> Iterator[Occurrence]:
    """Yield new entries, with the movement of live traffic that was under way; and numbers that were skipped: the
    ledger claims to have those entries (``core.delivery.ledger``).
    """
    for entry in new_entries(before, after):
        reason, trace = EVENTS[entry.event].reason, traces.get(entry.rollout)
        span = trace.of_entry(entry) if trace is not None else None
        yield Occurrence(
            reason=reason, message=entry_message(entry), severity=severity_of(entry), fact=entry, span=span
        )
        if moving is not None and entry.event in MOVES:
            yield Occurrence(fact=TrafficMoved(moving[0], (entry.at - moving[1]).total_seconds()))
    if before.epoch and after.ledger_claimed > before.sequence:
        message = (
            f"the ledger says that entry {after.ledger_claimed} was told, and this record gave out {before.sequence}: "
            "somebody else wrote there, or the record is one of an earlier backup; what waits is told after that number"
        )
        yield Occurrence.of(Notice.LEDGER_AHEAD, message)


def entry_message(entry: LedgerEntry) -> str:
    """Return the message of the Kubernetes Event of a ledger entry: the only one of a movement, and of a beginning."""
    left, there = origin_of(entry), goal_of(entry)
    what = there
    if entry.event in MOVES:
        what = f"live traffic goes{f' from {left}' if left else ''} to {there}"
    elif entry.event is Event.CANDIDATE and entry.rollout:
        what = f"rollout {entry.rollout} of {there} begins"
    return ": ".join(filter(None, (str(entry.event), what, entry.reason)))


def _of_history(before: str, after: str) -> Iterator[Occurrence]:
    """Say that main lacks what was seen of it, at once, and that this is over: the ledger waits to see whether it
    lasts.
    """
    if after and not before:
        yield Occurrence.of(Notice.MAIN_MOVED_BACKWARDS, why_rewritten(after))
    if before and not after:
        yield Occurrence.of(Notice.HISTORY_KEPT, "main contains all that was seen of it")


# --- of an analysis, and of a hook ---


def _of_analyses(before: Delivery, after: Delivery, traces: Mapping[int, "_Trace"] = _UNTRACED) -> Iterator[Occurrence]:
    known = {(run.stage, run.rollout, run.attempt): run for run in before.analyses.runs}
    for run in after.analyses.runs:
        yield from _of_run(known.get((run.stage, run.rollout, run.attempt)), run, traces.get(run.rollout))


def _of_run(before: AnalysisRun | None, after: AnalysisRun, trace: "_Trace | None") -> Iterator[Occurrence]:
    called = f"{after.stage.called} of rollout {after.rollout}"
    if after.started_at and not (before and before.started_at):
        metrics = ", ".join(one.metric.name for one in after.metrics)
        yield Occurrence.of(Notice.ANALYSIS_RUNNING, f"{called} begins: {metrics}")
    known = {one.metric.name: one.phase for one in before.metrics} if before else {}
    for one in after.metrics:
        ended = one.phase is not AnalysisPhase.RUNNING and not one.terminated
        if ended and one.phase is not known.get(one.metric.name):
            yield _of_metric(called, one)
    if not after.running and (before is None or before.running):
        span = trace.of_run(after) if trace is not None else None
        yield Occurrence.of(analysis_notice(after.phase), f"{called}: {why(after)}", fact=after, span=span)


def _of_metric(called: str, one: MetricRun) -> Occurrence:
    return Occurrence.of(metric_notice(one.phase), f"{called}: {one}", dry_run=one.metric.dry_run)


def _of_hooks(before: Record, after: Record, traces: Mapping[int, "_Trace"]) -> Iterator[Occurrence]:
    """Say that a hook accepted, or that nobody asks it any more: its refusals are entries of the ledger."""
    known = {_key(run): run for run in before.hook_state.runs}
    for run in after.hook_state.runs:
        old, trace = known.get(_key(run)), traces.get(run.rollout)
        expired = run.expired and not (old and old.expired)
        accepted = run.accepted > (old.accepted if old else 0)
        if trace is not None and run.last_at is not None and (accepted or expired):
            yield Occurrence(span=trace.of_hook(run, old.since if old else run.last_at, run.last_at, expired=expired))


def _key(run: HookRun) -> tuple[str, str, int, bool]:
    return run.hook, str(run.type), run.rollout, run.final


# --- of a rollout ---

_NO_FAULT = (RolloutOutcome.SUPERSEDED, RolloutOutcome.CANCELLED)


@dataclass(frozen=True, slots=True)
class _OfRollout:
    """What happened to one rollout between two records."""

    trace: "_Trace"
    old: Rollout | None
    new: Rollout
    before: Record
    after: Record
    entries: tuple[LedgerEntry, ...]
    """The new ones of the ledger: what they say is not said again."""
    now: datetime

    @property
    def called(self) -> str:
        return f"rollout {self.new.number} of {self._version}"

    @property
    def _version(self) -> str:
        """The name of its version, also once the record has forgotten that."""
        version = self.after.version(self.new.digest)
        return version.name if version else version_name(self.new.version, self.new.digest)

    def events(self) -> Iterator[Occurrence]:
        """Yield all of it, in order; that the whole is over comes last."""
        if self.old is None and not self._has_entry(Event.CANDIDATE):
            yield Occurrence.of(Notice.ROLLOUT_STARTED, f"{self.called} begins")
        if self.old != self.new:
            yield from self._stages()
            yield from self._waiting()
        yield from self._probation()
        if self.old != self.new:
            yield from self._end()

    def _has_entry(self, event: Event) -> bool:
        """Return whether a new entry of the ledger says that it began, or that traffic went back from its version."""
        begins = event is Event.CANDIDATE
        return any(
            entry.event is event
            and (entry.rollout == self.new.number if begins else entry.from_digest == self.new.digest)
            for entry in self.entries
        )

    def _stages(self) -> Iterator[Occurrence]:
        """Yield the stages that ended. One whose milestone came out of order (somebody merged before the pods were
        available) has no length.
        """
        known, begun = milestones(self.old) if self.old else {}, self.new.started_at
        for stage, moment in milestones(self.new).items():
            end = max(begun, moment)
            if stage not in known:
                commit = self.new.commit if stage is RolloutStage.PROMOTED else ""
                attribute = ("gitops_bg.promotion.commit", commit)
                span = self.trace.span(NAMES[stage], NAMES[stage], begun, end, attribute)
                yield Occurrence(fact=StageEnd(stage, (end - begun).total_seconds()), span=span)
            begun = end

    def _waiting(self) -> Iterator[Occurrence]:
        """Say that it waits for people, and that this is over: somebody decided, or the rollout ended."""
        old, new, since = self.old, self.new, self.old.waiting_since if self.old else None
        if new.waiting_since and not since:
            yield Occurrence.of(Notice.ROLLOUT_PAUSED, f"{self.called} waits for somebody to go on")
        if old is None or since is None or (new.waiting_since and not (new.outcome and not old.outcome)):
            return
        key, end = f"waiting {since.isoformat()}", new.finished_at or self.now
        span, switch = self.trace.span(key, "waiting for people", since, end, under=_GATES), self.after.routing.switch
        moves_on = switch is not None and switch.to_digest == new.digest  # The entry of the movement says so.
        if new.waiting_since or (new.outcome and not new.outcome.good) or moves_on:
            yield Occurrence(span=span)
        else:
            said = f"{self.called} goes on; it waited for {new.waited_seconds} s in all"
            yield Occurrence.of(Notice.ROLLOUT_RESUMED, said, span=span)

    def _probation(self) -> Iterator[Occurrence]:
        """Yield how long it took from the switch until its version was proven, or traffic left it."""
        old, new = self.before.version(self.new.digest), self.after.version(self.new.digest)
        if old is None or old.rollout != self.new.number or old.stabilization is None or old.activated_at is None:
            return
        if new is None or new.stabilization is None:
            error = "traffic left it before it was proven" if new is None or new.unproven else ""
            yield Occurrence(span=self.trace.span("probation", "probation", old.activated_at, self.now, error=error))

    def _end(self) -> Iterator[Occurrence]:
        """Say that nothing of it is left to come, and how it ended."""
        old, new, span = self.old, self.new, self._end_span()
        if new.settled_at and not (old and old.settled_at):
            total = StageEnd(RolloutStage.TOTAL, (new.settled_at - new.started_at).total_seconds())
            yield Occurrence.of(Notice.ROLLOUT_COMPLETED, f"{self.called} is complete", fact=total, span=span)
            span = None
        if new.outcome is None or new.outcome is (old.outcome if old else None):
            return
        ended_at = new.finished_at or self.now
        fact = RolloutEnd(new.outcome, max(0.0, (ended_at - new.started_at).total_seconds()), waited(new))
        is_told = new.outcome is RolloutOutcome.ROLLED_BACK and self._has_entry(Event.ROLLED_BACK)
        if new.outcome.good or is_told:
            yield Occurrence(fact=fact, span=span)
        else:
            said = f"{self.called} ended: {new.outcome}"
            yield Occurrence.of(Notice.ROLLOUT_NOT_COMPLETED, said, fact=fact, span=span)

    def _end_span(self) -> Span | None:
        """Return the root, once nothing of it is left to come; and the way back of one whose root was sent already."""
        old, new, ended, outcome = self.old, self.new, _ended_at(self.new), self.new.outcome
        if ended is None or outcome is None:
            return None
        root_was_sent = old is not None and _ended_at(old) is not None
        if root_was_sent and old is not None and old.outcome is outcome:
            return None
        attributes = (("gitops_bg.outcome", str(outcome)), ("gitops_bg.waited_seconds", waited(new)))
        error = "" if outcome.good or outcome in _NO_FAULT else self._fault()
        if root_was_sent and new.settled_at is not None:
            end = new.finished_at or ended
            return self.trace.span("way back", "way back", new.settled_at, end, *attributes, error=error)
        name = f"rollout {self.trace.app.name} v{new.version}"
        return self.trace.span(_ROOT, name, new.started_at, ended, *attributes, error=error)

    def _fault(self) -> str:
        """Return why it did not succeed."""
        hold, version = self.after.objection(self.new.digest), self.after.version(self.new.digest)
        said = (hold.reason if hold else "") or (version.failure if version else "")
        return said or f"{self._version}: {self.new.outcome}"


def waited(rollout: Rollout) -> int:
    """Return how many seconds a rollout waited for people until it ended."""
    if rollout.finished_at is None or rollout.waiting_since is None:
        return rollout.waited_seconds
    return rollout.waited_seconds + round((rollout.finished_at - rollout.waiting_since).total_seconds())


def milestones(rollout: Rollout) -> dict[RolloutStage, datetime]:
    """Return when each stage of a rollout ended, in their order; without those that have not."""
    moments = {
        RolloutStage.AVAILABLE: rollout.available_at,
        RolloutStage.PROMOTED: rollout.promoted_at,
        RolloutStage.SWITCHED: rollout.switched_at,
        RolloutStage.SETTLED: rollout.settled_at,
    }
    return {stage: moment for stage, moment in moments.items() if moment}


def _ended_at(rollout: Rollout) -> datetime | None:
    """Return when a rollout is over: settled, or ended without its version serving."""
    if rollout.settled_at is not None:
        return rollout.settled_at
    return rollout.finished_at if rollout.outcome is not None and not rollout.outcome.good else None


# --- the trace of a rollout ---

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


@dataclass(frozen=True, slots=True)
class _Trace:
    """The trace of one rollout: makes its spans; none where the record has not begun."""

    app: AppKey
    rollout: int
    epoch: str
    common: tuple[tuple[str, Attribute], ...]

    def span(
        self,
        key: str,
        name: str,
        start: datetime,
        end: datetime,
        *more: tuple[str, Attribute],
        under: str = _ROOT,
        error: str = "",
    ) -> Span | None:
        """Return a span that ``key`` tells from the others of the trace; its parent is that of the key ``under``."""
        if not self.epoch:
            return None
        trace_id = _id(32, self.epoch, str(self.app), str(self.rollout))
        parent_id = _id(16, trace_id, under) if key != _ROOT else ""
        attributes = tuple((name, value) for name, value in (*self.common, *more) if value != "")
        return Span(trace_id, _id(16, trace_id, key), parent_id, name, min(start, end), end, attributes, error)

    def of_entry(self, entry: LedgerEntry) -> Span | None:
        """Return a span without length: the record forgets entries that Git has, so that only what is sent at once
        survives a restart.
        """
        attributes = (
            ("gitops_bg.event", str(entry.event)),
            ("gitops_bg.by", entry.by),
            ("gitops_bg.reason", entry.reason),
            ("gitops_bg.asked_by_commit", entry.commit),
        )
        error = (entry.reason or EVENTS[entry.event].verb) if severity_of(entry) is Severity.ERROR else ""
        return self.span(f"ledger {entry.sequence}", entry.event, entry.at, entry.at, *attributes, error=error)

    def of_run(self, run: AnalysisRun) -> Span | None:
        """Return the span of an analysis that ended."""
        if run.started_at is None or run.finished_at is None:
            return None
        metrics = ", ".join(one.metric.name for one in run.metrics)
        attributes = (("gitops_bg.analysis.phase", str(run.phase)), ("gitops_bg.analysis.metrics", metrics))
        key, under = f"{run.stage} {run.attempt}", _SETTLE if run.stage is AnalysisStage.POST else _GATES
        error = why(run) if run.bad else ""
        return self.span(key, run.stage.called, run.started_at, run.finished_at, *attributes, under=under, error=error)

    def of_hook(self, run: HookRun, since: datetime, until: datetime, *, expired: bool) -> Span | None:
        """Return the span of the time until a hook accepted, or until nobody asks it any more."""
        attributes = (("gitops_bg.hook.type", str(run.type)), ("gitops_bg.hook.refused", run.refused))
        error = f"{run.type} hook {run.hook} expired" if expired else ""
        key = f"hook {_key(run)} {run.accepted} {run.expired}"
        return self.span(key, f"hook {run.hook}", since, until, *attributes, under=_GATES, error=error)


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


def _id(digits: int, *parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:digits]
