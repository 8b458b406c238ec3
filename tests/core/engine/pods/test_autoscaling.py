"""An app with an autoscaler for its live version: who scales what, and which ReplicaSet the autoscaler targets."""

from dataclasses import replace

import pytest

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementPlan, MeasurementResult, Metric
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.observed import AuxiliaryView, OperatorCommand
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import ConfigurationRef, Stabilization, short
from gitops_bg.core.names import replica_set_name
from gitops_bg.core.world import World
from tests.core.simulation import APP, COPY, Simulation, automatic, deployed, manual, template
from tests.core.worlds import NOW, active, candidate, decided, digest, legacy, pods, rising, sentences, target, world

HPA = Autoscaler(COPY, 2, 8)
KEDA = Autoscaler(AuxiliaryObject("ScaledObject", "web-primary"), 0, 8)
BESIDE = act.ApplyAuxiliaryObject | act.DeleteAuxiliaryObject
BUDGET = AuxiliaryObject("PodDisruptionBudget", "web")
MANUAL = manual(preview_service="web-preview")


def aimed(number: int, copy: AuxiliaryObject = COPY, **changes) -> AuxiliaryView:
    """The copy as it is live, aimed at a version."""
    return replace(AuxiliaryView(copy, scale_target=replica_set_name(APP, number, digest(number))), **changes)


FORMER = "shop-v1-0123456789"
AT_FORMER = {"auxiliary_objects": (aimed(1, scale_target=FORMER),)}
"""The copy aims at what was made under the former name of the app."""


def scaled(*versions, by: Autoscaler = HPA, aim: int = 1, **fields):
    """A world with an autoscaler in Git, in the record, and live."""
    wanted = {"auxiliary_objects": (by.copy,), "autoscaler": by, **fields.pop("desired", {})}
    seen = {"auxiliary_objects": (aimed(aim, by.copy),), **fields.pop("observed", {})}
    record = {"auxiliary_objects": (by.copy,), "autoscaler": by, **fields.pop("record", {})}
    return world(*versions, desired=wanted, observed=seen, record=record, **fields)


def at_rest(state: World) -> tuple[str, ...]:
    """What is to be done about auxiliary objects once the record says all it has to say."""
    for _ in range(5):
        state = state.with_record(decided(state).record)
    return tuple(str(each) for each in decided(state).actions if isinstance(each, BESIDE))


