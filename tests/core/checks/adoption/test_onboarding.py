"""While a live Service belongs to somebody else, no pod of ours matches its selector."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.checks.adoption.onboarding import leak_to, selects_pods
from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.engine import decide
from gitops_bg.core.model.actions import CreateReplicaSet, ScaleReplicaSet
from gitops_bg.core.model.decision import GateKind, Phase
from gitops_bg.core.model.spec import Adoption, ScaleDown
from gitops_bg.core.model.version import Color, PodMetadata, Snapshot
from tests.core.simulation import manual
from tests.core.worlds import NOW, active, candidate, digest, legacy, pods, rising, service, world

HAND_OVER = "Service shop/web is made by somebody else; to hand it over: kubectl label service web"
THEIRS = {"selector": (("app", "web"),), "digest": "", "ours": False, "owner": HAND_OVER}
ADOPTING = replace(manual(), adopt=Adoption("web-old", ScaleDown.NEVER))


def foreign(**changes):
    return {"active_service": replace(service("web", 0), **{**THEIRS, **changes})}


def onboarding(*versions, view=None, **more):
    """Nothing serves yet; the app's own Service is live."""
    return world(*versions, live=0, sets=more.pop("sets", ()), observed=view or foreign(), **more)


LEAKS = {
    "the first version": (onboarding(rising(1)), 1),
    "one that primary.yaml names": (onboarding(rising(1), names_=1), 1),
    "a label of ours": (onboarding(rising(1), view=foreign(selector=(("gitops-bg.dev/app", "web"),))), 1),
    "a label of its role": (
        onboarding(
            rising(1),
            view=foreign(selector=(("role", "live"),)),
            spec=manual(active_metadata=PodMetadata((("role", "live"),))),
        ),
        1,
    ),
    "a candidate beside what serves": (world(active(1), candidate(2), observed=foreign()), 2),
    "one that served in the cluster before": (onboarding(legacy(1), names_=1), 1),
    "one whose template nobody has any more: it may have these labels": (
        onboarding(rising(1, snapshot=Snapshot(digest(1), "")), rising(2)),
        1,
    ),
    "handed over, primary.yaml names another": (
        onboarding(rising(1), rising(2), names_=1, view=foreign(ours=True, owner="")),
        2,
    ),
    "labelled by hand although the app adopts, and its template has no stand-in yet": (
        onboarding(
            rising(1),
            names_=1,
            view=foreign(ours=True, owner=""),
            sets=(pods(1, 0, color=Color.BLUE),),
            spec=ADOPTING,
        ),
        1,
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_no_pods_for(name):
    state, number = LEAKS[name]
    version = state.record.numbered(number)
    assert leak_to(state, version).name == "web"
    assert wanted_size(state, version) == 0


SELECTS = {
    "pods that are up": (world(active(1), candidate(2)), foreign(), True),
    "pods that are going": (world(active(1), candidate(2), sets=(pods(2, 0, pods=1),)), foreign(), True),
    "pods that are to come": (world(active(1), candidate(2), sets=(pods(2, 1, 0),)), foreign(), True),
    "none: its ReplicaSet is at 0": (world(active(1), candidate(2), sets=(pods(2, 0),)), foreign(), False),
    "none: it has no ReplicaSet": (world(active(1), candidate(2), sets=()), foreign(), False),
    "none, by other labels": (world(active(1), candidate(2)), foreign(selector=(("app", "cart"),)), False),
    "none: a Service without a selector selects nothing": (world(active(1), candidate(2)), foreign(selector=()), False),
}


@pytest.mark.parametrize("name", SELECTS)
def test_a_service_selects(name):
    state, seen, selected = SELECTS[name]
    assert selects_pods(state, seen["active_service"], state.record.numbered(2)) is selected


UNLABELLED = {
    "no metadata": {"spec": {}},
    "no labels": {"metadata": {"annotations": {"a": "b"}}, "spec": {}},
    "labels that are null": {"metadata": {"labels": None}, "spec": {}},
}


@pytest.mark.parametrize("name", UNLABELLED)
def test_a_template_without_labels_of_its_own_has_those_of_the_agent(name):
    version = rising(1, snapshot=Snapshot(digest(1), json.dumps(UNLABELLED[name])))
    state = onboarding(version, view=foreign(selector=(("gitops-bg.dev/app", "web"),)))
    assert leak_to(state, version).name == "web"
    assert leak_to(onboarding(version), version) is None


def test_what_a_live_replica_set_gives_its_pods_has_the_labels_of_the_agent_as_well():
    """Also where the ReplicaSet is still to get the labels of its role."""
    spec = manual(active_metadata=PodMetadata((("role", "live"),)))
    held = pods(1, 0, color=Color.BLUE, metadata=PodMetadata((("role", "before"),)))
    selector = (("gitops-bg.dev/app", "web"), ("role", "before"))
    state = onboarding(rising(1), view=foreign(selector=selector), spec=spec, sets=(held,))
    assert leak_to(state, state.record.numbered(1)).name == "web"


HARMLESS = {
    "a selector of other labels": (onboarding(rising(1), view=foreign(selector=(("app", "web"), ("tier", "x")))), 1),
    "a Service without a selector": (onboarding(rising(1), view=foreign(selector=())), 1),
    "a selector of one version, whose labels were lost": (
        onboarding(rising(1), view={"active_service": replace(service("web", 1), ours=False, owner=HAND_OVER)}),
        1,
    ),
    "ours": (onboarding(rising(1), view=foreign(ours=True, owner="")), 1),
    "no Service": (onboarding(rising(1), view={"active_service": None}), 1),
    "what serves": (world(active(1), candidate(2), observed=foreign()), 1),
    "what served and may be gone back to": (world(legacy(1), active(2), observed=foreign()), 1),
    "handed over, the first to serve": (
        onboarding(rising(1), rising(2), names_=1, view=foreign(ours=True, owner="")),
        1,
    ),
    "adopted, its selector wiped: it is written again before anything else": (
        world(active(1), candidate(2), spec=ADOPTING, observed=foreign(ours=True, owner="")),
        2,
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_pods_for(name):
    state, number = HARMLESS[name]
    assert leak_to(state, state.record.numbered(number)) is None
    assert wanted_size(state, state.record.numbered(number)) == 3


def decided(state):
    return decide(state.spec, state.desired, state.observed, state.record, state.now)


def test_pods_of_an_earlier_release_go_also_where_main_names_their_version():
    state = onboarding(candidate(1), names_=1, sets=(pods(1, color=Color.BLUE),))
    [scaled] = [action for action in decided(state).actions if isinstance(action, ScaleReplicaSet)]
    assert (scaled.digest, scaled.replicas) == (digest(1), 0)


def test_a_version_without_pods_is_not_late_and_nothing_is_promised_of_it():
    state = onboarding(rising(1), now=NOW + timedelta(days=1))
    decision = decided(state)
    assert decision.record.numbered(1).failure == ""
    assert not decision.record.ledger
    assert not [action for action in decision.actions if not isinstance(action, CreateReplicaSet)]
    [gate] = [gate for gate in decision.gates if gate.kind is GateKind.AVAILABILITY]
    assert (gate.open, gate.reason) == (False, "its pods come up once Service web is ours and selects one version")


def test_the_condition_says_whose_it_is_what_it_selects_and_how_to_hand_it_over():
    decision = decided(onboarding(rising(1)))
    [conflict] = [each for each in decision.conditions if each.type == "Conflict"]
    assert decision.phase is Phase.DEGRADED
    assert conflict.message == (
        f"{HAND_OVER}; the selector app=web of Service web would send live traffic to v1, which has no pods until then"
    )


def test_an_app_of_our_own_is_told_nothing():
    assert decided(world(active(1), candidate(2))).phase is Phase.AWAITING_PROMOTION


UP = {
    "beside what serves, which has pods behind the same Service": (
        world(active(1), candidate(2), observed=foreign()),
        (True, "sends live traffic to v2, which nobody promoted"),
    ),
    "alone: what serves has no available pod": (
        world(active(1), candidate(2), sets=(pods(1, 3, 0), pods(2)), observed=foreign()),
        (False, "sends live traffic to v2, which nobody promoted"),
    ),
    "alone: the Service selects a label that what serves has not": (
        world(active(1), candidate(2), observed=foreign(selector=(("gitops-bg.dev/version", "2"),))),
        (False, "sends live traffic to v2, which nobody promoted"),
    ),
    "alone: nothing served before": (
        onboarding(candidate(1), names_=1, sets=(pods(1, color=Color.BLUE),)),
        (False, "sends live traffic to v1, which nobody promoted"),
    ),
    "not available yet": (
        world(active(1), candidate(2), sets=(pods(1), pods(2, 3, 0)), observed=foreign()),
        (True, "would send live traffic to v2, which has no pods until then"),
    ),
}
"""What a Service of somebody else selects that appears while pods of a version are up, which nobody promoted."""


@pytest.mark.parametrize("name", UP)
def test_pods_go_that_are_up_and_those_that_live_traffic_has_nobody_beside_only_if_the_executor_allows_it(name):
    state, (unpromoted, said) = UP[name]
    decision = decided(state)
    [scaled] = [action for action in decision.actions if isinstance(action, ScaleReplicaSet)]
    newest = max(state.record.versions, key=lambda each: each.number)
    assert (scaled.digest, scaled.replicas, scaled.unpromoted) == (newest.digest, 0, unpromoted)
    [conflict] = [each for each in decision.conditions if each.type == "Conflict"]
    assert said in conflict.message
