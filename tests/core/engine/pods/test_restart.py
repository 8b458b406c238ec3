"""`restartAt` and `maxUnavailable`: who is evicted when, and what ends a restart (argo-rollouts.md §1.3)."""

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.model.actions import EvictPod
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import Event, Restart
from gitops_bg.core.model.spec import AppSpec, IntOrPercent, Suspension
from gitops_bg.core.model.version import Stabilization, short
from gitops_bg.core.world import World
from tests.core.shown import ABSENT
from tests.core.simulation import Simulation, deployed, manual, template
from tests.core.worlds import (
    EARLIER,
    NOW,
    SECOND,
    active,
    candidate,
    conditions,
    decided,
    digest,
    legacy,
    pods,
    rising,
    target,
    world,
)

AT = NOW - 60 * SECOND
OLD, NEW = AT - 10 * SECOND, AT + 10 * SECOND


def spec(at: datetime | None = AT, **changes) -> AppSpec:
    return replace(manual(**changes), restart_at=at)


def pod(of: int, name: str, made: datetime = OLD, **changes) -> PodView:
    """An available pod of version ``of``."""
    view = PodView(name, f"uid-{name}", short(digest(of)), made, ready_since=made)
    return replace(view, **changes)


def old(of: int, *names: str, **changes) -> tuple[PodView, ...]:
    return tuple(pod(of, name, **changes) for name in names)


BEGUN = Restart(AT, rollout=2, begun=True)
UNREADY = {"ready_since": None}


def restarting(*versions, seen: tuple[PodView, ...] | None, restart: Restart | None = BEGUN, **more) -> World:
    """A world in which a restart has begun."""
    versions = versions or (active(1, rollout=2),)
    record = {"restart": restart, **more.pop("record", {})}
    observed = {"pods": seen, **more.pop("observed", {})}
    return world(*versions, record=record, observed=observed, **{"spec": spec(), **more})


def evicted(state: World) -> list[str]:
    return [action.name for action in decided(state).actions if isinstance(action, EvictPod)]


def asked_for(state: World) -> Restart | None:
    """The restart that the record has after this look."""
    return decided(state).record.operator.restart


# --- who, and how many at once ---

