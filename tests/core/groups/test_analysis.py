"""Analyses of a group: what is measured before its promotion and after it, and what a verdict moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.delivery.gates import live_verdict
from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.groups.subject import round_of, version_of
from gitops_bg.core.model.analysis import (
    LATEST,
    MOST_RUNS,
    STABLE,
    AnalysisPhase,
    AnalysisStage,
    MeasurementPlan,
    Metric,
)
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import Suspension
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import World, store, version
from tests.core.shown import ABSENT, Shown, shown

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST
GOOD, BAD, OPEN = AnalysisPhase.SUCCESSFUL, AnalysisPhase.FAILED, AnalysisPhase.INCONCLUSIVE
BROKEN = AnalysisPhase.ERROR
ONCE = MeasurementPlan(
    (Metric("smoke", "web", f'{{"url": "http://cart-{LATEST}/{STABLE}"}}', consecutive_error_limit=0),)
)
FAILED = "smoke ✔0 ✖1 ?0 ⚠0 of 1: 7 > 5 (measured 7)"


def analysed(*stages: AnalysisStage, **changes: object) -> World:
    """The store at rest with v1, and v2 asked for."""
    plans = {"before": ONCE if PRE in stages else None, "after_it": ONCE if POST in stages else None}
    world = store(**{**plans, **changes})
    world.settle()
    world.active = "v2"
    return world


def gate(world: World) -> GateResult:
    (found,) = [each for each in world.decide().gates if each.kind == GateKind.ANALYSIS]
    return found


def condition(world: World, kind: str) -> Shown:
    return shown(world.decide())[kind]


def measured(world: World) -> list[str]:
    return [f"{each.id.stage} {each.metric.query}" for each in world.asked]


# --- before the promotion ---


def test_a_group_moves_once_its_analysis_before_promotion_has_passed() -> None:
    world = analysed(PRE)
    assert world.settle().phase is Phase.PROGRESSING
    assert world.stages == "v1A v2C"
    assert measured(world) == ['pre {"url": "http://cart-v2/v1"}']
    assert (gate(world).open, gate(world).reason) == (False, "pre-promotion analysis: smoke ✔0 ✖0 ?0 ⚠0 of 1")
    said = "pre-promotion analysis of v2: smoke ✔0 ✖0 ?0 ⚠0 of 1"
    assert condition(world, "AnalysisPassed") == (False, "Running", said)
    world.finds[PRE] = GOOD
    assert world.settle().phase is Phase.HEALTHY
    assert (world.stages, world.asked) == ("v1L v2A", ())
    assert condition(world, "AnalysisPassed")[:2] == (True, "Successful")
    assert world.events[-2:] == ["analysed", "promoted"]


def test_nothing_is_measured_until_every_service_of_the_version_is_healthy() -> None:
    world = analysed(PRE, finds={PRE: GOOD})
    world.ill = {"cart-v2"}
    world.settle()
    assert (measured(world), world.record.rollout) == ([], 0)
    assert (
        gate(world).reason
        == "pre-promotion analysis: begins when every service is healthy, and nobody suspends the group"
    )
    assert condition(world, "AnalysisPassed") == (False, "NotBegun", "pre-promotion analysis of v2 has not begun")
    world.ill = set()
    world.settle()
    assert world.stages == "v1L v2A"


@pytest.mark.parametrize(
    ("found", "phase", "said"),
    [
        (BAD, Phase.HELD, f"pre-promotion analysis failed: {FAILED}"),
        (BROKEN, Phase.HELD, "pre-promotion analysis error: smoke ✔0 ✖0 ?0 ⚠1 of 1: 7 > 5 (measured 7)"),
        (
            OPEN,
            Phase.PAUSED,
            "pre-promotion analysis inconclusive: smoke ✔0 ✖0 ?1 ⚠0 of 1: 7 > 5 (measured 7); to measure anew, "
            "gitops-bg retry shop/store, change a file in v2/, or set active: v1 and back",
        ),
    ],
)
def test_a_group_that_does_not_pass_before_its_promotion_stays_and_says_why(
    found: AnalysisPhase, phase: Phase, said: str
) -> None:
    world = analysed(PRE, finds={PRE: found})
    before = world.answers()
    assert world.settle().phase is phase
    assert (world.stages, world.answers()) == ("v1A v2C", before)
    assert (gate(world).open, gate(world).reason) == (False, said)
    anew = "gitops-bg retry shop/store, change a file in v2/, or set active: v1 and back"
    assert gate(world).remedy == f"to measure anew, {anew}"
    answered = condition(world, "AnalysisPassed")
    assert answered[:2] == (False, found.value)
    assert answered[2].startswith("pre-promotion analysis of v2: smoke ✔0 ")
    assert answered[2].endswith(" of 1: 7 > 5 (measured 7)")
    assert world.after(86_400).settle().phase is phase, "time alone changes nothing"


def test_another_content_is_measured_again() -> None:
    world = analysed(PRE, finds={PRE: BAD})
    world.settle()
    world.finds[PRE] = GOOD
    world.settle()
    assert world.stages == "v1A v2C"
    world.versions["v2"] = replace(world.versions["v2"], content="2")
    world.settle()
    assert (world.stages, world.record.rollout) == ("v1L v2A", 2)


@pytest.mark.parametrize("found", [BAD, OPEN])
def test_to_name_the_version_again_measures_it_again(found: AnalysisPhase) -> None:
    """Not as for an app, which main names once it was measured: there the commit itself answers a pause."""
    world = analysed(PRE, finds={PRE: found})
    world.settle()
    world.finds[PRE], world.active = GOOD, "v1"
    assert world.settle().phase is Phase.HEALTHY
    world.active = "v2"
    world.settle()
    assert (world.stages, world.record.rollout) == ("v1L v2A", 2)
    assert [run.phase for run in world.record.analyses.past] == [found]


@pytest.mark.parametrize("at_start", [True, False], ids=["before its first measurement", "between two"])
def test_a_clock_that_is_set_back_lengthens_no_analysis(at_start: bool) -> None:
    plan = MeasurementPlan((Metric("smoke", "web", "{}", interval=60, count=2, initial_delay=60 if at_start else 0),))
    world = analysed(PRE, before=plan, finds={PRE: GOOD})
    world.settle()
    assert world.stages == "v1A v2C"
    world.after(-86_400).settle()
    for _ in range(2):
        world.after(60).settle()
    assert world.stages == "v1L v2A"


def test_a_verdict_for_one_content_lets_no_other_content_through() -> None:
    world = analysed(PRE, finds={PRE: GOOD}, accepts=None)
    world.settle()
    moving = world.record.transition
    assert moving is not None
    assert moving.step is TransitionStep.PREPARE
    del world.finds[PRE]
    world.versions["v2"] = replace(world.versions["v2"], content="2")
    world.after(60).settle()
    assert world.stages == "v1A v2C"
    assert measured(world), "it is measured while the routes stand"
    world.finds[PRE] = GOOD
    world.settle()
    world.after(60).settle()
    assert world.stages == "v1L v2A"


def test_a_promotion_under_way_is_taken_back_when_its_new_content_fails() -> None:
    world = analysed(PRE, finds={PRE: GOOD}, accepts=None)
    before = store(before=None)
    before.settle()
    world.settle()
    world.finds[PRE] = BAD
    world.versions["v2"] = replace(world.versions["v2"], content="2")
    world.settle()
    world.after(60).settle()
    assert (world.record.transition, world.stages, world.answers()) == (None, "v1A v2C", before.answers())
    assert world.events[-1] == "withdrawn"


def test_a_suspended_group_measures_nothing_that_leads_forward() -> None:
    world = analysed(PRE)
    world.settle()
    assert measured(world)
    world.suspend = Suspension("a holiday")
    assert world.settle().phase is Phase.SUSPENDED
    assert measured(world) == []
    world.suspend, world.finds = None, {PRE: GOOD}
    world.settle()
    assert world.stages == "v1L v2A"


def test_no_measurement_wakes_a_suspended_group_but_those_of_what_serves() -> None:
    plan = MeasurementPlan((replace(ONCE.metrics[0], count=3, interval=30),))
    for stage, wakes in ((PRE, None), (POST, NOW + timedelta(seconds=30))):
        world = analysed(stage, finds={stage: GOOD})
        world.before, world.after_it = (plan if each is stage else None for each in (PRE, POST))
        assert world.settle().wake_at == NOW + timedelta(seconds=30)
        world.suspend = Suspension("a holiday")
        assert world.settle().wake_at == wakes


def test_a_mistake_in_a_file_keeps_a_group_from_its_promotion_and_not_from_its_checks() -> None:
    """Not as of an app, whose checks do not begin: the deadlines of its hooks run on meanwhile."""
    world = analysed(PRE, templates=(Problem("policies/people.yaml", "is broken"),), finds={PRE: GOOD})
    world.settle()
    assert (world.stages, condition(world, "AnalysisPassed")[1]) == ("v1A v2C", "Successful")
    world.templates = ()
    world.settle()
    assert world.stages == "v1L v2A"


def test_no_rollback_waits_for_an_analysis() -> None:
    world = analysed(PRE, finds={PRE: GOOD})
    world.settle()
    world.finds, world.active = {}, "v1"
    assert world.settle().phase is Phase.HEALTHY
    assert (world.stages, measured(world)) == ("v1A v2C", [])


def test_the_first_version_is_not_analysed() -> None:
    world = store(before=ONCE, after_it=ONCE)
    assert world.settle().phase is Phase.HEALTHY
    assert (world.record.analyses.runs, measured(world)) == ((), [])
    assert condition(world, "AnalysisPassed") == ABSENT


def test_a_candidate_that_nothing_is_measured_of_has_no_analysis_that_has_not_begun() -> None:
    world = analysed(POST)
    world.ill = {"cart-v2"}
    world.settle()
    assert world.stages == "v1A v2C"
    assert condition(world, "AnalysisPassed") == ABSENT


def test_a_template_that_cannot_be_used_keeps_the_group_and_stops_no_way_back() -> None:
    broken = Problem("analysis/smoke.yaml", "is broken")
    world = analysed(PRE, before=MeasurementPlan(unknown="analysis/smoke.yaml: is broken"), templates=(broken,))
    assert world.settle().phase is Phase.INVALID
    assert (world.stages, measured(world)) == ("v1A v2C", [])
    assert [each.reason for each in world.decide().gates if not each.open] == [
        "analysis/smoke.yaml: is broken",
        "pre-promotion analysis: analysis/smoke.yaml: is broken",
    ]
    assert condition(world, "InvalidSpec") == (True, "InvalidSpec", "analysis/smoke.yaml: is broken")
    world.before, world.templates = None, ()
    world.settle()
    assert world.stages == "v1L v2A"
    world.templates, world.active = (broken,), "v1"
    world.settle()
    assert world.stages == "v1A v2C"


# --- after the promotion ---


def test_after_a_promotion_the_version_is_measured_and_stays_where_it_passes() -> None:
    world = analysed(POST)
    assert world.settle().phase is Phase.PROGRESSING
    assert (world.stages, measured(world)) == ("v1L v2A", ['post {"url": "http://cart-v2/v1"}'])
    assert condition(world, "Ready")[2] == "post-promotion analysis: smoke ✔0 ✖0 ?0 ⚠0 of 1"
    world.finds[POST] = GOOD
    assert world.settle().phase is Phase.HEALTHY
    assert (world.stages, world.held, world.commits) == ("v1L v2A", (), [])


@pytest.mark.parametrize("found", [BAD, BROKEN])
def test_a_version_that_does_not_pass_after_its_promotion_is_left_and_git_is_told(found: AnalysisPhase) -> None:
    world = analysed(POST)
    plain = store()
    plain.settle()
    world.settle()
    world.finds[POST] = found
    assert world.settle().phase is Phase.HEALTHY
    assert (world.stages, world.active) == ("v1A v2C", "v1")
    assert (world.answers(), world.services) == (plain.answers(), plain.services)
    (commit,) = world.commits
    assert (commit.named, commit.version) == ("v2", "v1")
    assert commit.reason.startswith(f"post-promotion analysis {found.lower()}: smoke")
    assert world.record.moves[-1].reason == commit.reason
    assert not world.held, "Git has followed"
    assert world.events[-3:] == ["aborted", "rolled-back", "hold-lifted"]


def test_where_main_takes_no_commit_the_group_says_so_and_promotes_the_same_content_not_again() -> None:
    world = analysed(PRE, POST, finds={PRE: GOOD, POST: BAD}, takes_commits=False)
    assert world.settle().phase is Phase.HELD
    assert (world.stages, world.active) == ("v1A v2C", "v2")
    said = condition(world, "Ready")[2]
    assert said == (
        f"v1 serves again instead of v2: post-promotion analysis failed: {FAILED}; set active: v1 in group.yaml, "
        "because the agent cannot: main is protected"
    )
    assert condition(world, "Diverged")[:2] == (True, "MainRefusesCommit")
    (hold,) = [each for each in world.decide().gates if each.kind == GateKind.HOLD]
    assert (hold.open, hold.reason) == (False, f"on hold: post-promotion analysis failed: {FAILED}")
    assert hold.remedy == "gitops-bg retry shop/store, change a file in v2/, or set active: v1 and back"
    world.finds = {PRE: GOOD, POST: GOOD}
    assert world.after(86_400).settle().phase is Phase.HELD
    world.active = "v1"
    assert world.settle().phase is Phase.HEALTHY
    assert condition(world, "Diverged") == ABSENT
    world.active = "v2"
    world.settle()
    assert world.stages == "v1L v2A", "somebody names it again, and it passes"


def test_another_content_of_what_failed_is_tried_again_where_git_still_names_it() -> None:
    world = analysed(PRE, POST, finds={PRE: GOOD, POST: BAD}, takes_commits=False)
    world.settle()
    world.finds = {PRE: GOOD, POST: GOOD}
    world.versions["v2"] = replace(world.versions["v2"], content="2")
    assert world.settle().phase is Phase.HEALTHY
    assert (world.stages, world.held) == ("v1L v2A", ())


def test_an_inconclusive_analysis_leaves_traffic_where_it_is_until_a_person_decides() -> None:
    world = analysed(POST, finds={POST: OPEN})
    assert world.settle().phase is Phase.PAUSED
    assert world.stages == "v1L v2A"
    assert "set active: v1 to go back, promote another version" in condition(world, "Ready")[2]
    world.active = "v1"
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1A v2C"


def test_a_pause_ends_with_the_analysis_that_is_removed() -> None:
    world = analysed(POST, finds={POST: OPEN})
    world.settle()
    world.after_it = None
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1L v2A"


def test_while_a_version_is_measured_nothing_else_is_promoted() -> None:
    world = analysed(POST)
    world.settle()
    world.versions["v3"] = version(cart="/cart")
    world.active = "v3"
    world.settle()
    assert world.stages == "v1L v2A v3C"
    reason = "of what serves now: post-promotion analysis: smoke ✔0 ✖0 ?0 ⚠0 of 1"
    assert (gate(world).open, gate(world).reason) == (False, reason)
    world.finds[POST] = GOOD
    world.settle()
    assert world.stages.startswith("v1R v2L v3A")


def test_a_version_asked_for_meanwhile_is_not_promoted_from_one_that_failed() -> None:
    world = analysed(POST)
    world.settle()
    world.versions["v3"] = version(cart="/cart")
    world.active = "v3"
    world.settle()
    world.finds[POST] = BAD
    world.settle()
    (commit,) = world.commits
    assert (world.stages, world.active, commit.named) == ("v1A v2C", "v1", "v3")


def test_a_rollback_that_somebody_asks_for_ends_the_analysis() -> None:
    world = analysed(POST)
    world.settle()
    world.active = "v1"
    assert world.settle().phase is Phase.HEALTHY
    assert (world.stages, measured(world), world.commits) == ("v1A v2C", [], [])


@pytest.mark.parametrize("found", [GOOD, BAD])
def test_a_rollback_that_is_taken_back_has_the_version_measured_anew(found: AnalysisPhase) -> None:
    world = analysed(POST)
    world.settle()
    world.active = "v1"
    world.step()
    assert (world.record.transition is not None, measured(world)) == (True, [])
    world.active = "v2"
    world.settle()
    assert (world.stages, len(measured(world))) == ("v1L v2A", 1)
    world.finds[POST] = found
    world.settle()
    assert world.stages == ("v1A v2C" if found is BAD else "v1L v2A")


def test_a_version_that_was_found_bad_is_left_also_where_git_changed_its_mind_meanwhile() -> None:
    world = analysed(POST)
    world.settle()
    world.gone, world.active = {"cart-v1"}, "v1"
    world.settle()
    world.finds[POST] = BAD
    world.settle()
    assert world.stages == "v1L v2A"
    world.active = "v2"
    world.settle()
    world.gone = set()
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


@pytest.mark.parametrize("found", [None, OPEN, BAD])
def test_a_version_that_is_wanted_again_before_requests_left_it_is_measured_anew(found: AnalysisPhase | None) -> None:
    """As of an app: what was measured before says nothing of what serves now."""
    world = analysed(POST)
    world.settle()
    world.gone, world.finds = {"cart-v1"}, {POST: found} if found else {}
    world.settle()
    world.active, world.finds = "v1", {}
    world.settle()
    assert (world.stages, measured(world)) == ("v1L v2A", []), "requests are to leave it, once v1 has pods"
    if found is not BAD:
        assert condition(world, "Ready")[2].startswith("post-promotion analysis: begins anew if traffic does not")
    world.active = "v2"
    world.settle()
    run = world.record.analyses.run(POST)
    assert run is not None
    assert (run.running, run.attempt, run.fallback, len(measured(world))) == (True, 2, "v1", 1)
    world.gone, world.finds = set(), {POST: BAD}
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_an_analysis_of_what_the_group_does_not_go_to_any_more_is_over() -> None:
    world = analysed(PRE, POST, finds={PRE: GOOD})
    world.settle()
    world.versions["v3"], world.active, world.finds = version(cart="/cart"), "v3", {}
    world.settle()
    assert [each.id.stage for each in world.asked] == [POST, PRE]
    world.takes_commits, world.finds = False, {POST: BAD}
    world.settle()
    assert (world.stages, world.active, measured(world)) == ("v1A v2C", "v3", [])


def test_the_version_that_a_verdict_may_lead_back_to_is_kept_though_its_folder_is_removed() -> None:
    world = analysed(POST)
    world.settle()
    first = world.versions.pop("v1")
    world.settle()
    assert world.stages == "v1L v2A"
    world.versions["v1"], world.finds = first, {POST: GOOD}
    world.settle()
    del world.versions["v1"]
    world.settle()
    assert world.stages == "v2A"


def test_the_way_back_waits_for_pods_and_says_so() -> None:
    world = analysed(POST)
    world.settle()
    world.finds[POST], world.gone = BAD, {"cart-v1"}
    assert world.settle().phase is Phase.HELD
    assert world.stages == "v1L v2A"
    said = condition(world, "Ready")[2]
    assert said.startswith("v2 serves until v1 can: post-promotion analysis failed")
    assert said.endswith("cart-v1 has no pod that answers")
    assert condition(world, "Diverged")[:2] == (True, "GoingBack")
    world.gone = set()
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_the_version_that_the_way_back_waits_for_is_kept_though_its_folder_is_removed() -> None:
    world = analysed(POST)
    world.settle()
    world.finds[POST], world.gone = BAD, {"cart-v1"}
    world.settle()
    del world.versions["v1"]
    world.settle()
    assert world.stages == "v1L v2A"
    world.gone = set()
    world.settle()
    assert world.stages == "v1A v2C"
    status, reason, said = condition(world, "Diverged")
    assert (status, reason) == (True, "FolderMissing")
    assert said.endswith("put the folder v1/ back, which left main: group.yaml cannot name it without")
    world.versions["v1"] = version(cart="/cart /old", auth="/auth")
    world.settle()
    assert world.active == "v1"


def test_a_new_content_does_not_answer_a_failure_before_the_way_back_is_done() -> None:
    """Until then what serves is known to be bad; the new content is a candidate like any other."""
    world = analysed(POST)
    world.settle()
    world.finds[POST], world.accepts, world.says = BAD, False, "Pending: soon"
    world.settle()
    world.versions["v2"] = replace(world.versions["v2"], content="2")
    world.after(601).settle()
    world.accepts = True
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_the_way_back_is_done_and_told_where_the_gateway_does_not_take_it() -> None:
    world = analysed(POST)
    world.settle()
    world.finds[POST], world.accepts, world.says = BAD, False, "Pending: soon"
    world.settle()
    assert (world.stages, world.active) == ("v1A v2C", "v1")


def test_the_way_back_is_finished_before_a_newer_wish_counts() -> None:
    world = analysed(POST, accepts=None)
    for _ in range(5):
        world.settle()
        world.after(6)
    assert world.stages == "v1L v2A"
    world.finds[POST] = BAD
    world.step()
    assert world.record.transition is not None
    world.versions["v3"] = version(cart="/cart")
    world.active = "v3"
    for _ in range(3):
        world.settle()
        world.after(6)
    assert world.stages.startswith("v1A v2C")
    assert world.ask("/cart") == "cart-v1"


def test_a_version_promoted_again_without_an_analysis_is_not_judged_by_the_former_one() -> None:
    world = analysed(POST, finds={POST: BAD})
    world.settle()
    assert world.stages == "v1A v2C"
    world.after_it, world.active = None, "v2"
    assert world.settle().phase is Phase.HEALTHY
    assert world.stages == "v1L v2A"


# --- whatever happens ---


@pytest.mark.parametrize("writes", range(1, 6))
@pytest.mark.parametrize(("found", "stages"), [(GOOD, "v1L v2A"), (BAD, "v1A v2C")])
def test_an_agent_that_dies_after_any_write_comes_to_the_same_end(
    writes: int, found: AnalysisPhase, stages: str
) -> None:
    world = analysed(PRE, POST, finds={PRE: GOOD, POST: found})
    world.settle_with_crashes(writes)
    assert world.stages == stages
    assert world.active == ("v2" if found is GOOD else "v1")
    assert [run.phase for run in world.record.analyses.runs if run.stage is POST] == [found]


def test_a_result_of_another_record_counts_for_nothing() -> None:
    world = analysed(PRE)
    world.settle()
    (asked,) = world.asked
    world.asked = (replace(asked, id=replace(asked.id, epoch="other")),)
    world.finds[PRE] = GOOD
    decision = world.decide()
    assert (decision.record.transition, decision.record.analyses) == (None, world.record.analyses)


def refused_after_the_switch() -> World:
    """v2 serves, and the Gateway refuses the routes that clear up after its promotion."""
    world = analysed(POST, finds={POST: GOOD})
    while world.record.left_at is None:
        world.step()
    world.accepts, world.says = False, "no more rules"
    world.settle()
    assert (world.stages, world.record.transition) == ("v1L v2A", None)
    return world


def test_routes_that_the_gateway_refuses_after_the_switch_delay_the_analysis_and_do_not_end_it() -> None:
    """Found: nothing began it, nothing said so, and nobody judged what served."""
    world = refused_after_the_switch()
    latest = NOW + timedelta(seconds=600)
    assert measured(world) == []
    begins = "begins when the Gateway has taken the routes"
    said = f"post-promotion analysis of v2: {begins}, and at 2026-11-23 12:10 UTC all the same"
    assert condition(world, "AnalysisPassed") == (False, "NotBegun", said)
    assert condition(world, "RoutesAccepted") == (False, "NotAccepted", "store: no more rules")
    world.versions["v3"] = version(cart="/cart")
    world.settle()
    world.active = "v3"
    waits = f"of what serves now: post-promotion analysis: {begins}"
    assert (gate(world).open, gate(world).reason, gate(world).until) == (False, waits, latest)
    verdict = live_verdict(round_of(world.decided()))
    assert verdict is not None
    assert not verdict.open
    world.after_it = MeasurementPlan(unknown="analysis/smoke.yaml: is broken")
    assert gate(world).reason == "of what serves now: post-promotion analysis: analysis/smoke.yaml: is broken"
    world.after_it = ONCE
    world.active = "v2"
    world.after(599.9).settle()
    assert (measured(world), world.decide().wake_at) == ([], latest)
    world.after(0.1).settle()
    assert condition(world, "AnalysisPassed")[:2] == (True, "Successful")


def test_a_version_found_bad_though_its_routes_are_refused_is_left() -> None:
    world = refused_after_the_switch()
    world.finds[POST] = BAD
    world.after(600).settle()
    assert world.stages == "v1A v2C"


def test_once_the_gateway_takes_them_the_analysis_begins_at_once() -> None:
    world = refused_after_the_switch()
    world.accepts = True
    world.settle()
    assert condition(world, "AnalysisPassed")[:2] == (True, "Successful")


def test_time_alone_asks_for_the_next_measurement() -> None:
    plan = MeasurementPlan((replace(ONCE.metrics[0], count=2, interval=30),))
    world = analysed(PRE, before=plan, finds={PRE: GOOD})
    assert world.settle().wake_at == NOW + timedelta(seconds=30)
    assert world.stages == "v1A v2C"
    world.after(30).settle()
    assert world.stages == "v1L v2A"


def test_past_analyses_are_limited() -> None:
    world = analysed(PRE, finds={PRE: BAD})
    for number in range(MOST_RUNS + 3):
        world.versions["v2"] = replace(world.versions["v2"], content=str(number))
        world.settle()
    assert len(world.record.analyses.past) == MOST_RUNS
    assert {version_of(run) for run in world.record.analyses.past} == {"v2"}


def test_a_verdict_on_a_former_try_ends_with_the_next_promotion_of_that_version() -> None:
    world = analysed(POST, finds={POST: GOOD})
    world.settle()
    for active in ("v1", "v2"):
        world.active, world.after_it = active, None
        world.settle()
    assert world.stages == "v1L v2A"
    assert world.record.analyses.run(POST) is None
    assert [run.digest for run in world.record.analyses.past] == ["v2-1"]
