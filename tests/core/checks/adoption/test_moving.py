"""An app under another name: the new one takes its Services over, and the former one ends some time after that."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.checks.adoption.moving import NEVER_MEANS, ends_at, successor
from gitops_bg.core.checks.adoption.taking_over import is_former_preview, may_take_over, stand_ins
from gitops_bg.core.checks.phase import foreign_object, is_to_go
from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ApplyService,
    DeleteApp,
    DeleteAuxiliaryObject,
    PointPreview,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.git.main import Knowledge
from gitops_bg.core.model.observed import AuxiliaryView, Successor
from gitops_bg.core.model.record import Event, Switch, SwitchKind
from gitops_bg.core.model.spec import Adoption, DeletionPolicy, Release, Suspension
from gitops_bg.core.plan.ending import end_of
from tests.core.simulation import manual
from tests.core.worlds import EARLIER, NOW, SECOND, active, candidate, decided, digest, pods, service, world

OF_OLD = (("gitops-bg.dev/app", "old"), ("gitops-bg.dev/digest", "0123456789"))
BEFORE = replace(service("web", 0), selector=OF_OLD, ours=False, owner="controlled by old", app="old")
PREVIEW = replace(BEFORE, name="web-preview")
RENAMED = replace(manual(), adopt=Adoption(app="old", left=("old",)))


def renamed(view=BEFORE, spec=RENAMED, preview=PREVIEW, **more):
    """The app under its new name, with as many available pods as the former one: main names its version."""
    decided_switch = Switch("", digest(1), SwitchKind.FIRST, NOW)
    return world(
        candidate(1),
        spec=spec,
        names_=1,
        sets=(pods(1, 3, color=active(1).color),),
        observed={"active_service": view, "preview_service": preview, **more.pop("observed", {})},
        record={"switch": decided_switch, **more.pop("record", {})},
        **more,
    )


EARLIER_NAMES = ("old", "oldest")
TWICE = replace(manual(), adopt=Adoption(app="mistaken", formers=EARLIER_NAMES, left=("mistaken", *EARLIER_NAMES)))
"""Another name before the first one had live traffic."""
IN_MAIN = replace(manual(), adopt=Adoption(app="old"))
BACK = replace(manual(), adopt=Adoption(app="mistaken", formers=EARLIER_NAMES, left=EARLIER_NAMES))
TAKEN = {
    "the Service of the app that is named": (BEFORE, RENAMED, True),
    "of the one that this was to be called before": (replace(BEFORE, app="mistaken"), TWICE, True),
    "of one before that, which serves still": (BEFORE, TWICE, True),
    "of any before that": (replace(BEFORE, app="oldest"), TWICE, True),
    "not where that has a folder, or nobody knows": (BEFORE, IN_MAIN, False),
    "of one that has left, though the one that is named has not": (BEFORE, BACK, True),
    "not of the one that is named, which is back": (replace(BEFORE, app="mistaken"), BACK, False),
    "not that of nobody": (replace(BEFORE, app=""), TWICE, False),
    "that of another app": (replace(BEFORE, app="else"), RENAMED, False),
    "one that nobody has, and that selects no app": (replace(BEFORE, app="", unclaimed=True), RENAMED, False),
    "its own": (replace(BEFORE, ours=True), RENAMED, False),
    "that of an app, where a Deployment is named": (BEFORE, replace(manual(), adopt=Adoption("old")), False),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_consent_covers(name):
    view, spec, taken = TAKEN[name]
    assert may_take_over(renamed(spec=spec), view) is taken


def test_it_counts_once():
    state = world(active(1), spec=RENAMED)
    assert not may_take_over(state, BEFORE)


def test_the_service_moves_in_one_write_once_as_many_pods_are_available():
    state = renamed()
    (write,) = [each for each in decided(state).actions if isinstance(each, SwitchTraffic)]
    assert (write.adopts, write.expected_selector, write.needs_available) == (True, OF_OLD, 3)
    assert stand_ins(state, state.record.versions[0]) == (), "the former selector names the former app"
    assert foreign_object(state) == "", "the preview Service goes along with live traffic"
    few = renamed(replace(BEFORE, ready_endpoints=5), record={"switch": None})
    assert not [each for each in decided(few).actions if isinstance(each, SwitchTraffic)]
    assert [each.replicas for each in decided(few).actions if isinstance(each, ScaleReplicaSet)] == [5]


def test_a_preview_service_of_somebody_else_is_in_conflict_all_the_same():
    assert foreign_object(renamed(preview=replace(PREVIEW, app="", owner="it is X's"))) == "it is X's"
    assert foreign_object(renamed(spec=manual())) != ""
    assert foreign_object(renamed(spec=TWICE)) == ""
    assert foreign_object(renamed(spec=IN_MAIN)) == "controlled by old; controlled by old"


def written(state):
    """What is done to Services, in words."""
    found = (each for each in decided(state).actions if isinstance(each, ApplyService | PointPreview | SwitchTraffic))
    return [f"{type(each).__name__} {each.name} {getattr(each, 'adopts', False)} {each.digest}" for each in found]


OTHERS = replace(PREVIEW, app="", owner="it is X's")
PREVIEWS = {
    "it goes along once live traffic has moved": (
        world(active(1), spec=RENAMED, observed={"preview_service": PREVIEW}),
        [f"PointPreview web-preview True {digest(1)}"],
    ),
    "and leads to the candidate at once": (
        world(
            active(1), candidate(2), spec=RENAMED, observed={"preview_service": PREVIEW}, record={"preview": digest(2)}
        ),
        [f"PointPreview web-preview True {digest(2)}"],
    ),
    "it goes along from whichever name it was left with": (
        world(active(1), spec=TWICE, observed={"preview_service": PREVIEW}),
        [f"PointPreview web-preview True {digest(1)}"],
    ),
    "not before: the former one may be asked for what waits there": (
        renamed(record={"switch": None, "traffic": ""}, view=replace(BEFORE, ready_endpoints=9)),
        [],
    ),
    "not while live traffic is on its way": (renamed(), [f"SwitchTraffic web True {digest(1)}"]),
    "not where it is somebody else's": (world(active(1), spec=RENAMED, observed={"preview_service": OTHERS}), []),
    "not where it is another app's": (
        world(active(1), spec=RENAMED, observed={"preview_service": replace(PREVIEW, app="else")}),
        [],
    ),
    "not by an app that was adopted from a Deployment": (
        world(active(1), spec=replace(manual(), adopt=Adoption("old")), observed={"preview_service": PREVIEW}),
        [],
    ),
    "not by an app without a folder": (
        world(active(1), spec=RENAMED, desired={"in_git": False}, observed={"preview_service": PREVIEW}),
        [],
    ),
    "not while the former app has a folder": (
        world(active(1), spec=IN_MAIN, observed={"preview_service": PREVIEW}),
        [],
    ),
    "not while the app is suspended": (
        world(active(1), spec=replace(RENAMED, suspend=Suspension("x")), observed={"preview_service": PREVIEW}),
        [],
    ),
    "not while it is released": (
        world(active(1), spec=replace(RENAMED, release=Release("old")), observed={"preview_service": PREVIEW}),
        [],
    ),
    "one of another name is made as soon as there is something to show": (
        renamed(preview=None),
        [f"SwitchTraffic web True {digest(1)}", f"ApplyService web-preview False {digest(1)}"],
    ),
}


@pytest.mark.parametrize("name", PREVIEWS)
def test_the_preview_service(name):
    state, expected = PREVIEWS[name]
    assert written(state) == expected


SWITCHES = {"switch": Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)}
GOES_ALONG = {
    "once the app has live traffic": (world(active(1), spec=RENAMED), True),
    "not before": (renamed(record={"switch": None}), False),
    "not while it moves": (world(active(1), candidate(2), spec=RENAMED, record=SWITCHES), False),
}


@pytest.mark.parametrize("name", GOES_ALONG)
def test_the_preview_service_goes_along(name):
    state, goes = GOES_ALONG[name]
    assert is_former_preview(state, PREVIEW) is goes


BUDGET = AuxiliaryObject("PodDisruptionBudget", "web")
COPY = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary")
FORMERS = AuxiliaryView(BUDGET, former=True, drifted=True)
SCALER = AuxiliaryView(COPY, former=True, scale_target="old-v1-0123456789")


def beside(*versions, desired=None, **more):
    """A world with a budget and an autoscaler in its folder that are still the former app's."""
    return world(
        *versions,
        spec=more.pop("spec", RENAMED),
        observed={"auxiliary_objects": (FORMERS, SCALER), **more.pop("observed", {})},
        desired={"auxiliary_objects": (BUDGET, COPY), "autoscaler": Autoscaler(COPY, 2, 5), **(desired or {})},
        **more,
    )


