"""What an app with ``spec.adopt`` takes over, how its pods keep out of live traffic until then, and what goes after."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.checks.adoption.onboarding import leak_to
from gitops_bg.core.checks.adoption.taking_over import (
    OTHER_STAND_IN,
    STAND_IN,
    deployment_size,
    may_take_over,
    pods_of_others,
    stand_ins,
    why_left_alone,
)
from gitops_bg.core.checks.ephemeral_metadata import metadata_for
from gitops_bg.core.checks.pods.sizes import needed_to_switch, wanted_size
from gitops_bg.core.engine import decide
from gitops_bg.core.invariants import violations
from gitops_bg.core.model.actions import (
    CreateReplicaSet,
    MarkService,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.observed import AuxiliaryView, DeploymentView
from gitops_bg.core.model.record import Adopted, Switch, SwitchKind
from gitops_bg.core.model.spec import Adoption, ScaleDown
from gitops_bg.core.model.version import PodMetadata, Stabilization
from tests.core.simulation import manual
from tests.core.worlds import (
    EARLIER,
    NOW,
    SECOND,
    active,
    candidate,
    decided,
    digest,
    pods,
    rising,
    sentences,
    service,
    world,
)

THEIRS = "Service shop/web is made by somebody else; to hand it over: kubectl label service web"
APP_WEB = (("app", "web"),)
HELD = (("app", STAND_IN),)


def adopting(scale_down=ScaleDown.NEVER, **strategy):
    return replace(manual(**strategy), adopt=Adoption("web-old", scale_down))


def foreign(name="web", **changes):
    theirs = {"selector": APP_WEB, "digest": "", "ours": False, "owner": THEIRS, "unclaimed": True}
    return replace(service(name, 0), **{**theirs, **changes})


def before(*versions, view=None, spec=None, sets=(), observed=None, **more):
    """Nothing of ours serves yet; the Service is live, and three pods of somebody else are behind it."""
    seen = {"active_service": view or foreign(), "preview_service": None, **(observed or {})}
    return world(*versions, live=0, sets=sets, observed=seen, spec=spec or adopting(), **more)


TAKEN_OVER = {
    "a Service that selects the pods that the template describes": (foreign(), True),
    "one that another tool labelled": (foreign(owner="Service shop/web is managed by Helm"), True),
    "one that a controller or another app has": (foreign(unclaimed=False), False),
    "one that selects other pods": (foreign(selector=(("app", "cart"),)), False),
    "one that selects more than the template says": (foreign(selector=(("app", "web"), ("tier", "x"))), False),
    "one without a selector": (foreign(selector=()), False),
    "one that selects a version of ours, whose labels were lost": (
        replace(service("web", 1), ours=False, unclaimed=True),
        False,
    ),
    "one that is ours": (foreign(ours=True, owner="", unclaimed=False), False),
}


@pytest.mark.parametrize("name", TAKEN_OVER)
def test_the_consent_covers(name):
    view, covered = TAKEN_OVER[name]
    assert may_take_over(before(rising(1), view=view), view) is covered


def test_the_consent_counts_before_the_first_version_has_a_number():
    """The target is known, the record is empty: its template says which pods these are."""
    assert may_take_over(before(wants=1), foreign())
    assert not may_take_over(before(wants=1), foreign(selector=(("app", "cart"),)))
    assert not may_take_over(before(), foreign()), "no target: nobody knows its pods"


def test_without_consent_nothing_is_taken_over_and_no_label_is_held_back():
    state = before(rising(1), spec=manual())
    assert not may_take_over(state, foreign())
    assert stand_ins(state, state.record.numbered(1)) == ()
    assert wanted_size(state, state.record.numbered(1)) == 0


def test_the_consent_counts_once():
    state = world(active(1), candidate(2), spec=adopting(), observed={"active_service": foreign()})
    assert not may_take_over(state, foreign())
    assert stand_ins(state, state.record.numbered(2)) == ()
    assert leak_to(state, state.record.numbered(2)).name == "web"


HELD_BACK = {
    "the only label": ((foreign(),), HELD),
    "the label that little else selects by": (
        (foreign(selector=(("app", "web"), ("tier", "front"))),),
        (("tier", STAND_IN),),
    ),
    "one label for two Services that both select by it": ((foreign(), foreign("web-grpc")), HELD),
    "one label that keeps out of a second Service as well": (
        (foreign(), foreign("web-grpc", selector=(("app", "web"), ("tier", "front")))),
        HELD,
    ),
    "nothing where somebody labelled a Service of other pods by hand": (
        (foreign(selector=(("app", "cart"),), ours=True, owner="", unclaimed=False),),
        (),
    ),
    "another value where the Service selects the stand-in": (
        (foreign(selector=(("app", "web"), ("tier", STAND_IN))),),
        (("tier", OTHER_STAND_IN),),
    ),
    "nothing where the Service does not select these pods": ((foreign(selector=(("app", "cart"),)),), ()),
    "the same once somebody labelled the Service by hand, until it has moved": (
        (foreign(ours=True, owner="", unclaimed=False),),
        HELD,
    ),
}


def labelled(number, labels):
    """The version with these labels in its template."""
    body = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return rising(number, snapshot=replace(rising(number).snapshot, text=json.dumps(body)))


@pytest.mark.parametrize("name", HELD_BACK)
def test_until_the_hand_over_pods_carry_a_stand_in_for(name):
    views, expected = HELD_BACK[name]
    first, *more = views
    tiers = dict(label for each in views for label in each.selector).get("tier")
    version = labelled(1, [("app", "web"), *([("tier", tiers)] if tiers else [])])
    spec = adopting(more_active_services=tuple(each.name for each in more))
    state = before(version, view=first, spec=spec, observed={"more_active_services": tuple(more)})
    assert stand_ins(state, version) == expected
    assert leak_to(state, version) is None
    assert wanted_size(state, version) == 3


def test_no_stand_in_helps_against_a_service_that_the_consent_does_not_cover():
    """It selects the pods of a later version, not those of the first: what serves there is not this app."""
    later = labelled(2, [("app", "cart")])
    state = before(rising(1), later, names_=1, view=foreign(selector=(("app", "cart"),)))
    assert stand_ins(state, later) == ()
    assert leak_to(state, later).name == "web"
    assert wanted_size(state, later) == 0


def test_the_stand_in_replaces_what_the_role_says_too_and_goes_with_the_hand_over():
    spec = replace(adopting(), strategy=replace(adopting().strategy, active_metadata=PodMetadata((("role", "live"),))))
    state = before(rising(1), spec=spec)
    assert metadata_for(state, state.record.numbered(1)).labels == (("app", STAND_IN), ("role", "live"))
    after = world(active(1), spec=spec)
    assert metadata_for(after, after.record.numbered(1)).labels == (("role", "live"),)


def test_pods_start_only_from_a_template_that_has_the_stand_in():
    """The ReplicaSet was made, at 0, before the app's file agreed: first its template changes, then pods come up."""
    version = rising(1)
    state = before(version, sets=(pods(1, 0, color=version.color),))
    [written] = [each for each in decided(state).actions if isinstance(each, CreateReplicaSet | ScaleReplicaSet)]
    assert (written.replicas, written.metadata.labels) == (0, HELD)
    ready = before(version, sets=(pods(1, 0, color=version.color, metadata=PodMetadata(HELD)),))
    assert [each.replicas for each in decided(ready).actions if isinstance(each, ScaleReplicaSet)] == [3]


