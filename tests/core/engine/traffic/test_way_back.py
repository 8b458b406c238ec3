"""Whether traffic may move to a version without gates, in every lane, and what is remembered of a bad version."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event, Record, SwitchKind
from gitops_bg.core.model.spec import AppSpec, Retry
from gitops_bg.core.model.statements import Cause, Hold, Says
from gitops_bg.core.world import World
from tests.core.simulation import Simulation, automatic, manual, template
from tests.core.stories import ask, lose_pods, name, promote, promoted, push, retry, wait
from tests.core.worlds import EARLIER, NOW, active, archived, candidate, decided, digest, legacy, world


def bad(number: int, lifted: Says | None = None) -> Hold:
    return Hold(digest(number), "5xx", EARLIER, Cause.ROLLED_BACK, lifted)


def holding(*holds: Hold) -> dict[str, object]:
    in_force = tuple(hold for hold in holds if hold.lifted is None)
    return {"holds": in_force, "past_holds": tuple(hold for hold in holds if hold.lifted)}


def rolled_back(state: World, to: int | None) -> int | None:
    """The version that `rollback` leads to, without a number or with one."""
    request = Request("1", OperatorCommand.ROLLBACK, "ada", NOW, "because", to)
    override = decided(replace(state, observed=replace(state.observed, requests=(request,)))).record.override
    version = state.record.version(override.to_digest) if override else None
    return version.number if version else None


# What speaks against a version: where a rollback leads that names none, and one that names version 2.
WAYS: dict[str, tuple[tuple[Hold, ...], int, int | None]] = {
    "nothing": ((), 2, 2),
    "it is on hold": ((bad(2),), 1, None),
    "a newer target passed its hold over": ((bad(2, Says.PASSED_OVER),), 1, None),
    "it did, and primary.yaml named it again": ((bad(2, Says.NAMED),), 1, 2),
    "it did, and was retried": ((bad(2, Says.CLEARED),), 1, 2),
    "nothing, another one is on hold": ((bad(1),), 2, 2),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_agent_goes_back_past_what_was_bad_and_a_person_to_what_somebody_cleared(name: str) -> None:
    holds, by_itself, by_name = WAYS[name]
    state = world(archived(1), legacy(2), active(3), record=holding(*holds))
    assert (rolled_back(state, None), rolled_back(state, 2)) == (by_itself, by_name)


def test_way_back_never_leads_to_a_version_that_never_served() -> None:
    assert rolled_back(world(active(1), candidate(2)), None) is None


def test_promotion_that_is_taken_back_lets_nobody_forget_that_the_version_was_bad() -> None:
    """Found by exploration: that hold took the place of the older one, and was forgotten with the next target."""
    second = template("2").digest
    sim = promoted()
    ask(sim, OperatorCommand.ROLLBACK)
    lose_pods(sim, "2")
    name(sim, "2")
    name(sim, "1", "revert the promotion")
    assert sim.record.held(second).cause is Cause.TAKEN_BACK
    promote(sim, "3")
    assert (sim.record.objection(second).cause, sim.held) == (Cause.ROLLED_BACK, set())
    sim.bad_tags.clear()
    ask(sim, OperatorCommand.ROLLBACK, 2)
    assert sim.live == "3"
    sim.spec, sim.retried_by = replace(sim.spec, retry=Retry(second, 1, "ada")), sim.commit("retry")
    sim.settle()
    ask(sim, OperatorCommand.ROLLBACK, 2)
    assert sim.live == "2"


LIFTED = {
    "a hold in force: it ends, and the ledger says so": (holding(bad(1)), ["hold-lifted"]),
    "one that was passed over: who says more is remembered, and nothing is told twice": (
        holding(bad(1, Says.PASSED_OVER)),
        [],
    ),
    "one in force over an older one: the last that was said stays": (
        holding(replace(bad(1, Says.PASSED_OVER), reason="older"), bad(1)),
        ["hold-lifted"],
    ),
}


@pytest.mark.parametrize("name", LIFTED)
def test_primary_that_names_a_bad_version_lifts(name: str) -> None:
    holds, told = LIFTED[name]
    record = decided(world(legacy(1), active(2), names_=1, record={"primary": digest(2), **holds})).record
    assert (record.holds, record.past_holds) == ((), (bad(1, Says.NAMED),))
    lifts = [entry for entry in record.ledger if entry.event is Event.HOLD_LIFTED]
    assert [entry.event for entry in lifts] == told
    assert all((entry.by, entry.to_version) == ("Ada <ada@example.com>", 1) for entry in lifts)


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
    "to one that is on hold: it does not go": (world(legacy(1), active(2), names_=1, record=holding(bad(1))), None),
    "to one that was bad": (
        world(legacy(1), active(2), names_=1, record=holding(bad(1, Says.NAMED))),
        SwitchKind.PROMOTION,
    ),
}


@pytest.mark.parametrize("name", LANES)
def test_lane_of_a_changed_primary(name: str) -> None:
    state, switch_kind = LANES[name]
    switch = decided(state).record.routing.switch
    assert (switch.switch_kind if switch else None) is switch_kind


# --- the story that it was found by ---


def third_after_a_bad_second(spec: AppSpec) -> Simulation:
    """v2 was rolled back as bad; v3, which lifted its hold, is live."""
    sim = Simulation(spec)
    promote(sim, *"12")
    ask(sim, OperatorCommand.ROLLBACK)
    assert (sim.live, sim.held) == ("1", {"2"})
    promote(sim, "3")
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
        record.statements,
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
    name(sim, "2", "revert the promotion of 3")
    assert sim.live == "3", "its pods are waited for as in every promotion"
    assert sim.record.objection(template("2").digest).lifted is Says.NAMED
    sim.bad_tags.clear()
    sim.settle()
    assert (sim.live, "promoted" in sim.events()[-2:]) == ("2", True)
    assert sim.record.objection(template("2").digest) is None, "it serves: nothing speaks against it any more"
    assert sim.held == set(), "and what it took the place of was not bad"


def test_a_retry_brings_a_bad_version_back_through_its_gates_and_by_itself_where_that_is_asked_for() -> None:
    sim = third_after_a_bad_second(automatic())
    push(sim, "2")
    assert sim.held == {"2"}
    retry(sim)
    assert (sim.live, sim.events()[-1]) == ("2", "promoted")


def test_an_old_tag_is_not_promoted_over_a_persons_rollback_though_its_number_is_greater() -> None:
    sim = Simulation(automatic())
    push(sim, *"123")
    ask(sim, OperatorCommand.ROLLBACK, to_version=1)
    assert (sim.live, sim.held) == ("1", {"3"})
    push(sim, "2")
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
    push(sim, *"12")
    wait(sim, seconds=31)
    assert sim.record.held(template("2").digest).cause is Cause.EXPIRED
    push(sim, "3", "2")
    assert (sim.held, sim.branch) == (set(), "2")
