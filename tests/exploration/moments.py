"""Times relative to now: a record moved back in time, and its canonical form, in which old times are all alike.

What is older than every delay and deadline of the explored apps is only known by its order.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

from gitops_bg.core.model.record import LedgerEntry, Record
from tests.core.records import OWN, PLACES

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(seconds=700)
"""Longer than any delay of the seeds."""
DROPPED: dict[tuple[str, str], Any] = {PLACES["rollouts"]: (), PLACES["past_runs"]: ()}
"""Books for people, which no decision reads."""


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


def mapped(value: Any, change: Callable[[datetime], datetime]) -> Any:
    """A value with every time in it changed."""
    if isinstance(value, datetime):
        return change(value)
    if isinstance(value, tuple):
        new = tuple(mapped(one, change) for one in value)
        return new if any(x is not y for x, y in zip(new, value, strict=True)) else value
    if is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for name in _names(type(value)):
            before = getattr(value, name)
            if before is not None and not isinstance(before, str | int):
                after = mapped(before, change)
                if after is not before:
                    changed[name] = after
        return replace(value, **changed) if changed else value
    return value


@lru_cache(maxsize=200_000)
def _times(part: Any) -> frozenset[datetime]:
    """The times of a part of a record that are older than anything that counts."""
    old: set[datetime] = set()
    mapped(part, lambda moment: old.add(moment) or moment if moment < LONG_AGO else moment)  # type: ignore[func-returns-value]
    return frozenset(old)


@lru_cache(maxsize=200_000)
def _shifted(part: Any, seconds: float) -> Any:
    delta = timedelta(seconds=seconds)
    return mapped(part, lambda moment: moment - delta)


def _reader(place: tuple[str, str]) -> Callable[[Record], Any]:
    part, name = place
    return attrgetter(name if part == OWN else f"{part}.{name}")


def _timed(record: Record) -> dict[tuple[str, str], Any]:
    """The fields that hold times, by their places; those of the ledger are for people."""
    return {place: value for place, read in _TIMED if (value := read(record))}


def _with(record: Record, values: dict[tuple[str, str], Any]) -> Record:
    for part in {part for part, _ in values}:
        changed = {name: value for (owner, name), value in values.items() if owner == part}
        if part == OWN:
            record = replace(record, **changed)
        else:
            record = record.with_part(replace(getattr(record, part), **changed))
    return record


def moved_back(record: Record, seconds: float) -> Record:
    """The record as it is so many seconds later, seen from then."""
    moved = {
        place: tuple(_shifted(one, seconds) for one in value) if isinstance(value, tuple) else _shifted(value, seconds)
        for place, value in _timed(record).items()
    }
    return canonical(_with(record, moved))


def canonical(record: Record) -> Record:
    """Equal for records that no decision tells apart."""
    if any(read(record) != DROPPED[place] for place, read in _DROPPED):
        record = _with(record, DROPPED)
    if any(entry.at != LONG_AGO for entry in record.ledger):
        record = replace(record, ledger=tuple(map(_told, record.ledger)))
    if record.routing.switch and record.routing.switch.commit:
        record = record.with_part(replace(record.routing, switch=replace(record.routing.switch, commit="")))
    timed = _timed(record)
    old: set[datetime] = set()
    for value in timed.values():
        for one in value if isinstance(value, tuple) else (value,):
            old |= _times(one)
    if not old:
        return record
    ranks = {moment: LONG_AGO - timedelta(seconds=rank) for rank, moment in enumerate(sorted(old, reverse=True), 1)}
    if all(moment == rank for moment, rank in ranks.items()):
        return record
    return _with(
        record, {place: mapped(value, lambda moment: ranks.get(moment, moment)) for place, value in timed.items()}
    )


def _told(entry: LedgerEntry) -> LedgerEntry:
    """What happened, without when, why and by whom: that is for people."""
    return replace(entry, at=LONG_AGO, commit="", source_commit="", by="", reason="")


_TIMELESS = (PLACES["ledger"], *DROPPED)
_DROPPED = tuple((place, _reader(place)) for place in DROPPED)
_TIMED = tuple(
    (place, read)
    for place in PLACES.values()
    for read in [_reader(place)]
    if place not in _TIMELESS and not isinstance(read(Record()), str | int)
)
