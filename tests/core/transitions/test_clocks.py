"""A future time in the record, from a clock that was ahead, makes no wait longer than configured."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.record import FormerService, Record, Rollout
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.transitions.record.clocks import AS_RECORDED, by_now, trust_no_future
from tests.core.simulation import automatic, manual
from tests.core.transitions.test_analysis import PLAN, analysed, pass_analysis
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, legacy, pods, rising, service, world

AHEAD = NOW + timedelta(hours=3)
DELAY = {"scale_down_delay_seconds": 300}
LATE = replace(manual(), progress_deadline_seconds=600)

WAITS = {
    "a warm version's": (
        world(legacy(1, retired_at=AHEAD, scale_down_at=AHEAD), active(2), spec=manual(**DELAY)),
        300,
    ),
    "a candidate's for its pods": (
        world(active(1), rising(2, waiting_since=AHEAD), spec=LATE, sets=(pods(1), pods(2, 3, 0))),
        600,
    ),
    "a countdown's": (
        world(active(1), candidate(2, available_since=AHEAD), spec=automatic(auto_promotion_seconds=60)),
        60,
    ),
    "a probation's": (world(legacy(1), active(2, stabilization=Stabilization(3, AHEAD)), spec=LATE), 600),
}


@pytest.mark.parametrize("name", WAITS)
def test_no_wait_is_longer_than_its_length(name):
    state, seconds = WAITS[name]
    decision = decided(state)
    assert decision.wake_at is not None
    assert decision.wake_at <= NOW + timedelta(seconds=seconds)
    ends = [wait.until for wait in decision.waits if wait.until]
    assert all(end <= NOW + timedelta(seconds=seconds) for end in ends)


@pytest.mark.parametrize("name", WAITS)
def test_what_was_corrected_stays_as_it_is(name):
    state, _ = WAITS[name]
    once = decided(state)
    later = NOW + timedelta(seconds=1)
    again = decide(state.spec, state.desired, state.observed, once.record, later)
    assert trust_no_future(replace(state, record=once.record, now=later)).record == once.record
    assert again.record == once.record


def test_a_record_without_the_future_is_left_as_it_is():
    state = world(legacy(1), active(2), candidate(3))
    assert trust_no_future(state) is state


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
            "Retirement.until",
            "Restart.at",
            "Restart.youngest",
            "OperatorState.restarted",
            "MetricRun.measurements",
            "Analyses.past",
            "Record.ledger",
        },
    ),
    "a release group": (GroupRecord, {"MetricRun.measurements", "Analyses.past", "GroupRecord.ledger"}),
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


def test_pause_after_an_analysis_is_no_longer_than_asked_for():
    state = analysed(automatic(auto_promotion_seconds=60), pre=PLAN)
    state.push("2")
    state.settle()
    state.later(hours=2)
    pass_analysis(state)
    assert state.live == "1"
    state.later(hours=-2)
    state.settle()
    state.later(seconds=61)
    state.settle()
    assert state.live == "2"


def test_service_that_left_git_is_followed_no_longer_than_its_delay():
    former = FormerService("old", left_at=AHEAD)
    state = world(
        active(1),
        spec=manual(**DELAY),
        record={"former_services": (former,)},
        observed={"former_services": (service("old", 1),)},
    )
    (kept,) = decided(state).record.routing.former_services
    assert kept.left_at == NOW


def test_policy_that_asks_how_long_ago_a_promotion_was_waits_no_longer():
    rollout = Rollout(1, 1, digest(1), AHEAD, switched_at=AHEAD)
    state = trust_no_future(world(active(1), record={"rollouts": (rollout,)}))
    assert state.record.rollouts[0].switched_at == NOW
