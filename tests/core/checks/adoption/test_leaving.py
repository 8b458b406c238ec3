"""The folder of an app leaves main: what each `deletionPolicy` does then, and what an accident does not do."""

from dataclasses import replace

import pytest

from gitops_bg.core.checks.phase import is_to_go
from gitops_bg.core.model.actions import DeleteApp, HandBack, ScaleDeployment, ScaleReplicaSet
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.git.main import Knowledge
from gitops_bg.core.model.observed import DeploymentView, SelectedPods
from gitops_bg.core.model.record import Adopted, Event, Switch, SwitchKind
from gitops_bg.core.model.spec import DeletionPolicy, Release, Suspension
from gitops_bg.core.model.version import PodMetadata
from gitops_bg.core.plan.ending import end_of
from tests.core.checks.adoption.test_release import APP_WEB, DEPLOYMENT, HELD, OURS, SPEC, THEIRS, did, releasing
from tests.core.checks.adoption.test_taking_over import HELD as ADOPTED
from tests.core.checks.adoption.test_taking_over import adopting, before, foreign
from tests.core.worlds import NOW, active, candidate, decided, digest, pods, service, world

REVERT = replace(SPEC, release=None, deletion_policy=DeletionPolicy.REVERT_TO_TARGET)
GONE = {"in_git": False, "target": Missing.ABSENT, "primary": Missing.ABSENT, "whole": False}
PAUSE = Suspension("incident", "ada")
GIVEN_BACK = replace(THEIRS, ready_endpoints=3)


def leaving(view=OURS, *given, spec=REVERT, desired=None, **more):
    """An adopted app with three versions, whose folder is gone from main."""
    return releasing(view, *given, spec=spec, desired=GONE if desired is None else desired, **more)


def with_policy(policy):
    return replace(REVERT, deletion_policy=policy)


ASKS = {
    "its folder is gone": (leaving(), Release("old")),
    "its folder is gone, and it asked before": (leaving(spec=replace(REVERT, release=Release("x"))), Release("x")),
    "its folder is gone, and another Deployment began to get it back": (
        leaving(record={"release": "older"}),
        Release("older"),
    ),
    "its folder is there": (leaving(desired={}), None),
    "its folder is there, and asks": (leaving(spec=SPEC, desired={}), Release("old")),
    "main was not read": (leaving(desired={**GONE, "in_git": True}), None),
    "main was rewritten": (leaving(desired={**GONE, "history_rewritten": "f" * 40}), None),
    "it is suspended": (leaving(spec=replace(REVERT, suspend=PAUSE)), None),
    "it is kept": (leaving(spec=with_policy(DeletionPolicy.KEEP)), None),
    "it is deleted": (leaving(spec=with_policy(DeletionPolicy.DELETE)), None),
    "it is orphaned": (leaving(spec=with_policy(DeletionPolicy.ORPHAN)), None),
    "it was adopted from nothing": (leaving(spec=replace(REVERT, adopt=None)), None),
}


@pytest.mark.parametrize("name", ASKS)
def test_live_traffic_is_asked_back(name):
    state, asked = ASKS[name]
    assert state.asked_release == state.release == asked


def test_the_order_is_that_of_a_release_and_the_record_knows_of_it_before_a_service_moves():
    small = leaving(OURS, replace(DEPLOYMENT, replicas=0, available=0))
    assert did(small, ScaleDeployment, HandBack, ScaleReplicaSet) == [
        "scale Deployment old from 0 to 3: live traffic is to go back to its pods"
    ]
    assert decided(small).record.release == ""
    decision = decided(leaving())
    assert [each for each in decision.actions if isinstance(each, HandBack)]
    assert decision.record.release == "old"
    arrived = decided(leaving(GIVEN_BACK, record={"release": "old"})).record
    assert (arrived.released, [each.event for each in arrived.ledger]) == (True, [Event.RELEASED])