def applied(state):
    return [str(each) for each in decided(state).actions if isinstance(each, ApplyAuxiliaryObject)]


def test_what_is_beside_the_versions_is_taken_over_with_live_traffic_and_not_before():
    before = beside(candidate(1), names_=1, observed={"active_service": BEFORE, "preview_service": PREVIEW})
    assert (applied(before), foreign_object(before)) == ([], "")
    after = beside(active(1), observed={"preview_service": PREVIEW})
    assert foreign_object(after) == ""
    assert applied(after) == [
        "apply HorizontalPodAutoscaler web-primary -> v1 (ea1e0b8cad): live traffic goes there now",
        "apply PodDisruptionBudget web: it goes along with live traffic, which was taken over",
    ]
    said = {each.type: each.status for each in decided(after).conditions}
    assert (said["Conflict"], said["Stalled"]) == (False, False)


def test_an_app_without_a_folder_takes_nothing_over():
    """It was renamed, and renamed back: its own `adopt` names the app that it is again."""
    state = beside(active(1), desired={**GONE, "whole": False}, record={"auxiliary_objects": (BUDGET, COPY)})
    assert applied(state) == []


def test_what_the_former_app_has_is_not_deleted_by_this_one():
    state = beside(
        active(1), desired={"auxiliary_objects": (), "autoscaler": None}, record={"auxiliary_objects": (BUDGET,)}
    )
    assert not [each for each in decided(state).actions if isinstance(each, DeleteAuxiliaryObject)]


