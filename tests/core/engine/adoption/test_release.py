"""The way back of an adopted app: the Deployment first, then the Services, then our pods."""

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.model.actions import (
    ApplyService,
    DeleteAuxiliaryObject,
    HandBack,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.desired import Missing, Problem
from gitops_bg.core.model.observed import AuxiliaryView, DeploymentView, SelectedPods
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.policy_rules import DateSpan, Policy, Windows
from gitops_bg.core.model.record import Adopted, Event, Record, Switch, SwitchKind
from gitops_bg.core.model.spec import Adoption, Suspension
from gitops_bg.core.model.statements import Override
from gitops_bg.core.model.version import Stabilization
from tests.core.engine.adoption.builders import APP_WEB, DEPLOYMENT, HELD, OURS, RELEASED, THEIRS, TWO, releasing, up
from tests.core.shown import ABSENT
from tests.core.worlds import (
    EARLIER,
    NOW,
    active,
    candidate,
    conditions,
    decided,
    did,
    digest,
    given,
    legacy,
    service,
    size_after,
    target,
)

NOT_WANTED = replace(RELEASED, release=None)
BEFORE = {"before": APP_WEB, "selected": SelectedPods()}
GRPC_OURS, GRPC_BACK = replace(OURS, name="web-grpc"), replace(THEIRS, name="web-grpc")
SWITCH = Switch(digest(2), digest(3), SwitchKind.PROMOTION, NOW)
MISTAKE = Problem("app.yaml", "no mapping", remedy="write a mapping")
HANDED_BACK = "hand Service web back, to app=web"


def of_two(web, grpc, **more):
    """An app with two active Services."""
    return releasing(web, spec=more.pop("spec", TWO), observed={"more_active_services": (grpc,)}, **more)


def released(**more):
    """Live traffic is where it was before, and no pod of ours is left."""
    sets = tuple(up(number, replicas=0) for number in (1, 2, 3))
    remembered = {"release": "old", "released": True, "adopted": None, **more.pop("record", {})}
    return releasing(more.pop("view", THEIRS), sets=sets, record=remembered, **more)


def sizes(state):
    return [size_after(state, number) for number in (1, 2, 3)]


TO_OLD = "live traffic goes back to Deployment old"

# --- until the Services go back ---


def test_the_deployment_comes_up_first_to_what_serves():
    state = releasing(deployment=replace(DEPLOYMENT, replicas=0, available=0))
    assert did(state, ScaleDeployment, HandBack) == [
        "scale Deployment old from 0 to 3: live traffic is to go back to its pods"
    ]


NEEDED = {
    "as many as the live version has, available or not": ({"available": 2}, 3),
    "one of one": ({"sets": (up(2, replicas=1),)}, 1),
    "one, where nothing of ours is left: no pods prove nothing": ({"sets": ()}, 1),
}


@pytest.mark.parametrize("name", NEEDED)
def test_the_deployment_needs(name):
    changes, number = NEEDED[name]
    assert did(releasing(OURS, replace(DEPLOYMENT, available=number), **changes), HandBack) == [HANDED_BACK]
    assert did(releasing(OURS, replace(DEPLOYMENT, available=number - 1), **changes), HandBack) == []


def test_the_deployment_is_no_longer_scaled_down_once_traffic_is_to_go_back():
    going = {"record": {"adopted": Adopted("old", 3)}, "labels": ()}
    assert did(releasing(spec=NOT_WANTED, **going), ScaleDeployment) != []
    assert did(releasing(**going), ScaleDeployment) == []


def test_every_version_with_pods_gets_the_stand_in_before_a_service_goes_back():
    state = releasing(labels=())
    assert [given(state, number) for number in (1, 2, 3)] == [(3, HELD)] * 3
    assert (
        conditions(state)["Released"].message
        == f"{TO_OLD}; pods of 1 (v1), 2 (v2), 3 (v3) do not carry their stand-in labels yet"
    )
    assert did(state, HandBack) == []


def selecting_pods(*apps, **more):
    """Pods of these apps would get the traffic of the Service."""
    return releasing(replace(OURS, selected=SelectedPods(apps)), **more)


@pytest.mark.parametrize("labels", [(), HELD], ids=["the stand-ins", "the Services"])
def test_a_suspension_stops_nothing_of_it(labels):
    suspended = releasing(labels=labels, spec=replace(RELEASED, suspend=Suspension("incident", "ada")))
    assert [given(suspended, number) for number in (1, 2, 3)] == [given(releasing(labels=labels), n) for n in (1, 2, 3)]
    assert did(suspended, HandBack) == did(releasing(labels=labels), HandBack)


def test_it_waits_for_no_promotion_that_waits_for_somebody_itself():
    suspended = replace(RELEASED, suspend=Suspension("incident", "ada"))
    ready = (up(1), up(2), up(3, available=2))
    assert did(releasing(names_=3, sets=ready), HandBack) == []
    assert did(releasing(names_=3, sets=ready, spec=suspended), HandBack) == [HANDED_BACK]


def test_the_deployment_comes_up_again_until_its_pods_are_behind_the_service():
    handed_back = {"record": {"release": "old"}}
    gone = replace(DEPLOYMENT, replicas=0, available=0)
    assert did(releasing(THEIRS, gone, **handed_back), ScaleDeployment) == [
        "scale Deployment old from 0 to 3: live traffic is to go back to its pods"
    ]


def test_what_was_released_is_not_on_probation_nor_rolled_back():
    watched = active(2, activated_at=EARLIER, routed_at=EARLIER, stabilization=Stabilization(3, EARLIER, unready=True))
    arrived = decided(
        releasing(
            replace(THEIRS, ready_endpoints=3),
            versions=(legacy(1), watched, candidate(3)),
            record={"release": "old", "override": Override(digest(2), digest(1), "5xx", "ada", NOW)},
        )
    ).record
    assert arrived.released
    assert arrived.override is None
    assert arrived.version(digest(2)).stabilization is None


def test_a_released_app_goes_nowhere_whatever_main_names():
    state = released(names_=1)
    assert decided(state).phase is Phase.SCALED_TO_ZERO
    assert decided(state).record.override is None


STATUS = {
    "what is missing": (
        releasing(deployment=replace(DEPLOYMENT, available=2)),
        Phase.PROGRESSING,
        "live traffic goes back to Deployment old; 2 of 3 pods of Deployment old are available",
    ),
    "what never comes true by itself": (
        releasing(deployment=DeploymentView("old", gone=True)),
        Phase.DEGRADED,
        "Deployment old does not exist: apply it again, at 0 replicas",
    ),
}


@pytest.mark.parametrize("name", STATUS)
def test_the_phase_says(name):
    state, phase, message = STATUS[name]
    state = replace(state, desired=replace(state.desired, target=target(2)))
    assert (decided(state).phase, conditions(state)["Healthy"].message) == (phase, message)


RENAMED = replace(RELEASED, adopt=Adoption(app="pay"))
WAITS = {
    "pods of the Deployment": (
        releasing(deployment=replace(DEPLOYMENT, available=2)),
        "2 of 3 pods of Deployment old are available",
    ),
    "pods whose labels are being changed": (
        releasing(sets=(up(2, metadata_pending=True),)),
        "pods of 2 (v2) do not carry their stand-in labels yet",
    ),
    "pods that are going, though their ReplicaSet is at 0 already": (
        releasing(sets=(up(2), up(1, (), 0, pods=1))),
        "pods of 1 (v1) do not carry their stand-in labels yet",
    ),
    "a look at the Deployment": (releasing(deployment=None), "the Deployment is looked at next"),
    "files without a mistake": (
        releasing(deployment=None, desired={"problems": (Problem("app.yaml", "is empty"),)}),
        "the app's files have a mistake (InvalidSpec), and nothing begins before it is mended",
    ),
    "a look at that Deployment: another one's pods are not where traffic goes": (
        releasing(deployment=replace(DEPLOYMENT, name="older", replicas=0)),
        "the Deployment is looked at next",
    ),
    "a switch": (releasing(record={"switch": SWITCH}, names_=3), "live traffic moves between versions"),
    "a switch that main took back": (
        releasing(record={"switch": replace(SWITCH, withdrawn=True), "withdrawals": 1}),
        "live traffic moves between versions",
    ),
    "a promotion that has not begun to move traffic": (
        releasing(names_=3, sets=(up(1), up(2), up(3, available=2))),
        "live traffic moves between versions",
    ),
    "the end of the app that it was before, whose pods its Service would select": (
        selecting_pods("pay", spec=RENAMED),
        "Service web would select pods of app pay, until pay, which this app was before, has ended",
    ),
    "the end of the one that it was before that": (
        selecting_pods("first", spec=replace(RELEASED, adopt=Adoption(app="pay", formers=("first",)))),
        "Service web would select pods of app first, until first, which this app was before, has ended",
    ),
    "pods of other apps to go": (selecting_pods("cart", "pay"), "Service web would select pods of the apps cart, pay"),
    "pods of an app that it never was": (
        selecting_pods("cart", spec=RENAMED),
        "Service web would select pods of app cart",
    ),
    "pods of an app, where it no longer says what it was adopted from": (
        selecting_pods("cart", spec=replace(RELEASED, adopt=None)),
        "Service web would select pods of app cart",
    ),
    "pods of an app that one of several would select": (
        of_two(OURS, replace(GRPC_OURS, selected=SelectedPods(("pay",)))),
        "Service web-grpc would select pods of app pay",
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


@pytest.mark.parametrize("name", WAITS)
def test_no_service_goes_back_before(name):
    state, said = WAITS[name]
    shown = conditions(state)["Released"]
    assert (shown.status, shown.reason, shown.message) == (False, "WaitingForPods", f"{TO_OLD}; {said}")
    assert did(state, HandBack, ScaleDeployment) == []
    assert decided(state).record.release == ""


NEVER = {
    "a Service that was not taken over": (
        releasing(service("web", 2)),
        "Service web was not taken over: nobody knows what it would select",
    ),
    "a Service that is gone": (releasing(view=None), "Service web does not exist"),
    "a Service that somebody controls": (releasing(replace(THEIRS, unclaimed=False, owner="it is X's")), "it is X's"),
    "a Deployment that is gone": (
        releasing(deployment=DeploymentView("old", gone=True)),
        "Deployment old does not exist: apply it again, at 0 replicas",
    ),
    "a Deployment that is gone, where the Services lead to it": (
        releasing(THEIRS, DeploymentView("old", gone=True)),
        "Deployment old does not exist: apply it again",
    ),
    "a Deployment that somebody controls": (
        releasing(deployment=replace(DEPLOYMENT, controller="Rollout x")),
        "Deployment old is controlled by Rollout x, which decides its size",
    ),
    "a Deployment that never served": (
        releasing(deployment=replace(DEPLOYMENT, labels=(("app", "cart"),))),
        "Service web did not select the pods of Deployment old before it was handed over",
    ),
    "one of two Services that had other pods": (
        of_two(OURS, replace(GRPC_OURS, before=(("app", "grpc"),))),
        "Service web-grpc did not select the pods of Deployment old before it was handed over",
    ),
    "a Deployment that cannot be read": (releasing(deployment=replace(DEPLOYMENT, trouble="no right")), "no right"),
}


@pytest.mark.parametrize("name", NEVER)
def test_nothing_is_written_and_all_is_said_where_it_cannot_be(name):
    state, said = NEVER[name]
    shown = conditions(state)["Released"]
    assert (shown.status, shown.reason, shown.message) == (False, "Conflict", said)
    assert did(state, HandBack, ScaleDeployment) == []


HANDS_BACK = {
    "each Service in one write, to what it selected": (releasing(), [HANDED_BACK]),
    "the other one where one is back": (of_two(THEIRS, GRPC_OURS), ["hand Service web-grpc back, to app=web"]),
    "none that is back, and still says what it had": (releasing(replace(THEIRS, before=APP_WEB)), []),
    "though a version without pods has no stand-in": (releasing(sets=(up(2), up(1, (), 0))), [HANDED_BACK]),
    "nothing that nobody asks for": (releasing(spec=NOT_WANTED), []),
}


@pytest.mark.parametrize("name", HANDS_BACK)
def test_it_hands_back(name):
    state, done = HANDS_BACK[name]
    assert did(state, HandBack) == done


MOVES = {
    "no Service is back yet": (releasing(names_=3), True),
    "one has no selector: it leads nowhere": (of_two(OURS, replace(GRPC_BACK, selector=()), names_=3), True),
    "one of two is back": (of_two(THEIRS, GRPC_OURS, names_=3), False),
    "it was released": (released(names_=3), False),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_promotion_moves_live_traffic_only_while_none_went_back(name):
    state, moves = MOVES[name]
    assert (decided(state).record.routing.switch is not None) is moves


def test_an_app_that_serves_nothing_begins_no_release():
    assert decided(releasing(THEIRS, record={"traffic": ""}, names_=0)).record.release == ""


def test_a_release_says_no_longer_that_the_old_pods_go():
    said = conditions(releasing(record={"adopted": Adopted("old", 3)}))
    assert (said["Adopting"], said["Released"].status) == (ABSENT, False)


# --- until live traffic has arrived ---

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
    assert decided(releasing(view, replace(DEPLOYMENT, available=available))).record.released is arrived


def test_live_traffic_has_arrived_when_the_endpoints_of_every_service_have_followed():
    there, late = replace(THEIRS, ready_endpoints=3), replace(GRPC_BACK, ready_endpoints=2)
    assert not decided(of_two(there, late)).record.released
    assert decided(of_two(there, replace(late, ready_endpoints=3))).record.released
    other = replace(DEPLOYMENT, name="older")
    assert not decided(releasing(there, other)).record.released, "pods of another one prove nothing"


def test_our_pods_stay_until_the_endpoints_are_the_deployments():
    """No one is in conflict with a Service that was handed back."""
    state = releasing(replace(THEIRS, ready_endpoints=2))
    assert sizes(state) == [3, 3, 3]
    assert conditions(state)["Conflict"] == ABSENT


ON_ITS_WAY = {
    "the endpoints follow": (replace(THEIRS, ready_endpoints=2), "the endpoints of the Services follow"),
    "pods of an app have come meanwhile": (
        replace(THEIRS, ready_endpoints=4, other_endpoints=True, selected=SelectedPods(("pay",))),
        "Service web selects pods of app pay",
    ),
    "all Services go back now": (OURS, "the endpoints of the Services follow"),
}


@pytest.mark.parametrize("name", ON_ITS_WAY)
def test_until_the_endpoints_are_right_it_says(name):
    view, said = ON_ITS_WAY[name]
    shown = conditions(releasing(view))["Released"]
    assert (shown.status, shown.reason) == (False, "HandingBack")
    assert shown.message == f"{TO_OLD}: {said}"


def test_then_the_record_says_so_once_and_every_version_goes_to_0():
    decision = decided(releasing(replace(THEIRS, ready_endpoints=3)))
    assert decision.record.released
    assert decision.record.adopted is None
    assert [(each.event, each.reason) for each in decision.record.ledger] == [(Event.RELEASED, "to Deployment old")]
    after = releasing(THEIRS, record={"released": True, "adopted": None})
    assert sizes(after) == [0, 0, 0]
    assert decided(after).record.ledger == ()


def test_a_service_that_somebody_claims_on_the_way_back_gets_no_pods_of_ours_all_the_same():
    """It was handed back, and selects the Deployment's pods again: ours stay out of it, whoever controls it now."""
    state = releasing(replace(THEIRS, unclaimed=False, owner="it is X's", ready_endpoints=3))
    assert given(state, 2) == (3, HELD)


def test_a_deployment_that_has_all_services_again_is_not_scaled():
    """Its size is that of whoever has it: an autoscaler may have made it smaller."""
    assert did(releasing(THEIRS, replace(DEPLOYMENT, replicas=1, available=1)), ScaleDeployment) == []


# --- at rest ---


def test_a_released_app_rests_and_says_where_traffic_goes():
    decision, said = decided(released()), conditions(released())
    assert not [each for each in decision.actions if not str(each).startswith("delete the promotion branch")]
    assert decision.phase is Phase.SCALED_TO_ZERO
    elsewhere = ("Available", "Healthy", "Progressing", "Completed")
    assert {said[each].message for each in elsewhere} == {"it was released: live traffic goes to Deployment old"}
    assert (said["CandidateReady"], said["Adopting"]) == (ABSENT, ABSENT)
    assert (said["Released"].status, said["Released"].reason) == (True, "Released")
    assert said["Released"].message == "live traffic goes to Deployment old; the app's folder may go"


RESTS = {
    "somebody gives its Service the labels of before": released(view=OURS),
    "somebody merges a promotion": released(names_=3),
    "its files have a mistake, and do not say what they ask": released(
        spec=NOT_WANTED, desired={"problems": (MISTAKE,)}
    ),
}


@pytest.mark.parametrize("name", RESTS)
def test_a_released_app_stays_so_where(name):
    decision = decided(RESTS[name])
    assert decision.record.released
    assert decision.record.routing.switch is None
    assert sizes(RESTS[name]) == [0, 0, 0]
    assert did(RESTS[name], HandBack, ScaleDeployment, SwitchTraffic) == []


def test_the_copy_of_an_autoscaler_goes_with_the_last_pods():
    copy = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary")
    beside = {"autoscaler": Autoscaler(copy, 2, 5), "auxiliary_objects": (copy,)}
    state = releasing(
        THEIRS,
        record={"released": True, "adopted": None, **beside},
        observed={"auxiliary_objects": (AuxiliaryView(copy),)},
        desired=beside,
    )
    assert did(state, DeleteAuxiliaryObject) == [
        "delete HorizontalPodAutoscaler web-primary: no version serves: the app was released"
    ]
    assert size_after(state, 2) == 0


def test_without_the_wish_the_app_begins_again_with_its_consent():
    state = released(spec=NOT_WANTED)
    decision = decided(state)
    assert not decision.record.released
    assert decision.record.routing.traffic == ""
    assert given(replace(state, record=decision.record), 2) == (3, HELD)


# --- what is made anew, and what is half-way ---

MADE_ANEW = {
    "the Service of a released app is gone": released(view=None),
    "somebody labels it as ours": released(view=service("web", 0)),
    "one of two is back, and gone": of_two(None, GRPC_BACK, record={"release": "old"}),
}


@pytest.mark.parametrize("name", MADE_ANEW)
def test_no_service_is_made_that_leads_to_versions_once_traffic_is_handed_back(name):
    """Found so: Helm made the Service again, and the agent was faster, with the selector of a version without pods."""
    assert did(MADE_ANEW[name], ApplyService, SwitchTraffic) == []


WIPED = replace(service("web", 0), **BEFORE)
LOST = {
    "one of two is back": of_two(THEIRS, GRPC_OURS),
    "one of two is gone": of_two(None, GRPC_OURS),
    "both lead to different versions": of_two(OURS, service("web-grpc", 1, **BEFORE)),
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
        assert conditions(state)["Released"].status is False
        state = replace(state, record=decision.record)


FREEZE = Policy("freeze", (Windows(deny=(DateSpan(datetime(2025, 12, 20), datetime(2026, 1, 5)),)),))
KEPT_OUT = {
    "the app is suspended": {"spec": replace(NOT_WANTED, suspend=Suspension("incident", "ada"))},
    "main was rewritten": {"desired": {"history_rewritten": "f" * 40}},
    "a policy forbids first versions, too": {"desired": {"policing": PolicyInput((FREEZE,))}},
}


@pytest.mark.parametrize("name", [*KEPT_OUT, "nothing"])
def test_live_traffic_of_others_is_taken_over_anew_only_while_nothing_keeps_it_where_it_is(name):
    """Found so: the first switch of an app has nobody to protect, and this one takes traffic from a Deployment."""
    given_ = {"spec": NOT_WANTED, **KEPT_OUT.get(name, {})}
    remembered = {"released": True, "release": "old", "adopted": None}
    state = releasing(replace(THEIRS, ready_endpoints=3), record=remembered, **given_)
    switches = []
    for _ in range(3):
        switches += did(state, SwitchTraffic)
        state = replace(state, record=decided(state).record)
    assert bool(switches) is (name == "nothing")


def test_a_service_that_is_still_ours_is_repaired_while_another_one_is_back():
    state = of_two(WIPED, GRPC_BACK, deployment=replace(DEPLOYMENT, available=0), record={"release": "old"})
    assert [each.name for each in decided(state).actions if isinstance(each, RepairSelector)] == ["web"]


# --- a wish that is taken back ---

CANNOT, IS_GONE = replace(DEPLOYMENT, available=0), replace(DEPLOYMENT, gone=True)
REFUSED = {"refused": "admission webhook: Services may not be changed on Sundays"}
BEGUN = {"spec": NOT_WANTED, "record": {"release": "old"}}
TWO_BEGUN = {"spec": replace(TWO, release=None), "record": {"release": "old"}}
WISHES = {
    "its pods are not up: it is taken back": (releasing(OURS, CANNOT, **BEGUN), ""),
    "it is gone: it is taken back": (releasing(OURS, IS_GONE, **BEGUN), ""),
    "the first write is refused: it is taken back": (releasing(**BEGUN, observed=REFUSED), ""),
    "the second write is refused": (
        releasing(**TWO_BEGUN, observed={**REFUSED, "more_active_services": (GRPC_BACK,)}),
        "old",
    ),
    "every Service can go back now": (releasing(**BEGUN), "old"),
    "one of two is back": (of_two(OURS, GRPC_BACK, deployment=CANNOT, **TWO_BEGUN), "old"),
    "a Service was not found": (releasing(None, IS_GONE, **BEGUN), "old"),
    "main was rewritten": (releasing(OURS, IS_GONE, **BEGUN, desired={"history_rewritten": "f" * 40}), "old"),
    "the files have a mistake, and do not say what they ask": (
        releasing(OURS, IS_GONE, **BEGUN, desired={"problems": (MISTAKE,)}),
        "old",
    ),
    "it is asked for": (releasing(OURS, IS_GONE, record={"release": "old"}), "old"),
}


@pytest.mark.parametrize("name", WISHES)
def test_a_release_that_has_begun_is_finished_unless_no_service_has_moved_and_none_can(name):
    """Found so: a Deployment that nobody could start kept the app frozen, and no revert of the release ended it. Else
    the Services went back as soon as the API server let them, long after somebody had taken the wish back.
    """
    state, release = WISHES[name]
    assert decided(state).record.release == release
