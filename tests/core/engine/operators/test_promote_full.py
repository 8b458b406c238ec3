"""`promote --full`: what it skips, what it still waits for, and how it ends (argo-rollouts.md §2.4)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import OperatorState, Record
from tests.core.engine.analysis.notation import BAD, OPEN, PLAN, POST, PRE, analysed, analysing, measure, shut
from tests.core.simulation import Simulation, automatic, manual, template
from tests.core.stories import ask, coming, merge, name, push, resume, retry, suspend


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


def test_is_over_with_a_retry_of_what_is_on_its_way():
    """It is a new rollout with empty analysis state (DESIGN §4)."""
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    retry(world)
    assert world.record.run(PRE).phase is AnalysisPhase.RUNNING
    assert [one.id.rollout for one in world.decide().measurements] == [world.record.numbered(2).rollout]


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
    assert (world.live, world.held, world.record.operator.promote_full) == ("1", {"2"}, None)


def test_condition_says_that_nothing_was_measured():
    world = analysing(manual(), pre=PLAN)
    in_full(world)
    condition = next(one for one in world.decide().conditions if one.type == "AnalysisPassed")
    assert (condition.status, condition.reason) == (False, "Skipped")
    assert all(gate.open for gate in world.decide().gates if gate.kind is GateKind.ANALYSIS)
    assert any("skipped by `promote --full`" in gate.reason for gate in world.decide().gates)
    assert world.record.run(AnalysisStage.PRE) is None


# --- after the record was lost, when what has pods is found again ---

LEDGERS = {
    "the ledger knows nothing of it": None,
    "the ledger has its rollouts": LedgerMemory(rollout=7, last_version=3, active_digests=(template("1").digest,)),
}


def lose(world: Simulation, ledger: str = "the ledger has its rollouts") -> Simulation:
    """Somebody deletes the app's object; its pods stay."""
    world.record, world.exists, world.app_uid, world.ledger = Record(), False, "bbbbbbbb-0000", []
    world.memory = LEDGERS[ledger]
    return world


@pytest.mark.parametrize("ledger", LEDGERS)
def test_nobody_asked_for_it_of_a_version_that_is_found_again(ledger: str) -> None:
    """Found so: it went live without its pause, "skipped by `promote --full`"."""
    world = lose(coming(automatic(auto_promotion_seconds=600)), ledger)
    world.settle()
    assert world.live == "1"
    assert GateKind.PAUSE in [kind for kind, _ in shut(world)]


@pytest.mark.parametrize("ledger", LEDGERS)
def test_nor_is_that_one_scaled_up(ledger: str) -> None:
    world = lose(coming(manual(preview_replica_count=1)), ledger)
    world.settle()
    assert world.pods[template("2").digest].replicas == 1


@pytest.mark.parametrize("ledger", LEDGERS)
def test_it_counts_for_that_one_once_somebody_asks(ledger: str) -> None:
    world = lose(analysing(automatic(), pre=PLAN), ledger)
    world.settle()
    in_full(world)
    assert (world.live, "skipped" in world.events()) == ("2", True)


@pytest.mark.parametrize("ledger", LEDGERS)
def test_it_counts_for_none_that_was_found_again_with_that_one(ledger: str) -> None:
    """Found so: all of them had the last rollout of the ledger, and v2 went live without analysis and pause."""
    spec = automatic(scale_down_delay_seconds=3000, abort_scale_down_delay_seconds=3000, auto_promotion_seconds=600)
    world = analysing(spec, pre=PLAN)
    push(world, "3")
    suspend(lose(world, ledger))
    in_full(world)
    push(world, "2")
    resume(world)
    assert world.live == "1"
    assert {GateKind.ANALYSIS, GateKind.PAUSE} <= {kind for kind, _ in shut(world)}


@pytest.mark.parametrize("ledger", LEDGERS)
def test_each_version_that_is_found_again_has_a_rollout_of_its_own_in_the_order_of_their_numbers(ledger: str) -> None:
    world = analysing(automatic(scale_down_delay_seconds=3000), pre=PLAN)
    push(world, "3")
    suspend(lose(world, ledger))
    before = LEDGERS[ledger].rollout if LEDGERS[ledger] else 0
    assert [each.rollout for each in world.record.versions] == [before + 1, before + 2, before + 3]
    assert world.record.rollout == before + 3


def test_it_counts_for_nobody_whom_the_record_gives_no_rollout() -> None:
    """Of an older record: the kind is impossible, whatever numbers rollouts have."""
    assert not any(OperatorState().promotes_in_full(rollout) for rollout in range(3))