def test_a_released_app_leaves_the_autoscaler_that_the_former_one_has():
    spec = replace(RENAMED, release=Release("old"))
    given_back = {"active_service": replace(service("web", 0), ours=False, unclaimed=True)}
    state = beside(active(1), spec=spec, observed=given_back, record={"released": True, "auxiliary_objects": (COPY,)})
    assert not [each for each in decided(state).actions if isinstance(each, DeleteAuxiliaryObject)]


def test_the_former_app_is_in_no_conflict_about_what_was_taken_over():
    theirs = AuxiliaryView(BUDGET, "PodDisruptionBudget shop/web is controlled by BlueGreenDeployment new")
    state = former(record={"moved_at": NOW, "auxiliary_objects": (BUDGET,)}, observed={"auxiliary_objects": (theirs,)})
    assert foreign_object(state) == ""
    assert applied(state) == []


LOOKS = {
    "the budget is still the former one's": renamed(observed={"auxiliary_objects": (FORMERS,)}),
    "it is somebody else's": renamed(observed={"auxiliary_objects": (AuxiliaryView(BUDGET, "X's"),)}),
    "so is the preview Service": world(active(1), spec=RENAMED, observed={"preview_service": PREVIEW}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_is_beside_the_versions_is_looked_at_again(name):
    assert decided(LOOKS[name]).wake_at <= NOW + timedelta(minutes=1)


# --- the former app ---

GONE = {"in_git": False, "target": Missing.ABSENT, "primary": Missing.ABSENT, "moved_to": "new", "whole": False}
THEIRS = replace(service("web", 0), selector=(("gitops-bg.dev/app", "new"),), ours=False, owner="new's", app="new")
DELAY = timedelta(seconds=manual().strategy.scale_down_delay_seconds)


def former(view=THEIRS, spec=None, desired=None, **more):
    more.setdefault("record", {"moved_at": NOW - DELAY})
    versions = more.pop("versions", (active(1),))
    seen = {"active_service": view, **more.pop("observed", {})}
    wanted = GONE if desired is None else desired
    return world(*versions, spec=spec or manual(), desired=wanted, observed=seen, **more)


def delayed(**changes):
    return replace(manual(), strategy=replace(manual().strategy, **changes))


NEWEST = replace(THEIRS, selector=(("gitops-bg.dev/app", "newest"),), app="newest")
BY_LABELS = replace(THEIRS, app="", selector=(("gitops-bg.dev/app", "web"),), owner="it is X's")
"""Somebody's, and it selects every version of the app."""
UNSAID = {**GONE, "moved_to": ""}
"""Main says no more which app it is now."""
LOST_THEM = {"moved_to": "new", "moved_at": NOW - DELAY}
ENDS = {
    "after its delay": (former(), NOW),
    "not while a Service is its own": (former(service("web", 1)), None),
    "nor where that selects nobody": (former(replace(service("web", 0), selector=(("app", "x"),))), None),
    "not while a Service selects a version of it, with pods or without": (
        former(replace(service("web", 1), ours=False), sets=(pods(1, 0),)),
        None,
    ),
    "not while a Service selects its pods": (former(replace(service("web", 1), ours=False)), None),
    "not while a Service selects its pods by other labels": (former(BY_LABELS), None),
    "where such a Service has nobody to select": (former(BY_LABELS, sets=(pods(1, 0),)), NOW),
    "not while one of two Services selects its pods": (
        former(
            spec=delayed(more_active_services=("admin",)),
            observed={"more_active_services": (replace(service("admin", 1), ours=False),)},
        ),
        None,
    ),
    "where its Service is gone": (former(None), NOW),
    "after its delay, where main does not say any more which app it is": (
        former(desired=UNSAID, record=LOST_THEM),
        NOW,
    ),
    "likewise, where that one has another name": (former(NEWEST, desired=UNSAID, record=LOST_THEM), NOW),
    "not while a Service was led back to it by hand": (
        former(replace(service("web", 1), ours=False), desired=UNSAID, record=LOST_THEM),
        None,
    ),
    "not where main says no more what it is, and it serves": (
        former(service("web", 1), desired=UNSAID, record={"moved_to": "new"}),
        None,
    ),
    "not where it lost nothing yet, and main says no more what it is": (
        former(desired=UNSAID, record={"moved_to": "new"}),
        None,
    ),
    "at once, where it never served and main says no more what it is": (
        former(versions=(candidate(1),), desired=UNSAID, record={"moved_to": "new"}),
        NOW,
    ),
    "not before it was seen that it lost them": (former(record={}), None),
    "at once where it never served": (former(versions=(candidate(1),), record={}), NOW),
    "with a delay of never": (
        former(spec=delayed(scale_down_delay_seconds=None), record={"moved_at": EARLIER}),
        EARLIER + NEVER_MEANS * SECOND,
    ),
    "with a longer drain": (
        former(spec=delayed(scale_down_delay_seconds=0, drain_seconds=7), record={"moved_at": NOW}),
        NOW + 7 * SECOND,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_it_ends(name):
    state, moment = ENDS[name]
    assert ends_at(state) == moment
    assert is_to_go(state) is (moment is not None and moment <= NOW)
    wakes = decided(state).wake_at
    assert moment is None or moment <= NOW or (wakes is not None and wakes <= moment)


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_main_that_says_no_more_what_it_is_ends_no_app_that_serves_whatever_its_policy(policy):
    """Between two moves, or where somebody took the line out: the folder did not leave so that the app ends."""
    spec = replace(manual(), deletion_policy=policy, adopt=Adoption("d"))
    state = former(service("web", 1), spec=spec, desired=UNSAID, record={"moved_to": "new"})
    decision = decided(state)
    assert not is_to_go(state)
    assert state.asked_release is None
    assert [each for each in decision.actions if isinstance(each, DeleteApp | ScaleReplicaSet)] == []
    told = [(each.event, each.reason) for each in decision.record.ledger]
    assert told == [(Event.ORPHANED, "the app's folder has left main, it was to be the app new; it keeps serving")]
    said = {each.type: each for each in decision.conditions}
    assert said["FolderInMain"].message == (
        "the app's folder has left main; it keeps serving: it was to be the app new, and nothing in main says so any "
        "more; put its folder back, or write adopt: {app: web} into the app that it is now"
    )


def test_one_that_was_orphaned_meanwhile_ends_as_one_that_was_not():
    """Main says again what it is, after a while in which it did not."""
    state = former(record={**LOST_THEM, "orphaned": True})
    assert [each for each in decided(state).actions if isinstance(each, DeleteApp)] == [DeleteApp(moved_to="new")]


WHICH = {
    "the one that has its Service": (former(NEWEST), "newest"),
    "else the one that main says": (former(service("web", 1)), "new"),
    "else the one that main said": (former(service("web", 1), desired=UNSAID, record={"moved_to": "said"}), "said"),
}


@pytest.mark.parametrize("name", WHICH)
def test_it_names(name):
    state, app = WHICH[name]
    assert successor(state) == app
    assert end_of(state).moved_to == app


def test_when_it_lost_its_services_is_remembered_and_it_wakes_up_for_its_end():
    decision = decided(former(record={}))
    assert (decision.record.moved_to, decision.record.moved_at) == ("new", NOW)
    assert decision.wake_at == NOW + DELAY
    assert decided(former(record={"moved_at": EARLIER + SECOND})).record.moved_at == EARLIER + SECOND


REMEMBERED = {
    "its name, while it serves": (former(service("web", 1), record={}), "new", None),
    "its last name": (former(service("web", 1), record={"moved_to": "typo"}), "new", None),
    "the moment, where the one that main said has the Service": (
        former(desired=UNSAID, record={"moved_to": "new"}),
        "new",
        NOW,
    ),
    "or another one": (former(NEWEST, desired=UNSAID, record={"moved_to": "new"}), "new", NOW),
    "no moment, where nobody has it": (former(None, desired=UNSAID, record={"moved_to": "new"}), "new", None),
    "no moment, where it never served": (former(versions=(candidate(1),), record={}), "new", None),
    "no moment any more, once a Service leads here again": (
        former(replace(service("web", 1), ours=False), record=LOST_THEM),
        "new",
        None,
    ),
    "nothing, where main never said what it is": (former(desired=UNSAID, record={}), "", None),
    "nothing, while it is suspended": (former(spec=replace(manual(), suspend=Suspension("x")), record={}), "", None),
    "nothing any more, with its folder back": (former(service("web", 1), desired={}, record=LOST_THEM), "", None),
    "nothing any more, with its folder back before it lost anything": (
        former(service("web", 1), desired={}, record={"moved_to": "new"}),
        "",
        None,
    ),
    "all of it, while main cannot be read": (
        former(desired={"knowledge": Knowledge.OLDER}, record=LOST_THEM),
        "new",
        NOW - DELAY,
    ),
}


@pytest.mark.parametrize("name", REMEMBERED)
def test_it_remembers(name):
    state, moved_to, moved_at = REMEMBERED[name]
    record = decided(state).record
    assert (record.moved_to, record.moved_at) == (moved_to, moved_at)


def test_with_its_folder_back_before_it_lost_anything_it_serves_on():
    record = decided(former(service("web", 1), desired={}, record={"moved_to": "new"})).record
    assert record.routing.traffic == digest(1)


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_the_name_counts_and_not_the_policy(policy):
    state = former(spec=replace(manual(), deletion_policy=policy, adopt=Adoption("d")))
    assert is_to_go(state)
    assert state.asked_release is None
    told = [(each.event, each.reason) for each in decided(state).record.ledger]
    assert told == [(Event.DELETED, "it is the app new now, which has its Services")]
    beside = former(record={"moved_at": EARLIER, "auxiliary_objects": (BUDGET,), "orphaned": True})
    assert end_of(beside) == DeleteApp(auxiliary_objects=(BUDGET,), moved_to="new")


def test_an_accident_ends_nothing():
    assert not is_to_go(former(spec=replace(manual(), suspend=Suspension("x"))))
    assert not is_to_go(former(desired={**GONE, "history_rewritten": "f" * 40}))


def test_until_then_it_says_so_and_is_in_no_conflict():
    state = former(record={"moved_at": NOW})
    said = {each.type: each for each in decided(state).conditions}
    assert said["FolderInMain"].message == (
        "the app's folder has left main; it ends: the app new, which it is now, has its Services; its pods stay warm "
        "for a while"
    )
    assert not said["Conflict"].status
    assert [each.event for each in decided(state).record.ledger] == []


ROUTE = AuxiliaryObject("HTTPRoute", "web")
WAITS, THERE, UNROUTED = Successor(wants_route=True), Successor(wants_route=True, has_route=True), Successor(False)


def routed(then=WAITS, view=THEIRS, route=None, **more):
    """The former app with its route, which still leads requests to the Services."""
    record = {**LOST_THEM, "auxiliary_objects": (ROUTE, BUDGET), **more.pop("record", {})}
    beside = (route or AuxiliaryView(ROUTE),)
    return former(view, record=record, observed={"auxiliary_objects": beside, "successor": then}, **more)


IS_ITS_OWN = "delete HTTPRoute web: the app new, which it is now, has a route of its own"
ROUTES = {
    "the new name has none yet": (routed(), None, []),
    "nobody knows whether it has": (routed(None), None, []),
    "the new name has one: that of before goes first": (routed(THERE), None, [IS_ITS_OWN]),
    "it goes while the pods are still warm": (routed(THERE, record={"moved_at": NOW}), None, [IS_ITS_OWN]),
    "it went": (routed(THERE, route=AuxiliaryView(ROUTE, deleting=True)), NOW, []),
    "it is somebody else's": (routed(route=AuxiliaryView(ROUTE, owner="it is X's")), NOW, []),
    "the new name wants none: that of before goes with the app": (routed(UNROUTED), NOW, []),
    "likewise while its pods are warm": (routed(UNROUTED, record={"moved_at": NOW}), NOW + DELAY, []),
    "it cannot be read": (routed(THERE, route=AuxiliaryView(ROUTE, trouble="no answer")), None, []),
    "the app serves still": (routed(THERE, view=service("web", 1)), None, []),
    "main lost its history": (routed(THERE, desired={**GONE, "history_rewritten": "f" * 40}), None, []),
    "the app never served under this name": (
        routed(THERE, versions=(candidate(1),), record={"moved_at": None}),
        None,
        [IS_ITS_OWN],
    ),
}


@pytest.mark.parametrize("name", ROUTES)
def test_its_route(name):
    state, ends, done = ROUTES[name]
    assert ends_at(state) == ends
    found = (each for each in decided(state).actions if isinstance(each, ApplyAuxiliaryObject | DeleteAuxiliaryObject))
    assert [str(each) for each in found] == done
    assert not (done and is_to_go(state))


def test_what_it_waits_for_is_said_and_looked_at_again():
    decision = decided(routed())
    said = {each.type: each.message for each in decision.conditions}
    assert said["FolderInMain"] == (
        "the app's folder has left main; the app new, which it is now, has its Services; its route leads to them until "
        "that one has its own"
    )
    assert decision.wake_at <= NOW + timedelta(minutes=1)


def test_the_route_goes_with_the_app_and_what_was_taken_over_stays():
    assert end_of(routed(UNROUTED)) == DeleteApp(auxiliary_objects=(BUDGET,), moved_to="new")


LOST = {
    "which the new name has": THEIRS,
    "which the new name gave back, and nobody has": replace(THEIRS, app="", selector=(("app", "old"),), unclaimed=True),
    "which somebody else has": replace(THEIRS, app="", selector=(), owner="it is X's"),
}


@pytest.mark.parametrize("name", LOST)
def test_it_wants_no_service_back_that_it_lost(name):
    assert foreign_object(former(LOST[name], record={"moved_at": NOW})) == ""


def test_one_that_leads_to_it_still_is_in_conflict_where_somebody_took_its_labels():
    assert foreign_object(former(replace(service("web", 1), ours=False, owner="it is X's"))) == "it is X's"


def test_nor_its_preview_service_which_goes_along():
    taken = replace(THEIRS, name="web-preview")
    state = former(record={**LOST_THEM, "moved_at": NOW}, observed={"preview_service": taken})
    assert foreign_object(state) == ""
    assert written(state) == []


def test_with_its_folder_back_it_begins_again():
    record = decided(former(desired={}, record={"moved_at": EARLIER})).record
    assert (record.moved_at, record.routing.traffic) == (None, "")


def test_a_former_app_makes_no_service_anew_that_it_has_lost():
    """Found so: whoever replaced the Service raced with the former app, which made it for its old version."""
    state = world(
        active(1),
        spec=manual(),
        names_=1,
        desired={"in_git": False, "target": Missing.ABSENT, "primary": Missing.ABSENT, "moved_to": "shop"},
        record={"moved_to": "shop", "moved_at": NOW - SECOND},
        observed={"active_service": None, "preview_service": None},
    )
    assert not [each for each in decided(state).actions if isinstance(each, ApplyService)]
