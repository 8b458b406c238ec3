"""What an app with ``spec.adopt`` takes over, how its pods keep out of live traffic until then, and what goes after."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.actions import MarkService, ScaleDeployment, SwitchTraffic, SyncPodMetadata
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.observed import AuxiliaryView, DeploymentView
from gitops_bg.core.model.record import Adopted, Switch, SwitchKind
from gitops_bg.core.model.spec import ScaleDown
from gitops_bg.core.model.version import PodMetadata, Stabilization
from tests.core.engine.adoption.builders import (
    APP_WEB,
    HAND_OVER,
    HELD,
    OTHER_STAND_IN,
    STAND_IN,
    adopting,
    before,
    foreign,
    labelled,
    up,
)
from tests.core.shown import ABSENT
from tests.core.simulation import manual
from tests.core.worlds import (
    EARLIER,
    NOW,
    SECOND,
    active,
    candidate,
    conditions,
    decided,
    did,
    digest,
    given,
    pods,
    rising,
    sentences,
    service,
    size_after,
    world,
)

TWO = adopting(more_active_services=("web-grpc",))
BY_HAND = {"ours": True, "owner": "", "unclaimed": False}
"""Somebody labelled the Service meanwhile."""
CART = (("app", "cart"),)
FRONT = (("app", "web"), ("tier", "front"))


def in_hand(view=None, **more):
    """main names the first version, and its pods are up."""
    return before(candidate(1), names_=1, sets=(up(1),), view=view, **more)


def taken_over(state):
    return [each.name for each in decided(state).actions if isinstance(each, SwitchTraffic) and each.adopts]


def grpc(**changes):
    return {"more_active_services": (foreign("web-grpc", **changes),)}


TAKEN_OVER = {
    "a Service that selects the pods that the template describes": (in_hand(foreign()), ["web"]),
    "one that another tool labelled": (in_hand(foreign(owner="Service shop/web is managed by Helm")), ["web"]),
    "not one that a controller or another app has": (in_hand(foreign(unclaimed=False)), []),
    "not one that selects other pods": (in_hand(foreign(selector=CART)), []),
    "not one that selects more than the template says": (in_hand(foreign(selector=(*APP_WEB, ("tier", "x")))), []),
    "not one without a selector": (in_hand(foreign(selector=())), []),
    "not one that selects a version of ours, whose labels were lost": (
        in_hand(replace(service("web", 1), ours=False, unclaimed=True)),
        [],
    ),
    "not one that is ours": (in_hand(foreign(**BY_HAND)), []),
    "not without consent": (in_hand(spec=manual()), []),
    "not once the app serves: the consent counts once": (
        world(active(1), candidate(2), names_=2, spec=adopting(), observed={"active_service": foreign()}),
        [],
    ),
    "both of two Services": (in_hand(spec=TWO, observed=grpc()), ["web", "web-grpc"]),
    "none of two, of which somebody has one": (in_hand(spec=TWO, observed=grpc(unclaimed=False)), []),
    "none before as many pods are up as serve now": (in_hand(foreign(ready_endpoints=5)), []),
}


@pytest.mark.parametrize("name", TAKEN_OVER)
def test_it_takes_over(name):
    state, services = TAKEN_OVER[name]
    assert taken_over(state) == services


def test_the_service_is_handed_over_in_one_write_from_what_it_selected():
    first = decided(in_hand())
    assert first.record.routing.switch.switch_kind is SwitchKind.FIRST
    [switch] = [each for each in first.actions if isinstance(each, SwitchTraffic)]
    assert (switch.adopts, switch.create, switch.expected_selector) == (True, False, APP_WEB)
    assert str(switch).startswith("take over Service web from app=web to 1 (v1)")


@pytest.mark.parametrize("view", [foreign(unclaimed=False), foreign(selector=CART)], ids=["claimed", "of other pods"])
def test_nothing_is_written_to_a_service_that_the_consent_does_not_cover(view):
    assert did(in_hand(view), SwitchTraffic, MarkService) == []


def test_as_many_pods_come_up_as_serve_now():
    assert size_after(before(rising(1), names_=1, view=foreign(ready_endpoints=5)), 1) == 5
    both = before(rising(1), names_=1, view=foreign(ready_endpoints=5), spec=TWO, observed=grpc(ready_endpoints=2))
    assert size_after(both, 1) == 5, "of two Services the one with more pods counts"


def test_a_withdrawn_hand_over_is_marked_so_that_no_late_write_of_it_succeeds():
    switch = Switch("", digest(1), SwitchKind.FIRST, EARLIER, withdrawn=True)
    down, record = (up(1, available=0),), {"switch": switch, "withdrawals": 1}
    decision = decided(before(rising(1), names_=1, sets=down, record=record))
    [mark] = [each for each in decision.actions if isinstance(each, MarkService)]
    assert mark.adopts
    assert decision.record.routing.switch.withdrawn
    marked = before(rising(1), names_=1, sets=down, record=record, view=foreign(withdrawn="5eed-1"))
    assert decided(marked).record.routing.switch is None


# --- pods keep out of live traffic until then ---


def with_tier(tier, *views, **more):
    """The template has this tier; these Services are to be taken over."""
    first, *others = views
    version = labelled(1, [("app", "web"), *([("tier", tier)] if tier else [])])
    spec = adopting(more_active_services=tuple(each.name for each in others))
    return before(version, view=first, spec=spec, observed={"more_active_services": tuple(others)}, **more)


HELD_BACK = {
    "the only label": (with_tier("", foreign()), HELD),
    "the label that little else selects by": (
        with_tier("front", foreign(selector=FRONT)),
        (("tier", STAND_IN),),
    ),
    "one label for two Services that both select by it": (with_tier("", foreign(), foreign("web-grpc")), HELD),
    "one label that keeps out of a second Service as well": (
        with_tier("front", foreign(), foreign("web-grpc", selector=FRONT)),
        HELD,
    ),
    "nothing where somebody labelled a Service of other pods by hand": (
        with_tier("", foreign(selector=CART, **BY_HAND)),
        (),
    ),
    "another value where the Service selects the stand-in": (
        with_tier(STAND_IN, foreign(selector=(*APP_WEB, ("tier", STAND_IN)))),
        (("tier", OTHER_STAND_IN),),
    ),
    "nothing where the Service does not select these pods": (with_tier("", foreign(selector=CART)), ()),
    "the same once somebody labelled the Service by hand, until it has moved": (
        with_tier("", foreign(**BY_HAND)),
        HELD,
    ),
    "and the stand-in counts more than what the role says": (
        before(rising(1), spec=adopting(active_metadata=PodMetadata((("app", "x"), ("role", "live"))))),
        (*HELD, ("role", "live")),
    ),
}


@pytest.mark.parametrize("name", HELD_BACK)
def test_until_the_hand_over_pods_carry_a_stand_in_for(name):
    state, labels = HELD_BACK[name]
    assert given(state, 1) == (3, labels)


def test_the_consent_counts_before_the_first_version_has_a_number():
    """The target is known, the record is empty: its template says which pods these are."""
    assert given(before(wants=1), 1) == (3, HELD)
    of_others = conditions(before(wants=1, view=foreign(selector=CART)))["Conflict"]
    assert (of_others.status, of_others.message) == (True, HAND_OVER)
    assert conditions(before())["Conflict"].status, "no target: nobody knows its pods"


NO_HELP = {
    "without consent": (before(rising(1), spec=manual()), 1),
    "once the app serves": (
        world(active(1), candidate(2), spec=adopting(), observed={"active_service": foreign()}),
        2,
    ),
    "against a Service of the pods of a later version: what serves there is not this app": (
        before(rising(1), labelled(2, CART), names_=1, view=foreign(selector=CART)),
        2,
    ),
    "where the consent is withdrawn: pods go before their labels come back": (
        before(candidate(1), spec=manual(), sets=(up(1),)),
        1,
    ),
}


@pytest.mark.parametrize("name", NO_HELP)
def test_there_are_no_pods_where_no_stand_in_helps(name):
    state, number = NO_HELP[name]
    held = state.replica_set(digest(number))
    assert given(state, number) == (0, held.metadata.labels if held else ())


def test_pods_start_only_from_a_template_that_has_the_stand_in():
    """The ReplicaSet was made, at 0, before the app's file agreed: first its template changes, then pods come up."""
    assert given(before(rising(1), sets=(up(1, (), 0),)), 1) == (0, HELD)
    assert given(before(rising(1), sets=(up(1, HELD, 0),)), 1) == (3, HELD)


