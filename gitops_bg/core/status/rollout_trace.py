"""The trace of a rollout: what has ended between two records of an app, as spans, each once.

One trace for each rollout. Its ids follow from the app's epoch and the number of the rollout, and its times from the
record, so that an agent that is restarted in between goes on with the same trace. Knows no tracing system.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from gitops_bg.core.checks.milestones import RolloutStage, milestones
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.analysis.runs import AnalysisRun, why
from gitops_bg.core.model.events import EVENTS, severity_of
from gitops_bg.core.model.hooks import HookRun, Severity
from gitops_bg.core.model.record import LedgerEntry, Record, Rollout, RolloutOutcome
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.rollout_events import runs, waited

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
    return said or f"{label(rollout.version, rollout.digest)}: {rollout.outcome}"


def _id(digits: int, *parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:digits]
