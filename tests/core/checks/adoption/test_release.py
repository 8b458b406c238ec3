"""The way back of an adopted app: the Deployment first, then the Services, then our pods."""

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.checks.adoption.release import (
    at_rest,
    has_arrived,
    is_released,
    is_releasing,
    moves_no_more,
    never_released,
    pods_needed,
    services_to_hand_back,
    still_missing,
)
from gitops_bg.core.checks.adoption.taking_over import (
    STAND_IN,
    deployment_size,
    may_take_over,
    stand_ins,
    watched_deployment,
)
from gitops_bg.core.checks.pods.sizes import wanted_size
from gitops_bg.core.model.actions import (
    ApplyService,
    CreateReplicaSet,
    DeleteAuxiliaryObject,
    HandBack,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.decision import Phase
from gitops_bg.core.model.desired import Missing, Problem
from gitops_bg.core.model.observed import AuxiliaryView, DeploymentView, SelectedPods
from gitops_bg.core.model.policies.facts import Policing
from gitops_bg.core.model.policies.rules import Policy, Span, Windows
from gitops_bg.core.model.record import Adopted, Event, Record, Switch, SwitchKind
from gitops_bg.core.model.spec import Adoption, Release, ScaleDown, Suspension
from gitops_bg.core.model.version import PodMetadata
from gitops_bg.core.status.meanings import troubles
from gitops_bg.core.status.release import releasing as released_condition
from gitops_bg.core.transitions.traffic.release import note_release
from tests.core.simulation import manual
from tests.core.worlds import EARLIER, NOW, active, candidate, decided, digest, legacy, pods, service, world

APP_WEB = (("app", "web"),)
HELD = PodMetadata((("app", STAND_IN),))
SPEC = replace(manual(), adopt=Adoption("old", ScaleDown.PROGRESSIVELY), release=Release("old"))
TWO = replace(SPEC, strategy=replace(SPEC.strategy, more_active_services=("web-grpc",)))
DEPLOYMENT = DeploymentView("old", 3, APP_WEB, available=3)
OURS = service("web", 2, before=APP_WEB, selected=SelectedPods())
THEIRS = replace(service("web", 0), ours=False, owner="somebody's", unclaimed=True)


def releasing(view=OURS, deployment=DEPLOYMENT, metadata=HELD, up=3, **more):
    """Version 2 serves, 1 is warm, 3 waits for its promotion; all of them have pods."""
    versions = (legacy(1), active(2, activated_at=EARLIER, routed_at=EARLIER), candidate(3))
    sets = more.pop("sets", tuple(pods(each.number, 3, up, color=each.color, metadata=metadata) for each in versions))
    seen = {"active_service": view, "preview_service": service("web-preview", 3), "deployment": deployment}
    remembered = {"adopted": Adopted("old", 3, left=True), "preview": digest(3)}
    return world(
        *versions,
        spec=more.pop("spec", SPEC),
        sets=sets,
        observed={**seen, **more.pop("observed", {})},
        record={**remembered, **more.pop("record", {})},
        **more,
    )


def did(state, *kinds):
    return [str(each) for each in decided(state).actions if isinstance(each, kinds)]


def test_the_deployment_comes_up_first_to_what_serves():
    state = releasing(deployment=replace(DEPLOYMENT, replicas=0, available=0))
    assert pods_needed(state) == 3
    assert did(state, ScaleDeployment, HandBack) == [
        "scale Deployment old from 0 to 3: live traffic is to go back to its pods"
    ]


NEEDED = {
    "as many as the live version has, available or not": (releasing(up=2), 3),
    "one of one": (releasing(sets=(pods(2, 1, color=active(2).color, metadata=HELD),)), 1),
    "one, where nothing of ours is left: no pods prove nothing": (releasing(sets=()), 1),
}


def with_deployment(state, **changes):
    return replace(state, observed=replace(state.observed, deployment=replace(DEPLOYMENT, **changes)))


@pytest.mark.parametrize("name", NEEDED)
def test_the_deployment_needs(name):
    state, number = NEEDED[name]
    assert pods_needed(state) == number
    assert still_missing(with_deployment(state, available=number)) == ()
    assert still_missing(with_deployment(state, available=number - 1)) != ()


def test_the_deployment_is_no_longer_scaled_down_once_traffic_is_to_go_back():
    state = releasing(record={"adopted": Adopted("old", 3)})
    assert watched_deployment(replace(state, spec=replace(SPEC, release=None))) == Adopted("old", 3)
    assert watched_deployment(state) is None
    assert deployment_size(state) is None


def test_every_version_with_pods_gets_the_stand_in_before_a_service_goes_back():
    state = releasing(metadata=PodMetadata())
    assert all(stand_ins(state, each) == HELD.labels for each in state.record.versions)
    assert still_missing(state) == ("pods of v1, v2, v3 do not carry their stand-in labels yet",)
    written = [each for each in decided(state).actions if isinstance(each, CreateReplicaSet)]
    assert [(each.number, each.metadata.labels) for each in written] == [(n, HELD.labels) for n in (1, 2, 3)]


def selecting_pods(*apps, **more):
    """Pods of these apps would get the traffic of the Service."""
    return releasing(replace(OURS, selected=SelectedPods(apps)), **more)


RENAMED = replace(SPEC, adopt=Adoption(app="pay"))
SERVING = pods(2, 3, color=active(2).color, metadata=HELD)
WITHOUT_STAND_IN = pods(1, 0, color=legacy(1).color)
WAITS = {
    "pods of the Deployment": (releasing(deployment=replace(DEPLOYMENT, available=2)), "2 of 3 pods of Deployment old"),
    "pods whose labels are being changed": (
        releasing(sets=(pods(2, 3, color=active(2).color, metadata=HELD, metadata_pending=True),)),
        "pods of v2 do not carry",
    ),
    "a look at the Deployment": (releasing(deployment=None), "the Deployment is looked at next"),
    "files without a mistake": (
        releasing(deployment=None, desired={"problems": (Problem("app.yaml", "is empty"),)}),
        "the app's files have a mistake (InvalidSpec), and nothing begins before it is mended",
    ),
    "a look at that Deployment: another one's pods are not where traffic goes": (
        releasing(deployment=replace(DEPLOYMENT, name="older")),
        "the Deployment is looked at next",
    ),
    "pods that are going, though their ReplicaSet is at 0 already": (
        releasing(sets=(SERVING, replace(WITHOUT_STAND_IN, pods=1))),
        "pods of v1 do not carry",
    ),
    "a switch": (
        releasing(record={"switch": Switch(digest(2), digest(3), SwitchKind.PROMOTION, NOW)}, names_=3),
        "live traffic moves between versions",
    ),
    "a switch that main took back": (
        releasing(
            record={
                "switch": Switch(digest(2), digest(3), SwitchKind.PROMOTION, NOW, withdrawn=True),
                "withdrawals": 1,
            }
        ),
        "live traffic moves between versions",
    ),
    "a promotion that has not begun to move traffic": (releasing(names_=3), "live traffic moves between versions"),
    "the end of the app that it was before, whose pods its Service would select": (
        selecting_pods("pay", spec=RENAMED),
        "Service web would select pods of app pay, until pay, which this app was before, has ended",
    ),
    "the end of the one that it was before that": (
        selecting_pods("first", spec=replace(SPEC, adopt=Adoption(app="pay", formers=("first",)))),
        "Service web would select pods of app first, until first, which this app was before, has ended",
    ),
    "pods of other apps to go": (
        selecting_pods("cart", "pay", spec=SPEC),
        "Service web would select pods of the apps cart, pay",
    ),
    "pods of an app that it never was": (
        selecting_pods("cart", spec=RENAMED),
        "Service web would select pods of app cart",
    ),
    "pods of an app, where it no longer says what it was adopted from": (
        selecting_pods("cart", spec=replace(SPEC, adopt=None)),
        "Service web would select pods of app cart",
    ),
    "its own pods": (selecting_pods("web"), "Service web would select pods of app web"),
    "a look at the pods": (
        releasing(replace(OURS, selected=None)),
        "the pods that Service web would select are looked at next",
    ),
    "the right to list pods": (
        releasing(replace(OURS, selected=SelectedPods(trouble="no right"))),
        "the pods that Service web would select are unknown: no right",
    ),
}


def _says(missing, said):
    return missing == said if "would select pods" in said else missing.startswith(said)


@pytest.mark.parametrize("name", WAITS)
def test_no_service_goes_back_before(name):
    state, said = WAITS[name]
    assert any(_says(each, said) for each in still_missing(state)), still_missing(state)
    assert did(state, HandBack) == []


def test_a_version_without_pods_holds_no_service_back():
    assert still_missing(releasing(sets=(SERVING, WITHOUT_STAND_IN))) == ()


NEVER = {
    "a Service that was not taken over": (releasing(service("web", 2)), "Service web was not taken over: nobody knows"),
    "a Service that is gone": (releasing(view=None), "Service web does not exist"),
    "a Service that somebody controls": (releasing(replace(THEIRS, unclaimed=False, owner="it is X's")), "it is X's"),
    "a Deployment that is gone": (
        releasing(deployment=DeploymentView("old", gone=True)),
        "Deployment old does not exist: apply it again, at 0 replicas",
    ),
    "a Deployment that somebody controls": (
        releasing(deployment=replace(DEPLOYMENT, controller="Rollout x")),
        "Deployment old is controlled by Rollout x",
    ),
    "a Deployment that never served": (
        releasing(deployment=replace(DEPLOYMENT, labels=(("app", "cart"),))),
        "Service web did not select the pods of Deployment old",
    ),
    "one of two Services that had other pods": (
        releasing(
            spec=TWO,
            observed={
                "more_active_services": (service("web-grpc", 2, before=(("app", "grpc"),), selected=SelectedPods()),)
            },
        ),
        "Service web-grpc did not select the pods of Deployment old",
    ),
    "a Deployment that cannot be read": (releasing(deployment=replace(DEPLOYMENT, trouble="no right")), "no right"),
}


@pytest.mark.parametrize("name", NEVER)
def test_nothing_is_written_and_all_is_said_where_it_cannot_be(name):
    state, said = NEVER[name]
    assert never_released(state)[0].startswith(said)
    assert still_missing(state) == never_released(state)
    assert did(state, HandBack, ScaleDeployment) == []
    [condition] = [each for each in decided(state).conditions if each.type == "Released"]
    assert (condition.status, condition.reason) == (False, "Conflict")


def test_nothing_is_written_and_nothing_is_over_by_a_look_at_another_deployment():
    """Neither is it scaled, nor do its pods prove that live traffic has arrived."""
    other = replace(DEPLOYMENT, name="older", replicas=0)
    assert did(releasing(deployment=other), HandBack, ScaleDeployment) == []
    assert not has_arrived(releasing(replace(THEIRS, ready_endpoints=3), other))


def test_nothing_is_in_the_way_of_what_nobody_asks_for():
    state = releasing(view=None, spec=replace(SPEC, release=None))
    assert never_released(state) == ()


def test_each_service_goes_back_in_one_write_to_what_it_selected():
    assert did(releasing(), HandBack) == ["hand Service web back, to app=web"]
    half = of_two(THEIRS, replace(OURS, name="web-grpc"))
    assert did(half, HandBack) == ["hand Service web-grpc back, to app=web"]


def of_two(web, grpc, **more):
    """An app with two active Services."""
    spec = replace(SPEC, strategy=replace(SPEC.strategy, more_active_services=("web-grpc",)))
    return releasing(web, spec=spec, observed={"more_active_services": (grpc,)}, **more)


LEFT_TO_HAND_BACK = {
    "one that selects what serves": (OURS, True),
    "one that nobody knows the former selector of": (replace(OURS, before=()), False),
    "one that is back, and still says what it had": (replace(THEIRS, before=APP_WEB), False),
}


@pytest.mark.parametrize("name", LEFT_TO_HAND_BACK)
def test_a_service_is_handed_back_once(name):
    view, left = LEFT_TO_HAND_BACK[name]
    assert services_to_hand_back(releasing(view)) == ((view,) if left else ())


MOVES_NO_MORE = {
    "no Service is back yet": (releasing(), False),
    "one of two is": (of_two(THEIRS, replace(OURS, name="web-grpc")), True),
    "one has no selector: it leads nowhere": (releasing(replace(THEIRS, selector=())), False),
    "one lost its labels, and still selects what serves": (
        releasing(replace(OURS, ours=False, owner="nobody's", unclaimed=True)),
        False,
    ),
    "somebody controls one that is back": (releasing(replace(THEIRS, unclaimed=False)), False),
    "it was released": (releasing(record={"released": True, "adopted": None}), True),
}


@pytest.mark.parametrize("name", MOVES_NO_MORE)
def test_no_version_may_get_live_traffic_any_more_where(name):
    state, no_more = MOVES_NO_MORE[name]
    assert moves_no_more(state) is no_more


def test_our_pods_stay_until_the_endpoints_are_the_deployments():
    """Nothing moves between versions any more, and no one is in conflict with a Service that was handed back."""
    state = releasing(replace(THEIRS, ready_endpoints=2))
    assert (is_releasing(state), moves_no_more(state), has_arrived(state)) == (True, True, False)
    assert did(state, ScaleReplicaSet, SwitchTraffic) == []
    assert not next(each for each in decided(state).conditions if each.type == "Conflict").status


ARRIVED = {
    "one pod, and the endpoints are that pod": (1, 1, False, True),
    "one pod that the endpoints do not have yet": (1, 0, False, False),
    "no pod: no endpoints prove nothing": (0, 0, False, False),
    "three pods, of which the endpoints have two": (3, 2, False, False),
    "the endpoints have more than are available now": (3, 4, False, True),
    "enough, of which one is ours still, or another app's": (3, 4, True, False),
}


@pytest.mark.parametrize("name", ARRIVED)
def test_live_traffic_has_arrived_at(name):
    available, endpoints, others, arrived = ARRIVED[name]
    view = replace(THEIRS, ready_endpoints=endpoints, other_endpoints=others)
    assert has_arrived(releasing(view, replace(DEPLOYMENT, available=available))) is arrived


def test_live_traffic_has_arrived_when_the_endpoints_of_every_service_have_followed():
    there, late = replace(THEIRS, ready_endpoints=3), replace(THEIRS, name="web-grpc", ready_endpoints=2)
    assert not has_arrived(of_two(there, late))
    assert has_arrived(of_two(there, replace(late, ready_endpoints=3)))


def test_no_service_of_several_goes_back_while_one_of_them_would_select_pods_of_an_app():
    state = of_two(OURS, replace(OURS, name="web-grpc", selected=SelectedPods(("pay",))))
    assert still_missing(state) == ("Service web-grpc would select pods of app pay",)
    assert did(state, HandBack) == []
    assert decided(state).record.release == ""


ON_ITS_WAY = {
    "the endpoints follow": (replace(THEIRS, ready_endpoints=2), "the endpoints of the Services follow"),
    "pods of an app have come meanwhile": (
        replace(THEIRS, ready_endpoints=4, other_endpoints=True, selected=SelectedPods(("pay",))),
        "Service web selects pods of app pay",
    ),
}


@pytest.mark.parametrize("name", ON_ITS_WAY)
def test_until_the_endpoints_are_right_it_says(name):
    view, said = ON_ITS_WAY[name]
    [condition] = [each for each in decided(releasing(view)).conditions if each.type == "Released"]
    assert (condition.reason, condition.message) == ("HandingBack", f"the Services go back to Deployment old: {said}")


def test_then_the_record_says_so_once_and_every_version_goes_to_0():
    state = releasing(replace(THEIRS, ready_endpoints=3))
    decision = decided(state)
    assert decision.record.released
    assert decision.record.adopted is None
    told = [(each.event, each.reason) for each in decision.record.ledger]
    assert told == [(Event.RELEASED, "to Deployment old")]
    after = releasing(THEIRS, record={"released": True, "adopted": None})
    assert is_released(after)
    assert [wanted_size(after, each) for each in after.record.versions] == [0, 0, 0]
    scaled = [each for each in decided(after).actions if isinstance(each, ScaleReplicaSet)]
    assert sorted((each.number, each.replicas) for each in scaled) == [(1, 0), (2, 0), (3, 0)]
    assert [each.event for each in decided(after).record.ledger] == []


def released(**more):
    sets = tuple(pods(n, 0, color=active(n).color, metadata=HELD) for n in (1, 2, 3))
    remembered = {"released": True, "adopted": None, **more.pop("record", {})}
    return releasing(more.pop("view", THEIRS), sets=sets, record=remembered, **more)


SAYS = {
    "pods are missing": (
        releasing(deployment=replace(DEPLOYMENT, available=2)),
        (False, "WaitingForPods", "2 of 3 pods of Deployment old are available"),
    ),
    "the Services go back": (
        releasing(),
        (False, "HandingBack", "the Services go back to Deployment old: the endpoints of the Services follow"),
    ),
    "they are back, and it is not noted yet": (
        releasing(replace(THEIRS, ready_endpoints=3)),
        (False, "HandingBack", "the Services go back to Deployment old: live traffic is there"),
    ),
    "all is over": (
        released(),
        (True, "Released", "live traffic goes to Deployment old; the app's folder may go"),
    ),
}


@pytest.mark.parametrize("name", SAYS)
def test_the_condition_says(name):
    state, said = SAYS[name]
    [condition] = released_condition(state)
    assert (condition.status, condition.reason, condition.message) == said


def test_an_app_that_serves_nothing_begins_no_release():
    state = releasing(THEIRS, record={"traffic": ""}, names_=0)
    assert not still_missing(state)
    assert note_release(state).record.release == ""


def test_a_released_app_rests_and_says_where_traffic_goes():
    decision = decided(released())
    assert not [each for each in decision.actions if not str(each).startswith("delete the promotion branch")]
    assert decision.phase is Phase.SCALED_TO_ZERO
    said = {each.type: each.message for each in decision.conditions}
    elsewhere = ("Available", "Healthy", "Progressing", "Completed", "CandidateReady", "Adopting")
    assert {said[each] for each in elsewhere} == {"it was released: live traffic goes to Deployment old"}
    assert [each.type for each in troubles(decision.conditions)] == ["Released"], "nothing on a screen contradicts it"
    assert "the app's folder may go" in said["Released"]
    assert at_rest(releasing()) == "", "what still serves is not at rest"
    assert deployment_size(released()) is None
    assert not may_take_over(released(), THEIRS)


def test_a_deployment_that_has_all_services_again_is_not_scaled():
    """Its size is that of whoever has it: an autoscaler may have made it smaller."""
    assert did(releasing(THEIRS, replace(DEPLOYMENT, replicas=1, available=1)), ScaleDeployment) == []


def test_a_released_app_writes_to_no_service_that_somebody_gives_the_labels_of_before():
    assert did(released(view=OURS), HandBack, ScaleDeployment) == []


def test_no_merge_moves_traffic_to_a_released_app():
    decision = decided(released(names_=3))
    assert decision.record.routing.switch is None
    assert [wanted_size(released(names_=3), each) for each in released().record.versions] == [0, 0, 0]


def test_the_copy_of_an_autoscaler_goes_with_the_last_pods():
    copy = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary")
    record = {"autoscaler": Autoscaler(copy, 2, 5), "auxiliary_objects": (copy,)}
    up = tuple(pods(n, 3, color=active(n).color, metadata=HELD) for n in (1, 2, 3))
    state = releasing(
        THEIRS,
        sets=up,
        record={"released": True, "adopted": None, **record},
        observed={"auxiliary_objects": (AuxiliaryView(copy),)},
        desired={"auxiliary_objects": (copy,), "autoscaler": Autoscaler(copy, 2, 5)},
    )
    assert did(state, DeleteAuxiliaryObject) == [
        "delete HorizontalPodAutoscaler web-primary: no version serves: the app was released"
    ]
    assert (2, 0) in [(e.number, e.replicas) for e in decided(state).actions if isinstance(e, ScaleReplicaSet)]


def test_without_the_wish_the_app_begins_again_with_its_consent():
    spec = replace(SPEC, release=None)
    decision = decided(released(spec=spec))
    assert not decision.record.released
    assert decision.record.routing.traffic == ""
    again = replace(released(spec=spec), record=decision.record)
    assert may_take_over(again, THEIRS)
    assert wanted_size(again, again.record.numbered(2)) == 3
    assert stand_ins(again, again.record.numbered(2)) == HELD.labels


def test_a_service_that_somebody_claims_on_the_way_back_gets_no_pods_of_ours_all_the_same():
    """It was handed back, and selects the Deployment's pods again: ours stay out of it, whoever controls it now."""
    state = releasing(replace(THEIRS, unclaimed=False, owner="it is X's", ready_endpoints=3))
    assert stand_ins(state, state.active) == (("app", STAND_IN),)
    assert did(state, CreateReplicaSet) == []


# --- what is made anew, and what is half-way ---

GRPC_BACK = replace(THEIRS, name="web-grpc")
MADE_ANEW = {
    "the Service of a released app is gone": released(view=None),
    "somebody labels it as ours": released(view=service("web", 0)),
    "one of two is back, and gone": releasing(
        None, spec=TWO, observed={"more_active_services": (GRPC_BACK,)}, record={"release": "old"}
    ),
}


@pytest.mark.parametrize("name", MADE_ANEW)
def test_no_service_is_made_that_leads_to_versions_once_traffic_is_handed_back(name):
    """Found so: Helm made the Service again, and the agent was faster, with the selector of a version without pods."""
    assert did(MADE_ANEW[name], ApplyService, SwitchTraffic) == []


GRPC_OURS = service("web-grpc", 2, before=APP_WEB, selected=SelectedPods())
WIPED = replace(service("web", 0), before=APP_WEB, selected=SelectedPods())
LOST = {
    "one of two is back": releasing(THEIRS, spec=TWO, observed={"more_active_services": (GRPC_OURS,)}),
    "one of two is gone": releasing(None, spec=TWO, observed={"more_active_services": (GRPC_OURS,)}),
    "both lead to different versions": releasing(
        spec=TWO,
        observed={"more_active_services": (service("web-grpc", 1, before=APP_WEB, selected=SelectedPods()),)},
    ),
    "main was not read": releasing(desired={"target": Missing.UNSEEN, "primary": Missing.UNSEEN}),
    "main names another version": releasing(names_=3),
    "somebody wiped the selector": releasing(WIPED),
}


@pytest.mark.parametrize("name", LOST)
def test_an_app_is_not_released_because_its_record_was_lost(name):
    """Found so: without a record nothing had ever served, and every version went to 0."""
    state = replace(LOST[name], record=Record())
    for _ in range(3):
        decision = decided(state)
        assert not [each for each in decision.actions if isinstance(each, ScaleReplicaSet) and each.replicas == 0]
        assert {each.type: each.status for each in decision.conditions}["Released"] is False
        state = replace(state, record=decision.record)


FREEZE = Policy("freeze", (Windows(deny=(Span(datetime(2025, 12, 20), datetime(2026, 1, 5)),)),))
KEPT_OUT = {
    "the app is suspended": {"spec": replace(SPEC, release=None, suspend=Suspension("incident", "ada"))},
    "main was rewritten": {"desired": {"history_rewritten": "f" * 40}},
    "a policy forbids first versions, too": {"desired": {"policing": Policing((FREEZE,))}},
}


@pytest.mark.parametrize("name", [*KEPT_OUT, "nothing"])
def test_live_traffic_of_others_is_taken_over_anew_only_while_nothing_keeps_it_where_it_is(name):
    """Found so: the first switch of an app has nobody to protect, and this one takes traffic from a Deployment."""
    given = {"spec": replace(SPEC, release=None), **KEPT_OUT.get(name, {})}
    remembered = {"released": True, "release": "old", "adopted": None}
    state = releasing(replace(THEIRS, ready_endpoints=3), record=remembered, **given)
    switches = []
    for _ in range(3):
        decision = decided(state)
        switches += [each for each in decision.actions if isinstance(each, SwitchTraffic)]
        state = replace(state, record=decision.record)
    assert bool(switches) is (name == "nothing")


def test_a_service_that_is_still_ours_is_repaired_while_another_one_is_back():
    state = releasing(WIPED, spec=TWO, observed={"more_active_services": (GRPC_BACK,)}, record={"release": "old"})
    blocked = replace(state, observed=replace(state.observed, deployment=replace(DEPLOYMENT, available=0)))
    assert [each.name for each in decided(blocked).actions if isinstance(each, RepairSelector)] == ["web"]


def test_a_release_says_that_the_old_pods_stay_and_not_that_they_go():
    said = {each.type: each.message for each in decided(releasing(record={"adopted": Adopted("old", 3)})).conditions}
    assert said["Adopting"] == "live traffic goes back to Deployment old, whose pods stay"


# --- a wish that is taken back ---

NOT_WANTED = replace(SPEC, release=None)
CANNOT = {"its pods are not up": replace(DEPLOYMENT, available=0), "it is gone": replace(DEPLOYMENT, gone=True)}
MISTAKE = Problem("app.yaml", "no mapping", remedy="write a mapping")


@pytest.mark.parametrize("name", CANNOT)
def test_a_release_that_moved_no_service_and_can_move_none_is_taken_back_with_the_wish(name):
    """Found so: a Deployment that nobody could start kept the app frozen, and no revert of the release ended it."""
    state = releasing(OURS, CANNOT[name], spec=NOT_WANTED, record={"release": "old"})
    assert decided(state).record.release == ""


def test_a_release_whose_first_write_is_refused_is_taken_back_with_the_wish():
    """Else the Services went back as soon as the API server let them, long after somebody had taken the wish back."""
    refused = {"refused": "admission webhook: Services may not be changed on Sundays"}
    state = releasing(spec=NOT_WANTED, record={"release": "old"}, observed=refused)
    assert decided(state).record.release == ""
    half = replace(TWO, release=None), {**refused, "more_active_services": (GRPC_BACK,)}
    assert decided(releasing(spec=half[0], record={"release": "old"}, observed=half[1])).record.release == "old"


FINISHED = {
    "every Service can go back now": releasing(spec=NOT_WANTED, record={"release": "old"}),
    "one of two is back": releasing(
        OURS,
        CANNOT["its pods are not up"],
        spec=replace(TWO, release=None),
        observed={"more_active_services": (GRPC_BACK,)},
        record={"release": "old"},
    ),
    "a Service was not found": releasing(None, CANNOT["it is gone"], spec=NOT_WANTED, record={"release": "old"}),
    "main was rewritten": releasing(
        OURS, CANNOT["it is gone"], spec=NOT_WANTED, record={"release": "old"}, desired={"history_rewritten": "f" * 40}
    ),
    "the files have a mistake, and do not say what they ask": releasing(
        OURS, CANNOT["it is gone"], spec=NOT_WANTED, record={"release": "old"}, desired={"problems": (MISTAKE,)}
    ),
    "it is asked for": releasing(OURS, CANNOT["it is gone"], record={"release": "old"}),
}


@pytest.mark.parametrize("name", FINISHED)
def test_a_release_that_has_begun_is_finished(name):
    assert decided(FINISHED[name]).record.release == "old"


def test_files_with_a_mistake_do_not_take_traffic_back_from_a_released_app():
    assert decided(released(spec=NOT_WANTED, desired={"problems": (MISTAKE,)})).record.released
