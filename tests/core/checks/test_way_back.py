"""Whether traffic may move to a version without gates, in every lane, and what is remembered of a bad version."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Cause, Hold, Lift, Record, SwitchKind
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.transitions.record.restore import restore_memory
from gitops_bg.core.transitions.traffic.holds import lift_hold, put_hold
from gitops_bg.core.way_back import leads_back, may_return_without_gates
from tests.core.simulation import Simulation, automatic, manual, template
from tests.core.worlds import EARLIER, active, candidate, digest, legacy, world


def bad(number: int, lifted: Lift | None = None, cause: Cause = Cause.ROLLED_BACK) -> Hold:
    return Hold(digest(number), "5xx", EARLIER, cause, lifted)


def holding(*holds: Hold) -> dict[str, object]:
    in_force = tuple(hold for hold in holds if hold.lifted is None)
    return {"holds": in_force, "past_holds": tuple(hold for hold in holds if hold.lifted)}


ANSWERS = {
    "it served, and nothing speaks against it": ((), False, ""),
    "it is on hold": ((bad(1),), True, "is on hold (rolled-back): 5xx"),
    "a newer target passed its hold over": ((bad(1, Lift.PASSED_OVER),), True, "was bad on 2026-01-01 (rolled-back)"),
    "its analysis failed": ((bad(1, Lift.PASSED_OVER, Cause.ANALYSIS_FAILED),), True, "(analysis-failed)"),
    "primary.yaml named it again, and the agent chooses": ((bad(1, Lift.NAMED),), False, "did not serve since"),
    "primary.yaml named it again, and a person names it": ((bad(1, Lift.NAMED),), True, ""),
    "it was retried, and the agent chooses": ((bad(1, Lift.SAID_SO),), False, "did not serve since"),
    "it was retried, and a person names it": ((bad(1, Lift.SAID_SO),), True, ""),
    "another one is on hold": ((bad(3),), False, ""),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_way_back(name: str) -> None:
    holds, by_name, why_not = ANSWERS[name]
    state = world(legacy(1), active(2), record=holding(*holds))
    answer = may_return_without_gates(state.record, state.record.versions[0], by_name=by_name)
    assert why_not in answer.why_not
    assert bool(answer) is not bool(why_not)


SAID = {
    "taken back, passed over": (Lift.PASSED_OVER, False),
    "taken back, retried": (Lift.SAID_SO, True),
}


@pytest.mark.parametrize("name", SAID)
def test_promotion_that_is_taken_back_lets_nobody_forget_that_the_version_was_bad(name: str) -> None:
    """Found by exploration: that hold took the place of the older one, and was forgotten with the next target."""
    how, may_return = SAID[name]
    state = world(legacy(1), active(2), record=holding(bad(1, Lift.NAMED)))
    version = state.record.versions[0]
    held = put_hold(state, version, cause=Cause.TAKEN_BACK, reason="its promotion was taken back")
    assert not may_return_without_gates(held.record, version, by_name=True)
    lifted = lift_hold(held, version.digest, how=how, reason="later").record
    assert lifted.holds == ()
    assert lifted.past_holds == (replace(bad(1), lifted=how),)
    assert bool(may_return_without_gates(lifted, version, by_name=True)) is may_return


LIFTED = {
    "a hold in force: it ends, and the ledger says so": (
        {"holds": (bad(1),)},
        (replace(bad(1), lifted=Lift.NAMED),),
        ["hold-lifted"],
    ),
    "one that was passed over: who says more is remembered, and nothing is told twice": (
        {"past_holds": (bad(1, Lift.PASSED_OVER),)},
        (replace(bad(1), lifted=Lift.NAMED),),
        [],
    ),
    "one that was lifted so before": ({"past_holds": (bad(1, Lift.NAMED),)}, (bad(1, Lift.NAMED),), []),
    "one in force over an older one: the last that was said stays": (
        {"past_holds": (replace(bad(1, Lift.PASSED_OVER), reason="older"),), "holds": (bad(1),)},
        (replace(bad(1), lifted=Lift.NAMED),),
        ["hold-lifted"],
    ),
    "none": ({}, (), []),
}


@pytest.mark.parametrize("name", LIFTED)
def test_lifting(name: str) -> None:
    record, past, told = LIFTED[name]
    state = world(legacy(1), active(2), record=record)
    after = lift_hold(state, digest(1), how=Lift.NAMED, reason="primary.yaml names it again", by="ada").record
    assert (after.holds, after.past_holds) == ((), past)
    assert [entry.event for entry in after.ledger] == told
    assert all((entry.by, entry.to_version) == ("ada", 1) for entry in after.ledger)


def test_way_back_never_leads_to_a_version_that_never_served() -> None:
    state = world(active(1), candidate(2))
    assert may_return_without_gates(state.record, state.record.versions[1]).why_not == "never carried live traffic"


LANES = {
    "to the one before": (world(legacy(1), active(2), names_=1), SwitchKind.ROLLBACK),
    "to one with a greater number that came forward earlier": (
        world(active(2), legacy(3), names_=3, record={"activations": (digest(3), digest(2))}),
        SwitchKind.ROLLBACK,
    ),
    "to one with a lower number that came forward later": (
        world(legacy(1), active(2), names_=1, record={"activations": (digest(2), digest(1))}),
        SwitchKind.PROMOTION,
    ),
    "to one that is on hold": (world(legacy(1), active(2), names_=1, record=holding(bad(1))), SwitchKind.PROMOTION),
    "to one that was bad": (
        world(legacy(1), active(2), names_=1, record=holding(bad(1, Lift.NAMED))),
        SwitchKind.PROMOTION,
    ),
    "to one that was retried and did not serve since": (
        world(legacy(1), active(2), names_=1, record=holding(bad(1, Lift.SAID_SO))),
        SwitchKind.PROMOTION,
    ),
}


@pytest.mark.parametrize("name", LANES)
def test_lane_of_a_changed_primary(name: str) -> None:
    state, switch_kind = LANES[name]
    assert state.switch_kind is switch_kind


def test_why_a_newer_version_is_not_gone_back_to_is_said() -> None:
    state = world(active(1), legacy(2), names_=1)
    assert "came forward after" in leads_back(state.record, state.record.versions[1]).why_not


# --- the story that it was found by ---


def third_after_a_bad_second(spec: AppSpec) -> Simulation:
    """v2 was rolled back as bad; v3, which lifted its hold, is live."""
    sim = Simulation(spec)
    for tag in "12":
        sim.push(tag)
        sim.settle()
        sim.merge()
        sim.settle()
    sim.ask(OperatorCommand.ROLLBACK)
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2"})
    sim.push("3")
    sim.settle()
    sim.merge()
    sim.settle()
    assert (sim.live, sim.held) == ("3", set())
    return sim


SPECS = {
    "manual": manual(),
    "automatic": automatic(),
    "nothing is kept": replace(automatic(scale_down_delay_seconds=0), revision_history_limit=0),
}


def revert_the_push(sim: Simulation) -> None:
    sim.revert_target("2")


def push_it_again(sim: Simulation) -> None:
    sim.push("2")


def go_back_by_number(sim: Simulation) -> None:
    version = sim.record.version(template("2").digest)
    sim.ask(OperatorCommand.ROLLBACK, to_version=version.number if version else 2)


def lose_the_record_and_revert(sim: Simulation) -> None:
    lose_the_record(sim)
    sim.settle()
    sim.revert_target("2")


def lose_the_record(sim: Simulation) -> None:
    """The status was wiped; the ledger knows what it was told."""
    record = sim.record
    sim.memory = LedgerMemory(
        record.rollout,
        record.last_version,
        record.routing.activations,
        record.holds,
        record.past_holds,
        primary_by=record.git.primary_by,
    )
    sim.record = Record()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("asks", [revert_the_push, push_it_again, go_back_by_number, lose_the_record_and_revert])
def test_nobody_gets_to_a_bad_version_by_the_way(spec: str, asks) -> None:
    sim = third_after_a_bad_second(SPECS[spec])
    before = list(sim.moves)
    asks(sim)
    sim.settle()
    assert (sim.live, sim.moves) == ("3", before)
    if asks is not go_back_by_number:
        assert sim.held == {"2"}
        assert sim.branch is None, "nor is it offered"


def test_a_primary_that_names_a_bad_version_is_a_promotion_through_every_gate() -> None:
    sim = third_after_a_bad_second(manual())
    sim.bad_tags.add("2")
    sim.pods_come_up()
    sim.set_primary("2", "revert the promotion of 3")
    sim.settle()
    assert sim.live == "3", "its pods are waited for as in every promotion"
    assert sim.record.objection(template("2").digest).lifted is Lift.NAMED
    sim.bad_tags.clear()
    sim.settle()
    assert (sim.live, "promoted" in sim.events()[-2:]) == ("2", True)
    assert sim.record.objection(template("2").digest) is None, "it serves: nothing speaks against it any more"
    assert sim.held == set(), "and what it took the place of was not bad"


def test_a_retry_brings_a_bad_version_back_through_its_gates_and_by_itself_where_that_is_asked_for() -> None:
    sim = third_after_a_bad_second(automatic())
    sim.push("2")
    sim.settle()
    assert sim.held == {"2"}
    sim.retry()
    sim.settle()
    assert (sim.live, sim.events()[-1]) == ("2", "promoted")


def test_an_old_tag_is_not_promoted_over_a_persons_rollback_though_its_number_is_greater() -> None:
    sim = Simulation(automatic())
    for tag in "123":
        sim.push(tag)
        sim.settle()
    sim.ask(OperatorCommand.ROLLBACK, to_version=1)
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"3"})
    sim.push("2")
    sim.settle()
    assert (sim.live, sim.branch) == ("1", "2"), "offered, for a person to merge"


def test_a_record_without_memory_asks_the_ledger_once_somebody_has_looked_at_git() -> None:
    sim = third_after_a_bad_second(manual())
    lose_the_record(sim)
    remembered, sim.memory = sim.memory, None
    sim.unseen = True
    sim.settle()
    assert sim.record.unrecalled
    sim.memory, sim.unseen = remembered, False
    sim.settle()
    assert sim.record.objection(template("2").digest).cause is Cause.ROLLED_BACK
    assert not sim.record.unrecalled


def test_a_hold_that_never_spoke_against_the_version_is_over_with_a_newer_target() -> None:
    sim = Simulation(manual(expire_after_seconds=30))
    sim.push("1")
    sim.settle()
    sim.push("2")
    sim.settle()
    sim.later(seconds=31)
    sim.settle()
    assert sim.record.held(template("2").digest).cause is Cause.EXPIRED
    sim.push("3")
    sim.settle()
    sim.push("2")
    sim.settle()
    assert (sim.held, sim.branch) == (set(), "2")


def test_a_record_that_is_not_lost_is_left_as_it_is() -> None:
    state = world(legacy(1), active(2))
    assert restore_memory(state).record == state.record
