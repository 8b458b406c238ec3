"""An app under another name: the new one takes its Services over, and the former one ends some time after that."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ApplyService,
    DeleteApp,
    DeleteAuxiliaryObject,
    HandBack,
    PointPreview,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import AuxiliaryView, Successor
from gitops_bg.core.model.record import Event, Switch, SwitchKind
from gitops_bg.core.model.spec import Adoption, DeletionPolicy, Release, Suspension
from tests.core.engine.adoption.builders import GONE as LEFT
from tests.core.engine.adoption.builders import up
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
    service,
    size_after,
    world,
)

OF_OLD = (("gitops-bg.dev/app", "old"), ("gitops-bg.dev/digest", "0123456789"))
BEFORE = replace(service("web", 0), selector=OF_OLD, ours=False, owner="controlled by old", app="old")
PREVIEW = replace(BEFORE, name="web-preview")
OTHERS = replace(PREVIEW, app="", owner="it is X's")
RENAMED = replace(manual(), adopt=Adoption(app="old", left=("old",)))
FROM_DEPLOYMENT = replace(manual(), adopt=Adoption("old"))


def renamed(view=BEFORE, spec=RENAMED, preview=PREVIEW, **more):
    """The app under its new name, with as many available pods as the former one: main names its version."""
    decided_switch = Switch("", digest(1), SwitchKind.FIRST, NOW)
    return world(
        candidate(1),
        spec=spec,
        names_=1,
        sets=(up(1, ()),),
        observed={"active_service": view, "preview_service": preview, **more.pop("observed", {})},
        record={"switch": decided_switch, **more.pop("record", {})},
        **more,
    )


def taken_over(state):
    return [each.name for each in decided(state).actions if isinstance(each, SwitchTraffic) and each.adopts]


def conflict(state):
    """The objects of somebody else that are in the way, in words."""
    return conditions(state)["Conflict"].message


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
    "that of an app, where a Deployment is named": (BEFORE, FROM_DEPLOYMENT, False),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_consent_covers(name):
    view, spec, taken = TAKEN[name]
    assert taken_over(renamed(view, spec=spec)) == (["web"] if taken else [])


def test_it_counts_once():
    assert taken_over(world(active(1), candidate(2), names_=2, spec=RENAMED, observed={"active_service": BEFORE})) == []


def test_the_service_moves_in_one_write_once_as_many_pods_are_available():
    (write,) = [each for each in decided(renamed()).actions if isinstance(each, SwitchTraffic)]
    assert (write.expected_selector, write.needs_available) == (OF_OLD, 3)
    assert given(renamed(), 1) == (3, ()), "no stand-in: the former selector names the former app"
    few = renamed(replace(BEFORE, ready_endpoints=5), record={"switch": None})
    assert did(few, SwitchTraffic) == []
    assert size_after(few, 1) == 5


CONFLICTS = {
    "with nothing: the preview Service goes along with live traffic": (renamed(), ""),
    "nor with that of any former name": (renamed(spec=TWICE), ""),
    "with a preview Service of somebody else": (
        renamed(preview=replace(PREVIEW, app="", owner="it is X's")),
        "it is X's",
    ),
    "with both, without consent": (renamed(spec=manual()), "controlled by old; controlled by old"),
    "with both, while the former name has a folder": (renamed(spec=IN_MAIN), "controlled by old; controlled by old"),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_it_is_in_conflict(name):
    state, whose = CONFLICTS[name]
    assert conflict(state) == whose


def written(state):
    """What is done to Services, in words."""
    found = (each for each in decided(state).actions if isinstance(each, ApplyService | PointPreview | SwitchTraffic))
    return [f"{type(each).__name__} {each.name} {getattr(each, 'adopts', False)} {each.digest}" for each in found]


def serving(spec=RENAMED, preview=PREVIEW, **more):
    """The app has live traffic, and the preview Service is somebody else's."""
    return world(active(1), spec=spec, observed={"preview_service": preview}, **more)