EIGHT = tuple(f"p{number}" for number in range(8))
BOTH = (active(1), candidate(2))
EVICTED = {
    "one of three: a quarter, but at least one": (restarting(seen=old(1, "a", "b", "c")), ["a"]),
    "a quarter of eight": (
        restarting(seen=old(1, *EIGHT), sets=(pods(1, 8),), desired={"target": target(1, 8)}),
        ["p0", "p1"],
    ),
    "none of a version that is being scaled": (restarting(seen=old(1, *EIGHT), sets=(pods(1, 8),)), []),
    "as many as maxUnavailable says": (
        restarting(seen=old(1, "a", "b", "c"), spec=spec(max_unavailable=IntOrPercent(2))),
        ["a", "b"],
    ),
    "at least one where it says 0": (
        restarting(seen=old(1, "a", "b", "c"), spec=spec(max_unavailable=IntOrPercent(0))),
        ["a"],
    ),
    "all of them at 100 %": (
        restarting(seen=old(1, "a", "b", "c"), spec=spec(max_unavailable=IntOrPercent(100, percent=True))),
        ["a", "b", "c"],
    ),
    "the oldest first": (restarting(seen=(*old(1, "a", "b"), pod(1, "c", OLD - SECOND))), ["c"]),
    "none while one is missing": (restarting(seen=(*old(1, "a", "b"), pod(1, "c", NEW, **UNREADY))), []),
    "none while one is leaving": (restarting(seen=(*old(1, "a", "b"), pod(1, "c", leaving=True))), []),
    "one again as soon as the new one is up": (restarting(seen=(*old(1, "a", "b"), pod(1, "c", NEW))), ["a"]),
    "not before it was up for minReadySeconds": (
        restarting(
            seen=(*old(1, "a", "b"), pod(1, "c", NEW, ready_since=NOW - 4 * SECOND)),
            spec=replace(spec(), min_ready_seconds=5),
        ),
        [],
    ),
    "one that was up for minReadySeconds": (
        restarting(
            seen=(*old(1, "a", "b"), pod(1, "c", NEW, ready_since=NOW - 5 * SECOND)),
            spec=replace(spec(), min_ready_seconds=5),
        ),
        ["a"],
    ),
    "those that serve nobody at once, whatever is missing": (
        restarting(seen=(*old(1, "a"), *old(1, "b", "c", **UNREADY))),
        ["b", "c"],
    ),
    "none that serve while none is up for minReadySeconds": (
        restarting(seen=old(1, "a", "b", "c", ready_since=NOW - SECOND), spec=replace(spec(), min_ready_seconds=5)),
        [],
    ),
    "none where the agent's clock is behind": (
        restarting(seen=old(1, "a", "b", "c", ready_since=NOW + 60 * SECOND)),
        [],
    ),
    "of those, only the ones that are not ready": (
        restarting(
            seen=(*old(1, "a", "b", ready_since=NOW - SECOND), *old(1, "c", **UNREADY)),
            spec=replace(spec(), min_ready_seconds=5),
        ),
        ["c"],
    ),
    "only what is older": (restarting(seen=(pod(1, "a", AT), pod(1, "b", NEW), pod(1, "c", NEW))), []),
    "the live version first": (restarting(*BOTH, seen=(*old(2, "x", "y", "z"), *old(1, "a", "b", "c"))), ["a"]),
    "then the candidate": (restarting(*BOTH, seen=(*old(2, "x", "y", "z"), *old(1, "a", "b", "c", made=NEW))), ["x"]),
    "then the warm ones, the oldest first": (
        restarting(
            legacy(1),
            legacy(2),
            active(3, rollout=2),
            seen=(*old(2, "x", "y", "z"), *old(1, "a", "b", "c"), *old(3, "p", "q", "r", made=NEW)),
        ),
        ["a"],
    ),
    "the next version only after the last pod of this one": (
        restarting(*BOTH, seen=(*old(2, "x", "y", "z"), pod(1, "a"), pod(1, "b", NEW), pod(1, "c", NEW, **UNREADY))),
        [],
    ),
    "nobody's pods but ours": (restarting(seen=old(7, "a"), sets=(pods(1, 0),)), []),
    "not those of somebody else's ReplicaSet": (
        restarting(seen=old(1, "a"), sets=(pods(1, ours=False, owner="Helm"),)),
        [],
    ),
    "none that were not looked at": (restarting(seen=None), []),
    "none while the app is suspended": (
        restarting(seen=old(1, "a", "b", "c"), spec=replace(spec(), suspend=Suspension("incident"))),
        [],
    ),
    "none while traffic is on its way": (restarting(*BOTH, seen=old(1, "a", "b", "c"), names_=2), []),
    "none of a pod that stays, for half a minute": (
        restarting(seen=old(1, "a", "b", "c"), restart=replace(BEGUN, asked=("uid-a",), asked_at=NOW - 29 * SECOND)),
        [],
    ),
    "it again after that": (
        restarting(seen=old(1, "a", "b", "c"), restart=replace(BEGUN, asked=("uid-a",), asked_at=NOW - 30 * SECOND)),
        ["a"],
    ),
    "the next one as soon as it is gone": (
        restarting(
            seen=(*old(1, "b", "c"), pod(1, "d", NEW)), restart=replace(BEGUN, asked=("uid-a",), asked_at=NOW - SECOND)
        ),
        ["b"],
    ),
}


@pytest.mark.parametrize("name", EVICTED)
def test_evicts(name):
    state, expected = EVICTED[name]
    assert evicted(state) == expected


def test_clock_that_is_ahead_of_the_clusters_restarts_no_pod_twice():
    """The new pods are older than the time asked for, too."""
    first = asked_for(restarting(seen=old(1, "a", "b", "c", made=OLD - SECOND)))
    assert first is not None
    assert first.youngest == OLD - SECOND
    seen = (*old(1, "b", "c", made=OLD - SECOND), pod(1, "d", OLD))
    assert evicted(restarting(seen=seen, restart=first)) == ["b"]
    done(restarting(seen=old(1, "d", "e", "f"), restart=first))


# --- begin, schedule, end ---


def test_it_begins_in_the_record_so_that_the_agent_looks_at_pods():
    state = restarting(seen=None, restart=None)
    assert asked_for(state) == BEGUN
    assert evicted(state) == []


