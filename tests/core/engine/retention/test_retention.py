"""How long unwanted versions keep their pods, also after a change of the delay; and when they are archived."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import Switch
from gitops_bg.core.model.record import SwitchKind as L
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Stage, short
from gitops_bg.core.world import World
from tests.core.simulation import deployed, manual
from tests.core.stories import coming, promoted, push, wait
from tests.core.worlds import (
    EARLIER,
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
    warm_for,
    world,
)

HELD = {"holds": (Hold(digest(2), "5xx", NOW),)}
DELAYS = {
    "superseded: it never served": (world(active(1), candidate(2), wants=3), 30),
    "cancelled: it never served": (world(active(1), candidate(2), wants=1), 30),
    "superseded: abortScaleDownDelaySeconds": (
        world(active(1), candidate(2), wants=3, spec=manual(abort_scale_down_delay_seconds=120)),
        120,
    ),
    "superseded, where aborted ones stay for ever": (
        world(active(1), candidate(2), wants=3, spec=manual(abort_scale_down_delay_seconds=None)),
        0,
    ),
    "superseded after it had served: scaleDownDelaySeconds": (
        world(active(1), candidate(2, activated_at=EARLIER, left_at=EARLIER), wants=3),
        300,
    ),
    "superseded before its pods came up: at once": (world(active(1), rising(2), wants=3), 0),
    "cancelled before its pods came up: at once": (world(active(1), rising(2), wants=1), 0),
    "held before its pods came up: it stays to be looked at": (world(active(1), rising(2), record=HELD), 30),
    "held: abortScaleDownDelaySeconds": (world(active(1), candidate(2), record=HELD), 30),
    "held, never": (
        world(active(1), candidate(2), record=HELD, spec=manual(abort_scale_down_delay_seconds=None)),
        None,
    ),
    "superseded, where what served stays for ever": (
        world(active(1), candidate(2), wants=3, spec=manual(scale_down_delay_seconds=None)),
        30,
    ),
}


@pytest.mark.parametrize("name", DELAYS)
def test_delay_of_a_version_that_is(name):
    state, seconds = DELAYS[name]
    assert warm_for(state, 2) == seconds


# --- a delay that somebody changes ---

LET_GO = {"retired_at": NOW - 100 * SECOND}
ABORTED = {"retiring": True, "retired_at": NOW - 100 * SECOND, "aborted": True}
CHANGED = {
    "longer: it stays": (world(legacy(1, **LET_GO), active(2), spec=manual(scale_down_delay_seconds=500)), 400),
    "shorter: its time is up": (world(legacy(1, **LET_GO), active(2), spec=manual(scale_down_delay_seconds=30)), 0),
    "0: at once": (world(legacy(1, **LET_GO), active(2), spec=manual(scale_down_delay_seconds=0)), 0),
    "never": (world(legacy(1, **LET_GO), active(2), spec=manual(scale_down_delay_seconds=None)), None),
    "no longer never": (
        world(legacy(1, **LET_GO), active(2), spec=manual(scale_down_delay_seconds=300)),
        200,
    ),
    "an aborted one has a delay of its own": (
        world(candidate(1, **ABORTED), active(2), spec=manual(abort_scale_down_delay_seconds=110)),
        10,
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_changed_delay_holds_for_what_was_let_go_before(name):
    state, seconds = CHANGED[name]
    assert warm_for(state, 1) == seconds


def switched(**strategy):
    app = promoted(manual(**strategy))
    assert app.live == "2"
    return app


def sizes(app):
    return {app.tag(digest): pods.replicas for digest, pods in app.pods.items()}


@pytest.mark.parametrize(
    ("before", "after", "left"), [(None, 30, 0), (300, 0, 0), (300, 30, 0), (30, None, 3), (30, 300, 3)]
)
def test_warm_version_follows_the_delay_of_now(before, after, left):
    app = switched(scale_down_delay_seconds=before)
    wait(app, seconds=29)
    assert sizes(app) == {"1": 3, "2": 3}
    app.spec = manual(scale_down_delay_seconds=after)
    wait(app, seconds=2)
    assert sizes(app) == {"1": left, "2": 3}


def test_revision_limit_that_is_lowered_holds_at_once_and_0_keeps_none_warm():
    app = switched(scale_down_delay_seconds=None)
    app.spec = manual(scale_down_delay_seconds=None, scale_down_delay_revision_limit=0)
    app.settle()
    assert sizes(app) == {"1": 0, "2": 3}


def test_delay_of_an_aborted_candidate_follows_the_spec_of_now():
    app = coming(manual(abort_scale_down_delay_seconds=None, expire_after_seconds=60))
    wait(app, seconds=61)
    assert app.held == {"2"}
    wait(app, hours=1)
    assert sizes(app)["2"] == 3
    app.spec = manual(abort_scale_down_delay_seconds=0)
    app.settle()
    assert sizes(app)["2"] == 0


# --- the archive ---


def archived_by(state: World) -> set[int]:
    return {one.number for one in decided(state).record.versions if one.stage is Stage.ARCHIVED}


DUE = {"scale_down_at": NOW}
SWITCH_TO_1 = Switch(digest(2), digest(1), L.ROLLBACK, NOW)
ARCHIVED = {
    "one whose time is up": (world(legacy(1, **DUE), active(2)), {1}),
    "none before its time": (world(legacy(1), active(2)), set()),
    "none that is kept for ever": (
        world(legacy(1, **DUE), active(2), spec=manual(scale_down_delay_seconds=None)),
        set(),
    ),
    "none while it is suspended": (
        world(legacy(1, **DUE), active(2), spec=replace(manual(), suspend=Suspension("x"))),
        set(),
    ),
    "none that the live Service selects": (
        world(legacy(1, **DUE), active(2), observed={"active_service": service("web", 1)}),
        set(),
    ),
    "none that primary.yaml names": (world(legacy(1, **DUE), active(2), names_=1), set()),
    "none that a switch is decided to": (world(legacy(1, **DUE), active(2), record={"switch": SWITCH_TO_1}), set()),
    "the others, whatever somebody wrote into the selector": (
        world(legacy(1, **DUE), active(2), observed={"active_service": service("web", 2, digest="1")}),
        {1},
    ),
    "the oldest beyond scaleDownDelayRevisionLimit": (
        world(legacy(1), legacy(2), active(3), spec=manual(scale_down_delay_revision_limit=1)),
        {1},
    ),
}

FULL = {"failure": "FailedCreate: exceeded quota: pods=9"}
NOWHERE = PodView("p", "p", short(digest(4)), EARLIER, unschedulable="0/3 nodes are available: 3 Insufficient cpu.")
NEVER_SERVED = {"retiring": True, "retired_at": NOW}
CROWDED = (legacy(1), active(2), candidate(3, **NEVER_SERVED), rising(4))


@pytest.mark.parametrize(
    ("newest", "seen", "numbers"),
    [
        ({"available": 1}, {}, set()),
        ({"available": 1, **FULL}, {}, {3}),
        ({"available": 0}, {"pods": (NOWHERE,)}, {3}),
        ({"available": 3, **FULL}, {}, set()),
    ],
    ids=("its pods start", "a quota is full", "no node has room", "it has all it needs"),
)
def test_what_never_served_makes_room_at_once_for_what_waits_for_it(newest, seen, numbers):
    sets = (pods(1), pods(2), pods(3), pods(4, **newest))
    assert archived_by(world(*CROWDED, sets=sets, observed=seen)) == numbers


def test_versions_pushed_in_a_row_leave_no_pods_for_the_delay_of_what_served():
    """An image updater that pushed twelve tags left twelve versions warm for ten minutes."""
    sim = deployed(manual(scale_down_delay_seconds=600))
    for number in range(2, 14):
        sim.later(seconds=20)
        push(sim, str(number))
    assert {tag for tag, size in sizes(sim).items() if size} == {"1", "11", "12", "13"}
    wait(sim, seconds=31)
    assert {tag for tag, size in sizes(sim).items() if size} == {"1", "13"}


@pytest.mark.parametrize("name", ARCHIVED)
def test_goes_to_the_archive(name):
    state, numbers = ARCHIVED[name]
    assert archived_by(state) == numbers


def test_the_limit_keeps_what_one_would_go_back_to_before_what_never_served():
    """Found so: two pushes after a promotion took the way back away, and kept a candidate that nobody wanted."""
    sim = promoted(manual(scale_down_delay_revision_limit=1))
    for tag in ("3", "4"):
        sim.later(seconds=10)
        push(sim, tag)
    assert {sim.tag(digest): each.replicas for digest, each in sim.pods.items()} == {"1": 3, "2": 3, "3": 0, "4": 3}