def test_labels_come_back_to_template_and_pods_once_traffic_is_there():
    live = PodMetadata((("role", "live"),))
    assert given(world(active(1), spec=adopting(active_metadata=live), sets=(up(1),)), 1) == (3, live.labels)
    state = world(active(1), spec=adopting(), sets=(up(1, (), pods_outdated=True),))
    assert [each.metadata for each in decided(state).actions if isinstance(each, SyncPodMetadata)] == [PodMetadata()]


# --- after the hand-over ---

PROBATION = Stabilization(3, NOW - 10 * SECOND)
OLD = DeploymentView("web-old", 3, (("app", "web"), ("pod", "old")))
OF_CART = replace(OLD, labels=CART)
PROGRESSIVELY = ScaleDown.PROGRESSIVELY


def after(
    scale_down=ScaleDown.ON_SUCCESS, old=OLD, routed=NOW - 700 * SECOND, ready=3, adopted=None, probation=None, **more
):
    """Live traffic goes to version 1; the Service remembers what it selected before."""
    version = active(1, activated_at=NOW - 800 * SECOND, routed_at=routed, stabilization=probation)
    seen = {"active_service": service("web", 1, before=APP_WEB), "deployment": old}
    strategy = more.pop("strategy", {})
    return world(
        version,
        spec=more.pop("spec", adopting(scale_down, **strategy)),
        sets=(up(1, more.pop("carrying", ()), available=ready, **more.pop("pending", {})),),
        observed={**seen, **more.pop("observed", {})},
        record={"adopted": adopted or Adopted("web-old"), **more.pop("record", {})},
        **more,
    )


