"""The app's object is deleted: nothing is created for an owner that is being deleted, and the rest is adopted later."""

from dataclasses import replace

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyAuxiliaryObject,
    ApplyConfiguration,
    ApplyService,
    CreateReplicaSet,
    PublishLedger,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Event, LedgerEntry, Record
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Color
from tests.core.records import statements_of
from tests.core.simulation import automatic, deployed, manual
from tests.core.worlds import NOW, active, candidate, digest, pods, rising, service, world

OWNED = ApplyApp | ApplyAuxiliaryObject | ApplyConfiguration | ApplyService | CreateReplicaSet


def decided(state):
    return decide(state.spec, state.desired, state.observed, state.record, state.now)


def going(*versions, **more):
    observed = {"app_going": True, **more.pop("observed", {})}
    return world(*versions, observed=observed, **more)


GONE = {
    "a candidate that has no ReplicaSet yet": going(active(1), rising(2), sets=(pods(1),)),
    "a live Service that is not there": going(active(1), observed={"active_service": None}),
    "a live Service that differs": going(
        active(1), observed={"active_service": replace(service("web", 1), drifted=True)}
    ),
    "a ReplicaSet that differs": going(active(1), sets=(replace(pods(1), drifted=True),)),
    "the object itself": going(active(1), observed={"app_drifted": True}),
}


@pytest.mark.parametrize("name", GONE)
def test_nothing_is_made_for_an_owner_that_goes(name):
    actions = decided(GONE[name]).actions
    assert not [action for action in actions if isinstance(action, OWNED)]
    assert not [action for action in actions if isinstance(action, ScaleReplicaSet)]


def test_what_happened_still_reaches_git():
    told = LedgerEntry(1, NOW, Event.PROMOTED)
    [action] = decided(going(active(1), record={"ledger": (told,), "sequence": 1})).actions
    assert action == PublishLedger("5eed", (told,))


def test_traffic_still_goes_back_meanwhile():
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    sim.merge()
    sim.settle()
    sim.revert_promotion()
    observed, before = replace(sim.observed(), app_going=True), sim.record.last_version
    decision = decide(sim.spec, sim.desired(), observed, sim.record, sim.now)
    switched = [action.digest for action in decision.actions if isinstance(action, SwitchTraffic)]
    assert ([sim.tag(digest) for digest in switched], before) == (["1"], 2)


# --- the record is gone, the rest is there ---


def lost(number=1, wants=1, names_=1, memory=None, **more):
    """No record; the ReplicaSets are there, and the live Service selects version ``number``."""
    state = world(active(number), wants=wants, names_=names_, **more)
    sets = tuple(replace(view, color=Color.BLUE) for view in state.observed.replica_sets)
    observed = replace(state.observed, replica_sets=sets, app_uid="beef-1")
    return replace(state, record=Record(), observed=observed, desired=replace(state.desired, memory=memory))


SERVED = LedgerMemory(rollout=4, last_version=4, active_digests=(digest(1), digest(3)))
STAYS = {
    "main names it": lost(),
    "main names it, the ledger knows it": lost(3, wants=3, names_=3, memory=SERVED),
    "main names another, it served before": lost(3, wants=4, names_=1, memory=SERVED),
    "main names nothing, it served before": lost(3, wants=4, names_=0, memory=SERVED),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_serves_goes_on_and_the_ledger_is_told_nothing_of_it(name):
    state = STAYS[name]
    decision = decided(state)
    short = state.observed.active_service.digest
    assert decision.record.routing.traffic.startswith(f"v1:{short}")
    assert decision.record.version(decision.record.routing.traffic).number == state.observed.replica_sets[0].number
    assert not [entry for entry in decision.record.ledger if entry.event in (Event.DEPLOYED, Event.PROMOTED)]
    assert not [action for action in decision.actions if isinstance(action, SwitchTraffic)]


ANEW = {
    "nobody knows it": lost(2, wants=2, names_=0),
    "the Service is somebody else's": lost(
        observed={"active_service": replace(service("web", 1), ours=False, owner="theirs")}
    ),
    "one of several Services shows another": lost(
        spec=automatic(more_active_services=("more",)), observed={"more_active_services": (service("more", 2),)}
    ),
    "its pods are gone": lost(sets=()),
}


@pytest.mark.parametrize("name", ANEW)
def test_nothing_serves_by_a_selector_alone(name):
    assert decided(ANEW[name]).record.routing.traffic == ""


def test_a_version_that_is_held_serves_on_and_what_main_names_comes_through_gates():
    """An emergency rollback that main does not say yet: its record is gone, the hold is in the ledger."""
    held = replace(SERVED, statements=statements_of(Hold(digest(1), "5xx", NOW)))
    decision = decided(lost(3, wants=1, names_=1, memory=held))
    assert decision.record.routing.traffic == digest(3)
    assert decision.record.routing.switch is None


def test_a_digest_keeps_the_number_that_the_ledger_knows():
    memory = replace(SERVED, numbers=((digest(2), 4), (digest(1), 1)))
    decision = decided(lost(1, wants=2, memory=memory, sets=(pods(1),)))
    assert decision.record.version(digest(2)).number == 4
    assert decided(world(active(1), candidate(2))).record.version(digest(2)).number == 2


def test_a_record_that_went_back_gives_no_number_of_the_ledger_twice():
    """A cluster restored from a backup: Git would take an entry with a known number for known, and drop it."""
    git = GitView(ledger_epoch="5eed", ledger_sequence=9)
    state = world(active(1), observed={"git": git}, record={"sequence": 4}, desired={"problems": (Problem("a", "b"),)})
    [entry] = decided(state).record.ledger
    assert (entry.event, entry.sequence) == (Event.INVALID, 10)
