"""Every time in a record is corrected where it is in the future, unless there is a reason to keep it."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.record import Record
from gitops_bg.core.transitions.record import AS_RECORDED, by_now
from tests.core.worlds import NOW, SECOND, active, legacy, world

AHEAD = NOW + timedelta(hours=3)


def _with_every_field(hint: Any) -> Any:
    """A value of a type in which every field that may be something is something, and every time is to come."""
    if hint is datetime:
        return AHEAD
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return hint(**{each.name: _with_every_field(hints[each.name]) for each in fields(hint) if each.init})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    inner = [one for one in get_args(hint) if one not in (type(None), Ellipsis)]
    if get_origin(hint) is tuple:
        return tuple(map(_with_every_field, inner))
    if get_origin(hint) is frozenset:
        return frozenset(map(_with_every_field, inner))
    return _with_every_field(inner[0]) if inner else hint()


def _times(value: Any, at: str = "") -> Iterator[tuple[str, datetime]]:
    """Each time in a record, with the names of the parts and of the field that it is in."""
    if isinstance(value, datetime):
        yield at, value
    elif isinstance(value, tuple):
        for one in value:
            yield from _times(one, at)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _times(getattr(value, each.name), f"{at} {type(value).__name__}.{each.name}")


RECORDS: dict[str, tuple[Any, set[str]]] = {
    "an app": (
        Record,
        {
            "Source.date",
            "Restart.at",
            "Restart.youngest",
            "OperatorState.restarted",
            "MetricRun.measurements",
            "Analyses.past",
            "Record.ledger",
        },
    ),
    "a release group": (
        GroupRecord,
        {
            "Restart.at",
            "Restart.youngest",
            "OperatorState.restarted",
            "MetricRun.measurements",
            "Analyses.past",
            "GroupRecord.ledger",
        },
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_every_time_of_a_record_is_corrected_but_those_that_have_a_reason(name):
    kind, kept = RECORDS[name]
    before = _with_every_field(kind)
    after = dict(_times(by_now(before, NOW)))
    assert set(after) == set(dict(_times(before)))
    ahead = {path for path, time in after.items() if time != NOW}
    reasons = {field for field in AS_RECORDED if any(field in path.split() for path in ahead)}
    assert (reasons, {path for path in ahead if not reasons & set(path.split())}) == (kept, set())


def test_every_field_that_is_kept_exists():
    paths = (path for kind, _ in RECORDS.values() for path, _ in _times(_with_every_field(kind)))
    assert set(AS_RECORDED) <= {part for path in paths for part in path.split()}


def test_times_keep_their_order():
    state = world(legacy(1), active(2, activated_at=NOW - SECOND, routed_at=AHEAD, left_at=AHEAD + SECOND))
    version = by_now(state.record, NOW).numbered(2)
    assert (version.activated_at, version.routed_at, version.left_at) == (NOW - SECOND, NOW, NOW)
