"""A future time in the record, from a clock that was ahead, makes no wait longer than configured."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.hooks import HookRun, HookType, OutboxMessage
from gitops_bg.core.model.record import Restart
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.transitions.record.clocks import trust_no_future
from tests.core.simulation import automatic, manual
from tests.core.worlds import NOW, active, candidate, decided, digest, legacy, pods, rising, world

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


COUNTED_FROM = {
    "how long a version does well": (
        world(active(2, stabilization=Stabilization(3, AHEAD))),
        lambda record: record.numbered(2).stabilization.since,
    ),
    "how long a version is on its way out": (
        world(legacy(1, retired_at=AHEAD), active(2)),
        lambda record: record.numbered(1).retirement.since,
    ),
    "since when a hook is asked": (
        world(active(2), record={"hooks": (HookRun("ask", HookType.CONFIRM_ROLLOUT, digest(2), 2, since=AHEAD),)}),
        lambda record: record.hook_state.runs[0].since,
    ),
    "when a message was put into the outbox": (
        world(active(2), record={"deliveries": (OutboxMessage("log", 1, AHEAD, "Succeeded", digest(2), ""),)}),
        lambda record: record.outbox.messages[0].at,
    ),
    "when evictions were asked for": (
        world(active(2), record={"restart": Restart(NOW, 2, begun=True, asked_at=AHEAD)}),
        lambda record: record.operator.restart.asked_at,
    ),
}


@pytest.mark.parametrize("name", COUNTED_FROM)
def test_moment_of_the_future_becomes_now(name):
    state, moment = COUNTED_FROM[name]
    assert moment(trust_no_future(state).record) == NOW
