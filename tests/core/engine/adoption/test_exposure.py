"""Services that an app does not name: none has its pods before the hand-over; after it, those that do are named."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.version import PodMetadata, Snapshot, Stage
from tests.core.engine.adoption.builders import (
    HELD,
    OTHER_STAND_IN,
    STAND_IN,
    adopting,
    before,
    foreign,
    labelled,
    other,
    up,
)
from tests.core.shown import ABSENT
from tests.core.simulation import APP, manual
from tests.core.worlds import (
    EARLIER,
    NOW,
    active,
    archived,
    candidate,
    conditions,
    decided,
    digest,
    given,
    legacy,
    pods,
    rising,
    service,
    size_after,
    target,
    version,
    world,
)

OWN = (("app", "web"), ("tier", "front"))
"""The labels of the template."""
BOTH = (("app", STAND_IN), ("tier", STAND_IN))
LIVE_ROLE, PREVIEW_ROLE = PodMetadata((("role", "live"),)), PodMetadata((("role", "preview"),))
BY_TIER, BY_APP = other(("tier", "front")), other(("app", "web"))


def to_be_adopted(*others, observed=None, **more):
    """The first version is on its way, the live Service ``web`` (app=web) and others are somebody else's."""
    return before(labelled(1, OWN), observed={"other_services": others or None, **(observed or {})}, **more)


# --- before the hand-over ---

ELSEWHERE = foreign(selector=(("app", "cart"),))
HELD_BACK = {
    "each Service selects by a label of its own": (to_be_adopted(BY_TIER), BOTH),
    "one label keeps the pods out of both": (to_be_adopted(other(*OWN)), HELD),
    "the same label": (to_be_adopted(BY_APP), HELD),
    "two others": (to_be_adopted(BY_TIER, other(("tier", "front"), name="more")), BOTH),
    "a Service of other pods": (to_be_adopted(other(("tier", "back"))), HELD),
    "a Service that selects more than the pods have": (to_be_adopted(other(*OWN, ("zone", "a"))), HELD),
    "no other Service": (to_be_adopted(), HELD),
    "a label of the role": (
        to_be_adopted(other(("role", "live")), spec=adopting(active_metadata=LIVE_ROLE)),
        (("app", STAND_IN), ("role", STAND_IN)),
    ),
    "a Service of exactly the template's labels": (
        to_be_adopted(other(*OWN), view=ELSEWHERE, spec=adopting(active_metadata=PodMetadata((("tier", "live"),)))),
        (("tier", STAND_IN),),
    ),
    "a Service of exactly the labels that they carry once they are live": (
        to_be_adopted(
            other(("app", "web"), ("tier", "live")),
            view=ELSEWHERE,
            spec=adopting(active_metadata=PodMetadata((("tier", "live"),))),
        ),
        (("tier", STAND_IN),),
    ),
    "a Service that selects the stand-in": (
        before(
            labelled(1, [("app", "web"), ("tier", STAND_IN)]),
            observed={"other_services": (other(("tier", STAND_IN)),)},
        ),
        (("app", STAND_IN), ("tier", OTHER_STAND_IN)),
    ),
}


@pytest.mark.parametrize("name", HELD_BACK)
def test_before_the_hand_over_pods_come_up_and_no_service_of_the_namespace_selects_them(name):
    state, labels = HELD_BACK[name]
    assert given(state, 1) == (3, labels)


def test_a_service_that_appears_later_takes_the_pods_away_until_they_have_the_stand_in():
    assert given(to_be_adopted(BY_TIER, sets=(up(1),)), 1) == (0, HELD)
    assert given(to_be_adopted(BY_TIER, sets=(up(1, replicas=0),)), 1) == (0, BOTH)
    assert given(to_be_adopted(BY_TIER, sets=(up(1, BOTH, 0),)), 1) == (3, BOTH)


def test_what_gets_live_traffic_keeps_its_pods():
    assert size_after(to_be_adopted(BY_TIER, sets=(up(1),), view=service("web", 1)), 1) == 3
    switch = {"switch": Switch("", digest(1), SwitchKind.FIRST, NOW)}
    named = {"names_": 1, "record": switch}
    under_way = to_be_adopted(BY_TIER, sets=(up(1),), **named)
    assert size_after(under_way, 1) == 3
    assert not decided(under_way).record.routing.switch.withdrawn, "it is not stopped half-way"


