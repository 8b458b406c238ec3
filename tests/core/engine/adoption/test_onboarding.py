"""While a live Service belongs to somebody else, no pod of ours matches its selector."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.actions import CreateReplicaSet, ScaleReplicaSet
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.version import PodMetadata, Snapshot
from tests.core.engine.adoption.builders import HAND_OVER, adopting, foreign, up
from tests.core.simulation import manual
from tests.core.worlds import (
    NOW,
    active,
    candidate,
    conditions,
    decided,
    digest,
    legacy,
    pods,
    rising,
    service,
    size_after,
    world,
)

ROLE = manual(active_metadata=PodMetadata((("role", "live"),)))
OF_AGENT = (("gitops-bg.dev/app", "web"),)
HANDED_OVER = {"ours": True, "owner": ""}
UNKNOWN = Snapshot(digest(1), "")


def theirs(**changes):
    """The app's own Service is live, and nobody agreed that the agent takes it over."""
    return {"active_service": foreign(**{"unclaimed": False, **changes})}


def onboarding(*versions, view=None, **more):
    """Nothing serves yet."""
    return world(*versions, live=0, sets=more.pop("sets", ()), observed=view or theirs(), **more)


LEAKS = {
    "the first version": (onboarding(rising(1)), 1),
    "one that primary.yaml names": (onboarding(rising(1), names_=1), 1),
    "a label of ours": (onboarding(rising(1), view=theirs(selector=OF_AGENT)), 1),
    "a label of its role": (onboarding(rising(1), view=theirs(selector=(("role", "live"),)), spec=ROLE), 1),
    "a label that its ReplicaSet gives its pods still": (
        onboarding(
            rising(1),
            view=theirs(selector=(*OF_AGENT, ("role", "before"))),
            spec=ROLE,
            sets=(up(1, (("role", "before"),), 0),),
        ),
        1,
    ),
    "a candidate beside what serves": (world(active(1), candidate(2), observed=theirs()), 2),
    "one that served in the cluster before": (onboarding(legacy(1), names_=1), 1),
    "one that is up, of a release that knew no better": (onboarding(candidate(1), names_=1, sets=(up(1, ()),)), 1),
    "one whose template nobody has any more: it may have these labels": (
        onboarding(
            rising(1, snapshot=UNKNOWN),
            names_=0,
            wants=0,
            desired={"target": Missing.UNREADABLE},
            sets=(pods(1, snapshot=UNKNOWN),),
        ),
        1,
    ),
    "handed over, primary.yaml names another": (
        onboarding(rising(1), rising(2), names_=1, view=theirs(**HANDED_OVER)),
        2,
    ),
    "labelled by hand although the app adopts, and its template has no stand-in yet": (
        onboarding(rising(1), names_=1, view=theirs(**HANDED_OVER), sets=(up(1, (), 0),), spec=adopting()),
        1,
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_no_pods_for(name):
    state, number = LEAKS[name]
    assert size_after(state, number) == 0


UNLABELLED = {
    "no metadata": {"spec": {}},
    "no labels": {"metadata": {"annotations": {"a": "b"}}, "spec": {}},
    "labels that are null": {"metadata": {"labels": None}, "spec": {}},
}


@pytest.mark.parametrize("name", UNLABELLED)
def test_a_template_without_labels_of_its_own_has_those_of_the_agent(name):
    version = rising(1, snapshot=Snapshot(digest(1), json.dumps(UNLABELLED[name])))
    assert size_after(onboarding(version, view=theirs(selector=OF_AGENT)), 1) == 0
    assert size_after(onboarding(version), 1) == 3


HARMLESS = {
    "a selector of other labels": (onboarding(rising(1), view=theirs(selector=(("app", "web"), ("tier", "x")))), 1),
    "a Service without a selector": (onboarding(rising(1), view=theirs(selector=())), 1),
    "a selector of one version, whose labels were lost": (
        onboarding(rising(1), view={"active_service": replace(service("web", 1), ours=False, owner=HAND_OVER)}),
        1,
    ),
    "ours": (onboarding(rising(1), view=theirs(**HANDED_OVER)), 1),
    "no Service": (onboarding(rising(1), view={"active_service": None}), 1),
    "what serves": (world(active(1), candidate(2), observed=theirs()), 1),
    "what served and may be gone back to": (world(legacy(1), active(2), observed=theirs()), 1),
    "handed over, the first to serve": (
        onboarding(rising(1), rising(2), names_=1, view=theirs(**HANDED_OVER)),
        1,
    ),
    "adopted, its selector wiped: it is written again before anything else": (
        world(active(1), candidate(2), spec=adopting(), observed=theirs(**HANDED_OVER)),
        2,
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_pods_for(name):
    state, number = HARMLESS[name]
    assert size_after(state, number) == 3


def test_a_version_without_pods_is_not_late_and_nothing_is_promised_of_it():
    decision = decided(onboarding(rising(1), now=NOW + timedelta(days=1)))
    assert decision.record.numbered(1).failure == ""
    assert not decision.record.ledger
    assert not [action for action in decision.actions if not isinstance(action, CreateReplicaSet)]
    [gate] = [gate for gate in decision.gates if gate.kind is GateKind.AVAILABILITY]
    assert (gate.open, gate.reason) == (False, "its pods come up once Service web is ours and selects one version")


def test_the_condition_says_whose_it_is_what_it_selects_and_how_to_hand_it_over():
    state = onboarding(rising(1))
    assert decided(state).phase is Phase.DEGRADED
    assert conditions(state)["Conflict"].message == (
        f"{HAND_OVER}; the selector app=web of Service web would send live traffic to 1 (v1), "
        "which has no pods until then"
    )


BESIDE = {
    "beside what serves, which has pods behind the same Service": (
        world(active(1), candidate(2), observed=theirs()),
        (True, "sends live traffic to 2 (v2), which nobody promoted"),
    ),
    "alone: what serves has no available pod": (
        world(active(1), candidate(2), sets=(pods(1, 3, 0), pods(2)), observed=theirs()),
        (False, "sends live traffic to 2 (v2), which nobody promoted"),
    ),
    "alone: the Service selects a label that what serves has not": (
        world(active(1), candidate(2), observed=theirs(selector=(("gitops-bg.dev/version", "2"),))),
        (False, "sends live traffic to 2 (v2), which nobody promoted"),
    ),
    "alone: nothing served before": (
        onboarding(candidate(1), names_=1, sets=(up(1, ()),)),
        (False, "sends live traffic to 1 (v1), which nobody promoted"),
    ),
    "not available yet": (
        world(active(1), candidate(2), sets=(pods(1), pods(2, 3, 0)), observed=theirs()),
        (True, "would send live traffic to 2 (v2), which has no pods until then"),
    ),
}
"""What a Service of somebody else selects that appears while pods of a version are up, which nobody promoted."""


@pytest.mark.parametrize("name", BESIDE)
def test_pods_go_that_are_up_and_those_that_live_traffic_has_nobody_beside_only_if_the_executor_allows_it(name):
    state, (unpromoted, said) = BESIDE[name]
    [scaled] = [action for action in decided(state).actions if isinstance(action, ScaleReplicaSet)]
    newest = max(state.record.versions, key=lambda each: each.number)
    assert (scaled.digest, scaled.replicas, scaled.unpromoted) == (newest.digest, 0, unpromoted)
    assert said in conditions(state)["Conflict"].message