PENDING = {"metadata_pending": True}
SECOND_SERVICE = {"old": OF_CART, "strategy": {"more_active_services": ("web-grpc",)}}
SIZES = {
    "never": (after(ScaleDown.NEVER), 3),
    "onSuccess: healthy, and the delay is over": (after(), 0),
    "onSuccess: the delay is not over": (after(routed=NOW - 60 * SECOND), 3),
    "onSuccess: new pods still get a stand-in": (after(carrying=HELD), 3),
    "onSuccess: new pods get another one": (after(carrying=(("a", "b"), ("tier", OTHER_STAND_IN))), 3),
    "onSuccess: some pods may still have it": (after(pending=PENDING), 3),
    "progressively: some pods may still have it": (after(PROGRESSIVELY, pending=PENDING), 3),
    "onSuccess: a label of the role": (after(carrying=(("role", "live"),)), 0),
    "onSuccess: kept for ever": (after(strategy={"scale_down_delay_seconds": None}), 3),
    "onSuccess: a pod of ours is missing": (after(ready=2), 3),
    "progressively: as soon as the endpoints have followed": (after(PROGRESSIVELY, routed=NOW), 0),
    "progressively: as many as ours are available": (after(PROGRESSIVELY, ready=2), 1),
    "progressively: it had more pods than we have": (
        after(PROGRESSIVELY, old=replace(OLD, replicas=7), adopted=Adopted("web-old", 7)),
        4,
    ),
    "progressively: requests may still be on their way": (
        after(PROGRESSIVELY, routed=NOW, strategy={"drain_seconds": 5}),
        3,
    ),
    "the endpoints have not followed": (after(routed=None), 3),
    "a Service was led back to the old pods": (
        after(observed={"active_service": service("web", 0, before=APP_WEB)}),
        3,
    ),
    "onSuccess: the live version is on probation": (after(probation=PROBATION), 3),
    "a Service that was not taken over says nothing about its pods": (
        after(**SECOND_SERVICE, observed={"more_active_services": (service("web-grpc", 1),)}),
        3,
    ),
    "a Service that is gone says nothing about its pods": (after(**SECOND_SERVICE), 3),
    "the Services did not select its pods": (after(old=OF_CART), 3),
    "something else decides its size": (after(old=replace(OLD, controller="Rollout web")), 3),
    "it cannot be read": (after(old=replace(OLD, trouble="no right")), 3),
    "its pods went before: whoever scaled it up has it": (after(adopted=Adopted("web-old", 3, left=True)), 3),
    "the file names another one by now": (after(adopted=Adopted("web-older")), 3),
    "nobody has looked at it yet": (after(old=None), 3),
    "nobody agrees any more": (after(spec=manual()), 3),
}


@pytest.mark.parametrize("name", SIZES)
def test_of_the_old_pods_stay(name):
    state, size = SIZES[name]
    scaled = [each for each in decided(state).actions if isinstance(each, ScaleDeployment)]
    now = state.observed.deployment.replicas if state.observed.deployment else 3
    assert [(each.name, each.current, each.replicas) for each in scaled] == (
        [] if size == now else [(OLD.name, now, size)]
    )


REMEMBERED = {
    "what was taken over, and how many pods it had": (after(record={"adopted": None}), Adopted("web-old", 3)),
    "that its pods have gone": (
        after(old=replace(OLD, replicas=0), adopted=Adopted("web-old", 3)),
        Adopted("web-old", 3, left=True),
    ),
    "that it is gone": (
        after(old=DeploymentView("web-old", gone=True), adopted=Adopted("web-old", 3)),
        Adopted("web-old", 3, left=True),
    ),
    "nothing, where nothing was taken over": (
        after(record={"adopted": None}, observed={"active_service": service("web", 1)}),
        None,
    ),
}