THREE = (*BOTH, ("zone", STAND_IN))
UNKNOWN = {
    "every stand-in stays that is a label of the template": (to_be_adopted(sets=(up(1, THREE),)), BOTH),
    "what is none goes": (to_be_adopted(sets=(up(1, (("tier", "other"),), 0),)), HELD),
    "none stays that is not needed, where they are known": (
        to_be_adopted(other(("a", "b")), sets=(up(1, THREE),)),
        HELD,
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_where_the_other_services_are_unknown(name):
    """A refused list must not put pods into a Service that they keep out of."""
    state, labels = UNKNOWN[name]
    assert given(state, 1)[1] == labels


def test_a_service_that_no_stand_in_helps_against_keeps_the_pods_away_and_is_named():
    state = to_be_adopted(other((names.APP, "web")))
    assert size_after(state, 1) == 0
    [gate] = [gate for gate in decided(state).gates if gate.kind is GateKind.AVAILABILITY]
    assert gate.reason == "its pods come up once Service leak does not select them any more"
    said = conditions(state)
    assert (said["Adopting"].reason, said["Adopting"].message) == ("Conflict", said["Conflict"].message)
    assert said["Conflict"].message == (
        "the selector gitops-bg.dev/app=web of Service leak would send its traffic to 1 (v1), which has no pods until "
        "that selects by a label of target.yaml, or is annotated gitops-bg.dev/all-versions=true"
    )


def test_the_version_that_is_wanted_is_the_one_that_must_escape():
    """Not the target, where primary.yaml names another."""
    versions = labelled(1, [("app", "web"), (names.VERSION, "x")]), labelled(2, OWN)
    state = before(*versions, names_=1, observed={"other_services": (other((names.APP, "web"), (names.VERSION, "1")),)})
    assert "would send its traffic to 1 (v1)" in conditions(state)["Conflict"].message


UNREAD = {"target": Missing.ABSENT, "primary": Missing.UNREADABLE}
NO_CONFLICT = {
    "there is no version": before(observed={"other_services": (other((names.APP, "web")),)}),
    "nobody knows the template, so it can have no pods": before(
        replace(rising(1), snapshot=Snapshot(digest(1), "")),
        names_=1,
        desired=UNREAD,
        observed={"other_services": (other((names.APP, "web")),)},
    ),
    "a stand-in is still missing": to_be_adopted(BY_TIER, sets=(up(1, (), 0),)),
}


@pytest.mark.parametrize("name", NO_CONFLICT)
def test_it_is_in_no_conflict_with_another_service_while(name):
    assert "Service leak" not in conditions(NO_CONFLICT[name])["Conflict"].message


NOT_HELD_BACK = {
    "from the hand-over on": (
        world(active(1), rising(2), spec=adopting(), sets=(pods(1),), observed={"other_services": (BY_APP,)}),
        2,
    ),
    "without an adoption": (world(rising(1), live=0, sets=(), observed={"other_services": (BY_APP,)}), 1),
}


@pytest.mark.parametrize("name", NOT_HELD_BACK)
def test_no_pod_is_held_back_for_a_service_that_the_app_does_not_name(name):
    state, number = NOT_HELD_BACK[name]
    assert given(state, number) == (3, ())


def test_an_adopting_app_looks_again_at_services_that_nothing_watches():
    assert decided(to_be_adopted(view=ELSEWHERE)).wake_at <= NOW + timedelta(minutes=1)


# --- in every other situation ---


def beside(*others, versions=(), **more):
    return world(*(versions or (active(1), candidate(2))), observed={"other_services": others}, **more)


ALL_LABELS = {"app": "web", **names.selector(APP, digest(2)), names.COLOR: "green", names.VERSION: "2"}.items()
"""Those of the pods of version 2."""
ANY_ROLE = PodMetadata((("role", "any"),))
ROLES = manual(active_metadata=LIVE_ROLE, preview_metadata=PREVIEW_ROLE)
HAS, WOULD = "SelectedByOthers", "SelectedOnceUp"
EXPOSED = {
    "has pods of a candidate that waits for its promotion": (beside(BY_APP), HAS, [2]),
    "one that is not available yet": (beside(BY_APP, versions=(active(1), rising(2))), HAS, [2]),
    "by a label of the agent": (beside(other((names.APP, "web"))), HAS, [2]),
    "the first version of an app": (beside(BY_APP, versions=(candidate(1),), live=0, names_=0), HAS, [1]),
    "by every label that the pods have, while they are what they are when live": (beside(other(*ALL_LABELS)), HAS, [2]),
    "by a label that is the same of both roles": (
        beside(other(("role", "any")), spec=manual(active_metadata=ANY_ROLE, preview_metadata=ANY_ROLE)),
        HAS,
        [2],
    ),
    "by a label that both roles leave alone": (beside(BY_APP, spec=ROLES), HAS, [2]),
    "one that was aborted, while its pods stay": (
        beside(BY_APP, versions=(active(1), candidate(2, retiring=True, aborted=True))),
        HAS,
        [2],
    ),
    "several of them": (beside(BY_APP, versions=(active(1), candidate(2, retiring=True), candidate(3))), HAS, [2, 3]),
    "pods that are going": (beside(BY_APP, sets=(pods(1), replace(pods(2, 0), pods=1))), HAS, [2]),
    "would have those of one whose ReplicaSet is at 0": (beside(BY_APP, sets=(pods(1), pods(2, 0))), WOULD, [2]),
    "one without a ReplicaSet": (beside(BY_APP, sets=(pods(1),)), WOULD, [2]),
    "the first one of an app that runs none": (
        beside(BY_APP, versions=(candidate(1),), live=0, names_=0, sets=(), desired={"target": target(1, 0)}),
        WOULD,
        [1],
    ),
    "the next one of an app that was scaled to zero": (
        beside(BY_APP, sets=(pods(1, 0), pods(2, 0)), desired={"target": target(2, 0)}),
        WOULD,
        [2],
    ),
    "one that is about to get them": (beside(BY_APP, versions=(rising(1),), live=0, sets=()), WOULD, [1]),
}


@pytest.mark.parametrize("name", EXPOSED)
def test_it_is_said_that_another_service(name):
    state, reason, numbers = EXPOSED[name]
    said = conditions(state)["Exposed"]
    assert (said.status, said.reason) == (True, reason)
    assert said.message.startswith("Service leak ("), "and nothing else"
    assert [int(number) for number in re.findall(r"\(v(\d+)\)", said.message)] == numbers
    assert decided(state).wake_at <= NOW + timedelta(minutes=1), "nothing watches it"


HIDDEN = {
    "a Service of other pods": beside(other(("app", "cart"))),
    "a Service that wants more labels": beside(other(("app", "web"), ("tier", "x"))),
    "a Service of what is live": beside(other(("app", "web"), ("role", "live")), spec=ROLES),
    "a Service of what is not live, by its role": beside(other(("app", "web"), ("role", "preview")), spec=ROLES),
    "nothing but the live version": beside(BY_APP, versions=(active(1),)),
    "a version that served before": beside(BY_APP, versions=(legacy(1), active(2))),
    "one that is archived": beside(BY_APP, versions=(archived(1), active(2))),
    "a version without pods that is on its way out": beside(
        BY_APP, versions=(active(1), candidate(2, retiring=True)), sets=(pods(1), pods(2, 0)), wants=1
    ),
    "one without pods that served once": beside(
        BY_APP, versions=(active(1), candidate(2, activated_at=EARLIER)), sets=(pods(1), pods(2, 0))
    ),
    "one without pods that was archived before anybody promoted it": beside(
        BY_APP, versions=(active(1), version(2, Stage.ARCHIVED)), sets=(pods(1), pods(2, 0)), wants=1
    ),
    "one without pods that primary.yaml names": beside(BY_APP, names_=2, sets=(pods(1), pods(2, 0))),
    "one without pods that the Service does not select": beside(other(("app", "cart")), sets=(pods(1), pods(2, 0))),
    "one that primary.yaml names": beside(BY_APP, names_=2),
    "one whose template nobody knows": beside(
        BY_APP, versions=(active(1), candidate(2, snapshot=Snapshot(digest(2), ""))), wants=1, sets=(pods(1),)
    ),
    "nothing is known": world(active(1), candidate(2)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_nothing_is_said_of(name):
    assert conditions(HIDDEN[name])["Exposed"] == ABSENT


V2, V3 = "2 (v2)", "3 (v3)"
WHAT_TO_DO = (
    "name it in activeServices, or have it select a label of activeMetadata as well; if it may have the pods of every "
    "version, annotate it gitops-bg.dev/all-versions=true"
)
SENTENCES = {
    "what it has": (beside(BY_APP), f"has the pods of {V2}, which nobody promoted: {WHAT_TO_DO}"),
    "what it would have": (
        beside(BY_APP, sets=(pods(1),)),
        f"would have the pods of {V2} if there were any, which nobody promoted: {WHAT_TO_DO}",
    ),
    "what it has before what it would have": (
        beside(
            BY_APP,
            versions=(active(1), candidate(2, retiring=True), candidate(3)),
            sets=(pods(1), pods(2), pods(3, 0)),
        ),
        f"has the pods of {V2} and would have those of {V3} if there were any, which nobody promoted: {WHAT_TO_DO}",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_condition_says_and_the_app_goes_on(name):
    state, said = SENTENCES[name]
    assert conditions(state)["Exposed"].message == f"Service leak (app=web) {said}"
    assert decided(state).phase in (Phase.AWAITING_PROMOTION, Phase.PROGRESSING)


@pytest.mark.parametrize(("services", "more"), [(3, ""), (5, "; and 2 more Services: name it")])
def test_the_condition_names_three_services_at_most(services, more):
    message = conditions(beside(*(other(("app", "web"), name=f"leak-{each}") for each in range(services))))[
        "Exposed"
    ].message
    assert (message.count("Service leak-"), "more Services" in message) == (3, bool(more))
    assert more in message


def test_what_may_not_be_listed_is_said_and_stops_nothing():
    observed = {"other_services_refused": "services is forbidden"}
    state = world(active(1), candidate(2), observed=observed)
    said = conditions(state)["Exposed"]
    assert (said.status, said.reason) == (None, "ServicesUnreadable")
    assert said.message.endswith("is unknown: services is forbidden")
    assert decided(state).phase is Phase.AWAITING_PROMOTION
    known = world(active(1), candidate(2), observed={**observed, "other_services": (BY_APP,)})
    assert conditions(known)["Exposed"].reason == "SelectedByOthers", "what was known before counts"
