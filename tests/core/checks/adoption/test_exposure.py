"""Services that an app does not name: none has its pods before the hand-over; after it, those that do are named."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core import names
from gitops_bg.core.checks.adoption.exposure import exposures, may_be_exposed
from gitops_bg.core.checks.adoption.onboarding import inescapable, leak_to
from gitops_bg.core.checks.adoption.taking_over import OTHER_STAND_IN, STAND_IN, has_stand_ins, stand_ins
from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.model.actions import CreateReplicaSet, ScaleReplicaSet
from gitops_bg.core.model.decision import GateKind, Phase
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.version import Color, PodMetadata, Snapshot, Stage
from tests.core.checks.adoption.test_taking_over import adopting, before, foreign, labelled
from tests.core.simulation import APP, manual
from tests.core.worlds import (
    EARLIER,
    NOW,
    active,
    archived,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    rising,
    service,
    target,
    version,
    world,
)

OWN = (("app", "web"), ("tier", "front"))
"""The labels of the template."""
LIVE_ROLE, PREVIEW_ROLE = PodMetadata((("role", "live"),)), PodMetadata((("role", "preview"),))


def other(*selector, name="leak"):
    """A Service that the app does not name."""
    return ServiceView(name, "", tuple(selector), ours=False)


BY_TIER, BY_APP = other(("tier", "front")), other(("app", "web"))


def to_be_adopted(*others, view=None, sets=(), **more):
    """The first version is on its way, the live Service ``web`` (app=web) and others are somebody else's."""
    version = labelled(1, OWN)
    seen = {"other_services": others or None, **more.pop("observed", {})}
    return before(version, view=view, sets=sets, observed=seen, **more), version


# --- before the hand-over ---


HELD_BACK = {
    "each Service selects by a label of its own": ((BY_TIER,), (("app", STAND_IN), ("tier", STAND_IN))),
    "one label keeps the pods out of both": ((other(*OWN),), (("app", STAND_IN),)),
    "the same label": ((BY_APP,), (("app", STAND_IN),)),
    "two others": (
        (BY_TIER, other(("tier", "front"), name="more")),
        (("app", STAND_IN), ("tier", STAND_IN)),
    ),
    "a Service of other pods": ((other(("tier", "back")),), (("app", STAND_IN),)),
    "a Service that selects more than the pods have": ((other(*OWN, ("zone", "a")),), (("app", STAND_IN),)),
    "no other Service": ((), (("app", STAND_IN),)),
}


@pytest.mark.parametrize("name", HELD_BACK)
def test_before_the_hand_over_no_service_of_the_namespace_selects_the_pods(name):
    others, expected = HELD_BACK[name]
    state, version = to_be_adopted(*others)
    assert stand_ins(state, version) == expected
    assert leak_to(state, version) is None
    assert wanted_size(state, version) == 3


def test_a_label_of_the_role_is_held_back_as_well():
    spec = adopting(active_metadata=LIVE_ROLE)
    state, version = to_be_adopted(other(("role", "live")), spec=spec)
    assert stand_ins(state, version) == (("app", STAND_IN), ("role", STAND_IN))
    assert leak_to(state, version) is None


@pytest.mark.parametrize("tier", ["front", "live"])
def test_a_service_of_exactly_the_pods_labels_is_escaped(tier):
    """Those of the template, and those that they carry once they are live."""
    spec = adopting(active_metadata=PodMetadata((("tier", "live"),)))
    elsewhere = foreign(selector=(("app", "cart"),))
    state, version = to_be_adopted(other(("app", "web"), ("tier", tier)), view=elsewhere, spec=spec)
    assert stand_ins(state, version) == (("tier", STAND_IN),)


def test_a_version_without_a_replica_set_has_no_stand_in():
    state, version = to_be_adopted(BY_TIER)
    assert has_stand_ins(state, version) is False


def test_the_stand_in_is_one_that_the_other_service_does_not_select():
    version = labelled(1, [("app", "web"), ("tier", STAND_IN)])
    state = before(version, observed={"other_services": (other(("tier", STAND_IN)),)})
    assert stand_ins(state, version) == (("app", STAND_IN), ("tier", OTHER_STAND_IN))


