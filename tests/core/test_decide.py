"""The engine as a whole: the order of its actions, its own check, that it is pure, and that order does not matter."""

import copy
from dataclasses import replace

import pytest

from gitops_bg.core import engine
from gitops_bg.core.invariants import InvariantBroken
from gitops_bg.core.model.actions import ApplyConfiguration, CreateReplicaSet, ScaleReplicaSet, SwitchTraffic
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, LedgerEntry, SwitchKind
from tests.core.simulation import automatic, deployed, template
from tests.core.worlds import NOW, active, archived, candidate, decided, digest, legacy, pods, rising, service, world

BUSY = world(
    archived(1),
    active(2),
    rising(3),
    sets=(pods(1), pods(2)),
    observed={"app_drifted": True, "active_service": service("web", 0)},
    record={"ledger": (LedgerEntry(1, NOW, Event.HELD),), "sequence": 1},
)


def test_actions_come_in_the_order_that_keeps_every_prefix_safe():
    kinds = [type(action).__name__ for action in decided(BUSY).actions]
    assert kinds == [
        "RepairSelector",
        "ScaleReplicaSet",
        "ApplyApp",
        "CreateReplicaSet",
        "ScaleReplicaSet",
        "PublishLedger",
    ]


REFUSED = {
    "its ReplicaSet": lambda action: isinstance(action, CreateReplicaSet) and action.number == 3,
    "its size": lambda action: isinstance(action, ScaleReplicaSet) and action.number == 3,
    "the copy of its ConfigMap": lambda action: isinstance(action, ApplyConfiguration) and action.number == 3,
}


@pytest.fixture(params=REFUSED)
def held_up(request):
    """Version 2 serves, 1 was archived, and something of 3 is refused: a quota, a policy, missing rights."""
    sim = deployed(automatic())
    sim.push("2")
    sim.settle(limit=60)
    sim.later(seconds=301)
    sim.settle()
    sim.refuses = REFUSED[request.param]
    sim.push("3+a")
    passes(sim)
    assert (sim.live, sim.record.versions[-1].number) == ("2", 3)
    return sim


def passes(sim, count=12):
    """There is always something left to do: what was refused."""
    for _ in range(count):
        sim.step()
        sim.pods_come_up()


def test_way_back_is_open_while_a_new_version_is_refused(held_up):
    held_up.set_primary("1", "revert")
    passes(held_up)
    assert held_up.live == "1"


def test_rollback_without_git_works_while_a_new_version_is_refused(held_up):
    held_up.ask(OperatorCommand.ROLLBACK)
    passes(held_up)
    assert held_up.live == "1"


def test_what_serves_is_repaired_while_a_new_version_is_refused(held_up):
    held_up.active = ""
    held_up.delete_replica_set("2")
    passes(held_up)
    assert held_up.live == "2"
    assert held_up.pods[template("2").digest].available == 3


WORKLOADS = (CreateReplicaSet, ScaleReplicaSet)


@pytest.mark.parametrize("astray", ["", "3"])
@pytest.mark.parametrize("asked", [False, True], ids=["nothing asked for", "a way back"])
def test_live_service_is_repaired_while_every_workload_is_refused(held_up, astray, asked):
    held_up.refuses = lambda action: isinstance(action, WORKLOADS)
    held_up.delete_replica_set("2")
    if asked:
        held_up.set_primary("1", "revert")
    passes(held_up)
    held_up.active = astray
    passes(held_up)
    assert held_up.live == "2"


def test_old_version_is_archived_while_a_new_one_is_refused():
    sim = deployed(automatic())
    sim.push("2")
    sim.settle(limit=60)
    sim.refuses = REFUSED["its ReplicaSet"]
    sim.push("3+a")
    sim.later(seconds=301)
    passes(sim)
    assert sim.pods[template("1").digest].replicas == 0


def test_an_answer_that_breaks_an_invariant_is_not_given(monkeypatch):
    move = SwitchTraffic("web", (), 1, digest(1), 2, digest(2), SwitchKind.PROMOTION, 0)
    monkeypatch.setattr(engine, "switch_traffic", lambda state: (move,))
    with pytest.raises(InvariantBroken, match=r"shop/web: I3"):
        decided(world(active(1), candidate(2)))


def test_what_goes_in_is_not_changed():
    before = copy.deepcopy(BUSY)
    decided(BUSY)
    assert before == BUSY


def test_the_same_question_has_the_same_answer():
    assert decided(BUSY) == decided(copy.deepcopy(BUSY))


def test_the_order_in_which_replica_sets_are_seen_does_not_matter():
    state = world(
        archived(1), legacy(2), active(3), candidate(4), names_=4, sets=(pods(1), pods(2, 1), pods(3), pods(4))
    )
    turned = replace(state, observed=replace(state.observed, replica_sets=state.observed.replica_sets[::-1]))
    assert decided(state) == decided(turned)


def test_a_hundred_quiet_passes_write_nothing():
    sim = deployed(automatic())
    commits, record = sim.commits, sim.record
    for _ in range(100):
        sim.later(seconds=30)
        assert sim.step().actions == ()
    assert (sim.commits, sim.record) == (commits, record)
