"""When time alone changes the decision: one second before, at the moment, one second after."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.checks.pods.availability import DEADLINE_EXCEEDED
from gitops_bg.core.model.analysis.metrics import AnalysisStage, Metric, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, begin
from gitops_bg.core.model.record import Hold, Restart
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.status.timers import wake_at
from gitops_bg.core.world import World
from tests.core.simulation import automatic, manual
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, legacy, pods, rising, world

MOMENT = NOW + 60 * SECOND
UNTIL = replace(manual(), suspend=Suspension("incident", "ada", MOMENT))
SLOW = replace(manual(), progress_deadline_seconds=60)
STARTING = rising(2, waiting_since=NOW)
UNREADY = (pods(1), pods(2, 3, 0))

WAITS = {
    "the end of a suspension": world(active(1), spec=UNTIL),
    "the deadline of a warm version": world(legacy(1, scale_down_at=MOMENT), active(2)),
    "the progress deadline of a candidate": world(active(1), STARTING, spec=SLOW, sets=UNREADY),
    "the progress deadline of what primary.yaml names": world(active(1), STARTING, spec=SLOW, names_=2, sets=UNREADY),
    "the end of a countdown": world(
        active(1), candidate(2, available_since=NOW), spec=automatic(auto_promotion_seconds=60)
    ),
    "the countdown of a candidate behind a version on its way": world(
        active(1),
        rising(2, failure="late"),
        candidate(3, available_since=NOW),
        names_=2,
        spec=automatic(auto_promotion_seconds=60),
        sets=(pods(1), pods(2, 3, 0), pods(3)),
    ),
    "the progress deadline of a candidate behind a version on its way": world(
        active(1),
        rising(2, failure="late"),
        rising(3, waiting_since=NOW),
        names_=2,
        spec=SLOW,
        sets=(pods(1), pods(2, 3, 0), pods(3, 3, 0)),
    ),
}


@pytest.mark.parametrize("name", WAITS)
@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_wakes_up_at(name, seconds):
    state = replace(WAITS[name], now=MOMENT + seconds * SECOND)
    assert wake_at(state) == (MOMENT if seconds < 0 else None)


SLEEPS = {
    "nothing on its way": world(active(1)),
    "a candidate that waits for people": world(active(1), candidate(2)),
    "a candidate that has failed already": world(
        active(1), rising(2, failure=DEADLINE_EXCEEDED, waiting_since=NOW), sets=UNREADY
    ),
    "a version that is kept warm for ever": world(legacy(1, scale_down_at=None), active(2)),
    "a held version": world(active(1), legacy(2, scale_down_at=None), record={"holds": (Hold(digest(2), "5xx", NOW),)}),
    "a version that was let go before it served: nothing drains": world(
        active(1, activated_at=NOW), rising(2, retiring=True, scale_down_at=None), wants=1
    ),
    "a restart whose time comes while traffic is on its way": world(
        active(1),
        rising(2, failure="late"),
        names_=2,
        spec=replace(manual(), restart_at=MOMENT),
        sets=UNREADY,
        record={"restart": Restart(MOMENT, 2)},
    ),
    "a suspension without an end, whatever else would be due": world(
        legacy(1), active(2), spec=replace(manual(), suspend=Suspension("incident"))
    ),
    "the wait of a version that nobody waits for": world(
        active(1), legacy(2, waiting_since=NOW, scale_down_at=None), spec=SLOW, wants=1
    ),
}


@pytest.mark.parametrize("name", SLEEPS)
def test_sleeps_with(name):
    assert wake_at(SLEEPS[name]) is None


def test_the_earliest_moment_counts():
    state = world(legacy(1, scale_down_at=NOW + 5 * SECOND), legacy(2, scale_down_at=NOW + 3 * SECOND), active(3))
    assert wake_at(state) == NOW + 3 * SECOND


def test_a_moment_that_has_passed_does_not_hide_one_to_come():
    state = world(legacy(1, scale_down_at=NOW - SECOND), legacy(2, scale_down_at=NOW + 3 * SECOND), active(3))
    assert wake_at(state) == NOW + 3 * SECOND


# --- what then happens, at the boundary ---

BOUNDARIES = {
    "a warm version is archived": (
        world(legacy(1, scale_down_at=MOMENT), active(2)),
        lambda decision: decision.record.numbered(1).stage is Stage.ARCHIVED,
    ),
    "a candidate fails": (
        world(active(1), STARTING, spec=SLOW, sets=UNREADY),
        lambda decision: decision.record.numbered(2).failure == DEADLINE_EXCEEDED,
    ),
    "a countdown ends in a commit": (
        world(active(1), candidate(2, available_since=NOW), spec=automatic(auto_promotion_seconds=60)),
        lambda decision: any("commit primary.yaml" in str(action) for action in decision.actions),
    ),
    "a suspension ends": (
        world(active(1), spec=UNTIL, record={"suspended": True}),
        lambda decision: not decision.record.operator.suspended,
    ),
}


@pytest.mark.parametrize("name", BOUNDARIES)
@pytest.mark.parametrize("seconds", [-1, 0, 1])
def test_at_its_moment(name, seconds):
    state, happened = BOUNDARIES[name]
    assert happened(decided(replace(state, now=MOMENT + timedelta(seconds=seconds)))) is (seconds >= 0)


def measuring(stage: AnalysisStage, *versions: Version, suspended: bool = False) -> World:
    """An analysis has begun, whose first measurement is due in a minute, and four more after it."""
    run = AnalysisRun(stage, digest(2), 2, fallback=digest(1), started_at=NOW)
    plan = Plan((Metric("errors", "web", initial_delay=60, interval=60, count=5),))
    spec = manual(pre_promotion_analysis=plan, post_promotion_analysis=plan)
    spec = replace(spec, suspend=Suspension("incident")) if suspended else spec
    return world(*versions, spec=spec, record={"analysis": (begin(run, plan, "", "", NOW),)})


BEFORE, AFTER = (active(1), candidate(2)), (legacy(1, scale_down_at=None), active(2))
MEASURES = {
    "before the promotion": (measuring(AnalysisStage.PRE, *BEFORE), MOMENT),
    "after it": (measuring(AnalysisStage.POST, *AFTER), MOMENT),
    "after it while suspended: it may lead back": (measuring(AnalysisStage.POST, *AFTER, suspended=True), MOMENT),
    "not before it while suspended": (measuring(AnalysisStage.PRE, *BEFORE, suspended=True), None),
}


@pytest.mark.parametrize("name", MEASURES)
def test_wakes_up_to_measure(name):
    state, moment = MEASURES[name]
    assert wake_at(state) == moment