def test_a_service_that_appears_later_takes_the_pods_away_until_they_have_the_stand_in():
    both = PodMetadata((("app", STAND_IN), ("tier", STAND_IN)))
    up = pods(1, color=Color.BLUE, metadata=PodMetadata((("app", STAND_IN),)))
    down, dressed = replace(up, replicas=0, available=0), replace(up, replicas=0, available=0, metadata=both)
    assert leak_to(*to_be_adopted(BY_TIER, sets=(up,))) == BY_TIER
    [scaled] = workload_actions(up)
    assert scaled.replicas == 0
    [written] = workload_actions(down)
    assert (written.replicas, written.metadata) == (0, both)
    [scaled] = workload_actions(dressed)
    assert scaled.replicas == 3


def workload_actions(view):
    state, _ = to_be_adopted(BY_TIER, sets=(view,))
    return [each for each in decided(state).actions if isinstance(each, CreateReplicaSet | ScaleReplicaSet)]


def test_what_gets_live_traffic_keeps_its_pods():
    up = pods(1, color=Color.BLUE, metadata=PodMetadata((("app", STAND_IN),)))
    selected, version = to_be_adopted(BY_TIER, sets=(up,), view=service("web", 1))
    assert selected.is_selected(version.digest)
    assert leak_to(selected, version) is None
    state, version = to_be_adopted(BY_TIER, sets=(up,))
    switch = Switch("", version.digest, SwitchKind.FIRST, NOW)
    assert leak_to(state.with_part(replace(state.record.routing, switch=switch)), version) is None


def test_where_the_other_services_are_unknown_every_stand_in_stays():
    """A refused list must not put pods into a Service that they keep out of."""
    held = (("app", STAND_IN), ("tier", STAND_IN), ("zone", STAND_IN))
    state, version = to_be_adopted(sets=(pods(1, color=Color.BLUE, metadata=PodMetadata(held)),))
    assert stand_ins(state, version) == (("app", STAND_IN), ("tier", STAND_IN)), "zone is no label of the template"
    state, version = to_be_adopted(sets=(pods(1, color=Color.BLUE, metadata=PodMetadata((("tier", "other"),))),))
    assert stand_ins(state, version) == (("app", STAND_IN),)
    known, version = to_be_adopted(other(("a", "b")), sets=(pods(1, color=Color.BLUE, metadata=PodMetadata(held)),))
    assert stand_ins(known, version) == (("app", STAND_IN),)


def test_a_service_that_no_stand_in_helps_against_keeps_the_pods_away_and_is_named():
    state, version = to_be_adopted(other((names.APP, "web")))
    assert wanted_size(state, version) == 0
    decision = decided(state)
    [gate] = [gate for gate in decision.gates if gate.kind is GateKind.AVAILABILITY]
    assert gate.reason == "its pods come up once Service leak does not select them any more"
    [conflict] = [each for each in decision.conditions if each.type == "Conflict"]
    assert conflict.message == (
        "the selector gitops-bg.dev/app=web of Service leak would send its traffic to v1, which has no pods until that "
        "selects by a label of target.yaml, or is annotated gitops-bg.dev/all-versions=true"
    )
    [said] = [each for each in decision.conditions if each.type == "Adopting"]
    assert (said.reason, said.message) == ("Conflict", conflict.message)


def test_before_the_first_version_has_a_number_other_services_are_no_conflict():
    state = before(wants=1, observed={"other_services": (other((names.APP, "web")),)})
    assert not list(inescapable(state))


def test_a_version_whose_template_nobody_knows_is_no_conflict_by_itself():
    """It can have no pods: what they would carry cannot be said."""
    version = replace(rising(1), snapshot=Snapshot(digest(1), ""))
    unread = {"target": Missing.ABSENT, "primary": Missing.UNREADABLE}
    state = before(version, names_=1, desired=unread, observed={"other_services": (other((names.APP, "web")),)})
    assert not list(inescapable(state))


