"""Contracts: they begin only when no older version can come back, close the way back on every lane, and are forced only
with a trace.
"""

from dataclasses import replace

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementPlan, MeasurementResult, Metric
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import short
from tests.core.engine.analysis.notation import BAD, GOOD, PLAN
from tests.core.records import as_the_ledger_has_it, way_back_to
from tests.core.simulation import APP, Simulation, automatic, deployed, manual, template
from tests.core.stories import ask, merge, name, promote, push, retry, revert, suspend, wait

SETTLED = AnalysisStage.AFTER_SETTLED
CONTRACT = MeasurementPlan((Metric("web-contract", "job", consecutive_error_limit=-1, retention=1),))


def contracting(spec: AppSpec | None = None) -> AppSpec:
    return replace(spec or manual(scale_down_delay_seconds=300), after_settled=CONTRACT)


def served(spec: AppSpec | None = None) -> Simulation:
    """v1 served, v2 serves now; v1 is still warm."""
    sim = deployed(spec or manual(scale_down_delay_seconds=300))
    promote(sim, "2")
    sim.spec = contracting(spec)
    sim.settle()
    assert sim.live == "2"
    return sim


def due(sim: Simulation) -> list[str]:
    return [names.job_name(APP, one.id) for one in sim.decide().measurements if one.id.stage is SETTLED]


def end(sim: Simulation, phase: AnalysisPhase, message: str = "") -> None:
    asked = [one for one in sim.decide().measurements if one.id.stage is SETTLED]
    assert asked, "no contract runs"
    sim.measured = tuple(MeasurementResult(one.id, phase, sim.now, message=message) for one in asked)
    sim.settle()
    sim.measured = ()


def proven(sim: Simulation) -> Simulation:
    """The probation of what serves is over, and what served before is archived."""
    wait(sim, hours=1)
    wait(sim, hours=1)
    return sim


def closed(spec: AppSpec | None = None) -> Simulation:
    """The contract of v2 has succeeded."""
    sim = proven(served(spec))
    assert due(sim) == [f"web-contract-{short(template('2').digest)}"]
    end(sim, GOOD)
    return sim


def gate(sim: Simulation, kind: GateKind = GateKind.JOB) -> GateResult:
    return next(each for each in sim.decide().gates if each.kind is kind)


# --- when it begins ---


def test_nothing_begins_while_the_version_is_on_probation_or_an_older_one_is_warm():
    sim = served(manual(scale_down_delay_seconds=7200))
    assert due(sim) == []
    assert gate(sim).reason.startswith("contract: waits until 2 (v2) has proven itself")
    wait(sim, hours=1)
    assert due(sim) == []
    assert gate(sim).reason == "contract: waits while 1 (v1) may come back: its pods are warm"
    assert sim.record.contract is None
    wait(sim, hours=2)
    sim.settle()
    assert due(sim) != []


def test_nothing_begins_while_the_analysis_after_promotion_runs():
    sim = served(manual(scale_down_delay_seconds=1, post_promotion_analysis=PLAN))
    wait(sim, hours=1)
    assert (due(sim), sim.record.contract) == ([], None)


def test_nothing_begins_while_old_pods_are_there_whatever_the_record_says():
    sim = served()
    wait(sim, seconds=700)
    digest = template("1").digest
    view = next(each for each in sim.observed().replica_sets if each.snapshot.digest == digest)
    assert view.replicas == 0
    sim.settle()
    assert due(sim) != []


def test_the_way_back_is_closed_in_the_record_that_begins_it():
    sim = served()
    wait(sim, hours=1)
    while not due(sim):
        assert sim.record.contract is None
        sim.later(minutes=10)
        sim.step()
    assert sim.record.contract is not None
    assert sim.record.contract.digest == template("2").digest


def test_it_runs_once_for_each_version():
    sim = closed()
    wait(sim, hours=9)
    assert due(sim) == []
    assert gate(sim).open
    assert [each.event for each in sim.ledger if each.event is Event.CONTRACTED] == [Event.CONTRACTED] * 2
    promote(sim, "3")
    proven(sim)
    assert due(sim) == [f"web-contract-{short(template('3').digest)}"]


def test_it_does_not_begin_while_suspended():
    sim = served()
    suspend(sim)
    proven(sim)
    assert (due(sim), sim.record.contract) == ([], None)


