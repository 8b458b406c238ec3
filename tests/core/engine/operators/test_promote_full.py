"""`promote --full`: what it skips, what it still waits for, and how it ends (argo-rollouts.md §2.4)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.observed import OperatorCommand
from tests.core.engine.analysis.notation import BAD, OPEN, PLAN, POST, PRE, analysed, analysing, measure, shut
from tests.core.simulation import Simulation, automatic, manual, template
from tests.core.stories import ask, coming, merge, name, push, retry


def in_full(world: Simulation) -> None:
    ask(world, OperatorCommand.PROMOTE_FULL)


STATES = {"running": (), "paused": (OPEN,)}


@pytest.mark.parametrize("state", STATES)
def test_skips_both_analyses_in_whatever_state_the_first_one_is(state):
    world = analysing(pre=PLAN, post=PLAN)
    for verdict in STATES[state]:
        measure(world, verdict)
    assert world.live == "1"
    in_full(world)
    assert (world.live, world.primary) == ("2", "2")
    assert world.record.analyses.runs == ()
    assert world.decide().measurements == ()
    assert world.warm_until(1), "the old version waits for no verdict"
    assert "skipped" in world.events()
    assert world.recorded_moves() == world.moves


def test_skips_the_pause():
    world = coming(automatic(auto_promotion_seconds=600))
    assert world.live == "1"
    in_full(world)
    assert world.live == "2"


def test_who_promotes_stays_as_it_is():
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    assert (world.live, world.branch) == ("1", "2")
    merge(world)
    assert world.live == "2"


def test_commit_that_comes_before_or_after_the_request_does_the_same():
    world = analysed(manual(), pre=PLAN, post=PLAN)
    world.push("2")
    name(world, "2")
    assert world.live == "1"
    in_full(world)
    assert (world.live, world.record.run(POST)) == ("2", None)


def test_goes_at_full_size_and_waits_for_all_pods():
    world = analysing(automatic(preview_replica_count=1), pre=PLAN)
    assert world.pods[template("2").digest].replicas == 1
    world.ask(OperatorCommand.PROMOTE_FULL)
    world.step()
    world.step()
    assert (world.live, world.pods[template("2").digest].replicas) == ("1", 3)
    assert GateKind.AVAILABILITY in [kind for kind, _ in shut(world)]
    assert GateKind.ANALYSIS not in [kind for kind, _ in shut(world)]
    world.settle()
    assert world.live == "2"


@pytest.mark.parametrize("hinder", [Simulation.suspend, lambda world: setattr(world, "history_rewritten", "9be1")])
def test_other_gates_stand(hinder):
    world = analysing(pre=PLAN)
    hinder(world)
    in_full(world)
    assert world.live == "1"


def test_asked_for_again_it_is_told_once():
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    in_full(world)
    assert world.events().count("skipped") == 1


def test_is_over_once_promoted():
    world = analysing(pre=PLAN)
    in_full(world)
    push(world, "3")
    assert world.live == "2"
    assert world.record.run(PRE).phase is AnalysisPhase.RUNNING


def test_is_over_with_a_new_target():
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    push(world, "3")
    assert [one.id.rollout for one in world.decide().measurements] == [world.record.numbered(3).rollout]


def test_is_over_with_a_version_in_between_although_the_target_names_it_again():
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    push(world, "3")
    push(world, "2")
    assert [one.id.rollout for one in world.decide().measurements] == [world.record.numbered(2).rollout]


def test_is_over_with_an_abort_and_a_retry_measures():
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    ask(world, OperatorCommand.ABORT)
    assert world.held == {"2"}
    retry(world)
    assert world.record.run(PRE).phase is AnalysisPhase.RUNNING


@pytest.mark.parametrize("state", STATES)
def test_with_nothing_on_its_way_it_ends_the_analysis_of_what_serves(state):
    world = analysing(post=PLAN)
    for verdict in STATES[state]:
        measure(world, verdict)
    in_full(world)
    assert (world.live, world.record.run(POST)) == ("2", None)
    assert world.warm_until(1)
    assert world.events()[-1] == "skipped"


def test_does_not_wait_for_the_verdict_about_what_serves():
    world = analysing(post=PLAN)
    push(world, "3")
    assert world.live == "2"
    in_full(world)
    assert world.live == "3"
    assert world.record.run(POST) is None


def test_means_nothing_where_nothing_is_on_its_way_or_what_is_there_is_on_hold():
    world = analysed(pre=PLAN, post=PLAN)
    before = world.record
    in_full(world)
    assert (
        replace(
            world.record,
            operator=replace(world.record.operator, answered=before.operator.answered),
            git=replace(world.record.git, main=before.git.main),
        )
        == before
    )
    push(world, "2")
    measure(world, BAD)
    in_full(world)
    assert (world.live, world.held, world.record.operator.promote_full) == ("1", {"2"}, 0)


def test_condition_says_that_nothing_was_measured():
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    condition = next(one for one in world.decide().conditions if one.type == "AnalysisPassed")
    assert (condition.status, condition.reason) == (False, "Skipped")
    assert all(gate.open for gate in world.decide().gates if gate.kind is GateKind.ANALYSIS)
    assert any("skipped by `promote --full`" in gate.reason for gate in world.decide().gates)
    assert world.record.run(AnalysisStage.PRE) is None
