"""The waits shown to users and the times at which the engine looks again are one list: neither has more
than the other.
"""

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage, Metric, Plan
from gitops_bg.core.model.analysis.runs import AnalysisRun, MetricRun
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.status.deadlines import deadlines_of
from gitops_bg.core.status.timers import wake_at
from gitops_bg.core.status.waits import waits_of
from gitops_bg.core.world import World
from tests.core.consistency import untimely
from tests.core.simulation import manual
from tests.core.status import test_timers, test_waits
from tests.core.worlds import NOW, SECOND, active, decided, digest, legacy, pods, rising, world

METRIC = Metric("slo", "web", interval=60, count=3)
JUDGED = manual(post_promotion_analysis=Plan((METRIC,)))
MEASURED = MetricRun(METRIC, AnalysisPhase.RUNNING)


def after_promotion(since: datetime) -> AnalysisRun:
    return AnalysisRun(AnalysisStage.POST, digest(2), 2, started_at=since, metrics=(MEASURED,))


BEING_MEASURED = world(legacy(1), active(2), spec=JUDGED, record={"analysis": (after_promotion(NOW),)})

WORLDS: dict[str, World] = {
    **{f"waits for {name}": state for name, (state, _) in test_waits.WAITS.items()},
    **{f"wakes up at {name}": state for name, state in test_timers.WAITS.items()},
    **{f"sleeps with {name}": state for name, state in test_timers.SLEEPS.items()},
    "is being measured": BEING_MEASURED,
    "a version on hold, whose pods were on their way": world(
        active(1), rising(2, retiring=True, waiting_since=NOW), sets=(pods(1), pods(2, 3, 0))
    ),
}
SUSPENSIONS = {
    "": None,
    " while suspended": Suspension("incident"),
    " while suspended for a moment": Suspension("incident", "", NOW + SECOND),
    " while suspended for long": Suspension("incident", "", NOW + 7200 * SECOND),
}


@pytest.mark.parametrize("seconds", [0, 1, 59, 60, 299, 600, 3600])
@pytest.mark.parametrize("suspension", SUSPENSIONS)
@pytest.mark.parametrize("name", WORLDS)
def test_no_end_is_told_at_which_nobody_looks(name: str, suspension: str, seconds: int) -> None:
    state = replace(WORLDS[name], now=NOW + seconds * SECOND)
    state = replace(state, spec=replace(state.spec, suspend=SUSPENSIONS[suspension] or state.spec.suspend))
    decision = decided(state)
    assert list(untimely(decision, state.now)) == []


@pytest.mark.parametrize("suspension", SUSPENSIONS)
@pytest.mark.parametrize("name", WORLDS)
def test_every_look_has_a_deadline_that_says_why(name: str, suspension: str) -> None:
    state = WORLDS[name]
    state = replace(state, spec=replace(state.spec, suspend=SUSPENSIONS[suspension] or state.spec.suspend))
    moment = wake_at(state)
    why = [each.reason for each in deadlines_of(state, gates_to_show(state)) if each.at == moment]
    assert moment is None or (all(why) and why)


@pytest.mark.parametrize("suspension", SUSPENSIONS)
@pytest.mark.parametrize("name", WORLDS)
def test_whatever_is_shown_belongs_to_a_version(name: str, suspension: str) -> None:
    """The moments of the app as a whole are the engine's."""
    state = WORLDS[name]
    state = replace(state, spec=replace(state.spec, suspend=SUSPENSIONS[suspension] or state.spec.suspend))
    assert all(each.version for each in deadlines_of(state, gates_to_show(state)) if each.shown)


def ends(state: World) -> dict[str, datetime | None]:
    return {wait.gate: wait.until for wait in waits_of(state, gates_to_show(state))}


def suspended(state: World, until: datetime | None = None) -> World:
    return replace(state, spec=replace(state.spec, suspend=Suspension("incident", "ada", until)))


WARM = world(legacy(1), active(2))
UNREADY = world(legacy(1), active(2, stabilization=Stabilization(3, NOW, unready=True)), sets=(pods(1), pods(2, 3, 1)))
LATER = NOW + 7200 * SECOND

STOPPED: dict[str, tuple[World, str]] = {
    "a version that is warm": (WARM, "scaleDown"),
    "a version that fails after the switch": (UNREADY, "probation"),
    "a candidate whose pods come up": (
        world(active(1), rising(2, waiting_since=NOW), sets=(pods(1), pods(2, 3, 0))),
        "availability",
    ),
}


@pytest.mark.parametrize("name", STOPPED)
def test_suspension_stops_the_clock_of(name: str) -> None:
    state, gate = STOPPED[name]
    assert ends(state)[gate] is not None
    assert (ends(suspended(state))[gate], ends(suspended(state, LATER))[gate]) == (None, None)
    assert ends(suspended(state, NOW + SECOND))[gate] == ends(state)[gate]


def test_suspension_does_not_stop_the_clock_of_what_may_lead_back() -> None:
    last = NOW + 120 * SECOND
    assert ends(BEING_MEASURED)["analysis"] == last
    assert ends(suspended(BEING_MEASURED))["analysis"] == last
    assert wake_at(suspended(BEING_MEASURED)) == last


def test_end_of_a_version_that_nobody_waits_for_is_not_told() -> None:
    """It was let go: nothing happens at its progress deadline."""
    state = WORLDS["a version on hold, whose pods were on their way"]
    assert ends(state)["availability"] is None
    assert wake_at(state) is None


def test_what_only_the_engine_waits_for_is_told_to_nobody() -> None:
    on_probation = world(legacy(1, scale_down_at=None), active(2, stabilization=Stabilization(3, NOW)))
    assert wake_at(on_probation) == NOW + 600 * SECOND
    assert ends(on_probation) == {}


def test_candidate_behind_a_version_on_its_way_is_not_told_and_woken_up_for() -> None:
    state = replace(test_timers.WAITS["the countdown of a candidate behind a version on its way"], now=NOW)
    assert "pause" not in ends(state)
    assert wake_at(state) == test_timers.MOMENT