def test_pods_go_before_their_labels_come_back_where_the_consent_is_withdrawn():
    version = candidate(1)
    held = pods(1, color=version.color, metadata=PodMetadata(HELD))
    state = before(version, spec=manual(), sets=(held,))
    [action] = [each for each in decided(state).actions if isinstance(each, CreateReplicaSet | ScaleReplicaSet)]
    assert (action.digest, action.replicas) == (digest(1), 0)


def test_as_many_pods_as_serve_now_come_up_before_the_hand_over():
    state = before(rising(1), names_=1, view=foreign(ready_endpoints=5))
    version = state.record.numbered(1)
    assert pods_of_others(state) == 5
    assert (wanted_size(state, version), needed_to_switch(state, version)) == (5, 5)
    spec = adopting(more_active_services=("web-grpc",))
    grpc = {"more_active_services": (foreign("web-grpc", ready_endpoints=2),)}
    both = before(rising(1), names_=1, view=foreign(ready_endpoints=5), spec=spec, observed=grpc)
    assert pods_of_others(both) == 5, "of two Services the one with more pods counts"


def in_hand(view=None, **more):
    """main names the first version, and its pods are up."""
    version = candidate(1)
    sets = (pods(1, color=version.color, metadata=PodMetadata(HELD)),)
    return before(version, names_=1, sets=sets, view=view, **more)


