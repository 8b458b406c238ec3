"""The book of rollouts: when each began and ended, how, and how long it waited for people (argo-rollouts.md §4)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.model.analysis import (
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    MeasurementPlan,
    MeasurementResult,
    Metric,
)
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Rollout, RolloutOutcome
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World
from tests.core.simulation import Simulation, automatic, deployed, manual
from tests.core.stories import ask, merge, push, resume, retry, revert, suspend, wait
from tests.core.worlds import EARLIER, NOW, active, candidate, decided, digest, legacy, service, world


def pushed(spec: AppSpec, tag: str = "2", *, bad: bool = False) -> Simulation:
    """Version 1 is live; the next one was pushed an hour later, and came up unless it is bad."""
    world = deployed(spec)
    world.later(hours=1)
    world.push(tag)
    if bad:
        world.bad_tags.add(tag)
    world.settle()
    return world


def nothing(_: Simulation) -> None:
    """It is left to itself."""


def abort(sim: Simulation) -> None:
    ask(sim, OperatorCommand.ABORT)


def promote_and_revert(sim: Simulation) -> None:
    merge(sim)
    revert(sim)


def take_promotion_back_under_way(sim: Simulation) -> None:
    sim.pods_fail("2")
    sim.merge()
    sim.step()
    revert(sim)


def retry_aborted(sim: Simulation) -> None:
    abort(sim)
    retry(sim)


def retry_rolled_back(sim: Simulation) -> None:
    promote_and_revert(sim)
    sim.later(minutes=1)
    retry(sim)


def promote_what_was_rolled_back(sim: Simulation) -> None:
    retry_rolled_back(sim)
    merge(sim)


def abort_what_was_rolled_back(sim: Simulation) -> None:
    retry_rolled_back(sim)
    abort(sim)


def push_over_what_was_rolled_back(sim: Simulation) -> None:
    retry_rolled_back(sim)
    push(sim, "3")


PROMOTED, ABORTED, ROLLED_BACK = RolloutOutcome.PROMOTED, RolloutOutcome.ABORTED, RolloutOutcome.ROLLED_BACK
ENDINGS = (
    (nothing, [None]),
    (merge, [PROMOTED]),
    (promote_and_revert, [ROLLED_BACK]),
    (abort, [ABORTED]),
    (take_promotion_back_under_way, [ABORTED]),
    (lambda sim: push(sim, "3"), [RolloutOutcome.SUPERSEDED, None]),
    (lambda sim: push(sim, "1"), [RolloutOutcome.CANCELLED]),
    (retry, [RolloutOutcome.SUPERSEDED, None]),
    (retry_aborted, [ABORTED, None]),
    (retry_rolled_back, [ROLLED_BACK, None]),
    (promote_what_was_rolled_back, [ROLLED_BACK, PROMOTED]),
    (abort_what_was_rolled_back, [ROLLED_BACK, ABORTED]),
    (push_over_what_was_rolled_back, [ROLLED_BACK, RolloutOutcome.SUPERSEDED, None]),
)
"""What happens to version 2, and how its rollouts and those after it end; None: not yet."""


@pytest.mark.parametrize(("what_happens", "endings"), ENDINGS)
def test_rollout_ends_as_it_does(
    what_happens: Callable[[Simulation], None], endings: list[RolloutOutcome | None]
) -> None:
    sim = pushed(manual())
    what_happens(sim)
    book = sim.record.rollouts
    assert [one.outcome for one in book] == [PROMOTED, *endings]
    assert [one.number for one in book] == list(range(1, len(book) + 1))
    assert [one.finished_at is not None for one in book] == [one.outcome is not None for one in book]


def test_rollout_knows_when_it_began_and_when_it_ended() -> None:
    world = pushed(manual())
    began = world.now
    world.later(minutes=10)
    merge(world)
    (*_, last) = world.record.rollouts
    assert (last.started_at, last.finished_at) == (began, began + timedelta(minutes=10))
    assert (last.version, last.digest) == (2, world.record.routing.traffic)


def test_time_of_waiting_for_people_is_added_up() -> None:
    """For a merge, and for the end of a suspension; not for pods."""
    world = pushed(manual(), bad=True)
    wait(world, minutes=5)
    assert world.record.rollouts[-1].waiting_since is None
    world.bad_tags.clear()
    world.settle()
    world.later(minutes=1)
    suspend(world)
    world.later(minutes=2)
    resume(world)
    world.later(minutes=4)
    merge(world)
    last = world.record.rollouts[-1]
    assert (last.outcome, last.waiting_since, last.waited_seconds) == (RolloutOutcome.PROMOTED, None, 7 * 60)


@pytest.mark.parametrize(
    ("phase", "ending"),
    [
        (AnalysisPhase.SUCCESSFUL, RolloutOutcome.PROMOTED),
        (AnalysisPhase.FAILED, RolloutOutcome.ROLLED_BACK),
        (AnalysisPhase.INCONCLUSIVE, None),
    ],
)
def test_analysis_after_promotion_has_the_last_word(phase: AnalysisPhase, ending: RolloutOutcome | None) -> None:
    plan = MeasurementPlan((Metric("errors", "web"),))
    world = pushed(manual(post_promotion_analysis=plan))
    merge(world)
    assert world.live == "2"
    assert world.record.rollouts[-1].outcome is None
    world.later(minutes=3)
    world.measured = tuple(MeasurementResult(one.id, phase, world.now) for one in world.decide().measurements)
    world.settle()
    last = world.record.rollouts[-1]
    assert (last.outcome, last.finished_at) == (ending, world.now if ending else None)


def test_promotion_in_full_is_said_to_be_one() -> None:
    """Asked for before the switch, or after it, while an analysis judges it; and not of the next rollout."""
    world = pushed(automatic(auto_promotion_seconds=600))
    ask(world, OperatorCommand.PROMOTE_FULL)
    last = world.record.rollouts[-1]
    assert (last.outcome, last.settled_at) == (RolloutOutcome.FAST_PROMOTED, world.now)
    world.spec = replace(
        world.spec, strategy=automatic(post_promotion_analysis=MeasurementPlan((Metric("errors", "web"),))).strategy
    )
    push(world, "3")
    assert (world.live, world.record.rollouts[-1].outcome) == ("3", None)
    ask(world, OperatorCommand.PROMOTE_FULL)
    assert world.record.rollouts[-1].outcome is RolloutOutcome.FAST_PROMOTED
    revert(world)
    assert world.record.rollouts[-1].outcome is RolloutOutcome.ROLLED_BACK


def test_two_people_are_waited_for_at_once() -> None:
    """At a manual gate, and to merge."""
    world = pushed(manual(hooks=(Hook("go", HookType.CONFIRM_PROMOTION, manual=True),)))
    assert {gate.kind for gate in world.decide().gates if not gate.open} == {"manual", "approval"}
    assert world.record.rollouts[-1].waiting_since == world.now


def test_countdown_is_no_waiting_for_people() -> None:
    world = pushed(automatic(auto_promotion_seconds=60))
    wait(world, seconds=61)
    last = world.record.rollouts[-1]
    assert (last.outcome, last.waited_seconds) == (RolloutOutcome.PROMOTED, 0)
    assert last.finished_at == last.started_at + timedelta(seconds=61)


def test_change_of_replicas_is_no_rollout() -> None:
    world = deployed(manual())
    before = world.record.rollouts
    world.replicas = 5
    wait(world, hours=1)
    assert world.record.rollouts == before
    assert len(before) == 1


def test_book_keeps_the_last_five_rollouts() -> None:
    world = deployed(automatic())
    push(world, *"2345678")
    assert [one.number for one in world.record.rollouts] == [4, 5, 6, 7, 8]


def begun(number: int) -> Rollout:
    return Rollout(number, number, digest(number), EARLIER)


GIVEN_UP = {
    "what serves, whatever its number": (
        world(active(3), candidate(2, retiring=True), wants=3, record={"rollouts": (begun(2),)}),
        RolloutOutcome.CANCELLED,
    ),
    "one that was there before": (
        world(active(1), candidate(2), candidate(3, retiring=True), wants=2, record={"rollouts": (begun(3),)}),
        RolloutOutcome.CANCELLED,
    ),
    "a newer one": (
        world(active(1), candidate(2, retiring=True), candidate(3), wants=3, record={"rollouts": (begun(2),)}),
        RolloutOutcome.SUPERSEDED,
    ),
    "one that the record does not know yet": (
        world(active(1), candidate(2, retiring=True), wants=3, record={"rollouts": (begun(2),)}),
        RolloutOutcome.SUPERSEDED,
    ),
}


@pytest.mark.parametrize("wanted", GIVEN_UP)
def test_candidate_that_was_given_up_while_the_target_names(wanted: str) -> None:
    state, outcome = GIVEN_UP[wanted]
    version = next(one for one in state.record.versions if one.retiring)
    (ended,) = (one for one in decided(state).record.rollouts if one.version == version.number)
    assert (ended.outcome, ended.finished_at) == (outcome, NOW)


def test_what_serves_since_before_there_was_a_book_was_done_when_traffic_came() -> None:
    (served,) = decided(world(active(1))).record.rollouts
    assert (served.outcome, served.finished_at) == (RolloutOutcome.PROMOTED, active(1).activated_at)


def test_what_serves_is_done_also_while_the_next_is_on_its_way() -> None:
    coming = world(active(1), candidate(2), names_=2, record={"rollouts": (begun(1),)})
    assert [one.outcome for one in decided(coming).record.rollouts] == [RolloutOutcome.PROMOTED, None]


def test_how_it_ends_is_not_known_while_traffic_is_on_its_way_back() -> None:
    leaving = world(legacy(1), active(2), names_=1, record={"rollouts": (begun(2),)})
    assert [one.outcome for one in decided(leaving).record.rollouts] == [None]


def test_what_was_judged_is_done_with_the_verdict() -> None:
    run = AnalysisRun(AnalysisStage.POST, digest(1), 1, phase=AnalysisPhase.SUCCESSFUL)
    (served,) = decided(world(active(1), record={"analysis": (run,)})).record.rollouts
    assert served.finished_at == NOW


# --- how far each got, and when ---


def test_book_says_when_and_by_which_commit() -> None:
    sim = pushed(manual())
    sim.later(minutes=30)
    merge(sim)
    book = sim.record.rollouts[-1]
    moments = [book.started_at, book.available_at, book.promoted_at, book.switched_at, book.settled_at]
    assert all(moments)
    assert moments == sorted(moments)
    assert book.commit == sim.primary_source.commit


def test_rollout_that_is_given_up_gets_no_further() -> None:
    sim = pushed(manual())
    abort(sim)
    book = sim.record.rollouts[-1]
    assert book.available_at
    assert (book.promoted_at, book.switched_at, book.settled_at) == (None, None, None)


MINUTE = timedelta(minutes=1)
UP, SERVED, ARRIVED, LATER = (EARLIER + minutes * MINUTE for minutes in (2, 4, 6, 9))
SERVES = active(2, rollout=7, available_since=UP, activated_at=SERVED)
ROUTED = replace(SERVES, routed_at=ARRIVED)
LEFT = legacy(2, rollout=7, available_since=UP, activated_at=SERVED, left_at=LATER)
BAD = Hold(digest(2), "5xx", LATER)
DONE = Rollout(7, 2, digest(2), EARLIER, finished_at=EARLIER + 5 * MINUTE, outcome=PROMOTED)
BEGUN = replace(DONE, finished_at=None, outcome=None)
KEPT = ("available_at", "promoted_at", "switched_at")
NOT_FOLLOWED = {"active_service": service("web", 2, other_endpoints=True)}


def noted(*versions: Version, in_book: Rollout = DONE, **more: Any) -> World:
    return world(*versions, record={"rollouts": (in_book,), "holds": more.pop("holds", ())}, **more)


# When its pods were available, when it was promoted, when traffic moved, and when that was settled.
REACHED = {
    "all that can be seen now": (noted(ROUTED), (UP, NOW, SERVED, ARRIVED)),
    "settled only once the verdict is in, too": (
        noted(ROUTED, in_book=replace(DONE, finished_at=LATER)),
        (UP, NOW, SERVED, LATER),
    ),
    "not settled as long as the endpoints have not followed": (
        noted(SERVES, observed=NOT_FOLLOWED),
        (UP, NOW, SERVED, None),
    ),
    "all of it in the pass that says how it ended": (noted(ROUTED, in_book=BEGUN), (UP, NOW, SERVED, ARRIVED)),
    "what was reached stays": (
        noted(SERVES, in_book=replace(DONE, commit="c" * 40, **dict.fromkeys(KEPT, EARLIER)), observed=NOT_FOLLOWED),
        (EARLIER, EARLIER, EARLIER, None),
    ),
    "nothing more once it was settled": (
        noted(ROUTED, in_book=replace(DONE, settled_at=LATER)),
        (None,) * 3 + (LATER,),
    ),
    "no switch by one that served in an attempt before": (
        noted(active(1), candidate(2, rollout=7, available_since=UP, activated_at=EARLIER), in_book=BEGUN),
        (UP, None, None, None),
    ),
    "nothing more for one that was rolled back since": (noted(active(1), LEFT, holds=(BAD,)), (None,) * 4),
    "nothing for an attempt whose version is tried again": (noted(replace(ROUTED, rollout=8)), (None,) * 4),
    "nothing for a version that is forgotten": (noted(active(3, rollout=7)), (None,) * 4),
}


@pytest.mark.parametrize("case", REACHED)
def test_a_rollout_has_reached(case: str) -> None:
    state, expected = REACHED[case]
    book = decided(state).record.rollouts[0]
    assert book.number == 7
    assert state.record.rollouts[0].commit in ("", book.commit)
    assert (book.available_at, book.promoted_at, book.switched_at, book.settled_at) == expected


def test_book_that_begins_has_what_is_wanted_and_nothing_of_the_past() -> None:
    versions = (legacy(1, retiring=False), active(2), candidate(3, retiring=True), candidate(4))
    assert [one.version for one in decided(world(*versions, wants=4)).record.rollouts] == [2, 4]
