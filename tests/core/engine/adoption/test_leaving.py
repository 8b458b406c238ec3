"""The folder of an app leaves main: what each `deletionPolicy` does then, and what an accident does not do."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import DeleteApp, DeleteAuxiliaryObject, HandBack, ScaleDeployment, ScaleReplicaSet
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import AuxiliaryView, DeploymentView, SelectedPods
from gitops_bg.core.model.record import Adopted, Event, Switch, SwitchKind
from gitops_bg.core.model.spec import DeletionPolicy, Release, Suspension
from tests.core.engine.adoption.builders import (
    APP_WEB,
    DEPLOYMENT,
    GONE,
    OURS,
    RELEASED,
    REVERTS,
    THEIRS,
    adopting,
    before,
    foreign,
    leaving,
    up,
    with_policy,
)
from tests.core.engine.adoption.builders import TWO as TWO_RELEASED
from tests.core.worlds import NOW, SECOND, candidate, conditions, decided, did, digest, pods, service, size_after, world

KEEP, DELETE, ORPHAN, REVERT = (
    DeletionPolicy.KEEP,
    DeletionPolicy.DELETE,
    DeletionPolicy.ORPHAN,
    DeletionPolicy.REVERT_TO_TARGET,
)
PAUSE = Suspension("incident", "ada")
GIVEN_BACK = replace(THEIRS, ready_endpoints=3)
REWRITTEN = {"history_rewritten": "f" * 40}


TWO = with_policy(REVERT, TWO_RELEASED)
HALF = {"more_active_services": (service("web-grpc", 2, before=APP_WEB, selected=SelectedPods()),)}


BACK = {}
"""The folder is in main again."""
ASKS = {
    "its folder is gone": (leaving(), "old"),
    "its folder is gone, and it asked before": (
        leaving(deployment=replace(DEPLOYMENT, name="x"), spec=replace(REVERTS, release=Release("x"))),
        "x",
    ),
    "its folder is gone, and another Deployment began to get it back": (
        leaving(deployment=replace(DEPLOYMENT, name="older"), record={"release": "older"}),
        "older",
    ),
    "its folder is there": (leaving(desired=BACK), ""),
    "its folder is there, and asks": (leaving(spec=RELEASED, desired=BACK), "old"),
    "main was not read": (leaving(desired={**GONE, "in_git": True}), ""),
    "main was rewritten": (leaving(desired={**GONE, **REWRITTEN}), ""),
    "it is suspended": (leaving(spec=replace(REVERTS, suspend=PAUSE)), ""),
    "it is kept": (leaving(spec=with_policy(KEEP)), ""),
    "it is deleted": (leaving(spec=with_policy(DELETE)), ""),
    "it is orphaned": (leaving(spec=with_policy(ORPHAN)), ""),
    "it was adopted from nothing": (leaving(spec=replace(REVERTS, adopt=None)), ""),
}


@pytest.mark.parametrize("name", ASKS)
def test_live_traffic_goes_back(name):
    """The record knows of it before a Service moves."""
    state, deployment = ASKS[name]
    assert decided(state).record.release == deployment
    assert bool(did(state, HandBack)) is bool(deployment)


def test_the_order_is_that_of_a_release():
    small = leaving(OURS, replace(DEPLOYMENT, replicas=0, available=0))
    assert did(small, ScaleDeployment, HandBack, ScaleReplicaSet) == [
        "scale Deployment old from 0 to 3: live traffic is to go back to its pods"
    ]
    assert decided(small).record.release == ""
    arrived = decided(leaving(GIVEN_BACK, record={"release": "old"})).record
    assert (arrived.released, [each.event for each in arrived.ledger]) == (True, [Event.RELEASED])


def test_a_service_that_cannot_go_back_keeps_serving_and_nothing_is_deleted():
    state = leaving(service("web", 2))
    assert did(state, DeleteApp, ScaleDeployment, ScaleReplicaSet) == []
    said = conditions(state)
    assert (said["Released"].reason, said["Available"].status) == ("Conflict", True)
    assert said["FolderInMain"].message == "the app's folder has left main; live traffic goes back to Deployment old"
    assert decided(state).record.ledger == ()


def test_what_has_begun_is_finished_when_the_folder_comes_back_in_between():
    """One Service leads to the Deployment already: the other follows, and then the app is adopted anew."""
    begun = {"spec": TWO, "desired": BACK, "record": {"release": "old"}}
    assert did(leaving(GIVEN_BACK, observed=HALF, **begun), HandBack) == ["hand Service web-grpc back, to app=web"]
    both = {"more_active_services": (replace(GIVEN_BACK, name="web-grpc"),)}
    arrived = decided(leaving(GIVEN_BACK, observed=both, **begun)).record
    assert (arrived.released, arrived.routing.traffic) == (True, digest(2))
    again = {**begun, "record": {"release": "old", "released": True}}
    remembered = decided(leaving(GIVEN_BACK, observed=both, **again)).record
    assert (remembered.released, remembered.release, remembered.routing.traffic) == (False, "", "")


OVER = {"record": {"release": "old", "released": True}}
RESTS = {
    "its folder is still gone": leaving(GIVEN_BACK, **OVER),
    "its folder asks for it": leaving(GIVEN_BACK, spec=RELEASED, desired=BACK, record={"released": True}),
    "its folder is gone, and so many others that it is kept": leaving(GIVEN_BACK, spec=with_policy(KEEP), **OVER),
    "main was rewritten": leaving(GIVEN_BACK, desired=REWRITTEN, **OVER),
    "main is not known any more": leaving(GIVEN_BACK, desired={"knowledge": Knowledge.REWRITTEN}, **OVER),
    "main was not read yet": leaving(GIVEN_BACK, desired={"target": Missing.UNSEEN, "primary": Missing.UNSEEN}, **OVER),
}


@pytest.mark.parametrize("name", RESTS)
def test_a_released_app_is_not_adopted_anew_while(name):
    decision = decided(RESTS[name])
    assert decision.record.released
    assert decision.record.routing.traffic == digest(2)
    assert [size_after(RESTS[name], number) for number in (1, 2, 3)] == [0, 0, 0]


# --- the end of the app ---

NO_PODS = tuple(up(number, replicas=0) for number in (1, 2, 3))
LAST_POD = (up(1, replicas=0, pods=1), *NO_PODS[1:])
AT_REST = {"record": {"release": "old", "released": True, "adopted": None}}
SWITCH = Switch(digest(2), digest(3), SwitchKind.PROMOTION, NOW)


def two_services(first, second, ours=True, **more):
    """An app that is to be orphaned, whose two active Services lead to these versions."""
    spec, other = with_policy(ORPHAN, TWO_RELEASED, adopt=None), service("web-grpc", second, ours=ours)
    return leaving(service("web", first), spec=spec, observed={"more_active_services": (other,)}, **more)


def half_back(policy):
    """A release of two Services, in the middle."""
    return leaving(GIVEN_BACK, spec=with_policy(policy, TWO_RELEASED), observed=HALF, record={"release": "old"})


def half_way(desired=None, **spec):
    """An app that has taken over one of two Services; `web-grpc` is somebody else's, and selects `app=web`."""
    return before(
        candidate(1),
        view=service("web", 1, before=APP_WEB, selected=SelectedPods()),
        sets=(up(1),),
        spec=replace(adopting(more_active_services=("web-grpc",)), **spec),
        desired=desired or {},
        observed={
            "more_active_services": (foreign("web-grpc"),),
            "deployment": DeploymentView("web-old", 3, APP_WEB, available=3),
        },
    )


