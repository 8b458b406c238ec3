"""Holds of a group: what is not promoted until somebody says so, who puts one, and what lifts it. As of an app."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.groups.requests import GroupAborting, aborting
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.hooks import Hook, HookResponse, HookType
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.statements import Cause, Hold
from tests.core.groups.simulation import GATEWAY, Died, World, store, version
from tests.core.records import statements_of

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
BAD, GOOD, UNCLEAR = AnalysisPhase.FAILED, AnalysisPhase.SUCCESSFUL, AnalysisPhase.INCONCLUSIVE
ONCE = MeasurementPlan((Metric("smoke", "web", count=1, failure_limit=0),))
SMOKE = Hook("smoke", HookType.PRE_ROLLOUT, deadline=600)
ALARM = Hook("alarm", HookType.ROLLBACK)
NO, YES = 409, 200


def at_rest(**changes: object) -> World:
    world = store(**changes)
    world.settle()
    return world


# --- where a promotion may be ---


def waiting() -> World:
    """Main names v2, whose promotion is measured before requests move."""
    world = at_rest(before=ONCE)
    world.active = "v2"
    world.settle()
    return world


def preparing() -> World:
    """The Gateway has not taken the routes of v2 yet."""
    world = at_rest(accepts=False, says="no")
    world.active = "v2"
    world.settle()
    assert world.record.transition is not None
    return world


def switching() -> World:
    """Requests have begun to move to v2, and the Gateway does not take the last step."""
    world = at_rest()
    world.active = "v2"
    world.stop_once("cart", "cart-v2")
    world.accepts, world.says = False, "no"
    assert world.record.transition is not None
    assert world.record.transition.step is TransitionStep.SWITCH
    return world


def judged() -> World:
    """v2 serves, and is measured."""
    world = at_rest(after_it=ONCE)
    world.active = "v2"
    world.settle()
    assert world.stages == "v1L v2A"
    return world


def proven() -> World:
    """v2 serves, and nobody judges it any more."""
    world = at_rest()
    world.active = "v2"
    world.settle()
    return world


def rolling_back() -> World:
    """Main names v1 again, which waits for its pods."""
    world = proven()
    world.gone, world.active = {"cart-v1"}, "v1"
    world.settle()
    return world


def named_away() -> World:
    """v2 serves, and is measured; main names v1 again, which has no pods."""
    world = judged()
    world.gone, world.active = {"cart-v1"}, "v1"
    world.settle()
    return world


def taken_back() -> World:
    """Requests had begun to move to v2; main names v1 again, which has no pods."""
    world = switching()
    world.gone, world.active = {"cart-v1"}, "v1"
    world.settle()
    assert world.record.transition is not None
    assert world.record.transition.moved
    return world


# --- who puts a hold ---


def measured_bad() -> World:
    world = waiting()
    world.finds[PRE] = BAD
    return world


def refused() -> World:
    world = at_rest(hooks=(SMOKE,), answers_with={"smoke": NO})
    world.active = "v2"
    return world


def called_back() -> World:
    world = at_rest(hooks=(ALARM,), answers_with={"alarm": YES}, before=ONCE)
    world.active = "v2"
    return world


def late() -> World:
    world = preparing().after(601)
    world.settle()
    world.accepts = True
    return world


def live_and_bad() -> World:
    world = judged()
    world.finds[POST], world.takes_commits = BAD, False
    return world


def stopped() -> World:
    world = waiting()
    world.ask_for(OperatorCommand.ABORT, about=("v2",), live="v1", reason="errors on the preview")
    return world


CAUSES: dict[str, tuple[Callable[[], World], Cause]] = {
    "its analysis": (measured_bad, Cause.ANALYSIS_FAILED),
    "a hook that refuses": (refused, Cause.HOOK_REFUSED),
    "a rollback hook that accepts": (called_back, Cause.HOOK_REFUSED),
    "a Gateway that does not take it in time": (late, Cause.LATE),
    "its analysis after the promotion": (live_and_bad, Cause.ANALYSIS_FAILED),
    "a person": (stopped, Cause.ABORTED),
}


@pytest.mark.parametrize("name", CAUSES)
def test_what_speaks_against_a_version_holds_it_with_its_cause_and_the_same_sentence_everywhere(name: str) -> None:
    made, cause = CAUSES[name]
    world = made()
    decision = world.settle()
    assert (world.stages, decision.phase) == ("v1A v2C", Phase.HELD)
    (hold,) = world.record.holds
    assert (hold.digest, hold.cause) == ("v2-1", cause)
    (gate,) = [each for each in decision.gates if each.kind is GateKind.HOLD]
    assert (gate.open, gate.reason) == (False, f"on hold: {hold.why}")
    assert gate.remedy.endswith("gitops-bg retry shop/store, change a file in v2/, or set active: v1 and back")
    said = {each.type: each for each in decision.conditions}["OnHold"]
    assert (said.status, said.message) == (True, f"{hold.why}; `gitops-bg retry shop/store` lifts the hold")
    assert world.after(3600).settle().phase is Phase.HELD, "time lifts no hold"


def test_an_answer_of_a_hook_is_read_before_a_measurement_as_of_an_app() -> None:
    world = at_rest(hooks=(ALARM,), before=ONCE)
    world.active = "v2"
    world.settle()
    (call,) = world.decide().calls
    world.calls[call.id] = HookResponse(call.id, YES, world.now, "it burns")
    world.finds[PRE] = BAD
    world.settle()
    (hold,) = world.record.holds
    assert hold.cause is Cause.HOOK_REFUSED


def names_another_and_back(world: World) -> None:
    world.active = "v1"
    world.settle()
    world.active = "v2"


def changes_a_file(world: World) -> None:
    world.versions["v2"] = version("2", cart="/cart /new")


def retries(world: World) -> None:
    world.retry = Retry("v2-1", 1, "ada", world.record.sequence)


def retries_by_hand(world: World) -> None:
    world.retry = Retry("v2-1", 1)


def retries_another(world: World) -> None:
    world.retry = Retry("v2-0", 1, "ada", world.record.sequence)


def retried_before(world: World) -> None:
    """Its author saw the newest entry but the one that tells of the hold."""
    knew = next(each.sequence for each in world.written if each.event is Event.ABORTED) - 1
    world.retry = Retry("v2-1", 1, "ada", knew)


ANSWERS: dict[str, tuple[Callable[[World], None], bool]] = {
    "main names another version, and this one again": (names_another_and_back, True),
    "its folder says something else": (changes_a_file, True),
    "a retry": (retries, True),
    "a retry that a person wrote": (retries_by_hand, True),
    "a retry of another content": (retries_another, False),
    "a retry whose author did not know of the hold": (retried_before, False),
}


@pytest.mark.parametrize("by", ANSWERS)
@pytest.mark.parametrize("name", CAUSES)
def test_what_lifts_a_hold(name: str, by: str) -> None:
    """Through every gate, and with fresh checks: all is well by now."""
    answer, is_lifted = ANSWERS[by]
    world = CAUSES[name][0]()
    world.settle()
    world.answers_with, world.finds, world.accepts = {"smoke": YES, "alarm": NO}, {PRE: GOOD, POST: GOOD}, True
    answer(world)
    world.settle()
    world.after(60).settle()
    assert world.stages == ("v1L v2A" if is_lifted else "v1A v2C")
    assert bool(world.held) is not is_lifted


def test_a_retry_is_carried_out_once_and_told() -> None:
    world = measured_bad()
    world.settle()
    retries(world)
    world.after(1).settle()
    assert world.held == ("v2-1",), "it was measured anew, and found bad again"
    assert world.told.count((Event.RETRIED, "")) == 1
    assert [each.event for each in world.written].count(Event.ABORTED) == 2
    world.after(3600).settle()
    assert [each.event for each in world.written].count(Event.RETRIED) == 1


def test_a_retry_that_another_replaced_before_anybody_looked_lifts_its_hold_as_of_an_app() -> None:
    """Found so: only the last one was read, and v2 stayed on hold."""
    world = measured_bad()
    world.settle()
    world.finds[PRE] = GOOD
    retries(world)
    world.replaced, world.retry = (world.retry,), Retry("v1-1", 2, "bob")
    world.settle()
    assert (world.stages, world.held, world.record.operator.retry) == ("v1L v2A", (), 2)
    assert (Event.HOLD_LIFTED, "retried") in world.told


def test_a_retry_is_answered_once_it_is_known_who_asked_for_it_as_of_an_app() -> None:
    world = measured_bad()
    world.settle()
    world.finds[PRE] = GOOD
    retries(world)
    world.retried_by = ""
    world.settle()
    assert (world.held, world.record.operator.retry) == (("v2-1",), 0)
    world.retried_by = "d" * 40
    world.settle()
    (told,) = [each for each in world.written if each.event is Event.RETRIED]
    assert (world.stages, told.commit, told.by) == ("v1L v2A", "d" * 40, "ada")


def test_a_retry_of_what_is_not_on_hold_tells_nothing() -> None:
    """Main went back to v1, and so passed the hold over: nothing is tried again that nobody asks for."""
    world = live_and_bad()
    world.takes_commits = True
    world.settle()
    assert (world.stages, world.active, world.held) == ("v1A v2C", "v1", ())
    before = world.record.past_holds
    world.told.clear()
    retries(world)
    world.settle()
    assert (world.told, world.record.past_holds, world.record.operator.retry) == ([], before, 1)


def test_a_suspended_group_tries_nothing_again_until_that_is_over() -> None:
    world = measured_bad()
    world.settle()
    world.finds[PRE] = GOOD
    world.suspend = Suspension("a holiday", "ada", world.now + timedelta(hours=1))
    retries(world)
    world.settle()
    assert world.held == ("v2-1",)
    world.after(3600).settle()
    assert world.stages == "v1L v2A"


def test_a_retry_answers_a_pause_before_the_promotion_and_after_it() -> None:
    world = at_rest(before=ONCE, after_it=ONCE)
    world.finds, world.active = {PRE: UNCLEAR}, "v2"
    assert world.settle().phase is Phase.PAUSED
    world.finds = {PRE: GOOD, POST: UNCLEAR}
    world.retry = Retry("v2-1", 1)
    assert (world.settle().phase, world.stages) == (Phase.PAUSED, "v1L v2A")
    world.finds[POST] = GOOD
    world.retry = Retry("v2-1", 2)
    assert (world.settle().phase, world.stages) == (Phase.HEALTHY, "v1L v2A")


def test_a_retry_that_was_there_before_a_hold_lifts_none() -> None:
    world = waiting()
    world.retry = Retry("v2-1", 7)
    world.settle()
    world.finds[PRE] = BAD
    world.settle()
    assert (world.held, world.stages) == (("v2-1",), "v1A v2C")


def test_a_failed_retry_of_what_main_refused_to_leave_is_tried_again_as_it_is() -> None:
    """Main still names v2: it takes no commit from the agent."""
    world = live_and_bad()
    world.settle()
    assert world.record.override is not None
    world.finds[POST] = GOOD
    retries(world)
    world.settle()
    assert (world.stages, world.record.override) == ("v1L v2A", None)


@pytest.mark.parametrize("is_broken_off", [False, True])
def test_a_retry_on_the_way_back_waits_until_that_is_done_and_goes_through_every_gate(is_broken_off: bool) -> None:
    """Requests have begun to leave v2: a gate that has shut since stands before what is tried again."""
    world = at_rest(before=ONCE, after_it=ONCE, finds={PRE: GOOD})
    world.active = "v2"
    world.settle()
    world.finds, world.takes_commits = {PRE: BAD, POST: BAD}, False
    world.stop_once("cart", "cart-v1")
    assert world.record.transition is not None
    assert world.record.transition.step is TransitionStep.SWITCH
    world.finds = {PRE: BAD}
    retries(world)
    if is_broken_off:
        world.settle_with_crashes(1)
    world.settle()
    world.after(60).settle()
    assert (world.ask("/cart"), world.stages, world.held) == ("cart-v1", "v1A v2C", ("v2-1",))
    assert [each.event for each in world.written].count(Event.RETRIED) == 1
    assert world.record.holds[0].cause is Cause.ANALYSIS_FAILED


def test_a_retry_of_what_serves_until_the_way_back_finds_pods_is_answered_at_once() -> None:
    """v1 is gone, and requests are with v2 all along."""
    world = judged()
    world.gone, world.finds[POST], world.takes_commits = {"cart-v1"}, BAD, False
    world.settle()
    assert (world.stages, world.record.transition) == ("v1L v2A", None)
    world.finds[POST] = GOOD
    retries(world)
    world.settle()
    assert (world.stages, world.record.override, world.held) == ("v1L v2A", None, ())


def left_for_another() -> World:
    """v2 failed when main named v3 already, and main does not take the way back to v1."""
    world = judged()
    world.versions["v3"], world.active, world.takes_commits = version(cart="/cart"), "v3", False
    world.settle()
    world.finds[POST] = BAD
    world.settle()
    world.versions["v3"] = version("2", cart="/cart")
    world.finds[POST] = GOOD
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C v3C", "v3")
    return world


def test_what_main_named_when_another_failed_waits_with_a_gate_that_says_so_and_a_retry_promotes_it() -> None:
    world = left_for_another()
    decision = world.after(3600).settle()
    (gate,) = [each for each in decision.gates if not each.open]
    assert gate.reason.startswith("v2 was left for v1: post-promotion analysis failed")
    assert gate.remedy == "gitops-bg retry shop/store, or set active: v1 and back"
    world.retry = Retry("v3-2", 1, "ada", world.record.sequence)
    world.settle()
    assert (world.stages[-3:], world.record.override, world.held) == ("v3A", None, ())


def test_a_promotion_that_a_way_back_takes_back_says_why() -> None:
    """Not that main asks for it."""
    world = judged()
    world.versions["v3"], world.active = version(cart="/cart"), "v3"
    world.finds[POST], world.accepts, world.takes_commits = UNCLEAR, False, False
    world.settle()
    world.ask_for(OperatorCommand.ABORT, about=("v2",), live="v2", reason="errors")
    world.settle()
    assert [reason for event, reason in world.told if event is Event.WITHDRAWN] == [
        "requests go back from v2 to v1: errors"
    ]


def test_a_retry_of_another_version_than_main_names_ends_no_way_back() -> None:
    world = left_for_another()
    world.retry = Retry("v4-1", 1, "ada", world.record.sequence)
    world.settle()
    assert (world.stages, bool(world.record.override)) == ("v1A v2C v3C", True)


# --- abort ---


@pytest.mark.parametrize(
    ("made", "planned", "stages", "main"),
    [
        (waiting, GroupAborting(("v2",), live="v1"), "v1A v2C", "v2"),
        (preparing, GroupAborting(("v2",), live="v1"), "v1A v2C", "v2"),
        (switching, GroupAborting(("v2",), "v1", "v1"), "v1A v2C", "v2"),
        (judged, GroupAborting(("v2",), "v1", "v2"), "v1A v2C", "v1"),
        (proven, GroupAborting((), live="v2"), "v1L v2A", "v2"),
        (rolling_back, GroupAborting((), live="v2"), "v1L v2A", "v1"),
        (named_away, GroupAborting((), live="v2"), "v1L v2A", "v1"),
        (taken_back, GroupAborting((), live="v1"), "v1A v2C", "v1"),
    ],
)
def test_an_abort_stops_what_is_on_its_way_and_leaves_what_has_not_proven_itself(
    made: Callable[[], World], planned: GroupAborting, stages: str, main: str
) -> None:
    """What requests had come to serve is told to Git, as of an app; what was only asked for is not."""
    world = made()
    assert aborting(world.record, world.active) == planned
    world.ask_for(OperatorCommand.ABORT, about=planned.stops, live=planned.live, reason="errors")
    world.settle()
    assert (world.stages, world.active) == (stages, main)
    assert [event for event, _ in world.told].count(Event.ABORTED) == len(planned.stops)
    assert world.ask("/cart") == ("cart-v1" if planned.stops else "cart-v2")


def test_requests_go_back_in_one_movement() -> None:
    """As by a rollback: no gate of a promotion stands in the way, and the Gateway is not waited for (I6)."""
    world = judged()
    world.accepts, world.suspend = None, Suspension("a holiday")
    world.ask_for(OperatorCommand.ABORT)
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")
    moves = [(each.source, each.target) for each in world.record.moves]
    assert moves == [("v1", "v2"), ("v2", "v1")]
    assert [(each.to_version, each.by) for each in world.written if each.event is Event.ABORTED] == [(2, "ada")]


def test_what_is_aborted_is_not_promoted_although_main_names_it_still() -> None:
    world = switching()
    world.ask_for(OperatorCommand.ABORT, about=("v2",), live="v1")
    world.settle()
    world.accepts = True
    decision = world.after(3600).settle()
    assert (world.stages, world.active, decision.phase) == ("v1A v2C", "v2", Phase.HELD)
    assert world.record.holds[0].why == "aborted"


def test_an_abort_without_names_means_what_the_agent_sees_and_a_named_one_nothing_else() -> None:
    world = judged()
    world.versions["v3"], world.active = version(cart="/cart"), "v3"
    world.settle()
    assert aborting(world.record, "v3") == GroupAborting(("v3", "v2"), "v1", "v2")
    world.ask_for(OperatorCommand.ABORT, about=("v3",), live="v2")
    world.settle()
    assert (world.stages, world.held) == ("v1L v2A v3C", ("v3-1",))
    world.finds[POST] = GOOD
    world.settle()
    assert world.stages == "v1L v2A v3C", "v2 has proven itself, and v3 is on hold"


def test_an_abort_leaves_a_version_that_its_writer_saw_serve_although_it_has_proven_itself_since() -> None:
    world = judged()
    world.finds[POST] = GOOD
    world.settle()
    world.ask_for(OperatorCommand.ABORT, about=("v2",), live="v2")
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_an_abort_that_is_late_leaves_what_its_writer_did_not_see_serve() -> None:
    world = proven()
    world.ask_for(OperatorCommand.ABORT, about=("v2",), live="v1")
    world.settle()
    assert (world.stages, world.held) == ("v1L v2A", ())


def test_an_abort_is_carried_out_once_also_where_the_agent_dies() -> None:
    world = judged()
    world.ask_for(OperatorCommand.ABORT)
    world.settle_with_crashes(1)
    assert (world.stages, world.active) == ("v1A v2C", "v1")
    world.finds[POST], world.active = GOOD, "v2"
    world.settle_with_crashes(1)
    assert world.stages == "v1L v2A", "main has named it again since"
    assert [each.event for each in world.written].count(Event.ABORTED) == 1


def test_a_group_that_takes_over_from_its_former_name_keeps_its_holds() -> None:
    world = stopped()
    world.settle()
    world.rename("shop")
    decision = world.settle()
    assert (world.stages, world.held, decision.phase) == ("v1A v2C", ("v2-1",), Phase.HELD)


@pytest.mark.parametrize("name", CAUSES)
def test_a_retry_lifts_a_hold_of_before_a_rename(name: str) -> None:
    """The ledger of the new name begins anew: whoever reads it has seen the hold."""
    world = CAUSES[name][0]()
    world.settle()
    world.rename("shop")
    world.settle()
    world.answers_with, world.finds, world.accepts = {"smoke": YES, "alarm": NO}, {PRE: GOOD, POST: GOOD}, True
    retries(world)
    world.settle()
    assert (world.held, world.stages) == ((), "v1L v2A")


# --- while the files have a mistake ---


@pytest.mark.parametrize(("made", "stages"), [(waiting, "v1A v2C"), (preparing, "v1A v2C"), (judged, "v1A v2C")])
def test_an_abort_is_answered_while_the_files_have_a_mistake(made: Callable[[], World], stages: str) -> None:
    """By what they said before, as of an app; and it outlives the mistake."""
    world = made()
    world.broken, world.takes_commits = True, False
    world.ask_for(OperatorCommand.ABORT, reason="errors")
    decision = world.settle()
    assert (world.stages, world.held, decision.phase) == (stages, ("v2-1",), Phase.INVALID)
    assert world.ask("/cart") == "cart-v1"
    world.broken, world.accepts = False, True
    world.settle()
    world.after(60).settle()
    assert (world.stages, world.held) == (stages, ("v2-1",))


def test_an_abort_while_the_files_have_a_mistake_holds_no_fix() -> None:
    world = waiting()
    world.broken = True
    world.ask_for(OperatorCommand.ABORT)
    world.settle()
    world.broken, world.finds = False, {PRE: GOOD}
    changes_a_file(world)
    world.settle()
    assert (world.stages, world.held) == ("v1L v2A", ())


def test_a_gate_is_opened_and_closed_while_the_files_have_a_mistake() -> None:
    world = at_rest(hooks=(Hook("release", HookType.CONFIRM_PROMOTION, manual=True),))
    world.active = "v2"
    world.settle()
    world.broken = True
    world.ask_for(OperatorCommand.OPEN_GATE, gate="release")
    world.settle()
    assert world.record.hook_state.gate("release") is not None
    world.ask_for(OperatorCommand.CLOSE_GATE, gate="release")
    world.settle()
    assert (world.record.hook_state.gate("release"), world.stages) == (None, "v1A v2C")
    world.ask_for(OperatorCommand.OPEN_GATE, gate="release")
    world.settle()
    world.broken = False
    world.settle()
    assert world.stages == "v1L v2A"


# --- a way back leads to no version that failed ---


def failed_before() -> World:
    """v2 failed while v1 had no pods to go back to; then main named v3, which serves instead, and is measured."""
    world = judged()
    world.gone, world.finds[POST] = {"cart-v1"}, BAD
    world.settle()
    assert (world.stages, bool(world.record.override)) == ("v1L v2A", True)
    world.versions["v3"], world.active = version(cart="/cart"), "v3"
    del world.finds[POST]
    world.settle()
    assert (world.stages[-7:], world.held) == ("v2L v3A", ())
    return world


def fails(world: World) -> None:
    world.finds[POST] = BAD


def is_called_back(world: World) -> None:
    world.hooks, world.answers_with = (ALARM,), {"alarm": YES}


def is_aborted(world: World) -> None:
    world.ask_for(OperatorCommand.ABORT, reason="errors")


def is_aborted_by_name(world: World) -> None:
    world.ask_for(OperatorCommand.ABORT, about=("v3",), live="v3", reason="errors")


WAYS_BACK = (fails, is_called_back, is_aborted, is_aborted_by_name)


@pytest.mark.parametrize("is_lost", [False, True], ids=["", "the record was lost since"])
@pytest.mark.parametrize("leave", WAYS_BACK)
def test_no_way_back_that_the_agent_takes_leads_to_a_version_that_failed(
    leave: Callable[[World], None], is_lost: bool
) -> None:
    world = failed_before()
    if is_lost:
        world.lose_record()
        world.settle()
        assert [each.digest for each in world.record.past_holds] == ["v2-1"]
    leave(world)
    world.settle()
    world.after(60).settle()
    assert (world.stages[-7:], world.active) == ("v2L v3A", "v3")


def test_what_failed_with_nothing_to_go_back_to_is_told() -> None:
    world = failed_before()
    fails(world)
    assert world.settle().phase is Phase.HELD
    (event, reason) = world.told[-1]
    assert (event, reason.endswith("; there is nothing to go back to")) == (Event.FAILED, True)


def test_a_retry_measures_anew_what_failed_with_nothing_to_go_back_to() -> None:
    world = failed_before()
    fails(world)
    world.settle()
    world.finds[POST] = GOOD
    world.retry = Retry("v3-1", 1)
    assert world.settle().phase is Phase.HEALTHY


@pytest.mark.parametrize("leave", WAYS_BACK)
def test_a_way_back_leads_to_what_was_mended_since(leave: Callable[[World], None]) -> None:
    """It is about a version with what its folder says."""
    world = failed_before()
    world.versions["v2"] = version("2", cart="/cart /new")
    leave(world)
    world.settle()
    world.after(60).settle()
    assert (world.stages[-7:], world.active) == ("v2A v3C", "v2")


def test_a_way_back_leads_to_what_has_served_since_it_failed() -> None:
    world = failed_before()
    world.active = "v2"  # A person names it: that is a way back, too, and needs no leave.
    world.settle()
    assert (world.stages[-7:], world.record.past_holds) == ("v2A v3C", ())


def test_only_what_speaks_against_the_version_itself_is_remembered_until_it_serves() -> None:
    world = measured_bad()
    world.settle()
    world.versions["v2"] = version("2", cart="/cart /new")
    world.settle()
    assert ([each.digest for each in world.record.past_holds], world.held) == (["v2-1"], ("v2-2",))
    world.finds[PRE] = GOOD
    world.retry = Retry("v2-2", 1)
    world.settle()
    assert (world.stages, [each.digest for each in world.record.past_holds]) == ("v1L v2A", ["v2-1"])


# --- a record that is lost ---


@pytest.mark.parametrize("name", CAUSES)
def test_a_hold_outlives_the_record(name: str) -> None:
    """Found so: what had failed was promoted again."""
    world = CAUSES[name][0]()
    world.settle()
    world.answers_with, world.finds, world.accepts = {"smoke": YES, "alarm": NO}, {PRE: GOOD, POST: GOOD}, True
    (before,) = world.record.holds
    world.lose_record()
    decision = world.settle()
    assert (world.stages, decision.phase, world.held) == ("v1A v2C", Phase.HELD, ("v2-1",))
    (hold,) = world.record.holds
    assert (hold.cause, hold.reason, hold.since) == (before.cause, before.reason, before.since)


@pytest.mark.parametrize("before", [False, True], ids=["after that", "before that"])
@pytest.mark.parametrize("name", CAUSES)
def test_a_hold_of_before_holds_no_fix(name: str, before: bool) -> None:
    world = CAUSES[name][0]()
    world.settle()
    world.answers_with, world.finds, world.accepts = {"smoke": YES, "alarm": NO}, {PRE: GOOD, POST: GOOD}, True
    if before:
        changes_a_file(world)
    world.lose_record()
    world.step()
    changes_a_file(world)
    world.settle()
    world.after(60).settle()
    assert (world.stages, world.held) == ("v1L v2A", ())


@pytest.mark.parametrize("by", [name for name, (answer, _) in ANSWERS.items() if answer is not retried_before])
def test_what_lifts_a_hold_that_came_back_with_the_record(by: str) -> None:
    """Nobody can tell whether the author of a retry knew of it: its entry is of a former life."""
    answer, is_lifted = ANSWERS[by]
    world = measured_bad()
    world.settle()
    world.lose_record()
    world.settle()
    world.finds = {PRE: GOOD, POST: GOOD}
    answer(world)
    world.settle()
    world.after(60).settle()
    assert world.stages == ("v1L v2A" if is_lifted else "v1A v2C")


def test_a_hold_that_was_lifted_does_not_come_back() -> None:
    """The ledger is told of it: else its file would have the hold still."""
    world = measured_bad()
    world.settle()
    world.active = "v1"
    world.settle()
    world.lose_record()
    world.settle()
    assert (world.held, [each.digest for each in world.record.past_holds]) == ((), ["v2-1"])
    world.finds, world.active = {PRE: GOOD}, "v2"
    world.settle()
    assert world.stages == "v1L v2A"


def test_requests_and_retries_of_a_former_life_are_not_carried_out_again() -> None:
    world = measured_bad()
    world.settle()
    retries(world)
    world.settle()
    world.after(1).settle()
    assert world.held == ("v2-1",), "it was measured anew, and found bad again"
    world.lose_record()
    world.settle()
    assert (world.held, world.record.operator.retry) == (("v2-1",), 1)


def test_a_way_back_goes_on_although_its_record_was_lost_on_the_way() -> None:
    """v2 serves until v1 has pods: the hold on what serves says that it is to be left."""
    world = judged()
    world.gone, world.finds[POST] = {"cart-v1"}, BAD
    world.settle()
    assert (world.stages, bool(world.record.override)) == ("v1L v2A", True)
    world.lose_record()
    world.settle()
    world.gone = set()
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


GATEWAYS = {"without a Gateway": None, "with one": GATEWAY}


@pytest.mark.parametrize("takes_commits", [False, True], ids=["main refuses the commit", "main takes it"])
@pytest.mark.parametrize("gateway", GATEWAYS)
def test_a_way_back_goes_on_whichever_write_its_record_was_lost_after(gateway: str, takes_commits: bool) -> None:
    for writes in range(1, 12):
        world = at_rest(after_it=ONCE, gateway=GATEWAYS[gateway])
        world.active = "v2"
        world.settle()
        world.finds[POST], world.takes_commits = BAD, takes_commits
        for _ in range(writes):
            with suppress(Died):
                world.step(1)
        world.finds.clear()
        world.lose_record()
        world.settle()
        was_told = any(each.event is Event.ABORTED for each in world.written)
        end = ("v1A v2C", "cart-v1") if was_told else ("v1L v2A", "cart-v2")
        assert (world.stages, world.services["cart"]) == end


def retried_unwritten() -> World:
    """v2 was aborted before its promotion, then tried again, and promoted, while the ledger took nothing."""
    world = stopped()
    world.settle()
    world.takes_ledger, world.finds = False, {PRE: GOOD}
    retries(world)
    world.settle()
    assert (world.stages, world.held) == ("v1L v2A", ())
    return world


def its_record_is_lost(world: World) -> World:
    world.lose_record()
    return world


def its_cluster_is_built_again(world: World) -> World:
    """From main, and from what the ledger has."""
    return at_rest_of(store(active=world.active, git=world.git, retry=world.retry, reads_ledger=world.reads_ledger))


def at_rest_of(world: World) -> World:
    world.settle()
    return world


def somebody_wrote_the_ledger() -> World:
    """Nobody can prove who wrote that v2 is on hold (`Document.cautious`)."""
    world = proven()
    hold = Hold("v2-1", "so they say", world.now, Cause.ABORTED)
    world.git = replace(world.git, state=replace(world.git.state, statements=statements_of(hold))).cautious
    return world


@pytest.mark.parametrize("loses", [its_record_is_lost, its_cluster_is_built_again])
@pytest.mark.parametrize("made", [retried_unwritten, somebody_wrote_the_ledger])
def test_a_hold_in_the_ledger_moves_no_traffic_from_what_it_does_not_say_served(
    made: Callable[[], World], loses: Callable[[World], World]
) -> None:
    """Found so: live traffic went to v1, and main was made to ask for that."""
    world = loses(made())
    world.settle()
    assert (world.stages, world.active, world.services["cart"], world.commits) == ("v1L v2A", "v2", "cart-v2", [])
    assert (world.held, world.decide().phase) == ((), Phase.HEALTHY), "main names it, and it serves"


def test_what_came_to_serve_although_it_was_on_hold_is_told() -> None:
    world = its_record_is_lost(retried_unwritten())
    world.told.clear()
    world.settle()
    assert (Event.HOLD_LIFTED, "group.yaml names v2, and it serves") in world.told


def served_again_unwritten() -> World:
    """v2 failed after its promotion, was tried again, and serves since, while the ledger took nothing."""
    world = live_and_bad()
    world.settle()
    world.takes_ledger, world.takes_commits, world.finds = False, True, {POST: GOOD}
    retries(world)
    world.settle()
    assert (world.stages, world.record.past_holds) == ("v1L v2A", ())
    return world


@pytest.mark.parametrize("made", [retried_unwritten, served_again_unwritten])
def test_a_way_back_leads_to_what_the_ledger_does_not_know_to_have_served_since(made: Callable[[], World]) -> None:
    """Else a ledger that is behind would keep a way back from what comes next (I6)."""
    world = its_record_is_lost(made())
    world.settle()
    assert (world.stages, world.active, world.record.past_holds) == ("v1L v2A", "v2", ())
    world.versions["v3"], world.after_it = version(cart="/cart"), ONCE
    world.settle()
    world.active, world.finds = "v3", {PRE: GOOD, POST: BAD}
    world.settle()
    assert (world.stages[-7:], world.active) == ("v2A v3C", "v2")


def test_nothing_is_promoted_before_the_ledger_of_a_lost_record_was_read() -> None:
    world = measured_bad()
    world.settle()
    world.finds[PRE] = GOOD
    world.lose_record()
    world.reads_ledger = False
    decision = world.settle()
    (gate,) = [each for each in decision.gates if each.kind is GateKind.HOLD]
    assert gate.reason == ("nobody has read the ledger yet, which may have a hold on v2")
    assert (world.stages, gate.open) == ("v1A v2C", False)
    world.reads_ledger = True
    world.settle()
    assert (world.stages, world.held) == ("v1A v2C", ("v2-1",))


def test_a_new_group_is_not_said_to_have_lost_its_record() -> None:
    world = at_rest(reads_ledger=False)
    world.active = "v2"
    (shut,) = [each for each in world.settle().gates if not each.open]
    assert (shut.kind, shut.reason) == (GateKind.HOLD, "nobody has read the ledger yet, which may have a hold on v2")
    world.reads_ledger = True
    world.settle()
    assert world.stages == "v1L v2A"


def test_a_lost_record_stands_in_no_way_back_while_nobody_can_read_the_ledger() -> None:
    world = proven()
    world.lose_record()
    world.reads_ledger = False
    world.settle()
    world.active = "v1"
    world.settle()
    assert world.stages == "v1A v2C"