def test_time_to_come_is_waited_for():
    later = NOW + 600 * SECOND
    state = restarting(seen=None, restart=None, spec=spec(later))
    decision = decided(state)
    assert decision.record.operator.restart == Restart(later, rollout=2)
    assert (decision.wake_at, decision.phase) == (later, Phase.HEALTHY)
    assert asked_for(replace(state, now=later)) == Restart(later, rollout=2, begun=True)


def test_another_look_is_due_every_half_minute_until_it_ends():
    refused = replace(BEGUN, asked=("uid-a",), asked_at=NOW - 10 * SECOND)
    assert decided(restarting(seen=old(1, "a", "b", "c"))).wake_at == NOW + 30 * SECOND
    assert decided(restarting(seen=(pod(1, "a"), pod(1, "b", NEW, **UNREADY)))).wake_at == NOW + 30 * SECOND
    assert decided(restarting(seen=old(1, "a"), restart=refused)).wake_at == NOW + 20 * SECOND, "counted from then"


def done(state: World) -> Decision:
    after = decided(state)
    assert after.record.operator.restart is None
    assert after.record.operator.restarted == AT
    return after


def told(after: Decision) -> list[Event]:
    return [entry.event for entry in after.record.ledger if entry.event in (Event.RESTARTED, Event.RESTART_CANCELLED)]


def test_it_ends_when_every_pod_is_newer_and_the_live_version_is_whole():
    missing = restarting(seen=(pod(1, "a", NEW), pod(1, "b", NEW)), restart=replace(BEGUN, count=2))
    assert asked_for(missing) == missing.record.operator.restart
    after = done(restarting(seen=old(1, "a", "b", "c", made=NEW), restart=replace(BEGUN, count=3)))
    assert told(after) == [Event.RESTARTED]
    assert after.record.ledger[0].reason == "3 pods older than 2026-01-01T11:59:00Z"


def test_one_that_had_nothing_to_do_is_not_told():
    """The pods of a rebuilt cluster are all newer than what was asked for before."""
    assert told(done(restarting(seen=old(1, "a", "b", "c", made=NEW)))) == []


def test_it_is_done_once():
    state = world(active(1), spec=spec(), record={"restarted": AT})
    after = decided(state)
    assert (after.record.operator, after.actions) == (state.record.operator, ())


def test_new_rollout_cancels_it():
    """Its pods are new; those of the version that is left go anyway (argo-rollouts.md §2.2)."""
    after = done(restarting(*BOTH, seen=old(1, "a", "b", "c"), restart=replace(BEGUN, rollout=1)))
    assert told(after) == [Event.RESTART_CANCELLED]
    assert not [each for each in after.actions if isinstance(each, EvictPod)]


def test_new_rollout_also_cancels_one_that_is_scheduled():
    later = NOW + 600 * SECOND
    state = restarting(*BOTH, seen=None, restart=Restart(later, rollout=1), spec=spec(later))
    assert decided(state).record.operator.restarted == later


@pytest.mark.parametrize("at", [None, NEW], ids=["removed", "changed"])
def test_edit_of_the_time_holds_at_once(at):
    restart = asked_for(restarting(seen=None, spec=spec(at)))
    assert restart == (Restart(NEW, rollout=2, begun=True) if at else None)


def test_suspended_app_begins_later():
    suspended = replace(spec(), suspend=Suspension("incident"))
    assert asked_for(restarting(seen=None, restart=None, spec=suspended)) == Restart(AT, rollout=2)


# --- what it must not be taken for ---