def test_a_service_that_cannot_go_back_keeps_serving_and_nothing_is_deleted():
    state = leaving(service("web", 2))
    decision = decided(state)
    assert not [each for each in decision.actions if isinstance(each, DeleteApp | ScaleDeployment | ScaleReplicaSet)]
    said = {each.type: each for each in decision.conditions}
    assert (said["Released"].reason, said["Available"].status) == ("Conflict", True)
    assert said["FolderInMain"].message == "the app's folder has left main; live traffic goes back to Deployment old"
    assert [each.event for each in decision.record.ledger] == []


TWO = replace(REVERT, strategy=replace(REVERT.strategy, more_active_services=("web-grpc",)))
HALF = {"more_active_services": (service("web-grpc", 2, before=(("app", "web"),), selected=SelectedPods()),)}
BACK = {}
"""The folder is in main again."""


def test_what_has_begun_is_finished_when_the_folder_comes_back_in_between():
    """One Service leads to the Deployment already: the other follows, and then the app is adopted anew."""
    begun = leaving(GIVEN_BACK, spec=TWO, observed=HALF, desired=BACK, record={"release": "old"})
    assert begun.asked_release is None
    assert did(begun, HandBack) == ["hand Service web-grpc back, to app=web"]
    both = {"more_active_services": (replace(GIVEN_BACK, name="web-grpc"),)}
    arrived = decided(leaving(GIVEN_BACK, spec=TWO, observed=both, desired=BACK, record={"release": "old"})).record
    assert (arrived.released, arrived.routing.traffic) == (True, digest(2))
    again = leaving(GIVEN_BACK, spec=TWO, observed=both, desired=BACK, record={"release": "old", "released": True})
    remembered = decided(again).record
    assert (remembered.released, remembered.release, remembered.routing.traffic) == (False, "", "")


def test_nothing_has_begun_before_a_service_is_about_to_go_back():
    state = leaving(OURS, desired=BACK)
    assert state.release is None
    assert did(state, HandBack, ScaleDeployment) == []


RESTS = {
    "its folder is still gone": leaving(GIVEN_BACK, record={"release": "old", "released": True}),
    "its folder asks for it": leaving(GIVEN_BACK, spec=SPEC, desired=BACK, record={"released": True}),
    "its folder is gone, and so many others that it is kept": leaving(
        GIVEN_BACK, spec=with_policy(DeletionPolicy.KEEP), record={"release": "old", "released": True}
    ),
    "main was rewritten": leaving(
        GIVEN_BACK, desired={"history_rewritten": "f" * 40}, record={"release": "old", "released": True}
    ),
    "main is not known any more": leaving(
        GIVEN_BACK, desired={"knowledge": Knowledge.REWRITTEN}, record={"release": "old", "released": True}
    ),
    "main was not read yet": leaving(
        GIVEN_BACK,
        desired={"target": Missing.UNSEEN, "primary": Missing.UNSEEN},
        record={"release": "old", "released": True},
    ),
}


@pytest.mark.parametrize("name", RESTS)
def test_a_released_app_is_not_adopted_anew_while(name):
    decision = decided(RESTS[name])
    assert decision.record.released
    assert decision.record.routing.traffic == digest(2)
    scaled = [each for each in decision.actions if isinstance(each, ScaleReplicaSet)]
    assert all(each.replicas == 0 for each in scaled)


NO_PODS = tuple(pods(n, 0, color=active(n).color, metadata=HELD) for n in (1, 2, 3))
LAST_POD = (pods(1, 0, color=active(1).color, pods=1), *NO_PODS[1:])
AT_REST = {"record": {"release": "old", "released": True, "adopted": None}}
SERVES = {"record": {"adopted": Adopted("old", 3, left=True)}}
SWITCH = Switch(digest(2), digest(3), SwitchKind.PROMOTION, NOW)