WANTED = {
    "the live version: whatever the autoscaler says": (scaled(active(1), sets=(pods(1, 6),)), 1, 6),
    "the live version: also where the target asks for something else": (
        scaled(active(1), sets=(pods(1, 6),), desired={"target": target(1, 3)}),
        1,
        6,
    ),
    "the live version above the maximum: the autoscaler takes it down, nobody else": (
        scaled(active(1), sets=(pods(1, 12),)),
        1,
        12,
    ),
    "the live version at 0, where an HPA rests: up to the minimum": (scaled(active(1), sets=(pods(1, 0),)), 1, 2),
    "the live version at 0 by KEDA: as it is": (scaled(active(1), by=KEDA, sets=(pods(1, 0),)), 1, 0),
    "the live version that is gone: what the target asks for": (scaled(active(1), sets=()), 1, 3),
    "the live version that is gone: within the bounds": (
        scaled(active(1), sets=(), desired={"target": target(1, 20)}),
        1,
        8,
    ),
    "a candidate: today's load": (scaled(active(1), rising(2), sets=(pods(1, 6), pods(2, 0))), 2, 6),
    "a candidate: not above the maximum": (scaled(active(1), rising(2), sets=(pods(1, 12), pods(2, 0))), 2, 8),
    "a candidate with previewReplicaCount: that": (
        scaled(active(1), rising(2), sets=(pods(1, 6), pods(2, 1)), spec=manual(preview_replica_count=1)),
        2,
        1,
    ),
    "a candidate while nothing is asked for: one pod, to show that it runs": (
        scaled(active(1), rising(2), by=KEDA, sets=(pods(1, 0), pods(2, 0))),
        2,
        1,
    ),
    "a version that is promoted again while nothing is asked for: one pod, too": (
        scaled(active(1), legacy(2), by=KEDA, names_=2, sets=(pods(1, 0), pods(2, 0))),
        2,
        1,
    ),
    "a version that traffic returns to while nothing is asked for: none, it has shown that it runs": (
        scaled(legacy(1), active(2), by=KEDA, aim=2, names_=1, sets=(pods(1, 0), pods(2, 0))),
        1,
        0,
    ),
    "a warm version while nothing is asked for, and another one is promoted: none": (
        scaled(legacy(1), active(2), candidate(3), by=KEDA, aim=2, names_=3, sets=(pods(1, 0), pods(2, 0), pods(3, 1))),
        1,
        0,
    ),
    "what primary.yaml names: no fewer than serve, also above the maximum": (
        scaled(active(1), candidate(2), names_=2, sets=(pods(1, 12), pods(2, 8))),
        2,
        12,
    ),
    "a warm version: today's load": (scaled(legacy(1), active(2), aim=2, sets=(pods(1, 2), pods(2, 6))), 1, 6),
    "a warm version: down with the load": (scaled(legacy(1), active(2), aim=2, sets=(pods(1, 8), pods(2, 4))), 1, 4),
    "a warm version: not down while the live one has yet to prove itself": (
        scaled(legacy(1), active(2, stabilization=Stabilization(8, NOW)), aim=2, sets=(pods(1, 8), pods(2, 4))),
        1,
        8,
    ),
    "a warm version that the autoscaler still aims at: its size is the autoscaler's": (
        scaled(legacy(1), active(2), aim=1, sets=(pods(1, 2), pods(2, 6))),
        1,
        2,
    ),
    "a warm version that the autoscaler still aims at under the former name of the app": (
        scaled(legacy(1), active(2), aim=1, sets=(pods(1, 2, name=FORMER), pods(2, 6)), observed=AT_FORMER),
        1,
        2,
    ),
    "a version that traffic returns to: today's load": (
        scaled(legacy(1), active(2), aim=2, names_=1, sets=(pods(1, 2), pods(2, 6))),
        1,
        6,
    ),
}


def size(state: World, number: int) -> int:
    """How many pods the ReplicaSet of a version has after this look."""
    found = next((each.replicas for each in state.observed.replica_sets if each.snapshot.digest == digest(number)), 0)
    for action in decided(state).actions:
        if isinstance(action, act.CreateReplicaSet | act.ScaleReplicaSet) and action.number == number:
            found = action.replicas
    return found


@pytest.mark.parametrize("name", WANTED)
def test_size_of(name):
    state, number, expected = WANTED[name]
    assert size(state, number) == expected


def test_nothing_scales_what_serves_between_the_bounds():
    for size in range(2, 13):
        assert sentences(scaled(active(1), sets=(pods(1, size),))) == []


def test_what_serves_is_brought_up_to_the_minimum_once():
    assert sentences(scaled(active(1), sets=(pods(1, 0),))) == ["scale 1 (v1) from 0 to 2: the active version needs 2"]


@pytest.mark.parametrize(("by", "serve", "come", "moves"), [(HPA, 6, 5, False), (HPA, 6, 6, True), (KEDA, 0, 1, True)])
def test_traffic_waits_for_as_many_pods_as_the_load_asks_for(by, serve, come, moves):
    state = scaled(active(1), candidate(2), by=by, names_=2, sets=(pods(1, serve), pods(2, come)))
    needed = [each.needs_available for each in decided(state).actions if isinstance(each, act.SwitchTraffic)]
    assert needed == ([max(serve, 1)] if moves else [])


def test_a_candidate_stays_available_while_the_load_grows():
    """Its countdown, its analysis and its deadline do not begin anew with every step of the autoscaler."""
    state = scaled(active(1), candidate(2), sets=(pods(1, 6), pods(2, 3)))
    assert decided(state).record.version(digest(2)).available_since == candidate(2).available_since
    fewer = scaled(active(1), candidate(2), sets=(pods(1, 6), pods(2, 3, available=1)))
    assert decided(fewer).record.version(digest(2)).available_since is None


