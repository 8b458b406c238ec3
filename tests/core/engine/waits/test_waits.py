"""What an app waits for: every unsettled state names it, and no end is told at which nobody looks."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.model.analysis import AnalysisRun, AnalysisStage, MeasurementPlan, Metric, MetricRun
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Restart
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Hold, Override
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.world import World
from tests.core.engine.waits.test_wake_up import FAILED, HELD, MOMENT, SLEEPS, TIMES, WARM_FOR_EVER
from tests.core.simulation import automatic, manual
from tests.core.worlds import (
    HELD_MAIN,
    NOW,
    SECOND,
    active,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    rising,
    service,
    world,
)

LATER, WARM = NOW + 60 * SECOND, NOW + 300 * SECOND
SUSPENDED = replace(manual(), suspend=Suspension("incident", "ada", LATER))
PROBLEM = Problem("apps/shop/web/app.yaml", "is not a number", 3, field="spec.replicas")
AWAY = GitView(unreachable="connection refused")
BACK = {"override": Override(digest(2), digest(1), "because", "ada", NOW)}
ARRIVING = {"active_service": service("web", 2, other_endpoints=True)}
"""The endpoints of the live Service still hold pods of the version that traffic has left."""

METRIC = Metric("slo", "web", interval=60, count=3)
RUN = AnalysisRun(AnalysisStage.POST, digest(2), 2, started_at=NOW, metrics=(MetricRun(METRIC),))
MEASURED = world(
    legacy(1), active(2), spec=manual(post_promotion_analysis=MeasurementPlan((METRIC,))), record={"analysis": (RUN,)}
)
UNREADY = world(legacy(1), active(2, stabilization=Stabilization(3, NOW, unready=True)), sets=(pods(1), pods(2, 3, 1)))
COMES_UP = world(active(1), rising(2, waiting_since=NOW), sets=(pods(1), pods(2, 3, 0)))

WAITS: dict[str, tuple[World, list[tuple[str, int, datetime | None]]]] = {
    "nothing": (world(active(1)), []),
    "pods of what traffic goes back to, whatever is suspended": (
        world(legacy(1), active(2), names_=1, spec=SUSPENDED, sets=(pods(1, 3, 0), pods(2))),
        [("availability", 1, NOW + 600 * SECOND)],
    ),
    "the end of a suspension": (world(active(1), spec=SUSPENDED), [("suspension", 1, LATER)]),
    "somebody who mends a file": (world(active(1), desired={"problems": (PROBLEM,)}), [("spec", 1, None)]),
    "somebody who accepts a rewritten main": (
        world(active(1), desired={"history_rewritten": "f" * 40}),
        [("history", 1, None)],
    ),
    "somebody who lifts the hold on a version that is forgotten": (
        world(active(1), wants=2, record={"holds": (Hold(digest(2), "5xx", NOW),)}),
        [("hold", 1, None)],
    ),
    "Git, with the promotion": (
        world(active(1), candidate(2), spec=automatic(), observed={"git": AWAY}),
        [("git", 2, None)],
    ),
    "Git, with the commit of a rollback": (
        world(active(1), legacy(2), wants=1, names_=2, observed={"git": AWAY}, record=BACK),
        [("git", 1, None), ("scaleDown", 2, WARM)],
    ),
    "a commit of main that is verified": (
        world(active(1), candidate(2), spec=automatic(), observed={"git": GitView(verification=HELD_MAIN)}),
        [("git", 2, None)],
    ),
    "pods of what is live": (world(active(1), sets=(pods(1, 3, 0),)), [("availability", 1, None)]),
    "a restart that is scheduled": (
        world(active(1), spec=replace(manual(), restart_at=LATER), record={"restart": Restart(LATER, 1)}),
        [("restart", 1, LATER)],
    ),
    "pods that a restart asked to go": (
        world(
            active(1),
            spec=replace(manual(), restart_at=NOW),
            record={"restart": Restart(NOW, 1, begun=True, asked_at=NOW)},
        ),
        [("restart", 1, NOW + 30 * SECOND)],
    ),
    "pods, until the progress deadline": (COMES_UP, [("availability", 2, NOW + 600 * SECOND), ("approval", 2, None)]),
    "pods whose time is up at this moment": (
        replace(COMES_UP, now=NOW + 600 * SECOND),
        [("availability", 2, None), ("approval", 2, None)],
    ),
    "pods that are late already": (FAILED, [("availability", 2, None), ("approval", 2, None)]),
    "people": (world(active(1), candidate(2)), [("approval", 2, None)]),
    "people, until it expires": (
        world(active(1), candidate(2, available_since=NOW), spec=manual(expire_after_seconds=60)),
        [("approval", 2, NOW + 60 * SECOND)],
    ),
    "people, although its time is up: Git is away, and nobody could promote it": (
        world(active(1), candidate(2), spec=manual(expire_after_seconds=60), observed={"git": AWAY}),
        [("approval", 2, None), ("git", 2, None)],
    ),
    "a countdown": (
        world(active(1), candidate(2, available_since=NOW), spec=automatic(auto_promotion_seconds=60)),
        [("pause", 2, NOW + 60 * SECOND)],
    ),
    "a version that is warm": (world(legacy(1), active(2)), [("scaleDown", 1, WARM)]),
    "a warm version that drains": (
        world(legacy(1, left_at=NOW), active(2, activated_at=NOW), observed=ARRIVING),
        [("draining", 1, NOW + 600 * SECOND), ("scaleDown", 1, WARM)],
    ),
    "a version that drains longer than it is kept warm": (
        world(legacy(1, left_at=NOW, scale_down_at=NOW), active(2, activated_at=NOW), observed=ARRIVING),
        [("draining", 1, NOW + 600 * SECOND)],
    ),
    "a version whose last pod is warm": (
        world(legacy(1), active(2), sets=(pods(1, 1), pods(2))),
        [("scaleDown", 1, WARM)],
    ),
    "no pods of a version that has none": (world(legacy(1), active(2), sets=(pods(1, 0), pods(2))), []),
    "a version that is warm for ever": (WARM_FOR_EVER, []),
    "a version that failed after the switch": (UNREADY, [("probation", 2, NOW + 600 * SECOND), ("scaleDown", 1, WARM)]),
    "a version that may still fail: only the engine waits": (
        replace(UNREADY, observed=replace(UNREADY.observed, replica_sets=(pods(1), pods(2)))),
        [("scaleDown", 1, WARM)],
    ),
    "a version that is measured": (MEASURED, [("analysis", 2, NOW + 120 * SECOND), ("scaleDown", 1, WARM)]),
    "a candidate behind one on its way: only the engine waits": (
        replace(TIMES["the end of a countdown behind a version on its way"], now=NOW),
        [("availability", 2, None)],
    ),
    "nobody, for the pods of a version on hold": (
        world(active(1), rising(2, retiring=True, waiting_since=NOW), record=HELD, sets=(pods(1), pods(2, 3, 0))),
        [("hold", 2, None)],
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_it_waits_for(name: str) -> None:
    state, expected = WAITS[name]
    waits = decided(state).waits
    assert [(one.gate, one.version, one.until) for one in waits] == expected
    assert all(one.reason for one in waits)


SUSPENSIONS = (None, Suspension("x"), Suspension("x", "", NOW + SECOND), Suspension("x", "", NOW + 7200 * SECOND))
EVERYWHERE = {**{name: state for name, (state, _) in WAITS.items()}, **TIMES, **SLEEPS}


@pytest.mark.parametrize("name", EVERYWHERE)
def test_no_end_is_told_at_which_nobody_looks_whenever_and_however_it_is_suspended(name: str) -> None:
    """`decided` refuses a decision that tells one."""
    for suspension in SUSPENSIONS:
        for seconds in (1, 60, 600):
            state = replace(EVERYWHERE[name], now=NOW + seconds * SECOND)
            decided(replace(state, spec=replace(state.spec, suspend=suspension or state.spec.suspend)))


def ends(state: World, suspend: Suspension | None = None) -> dict[str, datetime | None]:
    """When each wait ends."""
    return {wait.gate: wait.until for wait in decided(replace(state, spec=replace(state.spec, suspend=suspend))).waits}


STOPPED = {
    "a version that is warm": (WAITS["a version that is warm"][0], "scaleDown"),
    "a version that fails after the switch": (UNREADY, "probation"),
    "a candidate whose pods come up": (COMES_UP, "availability"),
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_suspension_stops_the_clock_of(name: str) -> None:
    state, gate = STOPPED[name]
    end = ends(state)[gate]
    assert end is not None
    assert ends(state, SUSPENSIONS[1])[gate] is ends(state, SUSPENSIONS[3])[gate] is None
    assert ends(state, SUSPENSIONS[2])[gate] == end, "it is over before that"


def test_a_suspension_does_not_stop_the_clock_of_what_may_lead_back() -> None:
    assert ends(MEASURED)["analysis"] == ends(MEASURED, SUSPENSIONS[1])["analysis"] == NOW + 120 * SECOND


def test_a_wait_says_which_version_waits_and_for_what() -> None:
    (wait,) = decided(world(active(1), candidate(2))).waits
    assert (wait.version, wait.reason) == (2, "waiting for the promotion branch to be merged")


@pytest.mark.parametrize(("name", "go"), [("that is scheduled", "are to go"), ("asked", "go")])
def test_the_wait_for_a_restart_says_whether_it_has_begun(name: str, go: str) -> None:
    (state,) = (state for said, (state, _) in WAITS.items() if "restart" in said and name in said)
    (wait,) = decided(state).waits
    at = LATER if go == "are to go" else NOW
    assert wait.reason == f"pods older than {at:%Y-%m-%dT%H:%M:%SZ} {go}, one version after the other"


def test_a_candidate_behind_a_version_on_its_way_is_told_to_nobody_and_woken_up_for() -> None:
    assert decided(WAITS["a candidate behind one on its way: only the engine waits"][0]).wake_at == MOMENT
