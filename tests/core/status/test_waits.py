"""Everything that an app waits for: every unsettled state names it, and no end is in the past."""

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Hold, Override, Restart
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.status.waits import waits_of
from gitops_bg.core.world import World
from tests.core.simulation import automatic, manual
from tests.core.worlds import HELD_MAIN, NOW, SECOND, active, candidate, decided, digest, legacy, pods, rising, world

LATER = NOW + 60 * SECOND
LATE = rising(2, failure="ProgressDeadlineExceeded")
SUSPENDED = replace(manual(), suspend=Suspension("incident", "ada", LATER))
PROBLEM = Problem("apps/shop/web/app.yaml", "is not a number", 3, field="spec.replicas")
AWAY = GitView(unreachable="connection refused")
BACK = {"override": Override(digest(2), digest(1), "because", "ada", NOW)}


def waits(state: World) -> list[tuple[str, int, datetime | None]]:
    return [(one.gate, one.version, one.until) for one in waits_of(state, gates_to_show(state))]


WAITS: dict[str, tuple[World, list[tuple[str, int, datetime | None]]]] = {
    "nothing": (world(active(1)), []),
    "nothing, where a suspension stands in no way but that of what comes": (
        world(legacy(1), active(2), names_=1, spec=SUSPENDED, sets=(pods(1, 3, 0), pods(2))),
        [("availability", 1, None), ("scaleDown", 1, NOW + 300 * SECOND)],
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
        world(active(1), legacy(2, scale_down_at=None), wants=1, names_=2, observed={"git": AWAY}, record=BACK),
        [("git", 1, None)],
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
    "pods, until the progress deadline": (
        world(active(1), rising(2, waiting_since=NOW), sets=(pods(1), pods(2, 3, 0))),
        [("availability", 2, NOW + 600 * SECOND), ("approval", 2, None)],
    ),
    "pods whose time is up at this moment": (
        world(active(1), rising(2, waiting_since=NOW - 600 * SECOND), sets=(pods(1), pods(2, 3, 0))),
        [("availability", 2, None), ("approval", 2, None)],
    ),
    "pods that are late already": (world(active(1), LATE), [("availability", 2, None), ("approval", 2, None)]),
    "people": (world(active(1), candidate(2)), [("approval", 2, None)]),
    "people, until it expires": (
        world(active(1), candidate(2, available_since=NOW), spec=manual(expire_after_seconds=60)),
        [("approval", 2, NOW + 60 * SECOND)],
    ),
    "a countdown": (
        world(active(1), candidate(2, available_since=NOW), spec=automatic(auto_promotion_seconds=60)),
        [("pause", 2, NOW + 60 * SECOND)],
    ),
    "a warm version that drains": (
        world(legacy(1, left_at=NOW), active(2, activated_at=NOW)),
        [("draining", 1, NOW + 600 * SECOND), ("scaleDown", 1, NOW + 300 * SECOND)],
    ),
    "a version that drains longer than it is kept warm": (
        world(legacy(1, left_at=NOW, scale_down_at=NOW), active(2, activated_at=NOW)),
        [("draining", 1, NOW + 600 * SECOND)],
    ),
    "people, although its time is up: Git is away, and nobody could promote it": (
        world(active(1), candidate(2), spec=manual(expire_after_seconds=60), observed={"git": AWAY}),
        [("approval", 2, None), ("git", 2, None)],
    ),
    "a version whose last pod is warm": (
        world(legacy(1), active(2), sets=(pods(1, 1), pods(2))),
        [("scaleDown", 1, NOW + 300 * SECOND)],
    ),
    "no pods of a version that has none": (world(legacy(1), active(2), sets=(pods(1, 0), pods(2))), []),
    "a version that is warm for ever": (world(legacy(1, scale_down_at=None), active(2)), []),
    "a version that failed after the switch": (
        world(legacy(1), active(2, stabilization=Stabilization(3, NOW, unready=True)), sets=(pods(1), pods(2, 3, 1))),
        [("probation", 2, NOW + 600 * SECOND), ("scaleDown", 1, NOW + 300 * SECOND)],
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_waits_for(name: str) -> None:
    state, expected = WAITS[name]
    assert waits(state) == expected


def test_wait_names_the_commit_that_waits() -> None:
    decision = decided(world(active(1), candidate(2)))
    assert [wait.commit for wait in decision.waits] == [f"{2:040x}"]
    assert decision.waits[0].reason == "waiting for the promotion branch to be merged"


@pytest.mark.parametrize(("begun", "go"), [(False, "are to go"), (True, "go")])
def test_wait_for_a_restart_says_whether_it_has_begun(begun: bool, go: str) -> None:
    state = world(
        active(1), spec=replace(manual(), restart_at=LATER), record={"restart": Restart(LATER, 1, begun=begun)}
    )
    (wait,) = waits_of(state, gates_to_show(state))
    assert wait.reason == f"pods older than 2026-01-01T12:01:00Z {go}, one version after the other"