LATE = "ProgressDeadlineExceeded"
CLOCKS = {
    "of a candidate begins anew with every eviction": (rising(2, waiting_since=NOW - 60 * SECOND), ("", NOW)),
    "of one that was late before does not: it has not recovered by being restarted": (
        rising(2, failure=LATE),
        (LATE, EARLIER),
    ),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_progress_deadline(name):
    version, expected = CLOCKS[name]
    state = restarting(
        active(1), version, seen=old(2, "x", "y", "z", **UNREADY), sets=(pods(1), pods(2, 3, 0)), names_=1
    )
    after = decided(state).record.numbered(2)
    assert (after.failure, after.waiting_since) == expected


def test_probation_of_the_live_version_begins_anew_with_every_eviction():
    unready = Stabilization(3, EARLIER, unready=True)
    state = restarting(active(1, rollout=2, stabilization=unready), seen=old(1, "a", "b", "c"), sets=(pods(1, 3, 2),))
    after = decided(state).record.numbered(1)
    assert after.stabilization == Stabilization(3, NOW, unready=True)


# --- what people are told ---

ASKED = replace(BEGUN, asked=("uid-a",), asked_at=NOW - SECOND)
TOLD = {
    "nothing": (world(active(1)), ABSENT),
    "when it will be": (
        restarting(seen=None, restart=Restart(NOW + SECOND, 2), spec=spec(NOW + SECOND)),
        (False, "Scheduled", "pods older than 2026-01-01T12:00:01Z are restarted at that time"),
    ),
    "how many are left": (
        restarting(seen=(*old(1, "a", "b"), pod(1, "c", NEW))),
        (True, "Restarting", "2 pods older than 2026-01-01T11:59:00Z are being restarted"),
    ),
    "that nobody has looked yet": (
        restarting(seen=None),
        (True, "Restarting", "pods older than 2026-01-01T11:59:00Z are being restarted"),
    ),
    "that a pod stays": (
        restarting(seen=old(1, "a", "b"), restart=ASKED),
        (True, "EvictionRefused", "a stay: a PodDisruptionBudget may refuse their eviction, which is asked for again"),
    ),
    "that we may not look": (
        restarting(seen=None, observed={"pods_refused": "list pods: 403"}),
        (True, "PodsUnreadable", "list pods: 403"),
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_condition_says(name):
    state, expected = TOLD[name]
    assert conditions(state)["Restarting"] == expected


def test_phase_is_restarting_and_healthy_says_why():
    state = restarting(seen=old(1, "a"))
    assert decided(state).phase is Phase.RESTARTING
    said = "1 pods older than 2026-01-01T11:59:00Z are being restarted"
    assert conditions(state)["Healthy"] == (False, "Restarting", said)


# --- a whole story ---


def restarted(sim: Simulation, rounds: int = 10) -> Simulation:
    for _ in range(rounds):
        sim.settle()
        sim.later(seconds=31)
    return sim


def test_restart_of_two_versions_under_a_budget_that_refuses_at_first():
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    sim.later(seconds=60)
    sim.restart()
    sim.budget_refuses = True
    restarted(sim)
    assert sim.evicted == 0
    sim.budget_refuses = False
    restarted(sim)
    assert sim.evicted == 6
    assert sim.older_than(sim.spec.restart_at) == []
    assert sim.events().count("restarted") == 1
    assert sim.live == "1"
    assert sim.step().actions == ()


def test_push_in_the_middle_of_it_goes_ahead():
    sim = deployed(manual())
    sim.later(seconds=60)
    sim.restart()
    sim.budget_refuses = True
    restarted(sim, rounds=1)
    sim.push("2")
    sim.settle()
    assert sim.events().count("restart-cancelled") == 1
    assert sim.pods[template("2").digest].available == 3


def test_versions_are_restarted_one_after_the_other_the_live_one_first_then_a_candidate_then_the_oldest():
    versions = (legacy(1), legacy(2), active(3, rollout=5), candidate(4, retiring=True), candidate(5))
    sets = tuple(pods(number) for number in range(1, 6))
    asked = []
    for left in ((3, 5, 1, 2, 4), (5, 1, 2, 4), (1, 2, 4), (2, 4), (4,)):
        seen = tuple(
            pod(number, f"p{number}{name}", OLD if number in left else NEW) for number in range(1, 6) for name in "abc"
        )
        asked += evicted(restarting(*versions, seen=seen, sets=sets, restart=Restart(AT, rollout=5, begun=True)))
    assert asked == ["p3a", "p5a", "p1a", "p2a", "p4a"]


def test_youngest_of_the_old_pods_is_remembered_and_evictions_are_added_up():
    seen = (pod(1, "a", OLD - 9 * SECOND), pod(1, "b", OLD), pod(1, "c", OLD - 5 * SECOND))
    after = asked_for(restarting(seen=seen, restart=replace(BEGUN, count=2)))
    assert (after.youngest, after.count, len(after.asked)) == (OLD, 3, 1)


def test_where_nobody_may_be_evicted_nothing_is_noted_as_asked_for():
    after = asked_for(restarting(seen=old(1, *EIGHT), sets=(pods(1, 8),)))
    assert (after.asked, after.asked_at, after.count) == ((), None, 0)