GOES_ALONG = [f"PointPreview web-preview True {digest(1)}"]
PREVIEWS = {
    "it goes along once live traffic has moved": (serving(), GOES_ALONG),
    "and leads to the candidate at once": (
        world(
            active(1), candidate(2), spec=RENAMED, observed={"preview_service": PREVIEW}, record={"preview": digest(2)}
        ),
        [f"PointPreview web-preview True {digest(2)}"],
    ),
    "it goes along from whichever name it was left with": (serving(TWICE), GOES_ALONG),
    "not before: the former one may be asked for what waits there": (
        renamed(record={"switch": None, "traffic": ""}, view=replace(BEFORE, ready_endpoints=9)),
        [],
    ),
    "not while live traffic is on its way": (renamed(), [f"SwitchTraffic web True {digest(1)}"]),
    "not while live traffic moves on": (
        world(
            active(1),
            candidate(2),
            spec=RENAMED,
            names_=2,
            observed={"preview_service": PREVIEW},
            record={"switch": Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)},
        ),
        [f"SwitchTraffic web False {digest(2)}"],
    ),
    "not where it is somebody else's": (serving(preview=OTHERS), []),
    "not where it is another app's": (serving(preview=replace(PREVIEW, app="else")), []),
    "not by an app that was adopted from a Deployment": (serving(FROM_DEPLOYMENT), []),
    "not by an app without a folder": (serving(desired={"in_git": False}), []),
    "not while the former app has a folder": (serving(IN_MAIN), []),
    "not while the app is suspended": (serving(replace(RENAMED, suspend=Suspension("x"))), []),
    "not while it is released": (serving(replace(RENAMED, release=Release("old"))), []),
    "one of another name is made as soon as there is something to show": (
        renamed(preview=None),
        [f"SwitchTraffic web True {digest(1)}", f"ApplyService web-preview False {digest(1)}"],
    ),
}


@pytest.mark.parametrize("name", PREVIEWS)
def test_the_preview_service(name):
    state, expected = PREVIEWS[name]
    assert written(state) == expected


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


NOTHING_IN_GIT = {"auxiliary_objects": (), "autoscaler": None}
OF_FORMER = {
    "go along with live traffic": (
        beside(active(1), observed={"preview_service": PREVIEW}),
        [
            "apply HorizontalPodAutoscaler web-primary -> 1 (v1): live traffic goes there now",
            "apply PodDisruptionBudget web: it goes along with live traffic, which was taken over",
        ],
    ),
    "not before": (beside(candidate(1), names_=1, observed={"active_service": BEFORE, "preview_service": PREVIEW}), []),
}


@pytest.mark.parametrize("name", OF_FORMER)
def test_objects_beside_the_versions_that_the_former_app_has(name):
    state, done = OF_FORMER[name]
    assert did(state, ApplyAuxiliaryObject, DeleteAuxiliaryObject) == done
    said = conditions(state)
    assert (said["Conflict"], said["Stalled"]) == (ABSENT, ABSENT)