def test_a_failure_leaves_traffic_alone_and_a_retry_runs_it_anew():
    sim = proven(served())
    end(sim, BAD, "Job web-contract failed")
    assert (sim.live, due(sim)) == ("2", [])
    assert not gate(sim).open
    assert sim.record.held(template("2").digest) is None
    retry(sim)
    assert due(sim) == [f"web-contract-{short(template('2').digest)}-2"]
    end(sim, GOOD)
    assert gate(sim).open


def test_no_contract_begins_beside_the_jobs_of_a_candidate_and_none_of_these_beside_it():
    expand = MeasurementPlan((Metric("web-expand", "job", retention=1),))
    sim = proven(served())
    sim.spec = replace(sim.spec, before_pods=expand)
    push(sim, "3")
    assert [one.id.stage for one in sim.decide().measurements] == [SETTLED]
    end(sim, GOOD)
    assert [one.id.stage for one in sim.decide().measurements] == [AnalysisStage.BEFORE_PODS]


# --- what it closes, lane by lane ---


def test_a_revert_of_the_promotion_moves_nothing_and_says_why():
    sim = closed()
    revert(sim)
    wait(sim, hours=1)
    assert sim.live == "2"
    shut = gate(sim, GateKind.HOLD)
    assert shut.reason.startswith(
        "1 (v1) is older than the contract of 2 (v2), whose Jobs may have removed what it needs"
    )
    assert shut.remedy.endswith("gitops-bg rollback shop/web --to 1 --offline --force")
    assert all(view.replicas == 0 for view in sim.observed().replica_sets if view.number == 1)


def test_a_primary_that_names_it_moves_nothing():
    sim = closed()
    name(sim, "1")
    wait(sim, hours=1)
    assert sim.live == "2"


def test_the_revert_of_a_push_moves_nothing():
    sim = closed(automatic(scale_down_delay_seconds=300))
    sim.revert_target("1")
    sim.settle()
    wait(sim, hours=1)
    assert sim.live == "2"


def test_an_old_tag_that_is_pushed_again_gets_no_pods():
    sim = closed()
    push(sim, "1")
    wait(sim, hours=1)
    assert all(view.replicas == 0 for view in sim.observed().replica_sets if view.number == 1)
    merge(sim)
    assert sim.live == "2"


def test_an_operator_may_not_roll_back_to_it_but_by_force_and_that_is_told():
    sim = closed()
    ask(sim, OperatorCommand.ROLLBACK, 1)
    assert sim.live == "2"
    ask(sim, OperatorCommand.ROLLBACK, 1, force=True)
    assert sim.live == "1"
    assert [(each.event, each.by) for each in sim.ledger][-1] == (Event.ROLLED_BACK, "ada")


def test_an_abort_and_failing_pods_have_nowhere_to_go_back_to():
    sim = closed()
    old = way_back_to(sim.record, template("1").digest)
    assert not old
    assert "contract of 2 (v2)" in old.why_not
    ask(sim, OperatorCommand.ABORT)
    assert sim.live == "2"


def test_what_came_later_may_come_back():
    sim = closed()
    promote(sim, "3")
    revert(sim)
    assert sim.live == "2"


# --- what remembers it ---


def test_the_ledger_says_it_and_a_new_record_learns_it_from_there():
    sim = closed()
    known = as_the_ledger_has_it(sim.record)
    assert known.state.contract == sim.record.contract
    assert known.memory.contract == sim.record.contract
    assert known.cautious.state.contract == sim.record.contract
    sim.record, sim.memory = Record(), known.memory
    sim.settle()
    assert sim.record.contract == known.state.contract
    revert(sim)
    assert sim.live == "2"


def test_a_contract_of_an_older_version_opens_nothing():
    sim = closed()
    promote(sim, "3")
    proven(sim)
    end(sim, GOOD)
    before = sim.record.contract
    assert before is not None
    ask(sim, OperatorCommand.ROLLBACK, 2, force=True)
    proven(sim)
    assert sim.live == "2"
    assert sim.record.contract == before


@pytest.mark.parametrize("plan", [None, MeasurementPlan(unknown="no such file")])
def test_without_a_plan_nothing_closes(plan: MeasurementPlan | None):
    sim = served()
    sim.spec = replace(sim.spec, after_settled=plan)
    proven(sim)
    assert (due(sim), sim.record.contract) == ([], None)