def test_the_service_is_handed_over_in_one_write_from_what_it_selected():
    first = decided(in_hand())
    assert first.record.routing.switch.switch_kind is SwitchKind.FIRST
    [switch] = [each for each in first.actions if isinstance(each, SwitchTraffic)]
    assert (switch.adopts, switch.create, switch.expected_selector) == (True, False, APP_WEB)
    assert str(switch).startswith("take over Service web from app=web to v1 (")


@pytest.mark.parametrize(
    "view", [foreign(unclaimed=False), foreign(selector=(("app", "cart"),))], ids=["claimed", "of other pods"]
)
def test_nothing_is_written_to_a_service_that_the_consent_does_not_cover(view):
    assert not [each for each in decided(in_hand(view)).actions if isinstance(each, SwitchTraffic | MarkService)]


def test_all_services_move_or_none():
    spec = adopting(more_active_services=("web-grpc",))
    both = {"more_active_services": (foreign("web-grpc", unclaimed=False),)}
    assert not [each for each in decided(in_hand(spec=spec, observed=both)).actions if isinstance(each, SwitchTraffic)]
    free = {"more_active_services": (foreign("web-grpc"),)}
    moved = [
        each.name for each in decided(in_hand(spec=spec, observed=free)).actions if isinstance(each, SwitchTraffic)
    ]
    assert moved == ["web", "web-grpc"]


def test_a_withdrawn_hand_over_is_marked_so_that_no_late_write_of_it_succeeds():
    switch = Switch("", digest(1), SwitchKind.FIRST, EARLIER, withdrawn=True)
    down = (pods(1, available=0, color=candidate(1).color, metadata=PodMetadata(HELD)),)
    record = {"switch": switch, "withdrawals": 1}
    state = before(rising(1), names_=1, sets=down, record=record)
    [mark] = [each for each in decided(state).actions if isinstance(each, MarkService)]
    assert mark.adopts
    assert decided(state).record.routing.switch.withdrawn
    marked = before(rising(1), names_=1, sets=down, record=record, view=foreign(withdrawn="5eed-1"))
    assert decided(marked).record.routing.switch is None


# --- after the hand-over ---

PROBATION = Stabilization(3, NOW - 10 * SECOND)
OLD = DeploymentView("web-old", 3, (("app", "web"), ("pod", "old")))


def after(
    scale_down=ScaleDown.ON_SUCCESS, old=OLD, routed=NOW - 700 * SECOND, up=3, adopted=None, probation=None, **more
):
    """Live traffic goes to version 1; the Service remembers what it selected before."""
    version = active(1, activated_at=NOW - 800 * SECOND, routed_at=routed, stabilization=probation)
    seen = {"active_service": service("web", 1, before=APP_WEB), "deployment": old}
    remembered = {"adopted": adopted or Adopted("web-old")}
    strategy = more.pop("strategy", {})
    return world(
        version,
        spec=more.pop("spec", adopting(scale_down, **strategy)),
        sets=(pods(1, 3, up, color=version.color, **more.pop("carrying", {})),),
        observed={**seen, **more.pop("observed", {})},
        record={**remembered, **more.pop("record", {})},
        **more,
    )