def two_services(first, second, ours=True, **more):
    """An app that is to be orphaned, whose two active Services lead to these versions."""
    spec = replace(TWO, adopt=None, deletion_policy=DeletionPolicy.ORPHAN)
    other = service("web-grpc", second, ours=ours)
    return leaving(service("web", first), spec=spec, observed={"more_active_services": (other,)}, **more)


def half_back(policy):
    """A release of two Services, in the middle."""
    return leaving(GIVEN_BACK, spec=replace(TWO, deletion_policy=policy), observed=HALF, record={"release": "old"})


ENDS = {
    "keep": (leaving(spec=with_policy(DeletionPolicy.KEEP)), False),
    "delete": (leaving(spec=with_policy(DeletionPolicy.DELETE)), True),
    "orphan": (leaving(spec=with_policy(DeletionPolicy.ORPHAN)), True),
    "orphan, suspended": (leaving(spec=replace(with_policy(DeletionPolicy.ORPHAN), suspend=PAUSE)), False),
    "orphan, main was rewritten": (
        leaving(spec=with_policy(DeletionPolicy.ORPHAN), desired={**GONE, "history_rewritten": "f" * 40}),
        False,
    ),
    "orphan, both Services lead to what serves": (two_services(2, 2), True),
    "orphan, a switch is decided": (two_services(2, 2, record={"switch": SWITCH}), False),
    "orphan, one of two Services has moved, and is to move back": (two_services(3, 2), False),
    "orphan, the other one is somebody else's": (two_services(2, 3, ours=False), True),
    "orphan, in main": (leaving(spec=with_policy(DeletionPolicy.ORPHAN), desired={}), False),
    "orphan, one of two Services is back": (half_back(DeletionPolicy.ORPHAN), False),
    "delete, one of two Services is back": (half_back(DeletionPolicy.DELETE), False),
    "revertToTarget, while it serves": (leaving(**SERVES), False),
    "revertToTarget, while its pods go": (leaving(GIVEN_BACK, sets=LAST_POD, **AT_REST), False),
    "revertToTarget, while its pods are to go": (leaving(GIVEN_BACK, **AT_REST), False),
    "revertToTarget, at rest": (leaving(GIVEN_BACK, sets=NO_PODS, **AT_REST), True),
    "revertToTarget, adopted from nothing": (leaving(spec=replace(REVERT, adopt=None), sets=NO_PODS), False),
    "revertToTarget, before anything served": (
        world(
            candidate(1),
            spec=REVERT,
            sets=(pods(1, 0),),
            observed={"active_service": THEIRS, "preview_service": None},
            desired=GONE,
        ),
        True,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_app_ends(name):
    state, ends = ENDS[name]
    assert is_to_go(state) is ends
    told = [each.event for each in decided(state).record.ledger]
    assert (Event.DELETED in told) is ends
    assert not [each for each in decided(state).actions if isinstance(each, DeleteApp)], "the ledger first"
    told_before = replace(state, record=replace(state.record, orphaned=True))
    last = [each for each in decided(told_before).actions if isinstance(each, DeleteApp)]
    assert last == ([end_of(state)] if ends else [])


COPY, BUDGET = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary"), AuxiliaryObject("PodDisruptionBudget", "web")
BESIDE = {"autoscaler": Autoscaler(COPY, 2, 5), "auxiliary_objects": (COPY, BUDGET)}
FORMER = {"former_services": (service("web-old", 2),)}
STAYS = {
    DeletionPolicy.DELETE: DeleteApp(services=("web-old",)),
    DeletionPolicy.ORPHAN: DeleteApp(DeletionPolicy.ORPHAN, (COPY, BUDGET), ("web-old",)),
    DeletionPolicy.REVERT_TO_TARGET: DeleteApp(DeletionPolicy.REVERT_TO_TARGET, (BUDGET,)),
}


@pytest.mark.parametrize("policy", STAYS)
def test_what_stays_and_what_goes_although_nothing_names_it_any_more(policy):
    assert end_of(leaving(spec=with_policy(policy), record=BESIDE, observed=FORMER)) == STAYS[policy]


def test_without_an_autoscaler_all_that_is_beside_the_versions_stays():
    record = {"auxiliary_objects": (BUDGET,)}
    assert end_of(leaving(record=record)) == DeleteApp(DeletionPolicy.REVERT_TO_TARGET, (BUDGET,))


SAID = {
    DeletionPolicy.KEEP: "it keeps serving",
    DeletionPolicy.DELETE: "it ends, as deletionPolicy: delete says",
    DeletionPolicy.ORPHAN: "it ends, as deletionPolicy: orphan says",
    DeletionPolicy.REVERT_TO_TARGET: "live traffic goes back to Deployment old",
}


@pytest.mark.parametrize("policy", SAID)
def test_the_condition_says_what_becomes_of_it(policy):
    said = {each.type: each.message for each in decided(leaving(spec=with_policy(policy))).conditions}
    assert said["FolderInMain"] == f"the app's folder has left main; {SAID[policy]}"


def test_an_app_that_is_kept_says_why():
    state = leaving(spec=with_policy(DeletionPolicy.KEEP), desired={**GONE, "kept": "4 of 5 apps left"})
    said = {each.type: each.message for each in decided(state).conditions}
    assert said["FolderInMain"] == "the app's folder has left main; it keeps serving: 4 of 5 apps left"


def test_a_suspended_app_keeps_serving_whatever_its_policy_says():
    state = leaving(spec=replace(with_policy(DeletionPolicy.ORPHAN), suspend=PAUSE))
    said = {each.type: each.message for each in decided(state).conditions}
    assert said["FolderInMain"] == "the app's folder has left main; it keeps serving"


def test_a_released_app_whose_folder_is_gone_says_that_the_rest_goes():
    said = {each.type: each.message for each in decided(leaving(GIVEN_BACK, **AT_REST)).conditions}
    assert said["Released"] == "live traffic goes to Deployment old; what is left of the app goes"


def half_way(desired=None, **spec):
    """An app that has taken over one of two Services; `web-grpc` is somebody else's, and selects `app=web`."""
    return before(
        candidate(1),
        view=service("web", 1, before=APP_WEB, selected=SelectedPods()),
        sets=(pods(1, 3, metadata=PodMetadata(ADOPTED)),),
        spec=replace(adopting(more_active_services=("web-grpc",)), **spec),
        desired=desired or {},
        observed={
            "more_active_services": (foreign("web-grpc"),),
            "deployment": DeploymentView("web-old", 3, APP_WEB, available=3),
        },
    )


HALF_WAY = {
    "it asks for the release": half_way(release=Release("web-old")),
    "its folder is gone": half_way(GONE, deletion_policy=DeletionPolicy.REVERT_TO_TARGET),
}


@pytest.mark.parametrize("name", HALF_WAY)
def test_an_app_whose_first_switch_ended_half_way_gives_back_what_it_has_taken_over(name):
    """Found so: it counted as released while one of its two Services led to its pods."""
    assert did(HALF_WAY[name], HandBack, ScaleReplicaSet) == ["hand Service web back, to app=web"]
    assert not is_to_go(HALF_WAY[name])


def test_an_app_whose_first_switch_ended_half_way_is_not_orphaned_so():
    assert not is_to_go(half_way(GONE, deletion_policy=DeletionPolicy.ORPHAN))


def test_pods_that_a_service_of_ours_leads_to_stay_though_another_one_would_select_them():
    """Found so: whoever took `adopt` out at this moment had an app that ended every look with a broken invariant."""
    assert did(half_way(adopt=None), ScaleReplicaSet) == []


def test_an_app_that_is_to_be_orphaned_says_that_it_waits_for_its_services():
    said = {each.type: each.message for each in decided(two_services(3, 2)).conditions}["FolderInMain"]
    ends = "it ends once its Services lead to the same pods, as deletionPolicy: orphan says"
    assert said == f"the app's folder has left main; {ends}"