@pytest.mark.parametrize("name", REMEMBERED)
def test_the_record_remembers(name):
    state, adopted = REMEMBERED[name]
    assert decided(state).record.adopted == adopted


# --- what is said ---

SAID = {
    "pods come up": (
        before(rising(1), names_=1, sets=(up(1, available=1),)),
        (True, "WaitingForPods"),
        "1 of 3 pods of 1 (v1)",
        "are available to take over web; until then they carry app=not-live-yet, "
        "which no Service of Deployment web-old selects",
    ),
    "all is ready": (in_hand(), (True, "HandingOver"), "web: live traffic moves to 1 (v1)", ""),
    "several things are in the way": (
        before(
            rising(1),
            view=foreign(unclaimed=False),
            observed={
                "preview_service": foreign("web-preview", owner="Service web-preview is Helm's", unclaimed=False),
                "auxiliary_objects": (AuxiliaryView(AuxiliaryObject("ConfigMap", "x"), owner="ConfigMap x is Argo's"),),
            },
        ),
        (True, "Conflict"),
        HAND_OVER,
        "Service web-preview is Helm's; the selector app=web of Service web would send live traffic to 1 (v1), "
        "which has no pods until then; ConfigMap x is Argo's",
    ),
    "never": (
        after(ScaleDown.NEVER),
        (False, "Adopted"),
        "the pods of Deployment web-old get no traffic, and stay",
        "(scaleDown: never)",
    ),
    "gone": (
        after(adopted=Adopted("web-old", 3, left=True)),
        (False, "Adopted"),
        "the pods of Deployment web-old",
        "gone",
    ),
    "the delay": (
        after(routed=NOW - 60 * SECOND),
        (True, "OldPodsStay"),
        "Deployment web-old keeps 3 pods: until ",
        "Z",
    ),
    "the endpoints": (
        after(routed=None, observed={"active_service": service("web", 1, before=APP_WEB, ready_endpoints=2)}),
        (True, "OldPodsStay"),
        "Deployment web-old keeps 3 pods: ",
        "not exactly the new pods yet",
    ),
    "the labels of our pods": (
        after(carrying=HELD),
        (True, "OldPodsStay"),
        "Deployment web-old keeps 3 pods: pods of 1 (v1)",
        "do not carry their own labels yet",
    ),
    "pods of ours are missing": (
        after(ready=2),
        (True, "OldPodsStay"),
        "Deployment",
        "2 of 3 pods of the live version are available",
    ),
    "a probation": (
        after(probation=PROBATION),
        (True, "OldPodsStay"),
        "Deployment web-old keeps 3 pods: ",
        "the live version is not proven yet",
    ),
    "now": (after(), (True, "ScalingDown"), "Deployment web-old: from 3 pods to 0", ""),
    "unreadable": (
        after(old=DeploymentView("web-old", trouble="may not get it")),
        (True, "DeploymentUnreadable"),
        "may not get it",
        "",
    ),
    "another": (
        after(old=replace(OLD, labels=())),
        (True, "OtherDeployment"),
        "the Services did not select the pods of Deployment web-old before they were handed over",
        "",
    ),
    "another name": (
        after(adopted=Adopted("web-older")),
        (True, "OtherDeployment"),
        "live traffic was taken over from Deployment web-older, not from web-old",
        "",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_the_condition_says_what_is_missing(name):
    state, (status, reason), start, end = SAID[name]
    found = conditions(state)["Adopting"]
    assert (found.status, found.reason) == (status, reason)
    assert found.message.startswith(start), found.message
    assert found.message.endswith(end), found.message


def test_an_app_that_adopts_nothing_has_no_such_condition_and_one_that_does_is_in_no_conflict():
    assert "Adopting" not in conditions(world(active(1), sets=(pods(1),)))
    assert conditions(in_hand())["Conflict"] == ABSENT
    assert conditions(before(rising(1), spec=manual()))["Conflict"].status
    served = world(active(1), spec=adopting(), sets=(pods(1),), observed={"active_service": foreign()})
    assert conditions(served)["Conflict"].status, "the consent counts once"


def test_it_looks_again_at_what_nothing_watches():
    assert decided(before(rising(1))).wake_at <= NOW + timedelta(minutes=1)
    assert decided(after()).wake_at <= NOW + timedelta(minutes=1)
    assert decided(after(routed=NOW - 270 * SECOND)).wake_at == NOW + 30 * SECOND


def test_an_adopted_app_that_is_at_rest_does_nothing():
    assert sentences(after(ScaleDown.NEVER, adopted=Adopted("web-old"))) == []