SIZES = {
    "never": (after(ScaleDown.NEVER), None),
    "onSuccess: healthy, and the delay is over": (after(), 0),
    "onSuccess: the delay is not over": (after(routed=NOW - 60 * SECOND), 3),
    "onSuccess: new pods still get a stand-in": (after(carrying={"metadata": PodMetadata(HELD)}), 3),
    "onSuccess: new pods get another one": (
        after(carrying={"metadata": PodMetadata((("a", "b"), ("tier", OTHER_STAND_IN)))}),
        3,
    ),
    "onSuccess: some pods may still have it": (after(carrying={"metadata_pending": True}), 3),
    "progressively: some pods may still have it": (
        after(ScaleDown.PROGRESSIVELY, carrying={"metadata_pending": True}),
        3,
    ),
    "onSuccess: a label of the role": (after(carrying={"metadata": PodMetadata((("role", "live"),))}), 0),
    "onSuccess: kept for ever": (after(strategy={"scale_down_delay_seconds": None}), 3),
    "onSuccess: a pod of ours is missing": (after(up=2), 3),
    "progressively: as soon as the endpoints have followed": (after(ScaleDown.PROGRESSIVELY, routed=NOW), 0),
    "progressively: as many as ours are available": (after(ScaleDown.PROGRESSIVELY, up=2), 1),
    "progressively: it had more pods than we have": (
        after(ScaleDown.PROGRESSIVELY, old=replace(OLD, replicas=7), adopted=Adopted("web-old", 7)),
        4,
    ),
    "progressively: requests may still be on their way": (
        after(ScaleDown.PROGRESSIVELY, routed=NOW, strategy={"drain_seconds": 5}),
        3,
    ),
    "the endpoints have not followed": (after(routed=None), 3),
    "a Service was led back to the old pods": (
        after(observed={"active_service": service("web", 0, before=APP_WEB)}),
        3,
    ),
    "onSuccess: the live version is on probation": (after(probation=PROBATION), 3),
    "a Service that was not taken over says nothing about its pods": (
        after(
            old=replace(OLD, labels=(("app", "cart"),)),
            strategy={"more_active_services": ("web-grpc",)},
            observed={"more_active_services": (service("web-grpc", 1),)},
        ),
        None,
    ),
    "a Service that is gone says nothing about its pods": (
        after(
            old=replace(OLD, labels=(("app", "cart"),)),
            strategy={"more_active_services": ("web-grpc",)},
        ),
        None,
    ),
    "the Services did not select its pods": (after(old=replace(OLD, labels=(("app", "cart"),))), None),
    "something else decides its size": (after(old=replace(OLD, controller="Rollout web")), None),
    "it cannot be read": (after(old=DeploymentView("web-old", trouble="no right")), None),
    "its pods went before: whoever scaled it up has it": (after(adopted=Adopted("web-old", 3, left=True)), None),
    "the file names another one by now": (after(adopted=Adopted("web-older")), None),
    "nobody has looked at it yet": (after(old=None), None),
    "nobody agrees any more": (after(spec=manual()), None),
}


@pytest.mark.parametrize("name", SIZES)
def test_of_the_old_pods_stay(name):
    state, size = SIZES[name]
    assert deployment_size(state) == size
    scaled = [each for each in decided(state).actions if isinstance(each, ScaleDeployment)]
    wanted = (
        [(OLD.name, state.observed.deployment.replicas, size)] if (size is not None and size < 3) or size == 4 else []
    )
    assert [(each.name, each.current, each.replicas) for each in scaled] == wanted


def test_the_record_remembers_what_was_taken_over_and_that_its_pods_have_gone():
    state = after(record={"adopted": None})
    assert decided(state).record.adopted == Adopted("web-old", 3)
    gone = after(old=replace(OLD, replicas=0), adopted=Adopted("web-old", 3))
    assert decided(gone).record.adopted == Adopted("web-old", 3, left=True)
    deleted = after(old=DeploymentView("web-old", gone=True), adopted=Adopted("web-old", 3))
    assert decided(deleted).record.adopted.left