@pytest.mark.parametrize(("minimum", "available", "stays"), [(0, 1, True), (0, 0, False), (1, 1, True), (2, 1, False)])
def test_a_candidate_is_available_with_the_pods_that_are_needed_at_least_and_never_with_none(minimum, available, stays):
    grown = (pods(1, 6), pods(2, 3, available))
    state = scaled(active(1), candidate(2), by=Autoscaler(COPY, minimum, 8), sets=grown)
    assert (decided(state).record.numbered(2).available_since is not None) is stays


def test_what_traffic_is_to_move_to_has_a_deadline_for_all_its_pods():
    state = scaled(active(1), candidate(2), names_=2, sets=(pods(1, 6), pods(2, 6, available=3)))
    assert decided(state).record.version(digest(2)).waiting_since == NOW


# --- where it aims ---

S1, S2 = short(digest(1)), short(digest(2))
THERE_NOW = f"apply {COPY} -> 2 (v2): live traffic goes there now"
AIM = {
    "at what serves: nothing to do": (scaled(active(1)), []),
    "at what serves under the former name of the app: nothing to do": (
        scaled(active(1), sets=(pods(1, name=FORMER),), observed=AT_FORMER),
        [],
    ),
    "at what serves under another name now, after somebody deleted what had the former one": (
        scaled(active(1), observed=AT_FORMER),
        [f"apply {COPY} -> 1 (v1): live traffic goes there now"],
    ),
    "at nothing before anything serves": (
        scaled(rising(1), observed={"auxiliary_objects": ()}, sets=(pods(1, 3, 0),), names_=0),
        [],
    ),
    "made once something serves": (
        scaled(active(1), observed={"auxiliary_objects": ()}),
        [f"apply {COPY} -> 1 (v1): it does not exist"],
    ),
    "not at a candidate": (scaled(active(1), candidate(2)), []),
    "at what serves after a switch": (scaled(legacy(1), active(2)), [THERE_NOW]),
    "also while suspended": (
        scaled(legacy(1), active(2), spec=replace(MANUAL, suspend=Suspension("incident"))),
        [THERE_NOW],
    ),
    "also where the folder has left Git": (
        scaled(
            legacy(1), active(2), desired={"auxiliary_objects": (), "autoscaler": None, "in_git": False, "whole": False}
        ),
        [THERE_NOW],
    ),
    "as Git says": (
        scaled(active(1), observed={"auxiliary_objects": (aimed(1, drifted=True),)}),
        [f"apply {COPY} -> 1 (v1): it differs from what Git says"],
    ),
    "not as Git says while suspended": (
        scaled(
            active(1),
            observed={"auxiliary_objects": (aimed(1, drifted=True),)},
            spec=replace(MANUAL, suspend=Suspension("incident")),
        ),
        [],
    ),
    "deleted when it leaves Git": (
        scaled(active(1), desired={"auxiliary_objects": (), "autoscaler": None}),
        [f"delete {COPY}: it left Git"],
    ),
    "kept where the folder cannot be read": (
        scaled(active(1), desired={"auxiliary_objects": (), "autoscaler": None, "whole": False}),
        [],
    ),
    "another one takes its place": (
        scaled(active(1), desired={"auxiliary_objects": (KEDA.copy,), "autoscaler": KEDA}),
        [f"delete {COPY}: it left Git", f"apply {KEDA.copy} -> 1 (v1): it does not exist"],
    ),
}


@pytest.mark.parametrize("name", AIM)
def test_autoscaler_aims(name):
    state, expected = AIM[name]
    assert at_rest(state) == tuple(expected)


def test_replicas_count_again_once_the_copy_is_gone():
    leaving = scaled(active(1), sets=(pods(1, 6),), desired={"auxiliary_objects": (), "autoscaler": None})
    assert decided(leaving).record.last_read.autoscaler == HPA
    gone = replace(leaving, observed=replace(leaving.observed, auxiliary_objects=()))
    decision = decided(gone)
    assert (decision.record.last_read.autoscaler, decision.record.last_read.auxiliary_objects) == (None, ())
    assert [str(each) for each in decision.actions] == ["scale 1 (v1) from 6 to 3: the active version needs 3"]


