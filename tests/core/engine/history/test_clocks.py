"""A future time in the record, from a clock that was ahead, makes no wait longer than configured."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.record import FormerService, Rollout
from gitops_bg.core.model.version import Stabilization
from tests.core.engine.analysis.notation import PLAN, analysing, pass_analysis
from tests.core.simulation import automatic, manual
from tests.core.stories import wait
from tests.core.worlds import NOW, active, candidate, decided, digest, legacy, pods, rising, service, world

AHEAD = NOW + timedelta(hours=3)
DELAY = {"scale_down_delay_seconds": 300}
LATE = replace(manual(), progress_deadline_seconds=600)

WAITS = {
    "a warm version's": (world(legacy(1, retired_at=AHEAD, scale_down_at=AHEAD), active(2), spec=manual(**DELAY)), 300),
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
    assert again.record == once.record


def test_pause_after_an_analysis_is_no_longer_than_asked_for():
    state = analysing(automatic(auto_promotion_seconds=60), pre=PLAN)
    state.later(hours=2)
    pass_analysis(state)
    assert state.live == "1"
    wait(state, hours=-2)
    wait(state, seconds=61)
    assert state.live == "2"


def test_service_that_left_git_is_followed_no_longer_than_its_delay():
    former = FormerService("old", left_at=AHEAD)
    state = world(
        active(1),
        spec=manual(**DELAY),
        record={"former_services": (former,)},
        observed={"former_services": (service("old", 1),)},
    )
    (kept,) = decided(state).record.last_read.former_services
    assert kept.left_at == NOW


def test_policy_that_asks_how_long_ago_a_promotion_was_waits_no_longer():
    rollout = Rollout(1, 1, digest(1), AHEAD, switched_at=AHEAD)
    record = decided(world(active(1), record={"rollouts": (rollout,)})).record
    assert record.rollouts[0].switched_at == NOW