RELEASED = replace(RENAMED, release=Release("old"))
GIVEN_BACK = {"active_service": replace(service("web", 0), ours=False, unclaimed=True)}
LEFT_ALONE = {
    "an app without a folder, which was renamed, and renamed back": beside(
        active(1), desired={**LEFT, "moved_to": "new"}, record={"auxiliary_objects": (BUDGET, COPY)}
    ),
    "one whose folder has none any more": beside(
        active(1), desired=NOTHING_IN_GIT, record={"auxiliary_objects": (BUDGET,)}
    ),
    "one that was released, in whose folder none is": beside(
        active(1),
        spec=RELEASED,
        desired=NOTHING_IN_GIT,
        observed=GIVEN_BACK,
        record={"released": True, "auxiliary_objects": (COPY,)},
    ),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_objects_that_the_former_app_has_are_left_alone_by(name):
    assert did(LEFT_ALONE[name], ApplyAuxiliaryObject, DeleteAuxiliaryObject) == []


LOOKS = {
    "the budget is still the former one's": renamed(observed={"auxiliary_objects": (FORMERS,)}),
    "it is somebody else's": renamed(observed={"auxiliary_objects": (AuxiliaryView(BUDGET, "X's"),)}),
    "so is the preview Service": serving(),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_is_beside_the_versions_is_looked_at_again(name):
    assert decided(LOOKS[name]).wake_at <= NOW + timedelta(minutes=1)


# --- the former app ---

GONE = {**LEFT, "moved_to": "new"}
THEIRS = replace(service("web", 0), selector=(("gitops-bg.dev/app", "new"),), ours=False, owner="new's", app="new")
OWN = service("web", 1)
DELAY = timedelta(seconds=manual().strategy.scale_down_delay_seconds)
SUSPENDED = replace(manual(), suspend=Suspension("x"))
REWRITTEN = {**GONE, "history_rewritten": "f" * 40}


def former(view=THEIRS, spec=None, desired=None, **more):
    more.setdefault("record", {"moved_at": NOW - DELAY})
    versions = more.pop("versions", (active(1),))
    seen = {"active_service": view, **more.pop("observed", {})}
    wanted = GONE if desired is None else desired
    return world(*versions, spec=spec or manual(), desired=wanted, observed=seen, **more)


def delayed(**changes):
    return replace(manual(), strategy=replace(manual().strategy, **changes))


def ends(state):
    """Whether the app ends now: the ledger says so first."""
    return Event.DELETED in [each.event for each in decided(state).record.ledger]


def end_of(state):
    """The last action, once the ledger was written."""
    told = replace(state, record=replace(state.record, orphaned=True))
    return next((each for each in decided(told).actions if isinstance(each, DeleteApp)), None)


NEWEST = replace(THEIRS, selector=(("gitops-bg.dev/app", "newest"),), app="newest")
BY_LABELS = replace(THEIRS, app="", selector=(("gitops-bg.dev/app", "web"),), owner="it is X's")
"""Somebody's, and it selects every version of the app."""
LED_BACK = replace(OWN, ours=False)
UNSAID = {**GONE, "moved_to": ""}
"""Main says no more which app it is now."""
LOST_THEM = {"moved_to": "new", "moved_at": NOW - DELAY}
SAID_ONCE = {"moved_to": "new"}
NEVER_SERVED = {"versions": (candidate(1),), "record": {}}
ENDS = {
    "after its delay": (former(), NOW),
    "not while a Service is its own": (former(OWN), None),
    "nor where that selects nobody": (former(replace(service("web", 0), selector=(("app", "x"),))), None),
    "not while a Service selects a version of it, with pods or without": (former(LED_BACK, sets=(pods(1, 0),)), None),
    "not while a Service selects its pods": (former(LED_BACK), None),
    "not while a Service selects its pods by other labels": (former(BY_LABELS), None),
    "nor where its last pods are going": (former(BY_LABELS, sets=(pods(1, 0, pods=1),)), None),
    "where such a Service has nobody to select": (former(BY_LABELS, sets=(pods(1, 0),)), NOW),
    "where such a Service selects other pods": (former(replace(BY_LABELS, selector=(("app", "cart"),))), NOW),
    "where such a Service selects nobody": (former(replace(BY_LABELS, selector=())), NOW),
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
    "not while a Service was led back to it by hand": (former(LED_BACK, desired=UNSAID, record=LOST_THEM), None),
    "not where main says no more what it is, and it serves": (former(OWN, desired=UNSAID, record=SAID_ONCE), None),
    "not where it lost nothing yet, and main says no more what it is": (
        former(None, desired=UNSAID, record=SAID_ONCE),
        None,
    ),
    "at once, where it never served and main says no more what it is": (
        former(versions=(candidate(1),), desired=UNSAID, record=SAID_ONCE),
        NOW,
    ),
    "not before it was seen that it lost them": (former(record={}), NOW + DELAY),
    "at once where it never served": (former(**NEVER_SERVED), NOW),
    "with a delay of never": (
        former(spec=delayed(scale_down_delay_seconds=None), record={"moved_at": EARLIER + 3550 * SECOND}),
        EARLIER + 4150 * SECOND,
    ),
    "with a longer drain": (
        former(spec=delayed(scale_down_delay_seconds=0, drain_seconds=7), record={"moved_at": NOW}),
        NOW + 7 * SECOND,
    ),
    "not while it is suspended": (former(spec=SUSPENDED), None),
    "not by an accident of main": (former(desired=REWRITTEN), None),
}


@pytest.mark.parametrize("name", ENDS)
def test_it_ends(name):
    state, moment = ENDS[name]
    wakes = decided(state).wake_at
    assert ends(state) is (moment == NOW)
    if moment == NOW:
        assert end_of(state).moved_to
    elif moment is not None:
        assert wakes == moment


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_main_that_says_no_more_what_it_is_ends_no_app_that_serves_whatever_its_policy(policy):
    """Between two moves, or where somebody took the line out: the folder did not leave so that the app ends."""
    spec = replace(manual(), deletion_policy=policy, adopt=Adoption("d"))
    state = former(OWN, spec=spec, desired=UNSAID, record=SAID_ONCE)
    assert did(state, DeleteApp, ScaleReplicaSet, HandBack) == []
    told = [(each.event, each.reason) for each in decided(state).record.ledger]
    assert told == [(Event.ORPHANED, "the app's folder has left main, it was to be the app new; it keeps serving")]
    assert conditions(state)["FolderInMain"].message == (
        "the app's folder has left main; it keeps serving: it was to be the app new, and nothing in main says so any "
        "more; put its folder back, or write adopt: {app: web} into the app that it is now"
    )


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_the_name_counts_and_not_the_policy(policy):
    spec = replace(manual(), deletion_policy=policy, adopt=Adoption("d"))
    state = former(spec=spec, record={"moved_at": EARLIER, "auxiliary_objects": (BUDGET,)})
    assert decided(state).record.release == ""
    told = [(each.event, each.reason) for each in decided(state).record.ledger]
    assert told == [(Event.DELETED, "it is the app new now, which has its Services")]
    assert end_of(state) == DeleteApp(auxiliary_objects=(BUDGET,), moved_to="new")


WHICH = {
    "the one that has its Service": (former(NEWEST), "newest"),
    "else the one that main says": (former(None), "new"),
    "else the one that main said": (
        former(None, versions=(candidate(1),), desired=UNSAID, record={"moved_to": "said"}),
        "said",
    ),
}


@pytest.mark.parametrize("name", WHICH)
def test_it_names(name):
    state, app = WHICH[name]
    assert end_of(state).moved_to == app


REMEMBERED = {
    "its name, while it serves": (former(OWN, record={}), "new", None),
    "its last name": (former(OWN, record={"moved_to": "typo"}), "new", None),
    "the moment that it lost its Services": (former(record={}), "new", NOW),
    "that moment, and no later one": (former(record={"moved_at": EARLIER + SECOND}), "new", EARLIER + SECOND),
    "the moment, where the one that main said has the Service": (
        former(desired=UNSAID, record=SAID_ONCE),
        "new",
        NOW,
    ),
    "or another one": (former(NEWEST, desired=UNSAID, record=SAID_ONCE), "new", NOW),
    "no moment, where nobody has it": (former(None, desired=UNSAID, record=SAID_ONCE), "new", None),
    "no moment, where it never served": (former(**NEVER_SERVED), "new", None),
    "no moment any more, once a Service leads here again": (former(LED_BACK, record=LOST_THEM), "new", None),
    "nothing, where main never said what it is": (former(desired=UNSAID, record={}), "", None),
    "nothing, while it is suspended": (former(spec=SUSPENDED, record={}), "", None),
    "nothing any more, with its folder back": (former(OWN, desired={}, record=LOST_THEM), "", None),
    "nothing any more, with its folder back before it lost anything": (
        former(OWN, desired={}, record=SAID_ONCE),
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
    assert (record.last_read.moved_to, record.moved_at) == (moved_to, moved_at)


def test_with_its_folder_back_it_serves_on_or_begins_again_where_it_had_lost_its_services():
    assert decided(former(OWN, desired={}, record=SAID_ONCE)).record.routing.traffic == digest(1)
    assert decided(former(desired={}, record={"moved_at": EARLIER})).record.routing.traffic == ""


def test_until_it_ends_it_says_so_and_is_in_no_conflict():
    state = former(record={"moved_at": NOW})
    assert conditions(state)["FolderInMain"].message == (
        "the app's folder has left main; it ends: the app new, which it is now, has its Services; its pods stay warm "
        "for a while"
    )
    assert conflict(state) == ""
    assert decided(state).record.ledger == ()


ROUTE = AuxiliaryObject("HTTPRoute", "web")
WAITS, THERE, UNROUTED = Successor(wants_route=True), Successor(wants_route=True, has_route=True), Successor(False)


def routed(then=WAITS, view=THEIRS, route=None, **more):
    """The former app with its route, which still leads requests to the Services."""
    record = {**LOST_THEM, "auxiliary_objects": (ROUTE, BUDGET), **more.pop("record", {})}
    beside = (route or AuxiliaryView(ROUTE),)
    return former(view, record=record, observed={"auxiliary_objects": beside, "successor": then}, **more)


IS_ITS_OWN = "delete HTTPRoute web: the app new, which it is now, has a route of its own"
ROUTES = {
    "the new name has none yet": (routed(), False, []),
    "nobody knows whether it has": (routed(None), False, []),
    "the new name has one: that of before goes first": (routed(THERE), False, [IS_ITS_OWN]),
    "it goes while the pods are still warm": (routed(THERE, record={"moved_at": NOW}), False, [IS_ITS_OWN]),
    "it went": (routed(THERE, route=AuxiliaryView(ROUTE, deleting=True)), True, []),
    "it is somebody else's": (routed(route=AuxiliaryView(ROUTE, owner="it is X's")), True, []),
    "the new name wants none: that of before goes with the app": (routed(UNROUTED), True, []),
    "likewise while its pods are warm": (routed(UNROUTED, record={"moved_at": NOW}), False, []),
    "it cannot be read": (routed(THERE, route=AuxiliaryView(ROUTE, trouble="no answer")), False, []),
    "the app serves still": (routed(THERE, view=OWN), False, []),
    "main lost its history": (routed(THERE, desired=REWRITTEN), False, []),
    "the app never served under this name": (
        routed(THERE, versions=(candidate(1),), record={"moved_at": None}),
        False,
        [IS_ITS_OWN],
    ),
}


@pytest.mark.parametrize("name", ROUTES)
def test_its_route(name):
    state, over, done = ROUTES[name]
    assert did(state, ApplyAuxiliaryObject, DeleteAuxiliaryObject) == done
    assert end_of(state) == (DeleteApp(auxiliary_objects=(BUDGET,), moved_to="new") if over else None)


def test_what_it_waits_for_is_said_and_looked_at_again():
    assert conditions(routed())["FolderInMain"].message == (
        "the app's folder has left main; the app new, which it is now, has its Services; its route leads to them until "
        "that one has its own"
    )
    assert decided(routed()).wake_at <= NOW + timedelta(minutes=1)


TAKEN_BUDGET = AuxiliaryView(BUDGET, "PodDisruptionBudget shop/web is controlled by BlueGreenDeployment new")
WARM = {"moved_at": NOW}
LOST = {
    "a Service that the new name has": (former(record=WARM), ""),
    "one that the new name gave back, and nobody has": (
        former(replace(THEIRS, app="", selector=(("app", "old"),), unclaimed=True), record=WARM),
        "",
    ),
    "one that somebody else has": (
        former(replace(THEIRS, app="", selector=(), owner="it is X's"), record=WARM),
        "",
    ),
    "the preview Service, which goes along": (
        former(record={**LOST_THEM, **WARM}, observed={"preview_service": replace(THEIRS, name="web-preview")}),
        "",
    ),
    "what is beside the versions": (
        former(record={**WARM, "auxiliary_objects": (BUDGET,)}, observed={"auxiliary_objects": (TAKEN_BUDGET,)}),
        "",
    ),
    "a Service that is gone": (former(None, record=WARM, observed={"preview_service": None}), ""),
    "but for a Service that leads to it still, and whose labels somebody took": (
        former(replace(LED_BACK, owner="it is X's")),
        "it is X's",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_it_wants_nothing_back_that_it_lost(name):
    """Found so: whoever replaced the Service raced with the former app, which made it for its old version."""
    state, whose = LOST[name]
    assert conflict(state) == whose
    assert written(state) == []
    assert did(state, ApplyAuxiliaryObject) == []