def test_an_app_that_took_nothing_over_remembers_nothing():
    state = after(record={"adopted": None}, observed={"active_service": service("web", 1)})
    assert decided(state).record.adopted is None


def test_the_old_pods_go_only_while_every_service_selects_ours():
    led_back = after(observed={"active_service": service("web", 0, before=APP_WEB)})
    [broken] = violations(led_back, (ScaleDeployment("web-old", 3, 0, ""),))
    assert broken.startswith("I2: scale Deployment web-old from 3 to 0")
    assert not list(violations(after(), (ScaleDeployment("web-old", 3, 0, ""),)))


def test_it_says_why_it_leaves_a_deployment_alone():
    assert why_left_alone(after(), replace(OLD, labels=())) == (
        "the Services did not select the pods of Deployment web-old before they were handed over"
    )
    assert why_left_alone(after(), OLD) == ""


def test_labels_come_back_to_template_and_pods_once_traffic_is_there():
    version = active(1)
    held = pods(1, color=version.color, metadata=PodMetadata(HELD))
    state = world(version, spec=adopting(), sets=(held,))
    [written] = [each for each in decided(state).actions if isinstance(each, CreateReplicaSet)]
    assert (written.repair, written.metadata) == (True, PodMetadata())
    outdated = world(version, spec=adopting(), sets=(replace(held, metadata=PodMetadata(), pods_outdated=True),))
    assert [each.metadata for each in decided(outdated).actions if isinstance(each, SyncPodMetadata)] == [PodMetadata()]


# --- what is said ---


def condition(state, kind="Adopting"):
    found = decide(state.spec, state.desired, state.observed, state.record, state.now).conditions
    return next((each for each in found if each.type == kind), None)


SAID = {
    "pods come up": (
        before(rising(1), names_=1, sets=(pods(1, available=1, color=rising(1).color, metadata=PodMetadata(HELD)),)),
        (True, "WaitingForPods"),
        "1 of 3 pods of v1 (",
        "are available to take over web; until then they carry app=not-live-yet, "
        "which no Service of Deployment web-old selects",
    ),
    "all is ready": (in_hand(), (True, "HandingOver"), "web: live traffic moves to v1 (", ")"),
    "several things are in the way": (
        before(
            rising(1),
            view=foreign(unclaimed=False),
            observed={
                "preview_service": replace(
                    service("web-preview", 0), ours=False, owner="Service web-preview is Helm's"
                ),
                "auxiliary_objects": (AuxiliaryView(AuxiliaryObject("ConfigMap", "x"), owner="ConfigMap x is Argo's"),),
            },
        ),
        (True, "Conflict"),
        THEIRS,
        "Service web-preview is Helm's; the selector app=web of Service web would send live traffic to v1, "
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
        after(carrying={"metadata": PodMetadata(HELD)}),
        (True, "OldPodsStay"),
        "Deployment web-old keeps 3 pods: pods of v1 (",
        "do not carry their own labels yet",
    ),
    "pods of ours are missing": (
        after(up=2),
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
        "the Services did not select the pods of Deployment web-old",
        "handed over",
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
    found = condition(state)
    assert (found.status, found.reason) == (status, reason)
    assert found.message.startswith(start), found.message
    assert found.message.endswith(end), found.message


def test_an_app_that_adopts_nothing_has_no_such_condition_and_one_that_does_is_in_no_conflict():
    assert condition(world(active(1))) is None
    assert not condition(in_hand(), "Conflict").status
    assert condition(before(rising(1), spec=manual()), "Conflict").status


def test_it_looks_again_at_what_nothing_watches():
    assert decided(before(rising(1))).wake_at <= NOW + timedelta(minutes=1)
    assert decided(after()).wake_at <= NOW + timedelta(minutes=1)
    waits = decided(after(routed=NOW - 270 * SECOND))
    assert waits.wake_at == NOW + 30 * SECOND


def test_an_adopted_app_that_is_at_rest_does_nothing():
    assert sentences(after(ScaleDown.NEVER, adopted=Adopted("web-old"))) == []
