"""Hooks that are asked: when each type is called, what its answer means, and that none delays a rollback."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.analysis import AnalysisRun, AnalysisStage, MeasurementPlan, MeasurementResult, Metric
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import HookAnswer, HookResponse, HookRun, HookType
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.spec import Suspension
from tests.core.engine.analysis.notation import GOOD, measure
from tests.core.engine.hooks.notation import (
    ALERT,
    CONFIRM_PROMOTION,
    CONFIRM_ROLLOUT,
    EVENT,
    POST_ROLLOUT,
    PRE_ROLLOUT,
    ROLLBACK,
    ROLLOUT,
    answer,
    called,
    hook,
    hooked,
    pushed,
    shut,
)
from tests.core.simulation import automatic, deployed, manual, template
from tests.core.stories import ask, name, push, retry, wait
from tests.core.worlds import NOW, active, candidate, decided, digest, legacy, pods, rising, world

ONCE = MeasurementPlan((Metric("errors", "web"),))

# --- which are asked now, and about what ---

CONFIRMED = manual(preview_service=None, hooks=(hook(PRE_ROLLOUT), hook(CONFIRM_PROMOTION)))
GOES = HookRun("pre-rollout", PRE_ROLLOUT, digest(2), 2, NOW, accepted=1, answer=HookAnswer.ACCEPTED)
PASSED = {"hooks": (GOES,)}
MISSING = (pods(1), pods(2, 3, 2))
OF_3 = replace(GOES, digest=digest(3), rollout=3)
JUDGES = {"analysis": (AnalysisRun(AnalysisStage.POST, digest(2), 2, fallback=digest(1), started_at=NOW),)}
JUDGED = replace(CONFIRMED, strategy=replace(CONFIRMED.strategy, post_promotion_analysis=ONCE))
ASKED_NOW = {
    "nobody before its pods are available": (world(active(1), rising(2), sets=MISSING, spec=CONFIRMED), []),
    "first those that try it": (world(active(1), candidate(2), spec=CONFIRMED), ["pre-rollout"]),
    "then those that confirm it": (
        world(active(1), candidate(2), spec=CONFIRMED, record=PASSED),
        ["pre-rollout", "confirm-promotion"],
    ),
    "again once traffic is about to move": (
        world(active(1), candidate(2), names_=2, spec=CONFIRMED, record=PASSED),
        ["pre-rollout", "confirm-promotion, final"],
    ),
    "not while pods are missing that it needs": (
        world(active(1), candidate(2), names_=2, spec=CONFIRMED, sets=MISSING, record=PASSED),
        ["pre-rollout"],
    ),
    "not while something else keeps traffic": (
        world(legacy(1), active(2), candidate(3), names_=3, spec=JUDGED, record={"hooks": (OF_3,), **JUDGES}),
        ["pre-rollout"],
    ),
    "nobody while the app is suspended": (
        world(active(1), candidate(2), spec=replace(CONFIRMED, suspend=Suspension("incident"))),
        [],
    ),
    "no check that somebody skips": (
        world(active(1), candidate(2), spec=CONFIRMED, record={"promote_full": 2}),
        ["confirm-promotion"],
    ),
}


@pytest.mark.parametrize("name", ASKED_NOW)
def test_asked_now(name):
    state, expected = ASKED_NOW[name]
    runs = decided(state).record.hook_state.runs
    assert [f"{run.hook}, final" if run.final else run.hook for run in runs] == expected


WATCHED = manual(hooks=(hook(ROLLBACK),))
ABOUT = {
    "the target's": (world(active(1), candidate(2), spec=WATCHED), {2}),
    "not one that the target names no longer": (world(active(1), candidate(2), wants=1, spec=WATCHED), set()),
    "the last one, where the target cannot be read": (
        world(active(1), candidate(2), desired={"target": Missing.UNREADABLE}, spec=WATCHED),
        {2},
    ),
    "not what serves": (world(active(1), spec=WATCHED), set()),
    "not the first version": (world(candidate(1), spec=WATCHED), set()),
    "not a way back": (world(legacy(1), active(2), names_=1, spec=WATCHED), set()),
}


@pytest.mark.parametrize("name", ABOUT)
def test_hooks_are_asked_about(name):
    state, numbers = ABOUT[name]
    assert {call.checksum for call in decided(state).calls} == {digest(number) for number in numbers}


FINAL = HookRun("confirm-promotion", CONFIRM_PROMOTION, digest(2), 2, NOW, final=True)


@pytest.mark.parametrize(("names", "kept"), [(2, True), (1, False)])
def test_what_was_asked_at_the_last_moment_is_forgotten_where_traffic_does_not_move(names, kept):
    state = world(active(1), candidate(2), names_=names, spec=CONFIRMED, record={"hooks": (GOES, FINAL)})
    assert (FINAL in decided(state).record.hook_state.runs) is kept


SHOWN = {
    "the last that were asked, though nothing is on its way": (
        world(active(1), candidate(2, retiring=True), wants=1, spec=CONFIRMED, record=PASSED),
        {GOES},
    ),
    "not those of a rollout that another one took the place of": (
        world(active(1), candidate(2, retiring=True), candidate(3), spec=CONFIRMED, record={"hooks": (GOES, OF_3)}),
        {OF_3},
    ),
    "those of a version on its way, though another is behind it": (
        world(active(1), rising(2), candidate(3), names_=2, spec=CONFIRMED, record={"hooks": (GOES, OF_3)}),
        {GOES, OF_3},
    ),
    "those of what serves while it is judged": (
        world(legacy(1), active(2), candidate(3), spec=JUDGED, record={"hooks": (GOES, OF_3), **JUDGES}),
        {GOES, OF_3},
    ),
    "not those of what serves for good": (
        world(legacy(1), active(2), candidate(3), spec=CONFIRMED, record={"hooks": (GOES, OF_3)}),
        {OF_3},
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_answers_that_are_remembered(name):
    state, runs = SHOWN[name]
    assert {GOES, OF_3} & set(decided(state).record.hook_state.runs) == runs


# --- confirm-rollout ---


def test_confirm_rollout_keeps_the_candidate_at_0_until_it_says_yes_and_is_asked_no_more():
    sim = pushed(hook(CONFIRM_ROLLOUT), spec=manual())
    assert called(sim) == ["confirm-rollout"]
    assert sim.pods[template("2").digest].replicas == 0
    assert sim.decide().phase is Phase.WAITING
    gates = {gate.kind: gate for gate in sim.decide().gates}
    assert gates[GateKind.AVAILABILITY].reason == "its pods come up once every confirm-rollout hook has said yes"
    assert not gates[GateKind.AVAILABILITY].open
    name(sim, "2")
    assert (sim.live, sim.pods[template("2").digest].replicas) == ("1", 0), "a merge does not go around it"
    answer(sim, {"confirm-rollout": 204})
    assert sim.live == "2"
    sim.later(seconds=3600)
    assert called(sim) == []


def test_confirm_rollout_that_refuses_is_asked_again_after_the_interval_and_aborts_nothing():
    sim = pushed(hook(CONFIRM_ROLLOUT, interval=60))
    for _ in range(5):
        assert called(sim) == ["confirm-rollout"]
        sim.answer({"confirm-rollout": (403, "change freeze")})
        assert sim.events().count("hook-refused") == 1, "the first is told at once, the others are not"
        assert called(sim) == []
        sim.settle()
        assert sim.decide().wake_at == sim.now + timedelta(seconds=60)
        sim.later(seconds=60)
    assert (sim.live, sim.held) == ("1", set())
    assert any("change freeze" in reason for reason in shut(sim))


def test_time_that_confirm_rollout_took_is_not_the_rollouts():
    sim = pushed(hook(CONFIRM_ROLLOUT), spec=replace(automatic(), progress_deadline_abort=True))
    wait(sim, seconds=6000)
    assert (sim.held, sim.events().count("failed")) == (set(), 0)
    sim.bad_tags.add("2")
    answer(sim, {"confirm-rollout": 200})
    wait(sim, seconds=599)
    assert sim.held == set()
    wait(sim, seconds=2)
    assert sim.held == {"2"}


def test_the_deadline_of_confirm_rollout_leaves_it_shut_and_a_retry_asks_anew():
    sim = pushed(hook(CONFIRM_ROLLOUT, deadline=600))
    sim.answer({"confirm-rollout": 403})
    wait(sim, seconds=600)
    assert called(sim) == []
    assert any("within 600 s" in reason for reason in shut(sim))
    assert "hook-expired" in sim.events()
    retry(sim)
    assert called(sim) == ["confirm-rollout"]
    push(sim, "3")
    assert {call.checksum for call in sim.decide().calls} == {template("3").digest}, "a newer one in its place"


# --- pre-rollout, rollout ---


@pytest.mark.parametrize("type_", [PRE_ROLLOUT, ROLLOUT])
def test_a_candidate_awaits_its_promotion_only_once_its_checks_have_said_yes(type_):
    sim = pushed(hook(type_, iterations=1), spec=manual())
    assert sim.decide().phase is Phase.PROGRESSING
    answer(sim, {str(type_): 202})
    assert (sim.decide().phase, sim.branch) == (Phase.AWAITING_PROMOTION, "2")


def test_pre_rollout_refusals_beyond_the_limit_abort_and_hold_with_the_body_as_the_reason():
    sim = pushed(hook(PRE_ROLLOUT, failure_limit=1, interval=10))
    answer(sim, {"pre-rollout": 500})
    assert sim.held == set()
    sim.later(seconds=10)
    answer(sim, {"pre-rollout": (500, "smoke test: 3 of 9 failed")})
    assert (sim.live, sim.held) == ("1", {"2"})
    assert "smoke test: 3 of 9 failed" in sim.record.holds[0].reason


def test_pre_rollout_whose_backend_is_down_neither_promotes_nor_rolls_back():
    sim = pushed(hook(PRE_ROLLOUT, deadline=600))
    for _ in range(100):
        sim.answer({"pre-rollout": (0, "connection refused")})
        sim.later(seconds=30)
    sim.settle()
    assert (sim.live, sim.held, called(sim)) == ("1", set(), [])
    assert any("gave no answer within 600 s" in reason for reason in shut(sim))
    retry(sim)
    answer(sim, {"pre-rollout": 200})
    assert sim.live == "2"


def test_an_abort_after_a_refusal_of_a_merged_version_brings_main_back():
    sim = pushed(hook(PRE_ROLLOUT), spec=manual())
    name(sim, "2")
    answer(sim, {"pre-rollout": 500})
    assert (sim.live, sim.primary, sim.held) == ("1", "1", {"2"})


def test_rollout_begins_after_pre_rollout_and_counts_its_iterations():
    sim = pushed(hook(PRE_ROLLOUT), hook(ROLLOUT, iterations=3, interval=60))
    assert called(sim) == ["pre-rollout"]
    sim.answer({"pre-rollout": 200})
    for _ in range(3):
        sim.settle()
        assert (called(sim), sim.live) == (["rollout"], "1")
        sim.answer({"rollout": 200})
        sim.later(seconds=60)
    sim.settle()
    assert sim.live == "2"


def test_rollout_with_too_many_refusals_among_good_answers_aborts():
    sim = pushed(hook(ROLLOUT, iterations=9, failure_limit=1, interval=60))
    for status in (200, 500, 200, 500):
        answer(sim, {"rollout": status})
        sim.later(seconds=60)
    assert sim.held == {"2"}


def test_rollout_goes_on_as_long_as_the_analysis_beside_it():
    plan = MeasurementPlan((Metric("errors", "web", interval=60, count=5),))
    sim = pushed(hook(ROLLOUT, interval=60), spec=automatic(pre_promotion_analysis=plan))
    for _ in range(5):
        assert called(sim) == ["rollout"]
        sim.measured = tuple(MeasurementResult(one.id, GOOD, sim.now) for one in sim.decide().measurements)
        sim.step()
        sim.measured = ()
        answer(sim, {"rollout": 200})
        sim.later(seconds=60)
    sim.settle()
    assert (sim.live, called(sim)) == ("2", [])


def test_the_analysis_begins_after_pre_rollout():
    sim = pushed(hook(PRE_ROLLOUT), spec=automatic(pre_promotion_analysis=ONCE))
    assert sim.decide().measurements == ()
    sim.answer({"pre-rollout": 200})
    assert [one.metric.name for one in sim.decide().measurements] == ["errors"]


@pytest.mark.parametrize("type_", [PRE_ROLLOUT, ROLLOUT])
def test_checks_of_the_new_version_wait_until_the_preview_reaches_it_alone(type_):
    """W12: what a hook asks through the preview Service must not be answered by the old pods."""
    sim = deployed(hooked(automatic(), hook(type_)))
    sim.late_endpoints.add("web-preview")
    push(sim, "2")
    assert (sim.shown, called(sim), sim.live) == ("2", [], "1")
    sim.late_endpoints.clear()
    sim.settle()
    assert called(sim) == [str(type_)]


@pytest.mark.parametrize("type_", [PRE_ROLLOUT, ROLLOUT])
def test_checks_of_a_version_are_not_asked_while_the_preview_shows_another_nor_is_their_late_answer_taken(type_):
    sim = pushed(hook(type_, interval=30), spec=manual())
    assert called(sim) == [str(type_)]
    late = sim.decide().calls
    name(sim, "9")
    assert (sim.shown, [sim.tag(each.checksum) for each in sim.decide().calls]) == ("9", ["9"])
    sim.answers = tuple(HookResponse(each.id, 200, sim.now) for each in late)
    sim.step()
    sim.answers = ()
    name(sim, "1")
    name(sim, "2")
    assert sim.live == "1"


def test_a_check_that_lost_its_preview_counts_from_zero_once_it_is_back():
    sim = pushed(hook(PRE_ROLLOUT, failure_limit=1, interval=30), spec=manual())
    answer(sim, {str(PRE_ROLLOUT): 409})
    name(sim, "9")
    name(sim, "1")
    assert (sim.shown, called(sim)) == ("2", [str(PRE_ROLLOUT)])
    answer(sim, {str(PRE_ROLLOUT): 409})
    assert "✖1 of 1" in next(reason for reason in shut(sim) if reason.startswith("pre-rollout"))


def test_a_load_test_that_has_said_yes_goes_on_beside_the_analysis_only_while_the_preview_shows_its_version():
    spec = manual(pre_promotion_analysis=ONCE)
    sim = pushed(hook(ROLLOUT, interval=30), spec=spec)
    answer(sim, {str(ROLLOUT): 200})
    wait(sim, seconds=30)
    assert called(sim) == [str(ROLLOUT)]
    sim.late_endpoints.add("web-preview")
    name(sim, "9")
    wait(sim, seconds=30)
    assert sim.shown == "9"
    assert {sim.tag(each.checksum) for each in sim.decide().calls} <= {"9"}


def test_a_version_that_is_being_promoted_keeps_the_preview_until_its_checks_are_done():
    sim = deployed(hooked(manual(), hook(PRE_ROLLOUT)))
    sim.push("2")
    name(sim, "2")
    push(sim, "3")
    assert (sim.shown, called(sim)) == ("2", [str(PRE_ROLLOUT)])
    answer(sim, {str(PRE_ROLLOUT): 200})
    assert (sim.live, sim.shown) == ("2", "3")


# --- confirm-promotion ---


def test_confirm_promotion_gates_the_commit_and_is_asked_again_when_traffic_would_move():
    sim = pushed(hook(CONFIRM_PROMOTION, interval=60))
    assert sim.primary == "1"
    first = sim.answer({"confirm-promotion": 200})
    sim.settle()
    assert (sim.primary, sim.live) == ("2", "1")
    answer(sim, {"confirm-promotion": (403, "market hours")})
    assert sim.live == "1", "a no at the last moment keeps traffic where it is"
    assert any("market hours" in reason for reason in shut(sim))
    sim.later(seconds=60)
    second = sim.answer({"confirm-promotion": 200})
    sim.settle()
    assert sim.live == "2"
    assert (first[0].phase, second[0].phase) == ("Progressing", "Promoting")
    assert first[0].key != second[0].key


def test_confirm_promotion_gates_the_offer_and_a_backend_that_goes_away_shuts_it():
    sim = pushed(hook(CONFIRM_PROMOTION), spec=manual())
    assert sim.branch is None
    answer(sim, {"confirm-promotion": 200})
    assert sim.branch == "2"
    sim.later(seconds=30)
    sim.answer({"confirm-promotion": (0, "connection refused")})
    assert any("connection refused" in reason for reason in shut(sim))


def test_confirm_promotion_is_asked_last_after_the_other_hooks_and_the_analysis():
    sim = pushed(hook(CONFIRM_PROMOTION), hook(ROLLOUT), spec=automatic(pre_promotion_analysis=ONCE))
    answer(sim, {"rollout": 200})
    assert called(sim) == []
    measure(sim, GOOD)
    assert called(sim) == ["confirm-promotion"]


# --- what no hook may do ---

ALL = tuple(hook(type_) for type_ in HookType)


def test_no_hook_is_asked_about_the_first_deployment():
    sim = deployed(hooked(automatic(), *ALL))
    assert {call.hook.type for call in sim.decide().calls} <= {POST_ROLLOUT, EVENT, ALERT}


@pytest.mark.parametrize("answers", [{}, {str(type_): 500 for type_ in HookType if type_ is not ROLLBACK}])
def test_no_hook_stands_in_the_way_of_a_rollback(answers):
    sim = pushed()
    assert sim.live == "2"
    sim.spec = hooked(sim.spec, *ALL)
    sim.ask(OperatorCommand.ROLLBACK)
    for _ in range(5):
        answer(sim, answers)
    assert sim.live == "1"


def test_promotion_in_full_skips_the_checks_but_not_the_gates_of_people():
    sim = pushed(hook(PRE_ROLLOUT), hook(ROLLOUT), hook(CONFIRM_PROMOTION))
    ask(sim, OperatorCommand.PROMOTE_FULL)
    assert (called(sim), sim.live) == (["confirm-promotion"], "1")
    for _ in range(2):
        answer(sim, {"confirm-promotion": 200})
    assert sim.live == "2"


def test_nothing_changes_while_no_hook_answers_and_it_is_asked_with_the_same_id():
    sim = pushed(*ALL)
    record, calls = sim.record, sim.decide().calls
    sim.later(seconds=5)
    decision = sim.decide()
    assert (decision.record, decision.actions, decision.calls) == (record, (), calls)


def test_hooks_that_leave_the_file_hold_up_nothing():
    sim = pushed(hook(PRE_ROLLOUT))
    sim.spec = automatic()
    sim.settle()
    assert (sim.live, sim.record.hook_state.runs) == ("2", ())
