"""Pods that fail after the switch: for how long, from when until when, and where traffic goes."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import Stabilization, Stage
from tests.core.simulation import automatic, deployed, manual, template
from tests.core.stories import lose_pods, merge, name, promoted, push, revert, wait
from tests.core.worlds import NOW, SECOND, active, archived, candidate, decided, digest, legacy, pods, target, world

LONG_AGO = NOW - 600 * SECOND
JUST_NOW = NOW - 599 * SECOND
FAILING = (pods(1), pods(2, 3, 2))


def on_probation(since, unready=False, **more):
    return active(2, stabilization=Stabilization(3, since, unready), **more)


# world: the probation that follows (since, unready), or None
NOTED = {
    "all is well: nothing changes": (world(legacy(1), on_probation(JUST_NOW)), (JUST_NOW, False)),
    "well for long enough: it has proven itself": (world(legacy(1), on_probation(LONG_AGO)), None),
    "it has proven itself: an outage is not answered with an old version": (
        world(legacy(1), active(2), sets=(pods(1), pods(2, 3, 0))),
        None,
    ),
    "a pod fails": (world(legacy(1), on_probation(JUST_NOW), sets=FAILING), (NOW, True)),
    "the first look is too late for a failure": (world(legacy(1), on_probation(LONG_AGO), sets=FAILING), (NOW, True)),
    "a pod has failed for a while": (
        world(legacy(1), on_probation(JUST_NOW, unready=True), sets=FAILING),
        (JUST_NOW, True),
    ),
    "the pod is back": (world(legacy(1), on_probation(JUST_NOW, unready=True)), (NOW, False)),
    "fewer pods are asked for than it was switched with": (
        world(legacy(1), on_probation(JUST_NOW), sets=FAILING, desired={"target": target(2, 2)}),
        (JUST_NOW, False),
    ),
    "more pods are asked for, and do not come up": (
        world(legacy(1), on_probation(JUST_NOW), sets=(pods(1), pods(2, 9, 3)), desired={"target": target(2, 9)}),
        (JUST_NOW, False),
    ),
    "a suspension stops the clock": (
        world(
            legacy(1),
            on_probation(LONG_AGO, unready=True),
            sets=FAILING,
            spec=replace(manual(), suspend=Suspension("x")),
        ),
        (LONG_AGO, True),
    ),
    "after a suspension it begins anew": (
        world(legacy(1), on_probation(LONG_AGO, unready=True), sets=FAILING, record={"suspended": True}),
        (LONG_AGO, True),
    ),
    "traffic goes back already: nothing more is decided": (
        world(legacy(1), on_probation(LONG_AGO, unready=True), sets=FAILING, names_=1),
        (LONG_AGO, True),
    ),
    "traffic is moving forward now: likewise": (
        world(
            legacy(1),
            on_probation(LONG_AGO, unready=True),
            candidate(3),
            sets=(*FAILING, pods(3)),
            names_=3,
            record={"switch": Switch(digest(2), digest(3), SwitchKind.PROMOTION, NOW)},
        ),
        (LONG_AGO, True),
    ),
    "nothing to go back to": (world(on_probation(LONG_AGO, unready=True), sets=(pods(2, 3, 0),)), (LONG_AGO, True)),
}


@pytest.mark.parametrize("name", NOTED)
def test_probation(name):
    state, expected = NOTED[name]
    record = decided(state).record
    stabilization = record.numbered(2).stabilization
    assert (stabilization and (stabilization.since, stabilization.unready)) == expected
    assert record.override is None


@pytest.mark.parametrize("old", [legacy(1), archived(1)], ids=["warm", "archived"])
def test_failure_for_the_whole_deadline_leads_back(old):
    record = decided(world(old, on_probation(LONG_AGO, unready=True), sets=FAILING)).record
    assert record.override.to_digest == digest(1)
    assert "2 of 3 pods" in record.override.reason
    assert record.ledger[0].event == "failed"
    failed = record.numbered(2)
    assert (failed.failure, failed.stabilization) == ("ProgressDeadlineExceeded", None), (
        "it failed once, and is not watched"
    )


@pytest.mark.parametrize("unready", [True, False])
def test_wakes_up_when_the_probation_ends(unready):
    sets = FAILING if unready else None
    state = world(archived(1), on_probation(JUST_NOW, unready), sets=sets)
    assert decided(state).wake_at == NOW + SECOND


@pytest.mark.parametrize("spec", [manual(), automatic(), manual(scale_down_delay_seconds=0)], ids=str)
def test_pods_that_fail_after_the_switch_bring_traffic_back_for_good(spec):
    app = promoted(spec)
    lose_pods(app, "2")
    app.settle()
    wait(app, seconds=599)
    assert app.live == "2"
    wait(app, seconds=1)
    assert (app.live, app.primary, app.held) == ("1", "1", {"2"})
    assert app.recorded_moves() == app.moves


@pytest.mark.parametrize("left", [0, 1])
def test_pods_that_fail_before_anybody_looks_after_the_switch_bring_traffic_back_too(left):
    """Found so: the pods that a version has to keep were counted once they had gone."""
    world = deployed(automatic())
    world.push("2")
    for _ in range(30):
        world.step()
        world.pods_come_up()
        if world.live == "2":
            break
    assert world.record.routing.traffic == template("1").digest, "the switch is written, and nobody has seen it"
    world.later(seconds=20)
    world.pods_fail("2", left)
    for _ in range(3):
        for _ in range(10):
            world.step()
        world.later(seconds=601)
    assert world.live == "1"


def test_last_good_version_stays_warm_while_the_new_one_fails():
    app = promoted(manual(scale_down_delay_seconds=60))
    lose_pods(app, "2")
    app.settle()
    wait(app, seconds=61)
    assert app.pods[digest(1)].replicas == 3
    app.bad_tags.clear()
    app.settle()
    assert app.record.numbered(1).stage is Stage.ARCHIVED


def test_old_version_that_fails_after_a_rollback_is_not_left_for_the_bad_one():
    app = promoted()
    revert(app)
    assert app.live == "1"
    lose_pods(app, "1")
    app.settle()
    wait(app, seconds=601)
    assert app.live == "1"


def test_live_version_that_fails_while_another_waits_to_take_over_is_left_for_the_good_one():
    """Found so: what was on its way, and never came, kept everybody from looking after what serves."""
    app = promoted()
    app.bad_tags |= {"2", "3"}
    app.push("3")
    name(app, "3")
    app.pods_fail("2")
    app.settle()
    assert app.live == "2"
    wait(app, seconds=601)
    assert (app.live, app.primary, app.held) == ("1", "1", {"2", "3"}), "nothing goes forward by itself"


def test_another_version_that_is_ready_takes_over_from_a_live_one_that_fails():
    app = promoted()
    push(app, "3")
    lose_pods(app, "2")
    app.settle()
    merge(app)
    assert app.live == "3"


def judged(phase: AnalysisPhase, of: int = 2):
    """Version 2 serves; the analysis after a promotion stands so."""
    run = AnalysisRun(AnalysisStage.POST, digest(of), of, phase=phase)
    return world(legacy(1), active(2), record={"analysis": (run,)})


UNPROVEN = {
    "nothing is to be proven": (world(legacy(1), active(2)), False),
    "on probation": (world(legacy(1), on_probation(JUST_NOW)), True),
    "it is being judged": (judged(AnalysisPhase.RUNNING), True),
    "the analysis has no answer": (judged(AnalysisPhase.INCONCLUSIVE), True),
    "the verdict is in": (judged(AnalysisPhase.SUCCESSFUL), False),
    "another version was being judged": (judged(AnalysisPhase.RUNNING, of=1), False),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_serves_is_unproven(name):
    state, expected = UNPROVEN[name]
    assert state.unproven is expected


def test_where_nothing_serves_nothing_is_unproven():
    assert not world(candidate(1)).unproven