# --- the others ---

OTHERS = {
    "is made": ((), [f"apply {BUDGET}: it does not exist"]),
    "is repaired": ((AuxiliaryView(BUDGET, drifted=True),), [f"apply {BUDGET}: it differs from what Git says"]),
    "is left alone where it is as Git says": ((AuxiliaryView(BUDGET),), []),
    "is left alone where it is not ours": ((AuxiliaryView(BUDGET, drifted=True, owner="made by Helm"),), []),
    "waits while one of its name goes away": ((AuxiliaryView(BUDGET, drifted=True, deleting=True),), []),
    "waits where the server does not have its kind": (
        (AuxiliaryView(BUDGET, drifted=True, trouble="no such kind"),),
        [],
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_auxiliary_object_without_aim(name):
    seen, expected = OTHERS[name]
    state = world(active(1), desired={"auxiliary_objects": (BUDGET,)}, observed={"auxiliary_objects": seen})
    assert at_rest(state) == tuple(expected)


def test_auxiliary_objects_come_after_all_that_traffic_depends_on():
    state = world(active(1), rising(2), sets=(pods(1),), desired={"auxiliary_objects": (BUDGET,)})
    kinds = [type(each) for each in decided(state).actions]
    assert kinds[:3] == [act.CreateReplicaSet, act.ScaleReplicaSet, act.ApplyAuxiliaryObject]


COPIED = replace(template("1"), configuration=(ConfigurationRef("ConfigMap", "web", "d"),))
LEFT = {
    "a budget": (BUDGET, active(1), True),
    "a ConfigMap that no version mentions": (AuxiliaryObject("ConfigMap", "flags"), active(1), True),
    "a ConfigMap that the live version may use": (AuxiliaryObject("ConfigMap", "web"), active(1), False),
    "a ConfigMap of which that version has a copy": (
        AuxiliaryObject("ConfigMap", "web"),
        active(1, snapshot=COPIED),
        True,
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_left_git_is_deleted_unless_pods_of_a_version_may_ask_for_it(name):
    auxiliary_object, live, goes = LEFT[name]
    seen = {"auxiliary_objects": (AuxiliaryView(auxiliary_object),)}
    state = world(live, observed=seen, record={"auxiliary_objects": (auxiliary_object,)})
    assert at_rest(state) == ((f"delete {auxiliary_object}: it left Git",) if goes else ())


def test_auxiliary_object_that_is_not_ours_is_said_to_be_somebody_elses_and_never_deleted():
    seen = {"auxiliary_objects": (AuxiliaryView(BUDGET, owner="PodDisruptionBudget shop/web is managed by Helm"),)}
    decision = decided(world(active(1), desired={"auxiliary_objects": (BUDGET,)}, observed=seen))
    conflict = next(each for each in decision.conditions if each.type == "Conflict")
    assert (conflict.status, conflict.message) == (True, "PodDisruptionBudget shop/web is managed by Helm")
    left = decided(world(active(1), observed=seen, record={"auxiliary_objects": (BUDGET,)}))
    assert (left.actions, left.record.last_read.auxiliary_objects) == ((), ())


def test_trouble_with_an_auxiliary_object_is_a_condition_and_stops_nothing():
    """KEDA is not installed: the promotion goes on, and the condition names what is missing."""
    missing = "this cluster has no scaledobjects.keda.sh"
    state = scaled(
        active(1),
        candidate(2),
        by=KEDA,
        names_=2,
        observed={"auxiliary_objects": (AuxiliaryView(KEDA.copy, trouble=missing),)},
    )
    decision = decided(state)
    assert any(isinstance(each, act.SwitchTraffic) for each in decision.actions)
    refused = next(each for each in decision.conditions if each.type == "Refused")
    assert (refused.status, refused.message) == (True, missing)


# --- stories ---


def test_story_of_a_promotion_and_the_way_back_at_todays_load():
    sim = deployed(manual())
    sim.autoscale()
    sim.settle()
    sim.load(6)
    sim.push("2")
    sim.settle()
    assert sizes(sim) == {"1": 6, "2": 6}
    assert aim(sim) == "1"
    sim.load(8)
    sim.settle()
    assert sizes(sim) == {"1": 8, "2": 8}, "the load has changed while it waits"
    sim.merge()
    sim.settle()
    assert (sim.live, aim(sim)) == ("2", "2")
    sim.load(3)
    sim.settle()
    assert sizes(sim) == {"1": 8, "2": 3}, "the live version has yet to prove itself"
    sim.later(seconds=601)
    sim.spec = replace(sim.spec, strategy=replace(sim.spec.strategy, scale_down_delay_seconds=None))
    sim.settle()
    sim.load(5)
    sim.settle()
    sim.ask(OperatorCommand.ROLLBACK)
    sim.settle()
    assert (sim.live, aim(sim)) == ("1", "1")
    assert sizes(sim)["1"] == 5


def test_story_of_an_autoscaler_that_is_never_aimed_before_the_service_is():
    sim = deployed(automatic())
    sim.autoscale()
    sim.settle()
    sim.push("2")
    for _ in range(20):
        assert sim.tag(sim.active) == aim(sim) or sim.live == "2"
        sim.step()
        sim.pods_come_up()
    assert (sim.live, aim(sim)) == ("2", "2")


def test_story_of_a_rebuilt_cluster():
    sim = deployed(automatic())
    sim.autoscale()
    sim.settle()
    sim.rebuild_cluster()
    sim.settle()
    assert (sim.live, aim(sim), sizes(sim)) == ("1", "1", {"1": 3})


def sizes(sim: Simulation) -> dict[str, int]:
    return {sim.tag(digest): pods.replicas for digest, pods in sim.pods.items()}


def aim(sim: Simulation) -> str:
    """The tag that the live copy scales."""
    named = sim.auxiliary_objects.get(COPY, "")
    return next(
        (sim.tag(each) for each, pods in sim.pods.items() if replica_set_name(APP, pods.number, each) == named), ""
    )


# --- the way back is as large as what it replaced ---


def at_eight(*, judged: bool = False) -> Simulation:
    """Version 2 serves with the 8 pods that version 1 had, and has kept them for longer than its deadline."""
    plan = MeasurementPlan((Metric("errors", "web", interval=600, count=100),)) if judged else None
    sim = Simulation(automatic(post_promotion_analysis=plan))
    sim.autoscale(2, 8)
    sim.push("1")
    sim.settle()
    sim.load(8)
    sim.pods_come_up()
    sim.settle()
    sim.push("2")
    sim.settle()
    assert (sim.live, sizes(sim)) == ("2", {"1": 8, "2": 8})
    return sim


def measure(sim: Simulation, phase: AnalysisPhase) -> None:
    """What is due is measured so."""
    sim.measured = tuple(MeasurementResult(each.id, phase, sim.now) for each in sim.decide().measurements)
    sim.settle()
    sim.measured = ()


def test_the_version_to_go_back_to_keeps_its_pods_until_the_verdict():
    """A version that answers every request with an error at once asks for few pods."""
    sim = at_eight(judged=True)
    measure(sim, AnalysisPhase.SUCCESSFUL)
    sim.later(seconds=601)
    sim.settle()
    sim.load(2)
    sim.settle()
    assert sizes(sim) == {"1": 8, "2": 2}
    measure(sim, AnalysisPhase.FAILED)
    assert (sim.live, sim.pods[template("1").digest].available) == ("1", 8)


def test_a_rollback_does_not_shrink_what_it_goes_to():
    sim = at_eight()
    sim.load(2)
    sim.pods_fail("1", 1)
    sim.step()
    sim.set_primary("1", "revert")
    sim.step()
    assert sizes(sim)["1"] == 8
