"""The step that accepts no time in the future: a recorded event has happened by now, whoever recorded it.

An agent whose clock was ahead wrote future times into the record. A wait that counted from such a time would last
longer than configured. Decides nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from gitops_bg.core.model.analysis.runs import AnalysisRun, MetricRun
from gitops_bg.core.model.hooks import HookRun, OutboxMessage
from gitops_bg.core.model.record import Record, Restart
from gitops_bg.core.model.version import Retirement, Stabilization, Version
from gitops_bg.core.world import World

_Part = TypeVar("_Part", Version, Stabilization, Retirement, AnalysisRun, MetricRun, HookRun, OutboxMessage, Restart)

_HAPPENED: dict[type, tuple[str, ...]] = {
    Version: (
        "rollout_started_at",
        "available_since",
        "waiting_since",
        "activated_at",
        "routed_at",
        "left_at",
    ),
    Stabilization: ("since",),
    Retirement: ("since",),
    AnalysisRun: ("started_at",),
    MetricRun: ("last_at",),
    HookRun: ("since", "unanswered_since", "last_at"),
    OutboxMessage: ("at", "last_at"),
    Restart: ("asked_at",),
}
"""The times from which waits count, for each part of a record.

Times that somebody set for the future are not among them.
"""


def trust_no_future(world: World) -> World:
    """Return the same world, in which no wait counts from a future time."""
    record, now = world.record, world.now
    if not any(_is_ahead(part, now) for part in _parts(record)):
        return world
    restart = record.operator.restart
    return world.with_record(
        replace(
            record,
            versions=tuple(_version(one, now) for one in record.versions),
            analyses=replace(record.analyses, runs=tuple(run_by_now(one, now) for one in record.analyses.runs)),
            hook_state=replace(record.hook_state, runs=tuple(by_now(one, now) for one in record.hook_state.runs)),
            outbox=replace(record.outbox, messages=tuple(by_now(one, now) for one in record.outbox.messages)),
            operator=replace(record.operator, restart=by_now(restart, now) if restart else None),
        )
    )


def by_now(part: _Part, now: datetime) -> _Part:
    """Return a part of a record with each time that is still to come set to now."""
    moments = {name: getattr(part, name) for name in _HAPPENED[type(part)]}
    ahead: dict[str, datetime] = {name: now for name, moment in moments.items() if moment is not None and moment > now}
    return replace(part, **ahead) if ahead else part  # type: ignore[arg-type]


def run_by_now(run: AnalysisRun, now: datetime) -> AnalysisRun:
    """As `by_now`, for an analysis and its metrics."""
    return replace(by_now(run, now), metrics=tuple(by_now(one, now) for one in run.metrics))


def _parts(record: Record) -> Iterator[object]:
    for version in record.versions:
        yield version
        yield from filter(None, (version.stabilization, version.retirement))
    for run in record.analyses.runs:
        yield run
        yield from run.metrics
    yield from record.hook_state.runs
    yield from record.outbox.messages
    if record.operator.restart:
        yield record.operator.restart


def _is_ahead(part: object, now: datetime) -> bool:
    for name in _HAPPENED[type(part)]:
        moment = getattr(part, name)
        if moment is not None and moment > now:
            return True
    return False


def _version(version: Version, now: datetime) -> Version:
    version = by_now(version, now)
    stabilization, retirement = version.stabilization, version.retirement
    return replace(
        version,
        stabilization=by_now(stabilization, now) if stabilization else None,
        retirement=by_now(retirement, now) if retirement else None,
    )