COPY, BUDGET = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary"), AuxiliaryObject("PodDisruptionBudget", "web")
BESIDE = {"autoscaler": Autoscaler(COPY, 2, 5), "auxiliary_objects": (COPY, BUDGET)}
FORMER = {"observed": {"former_services": (service("web-old", 2),)}}
ENDS = {
    "keep": (leaving(spec=with_policy(KEEP)), None),
    "delete: with what nothing names any more": (
        leaving(spec=with_policy(DELETE), record=BESIDE, **FORMER),
        DeleteApp(services=("web-old",)),
    ),
    "orphan: all stays": (
        leaving(spec=with_policy(ORPHAN), record=BESIDE, **FORMER),
        DeleteApp(ORPHAN, (COPY, BUDGET), ("web-old",)),
    ),
    "orphan, suspended": (leaving(spec=with_policy(ORPHAN, suspend=PAUSE)), None),
    "orphan, main was rewritten": (leaving(spec=with_policy(ORPHAN), desired={**GONE, **REWRITTEN}), None),
    "orphan, both Services lead to what serves": (two_services(2, 2), DeleteApp(ORPHAN)),
    "orphan, a switch is decided": (two_services(2, 2, record={"switch": SWITCH}), None),
    "orphan, one of two Services has moved, and is to move back": (two_services(3, 2), None),
    "orphan, the other one is somebody else's": (two_services(2, 3, ours=False), DeleteApp(ORPHAN)),
    "orphan, in main": (leaving(spec=with_policy(ORPHAN), desired=BACK), None),
    "orphan, one of two Services is back": (half_back(ORPHAN), None),
    "orphan, one of two Services is taken over": (half_way(GONE, deletion_policy=ORPHAN), None),
    "delete, one of two Services is back": (half_back(DELETE), None),
    "revertToTarget, one of two Services is taken over": (half_way(GONE, deletion_policy=REVERT), None),
    "revertToTarget, while it serves": (leaving(record={"adopted": Adopted("old", 3, left=True)}), None),
    "revertToTarget, while its pods go": (leaving(GIVEN_BACK, sets=LAST_POD, **AT_REST), None),
    "revertToTarget, while its pods are to go": (leaving(GIVEN_BACK, **AT_REST), None),
    "revertToTarget, at rest: all but the autoscaler of the versions serves on": (
        leaving(GIVEN_BACK, sets=NO_PODS, record={**AT_REST["record"], **BESIDE}, **FORMER),
        DeleteApp(REVERT, (BUDGET,)),
    ),
    "revertToTarget, at rest, without an autoscaler": (
        leaving(GIVEN_BACK, sets=NO_PODS, record={**AT_REST["record"], "auxiliary_objects": (BUDGET,)}),
        DeleteApp(REVERT, (BUDGET,)),
    ),
    "revertToTarget, adopted from nothing": (leaving(spec=replace(REVERTS, adopt=None), sets=NO_PODS), None),
    "revertToTarget, before anything served": (
        world(
            candidate(1),
            spec=REVERTS,
            sets=(pods(1, 0),),
            observed={"active_service": THEIRS, "preview_service": None},
            desired=GONE,
        ),
        DeleteApp(REVERT),
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_app_ends(name):
    """What stays stands in the action."""
    state, end = ENDS[name]
    told = [each.event for each in decided(state).record.ledger]
    assert (Event.DELETED in told) is (end is not None)
    assert did(state, DeleteApp) == [], "the ledger first"
    told_before = replace(state, record=replace(state.record, orphaned=True))
    assert [each for each in decided(told_before).actions if isinstance(each, DeleteApp)] == ([end] if end else [])


ROUTE = AuxiliaryObject("HTTPRoute", "web")
LIVE = AuxiliaryView(ROUTE, born="2026-01-01T00:00:00Z")
ROUTE_GOES = "delete HTTPRoute web: the app ends, and nobody is to be led to it"
APP_GOES = "delete the app and all it owns: its folder left main with deletionPolicy: delete"


def routed(view, policy=DELETE):
    """An app that is to end, and whose ledger has said so; ``view``: its route."""
    record = {"orphaned": True, "auxiliary_objects": (ROUTE,)}
    return leaving(spec=with_policy(policy), record=record, observed={"auxiliary_objects": (view,) if view else ()})


FIRST = {
    "its route is live": (routed(LIVE), [ROUTE_GOES]),
    "its route is live, and cannot be read now": (routed(replace(LIVE, trouble="503")), [ROUTE_GOES]),
    "its route is going": (routed(replace(LIVE, deleting=True)), []),
    "its route is gone": (routed(None), [APP_GOES]),
    "the route is somebody else's": (routed(replace(LIVE, owner="somebody's")), [APP_GOES]),
    "nobody could ever read a route": (routed(AuxiliaryView(ROUTE, trouble="no such kind")), [APP_GOES]),
    "it is kept": (routed(LIVE, KEEP), []),
}


@pytest.mark.parametrize("name", FIRST)
def test_an_app_ends_from_outside_to_inside(name):
    """Found so: its Services went before its route, which was older than that of who took its place: users got 500."""
    state, actions = FIRST[name]
    assert did(state, DeleteAuxiliaryObject, DeleteApp) == actions


def test_a_route_that_is_going_is_looked_at_again_soon():
    state, _ = FIRST["its route is going"]
    assert decided(state).wake_at == NOW + 3 * SECOND


SAID = {
    "keep": (leaving(spec=with_policy(KEEP)), "it keeps serving"),
    "keep, and why": (
        leaving(spec=with_policy(KEEP), desired={**GONE, "kept": "4 of 5 apps left"}),
        "it keeps serving: 4 of 5 apps left",
    ),
    "delete": (leaving(spec=with_policy(DELETE)), "it ends, as deletionPolicy: delete says"),
    "orphan": (leaving(spec=with_policy(ORPHAN)), "it ends, as deletionPolicy: orphan says"),
    "orphan, with its Services apart": (
        two_services(3, 2),
        "it ends once its Services lead to the same pods, as deletionPolicy: orphan says",
    ),
    "orphan, suspended": (leaving(spec=with_policy(ORPHAN, suspend=PAUSE)), "it keeps serving"),
    "revertToTarget": (leaving(), "live traffic goes back to Deployment old"),
}


@pytest.mark.parametrize("name", SAID)
def test_the_condition_says_what_becomes_of_it(name):
    state, said = SAID[name]
    assert conditions(state)["FolderInMain"].message == f"the app's folder has left main; {said}"


def test_a_released_app_whose_folder_is_gone_says_that_the_rest_goes():
    said = conditions(leaving(GIVEN_BACK, **AT_REST))["Released"]
    assert said.message == "live traffic goes to Deployment old; what is left of the app goes"


HALF_WAY = {
    "it asks for the release": half_way(release=Release("web-old")),
    "its folder is gone": half_way(GONE, deletion_policy=REVERT),
}


@pytest.mark.parametrize("name", HALF_WAY)
def test_an_app_whose_first_switch_ended_half_way_gives_back_what_it_has_taken_over(name):
    """Found so: it counted as released while one of its two Services led to its pods."""
    assert did(HALF_WAY[name], HandBack, ScaleReplicaSet) == ["hand Service web back, to app=web"]


def test_pods_that_a_service_of_ours_leads_to_stay_though_another_one_would_select_them():
    """Found so: whoever took `adopt` out at this moment had an app that ended every look with a broken invariant."""
    assert did(half_way(adopt=None), ScaleReplicaSet) == []