def test_the_version_that_is_wanted_is_the_one_that_must_escape():
    """Not the target, where primary.yaml names another."""
    versions = labelled(1, [("app", "web"), (names.VERSION, "x")]), labelled(2, OWN)
    state = before(*versions, names_=1, observed={"other_services": (other((names.APP, "web"), (names.VERSION, "1")),)})
    [said] = inescapable(state)
    assert "would send its traffic to v1" in said


def test_a_stand_in_that_is_still_missing_is_no_conflict():
    state, _ = to_be_adopted(BY_TIER, sets=(pods(1, 0, color=Color.BLUE),))
    assert not [each for each in decided(state).conditions if each.type == "Conflict" and each.status]


def test_from_the_hand_over_on_the_pods_have_their_own_labels():
    state = world(active(1), candidate(2), spec=adopting(), observed={"other_services": (BY_APP,)})
    assert stand_ins(state, state.record.numbered(2)) == ()
    assert leak_to(state, state.record.numbered(2)) is None, "it is said, and keeps nobody waiting"


def test_without_an_adoption_no_pod_is_held_back_for_a_service_that_the_app_does_not_name():
    state = world(rising(1), live=0, sets=(), observed={"other_services": (BY_APP,)})
    assert stand_ins(state, state.record.numbered(1)) == ()
    assert wanted_size(state, state.record.numbered(1)) == 3


def test_an_adopting_app_looks_again_at_services_that_nothing_watches():
    state, _ = to_be_adopted(view=foreign(selector=(("app", "cart"),)))
    assert decided(state).wake_at <= NOW + timedelta(minutes=1)


# --- in every other situation ---


def beside(*others, versions=(), **more):
    return world(*(versions or (active(1), candidate(2))), observed={"other_services": others}, **more)


ALL_LABELS = {"app": "web", **names.selector(APP, digest(2)), names.COLOR: "green", names.VERSION: "2"}.items()
"""Those of the pods of version 2."""
ANY_ROLE = PodMetadata((("role", "any"),))
ROLES = manual(active_metadata=LIVE_ROLE, preview_metadata=PREVIEW_ROLE)
EXPOSED = {
    "a candidate that waits for its promotion": (beside(BY_APP), [2]),
    "one that is not available yet": (beside(BY_APP, versions=(active(1), rising(2))), [2]),
    "a label of the agent": (beside(other((names.APP, "web"))), [2]),
    "the first version of an app": (beside(BY_APP, versions=(candidate(1),), live=0, names_=0), [1]),
    "every label that the pods have, while they are what they are when live": (
        beside(other(*ALL_LABELS)),
        [2],
    ),
    "a label that is the same of both roles": (
        beside(
            other(("role", "any")),
            spec=manual(active_metadata=ANY_ROLE, preview_metadata=ANY_ROLE),
        ),
        [2],
    ),
    "a label that both roles leave alone": (beside(BY_APP, spec=ROLES), [2]),
    "one that was aborted, while its pods stay": (
        beside(BY_APP, versions=(active(1), candidate(2, retiring=True, aborted=True))),
        [2],
    ),
    "several of them": (beside(BY_APP, versions=(active(1), candidate(2, retiring=True), candidate(3))), [2, 3]),
}


@pytest.mark.parametrize("name", EXPOSED)
def test_it_is_said_that_a_service_has_pods_of(name):
    state, numbers = EXPOSED[name]
    [found] = exposures(state)
    assert (found.service, [version.number for version in found.versions]) == (
        state.observed.other_services[0],
        numbers,
    )
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
    assert exposures(HIDDEN[name]) == ()
    [said] = [each for each in decided(HIDDEN[name]).conditions if each.type == "Exposed"]
    assert (said.status, said.reason) == (False, "NotExposed")


def test_pods_that_go_still_count():
    leaving = replace(pods(2, 0), pods=1)
    [found] = exposures(beside(BY_APP, sets=(pods(1), leaving)))
    assert ([each.number for each in found.versions], found.at_rest) == ([2], ())


