"""The step that accepts no time in the future: a recorded event has happened by now, whoever recorded it.

An agent whose clock was ahead wrote future times into the record. A wait that counted from such a time would last
longer than configured. Every time of a record is corrected, of an app and of a release group, unless `AS_RECORDED`
says why not: a new one cannot be forgotten. Decides nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from gitops_bg.core.world import World

_Part = TypeVar("_Part")

AS_RECORDED: Mapping[str, str] = {
    "Source.date": "a commit says it, by the clock of its author",
    "Restart.at": "a person chooses it",
    "Restart.youngest": "the cluster says it, by its own clock",
    "OperatorState.restarted": "a person chose it",
    "MetricRun.measurements": "only shown: the next one counts from `last_at`",
    "Analyses.past": "only shown",
    "Record.ledger": "an entry stays as it was noted: Git may have it",
    "GroupRecord.ledger": "likewise",
}
"""The fields whose times stay as they are, each with its reason."""


def clamp_future_timestamps(world: World) -> World:
    """Return the same world, in which no wait counts from a future time."""
    record = by_now(world.record, world.now)
    return world if record is world.record else world.with_record(record)


def by_now(part: _Part, now: datetime) -> _Part:
    """Return a record, or a part of one, with each time that is still to come set to now; itself where there is none.

    The order of times stays, as far as they still differ.
    """
    return _corrected(part, now) if _is_ahead(part, now) else part


def _is_ahead(part: Any, now: datetime) -> bool:
    """Whether any time is still to come: asked in each pass, so without a copy of anything."""
    times, parts = _times_of(part.__class__)
    for name in times:
        at = getattr(part, name)
        if at is not None and at > now:
            return True
    for name in parts:
        for one in _each(getattr(part, name)):
            if _is_ahead(one, now):
                return True
    return False


def _corrected(part: Any, now: datetime) -> Any:
    times, parts = _times_of(part.__class__)
    changes: dict[str, Any] = {name: min(at, now) for name in times if (at := getattr(part, name)) is not None}
    for name in parts:
        before = getattr(part, name)
        after = tuple(by_now(one, now) for one in _each(before))
        changes[name] = after if isinstance(before, tuple) else next(iter(after), None)
    return replace(part, **changes)


def _each(value: Any) -> tuple[Any, ...]:
    """The parts in a field: several, one, or none."""
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


@cache
def _times_of(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a part of a record that are times, and those that hold parts with times."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind) if f"{kind.__name__}.{each.name}" not in AS_RECORDED]
    times = tuple(name for name in names if hints[name] is datetime or datetime in get_args(hints[name]))
    parts = tuple(name for name in names if any(any(_times_of(part)) for part in _parts_of(hints[name])))
    return times, parts


def _parts_of(hint: Any) -> Iterator[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
    for inner in get_args(hint):
        yield from _parts_of(inner)