AT_REST = {
    "one whose ReplicaSet is at 0": (beside(BY_APP, sets=(pods(1), pods(2, 0))), [2]),
    "one without a ReplicaSet": (beside(BY_APP, sets=(pods(1),)), [2]),
    "the first one of an app that runs none": (
        beside(BY_APP, versions=(candidate(1),), live=0, names_=0, sets=(), desired={"target": target(1, 0)}),
        [1],
    ),
    "the next one of an app that was scaled to zero": (
        beside(BY_APP, sets=(pods(1, 0), pods(2, 0)), desired={"target": target(2, 0)}),
        [2],
    ),
    "one that is about to get them": (beside(BY_APP, versions=(rising(1),), live=0, sets=()), [1]),
}


@pytest.mark.parametrize("name", AT_REST)
def test_it_is_said_in_other_words_that_a_service_would_have_pods_of(name):
    state, numbers = AT_REST[name]
    [found] = exposures(state)
    assert (found.versions, [each.number for each in found.at_rest]) == ((), numbers)
    said = condition(state)
    assert (said.status, said.reason) == (True, "SelectedOnceUp")
    assert said.message.startswith(
        f"Service leak (app=web) would have the pods of v{numbers[0]} ({digest(numbers[0])[3:13]}) if there were any, "
        "which nobody promoted: name it in activeServices"
    )
    assert decided(state).wake_at <= NOW + timedelta(minutes=1), "nothing watches it"


def test_what_a_service_has_comes_before_what_it_would_have():
    versions = (active(1), candidate(2, retiring=True), candidate(3))
    state = beside(BY_APP, versions=versions, sets=(pods(1), pods(2), pods(3, 0)))
    assert condition(state).reason == "SelectedByOthers"
    assert condition(state).message.startswith(
        f"Service leak (app=web) has the pods of v2 ({digest(2)[3:13]}) and would have those of v3 "
        f"({digest(3)[3:13]}) if there were any, which nobody promoted: "
    )


def condition(state):
    return next(each for each in decided(state).conditions if each.type == "Exposed")


def test_the_condition_names_the_service_what_it_has_and_what_to_do():
    state = beside(BY_APP)
    assert decided(state).phase is Phase.AWAITING_PROMOTION, "the app goes on"
    assert condition(state).message == (
        f"Service leak (app=web) has the pods of v2 ({digest(2)[3:13]}), which nobody promoted: name it in "
        "activeServices, or have it select a label of activeMetadata as well; if it may have the pods of every "
        "version, annotate it gitops-bg.dev/all-versions=true"
    )
    assert (condition(state).status, condition(state).reason) == (True, "SelectedByOthers")


def test_the_condition_names_three_services_at_most():
    message = condition(beside(*(other(("app", "web"), name=f"leak-{each}") for each in range(5)))).message
    assert message.count("Service leak-") == 3
    assert "; and 2 more Services: name it" in message
    three = condition(beside(*(other(("app", "web"), name=f"leak-{each}") for each in range(3)))).message
    assert (three.count("Service leak-"), "more Services" in three) == (3, False)


def test_what_may_not_be_listed_is_said_and_stops_nothing():
    observed = {"other_services_refused": "services is forbidden"}
    state = world(active(1), candidate(2), observed=observed)
    assert (condition(state).status, condition(state).reason) == (None, "ServicesUnreadable")
    assert condition(state).message.endswith("is unknown: services is forbidden")
    assert decided(state).phase is Phase.AWAITING_PROMOTION
    known = world(active(1), candidate(2), observed={**observed, "other_services": (BY_APP,)})
    assert condition(known).reason == "SelectedByOthers", "what was known before counts"


ASKED = {
    "a candidate": (beside(versions=(active(1), candidate(2))), True),
    "one that is on its way out": (beside(versions=(active(1), candidate(2, retiring=True))), True),
    "the live version alone": (beside(versions=(active(1),)), False),
    "a version to go back to": (beside(versions=(legacy(1), active(2), archived(3))), False),
    "no version": (world(), False),
    "a candidate that served before": (
        beside(versions=(active(1), candidate(2, activated_at=NOW - timedelta(hours=2)))),
        False,
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_other_services_are_looked_at_for(name):
    state, asked = ASKED[name]
    assert may_be_exposed(state.record) is asked
