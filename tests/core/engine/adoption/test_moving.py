"""An app under another name: the former one lets go what serves, and the new one adopts it (decision 70)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ApplyService,
    DeleteApp,
    DeleteAuxiliaryObject,
    PointPreview,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import AuxiliaryView, DeploymentView
from gitops_bg.core.model.record import Adopted, Switch, SwitchKind
from gitops_bg.core.model.spec import Adoption, DeletionPolicy, Release, ScaleDown, Suspension
from tests.core.simulation import manual
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, legacy, pods, service, world

OF_OLD = (("gitops-bg.dev/app", "old"), ("gitops-bg.dev/digest", "0123456789"))
LET_GO = replace(
    service("web", 0), selector=OF_OLD, ours=False, owner="made by somebody else", unclaimed=True, let_go_by="old"
)
CLAIMED = replace(LET_GO, owner="controlled by old", unclaimed=False, let_go_by="")
PREVIEW = replace(LET_GO, name="web-preview")
AGREES = replace(manual(), adopt=Adoption(scale_down=ScaleDown.ON_SUCCESS))
OF_DEPLOYMENT = replace(manual(), adopt=Adoption("old"))


def renamed(view=LET_GO, spec=AGREES, preview=PREVIEW, **more):
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


def written(state):
    """What is done to Services, in words."""
    found = (each for each in decided(state).actions if isinstance(each, ApplyService | PointPreview | SwitchTraffic))
    return [f"{type(each).__name__} {each.name} {getattr(each, 'adopts', False)} {each.digest}" for each in found]


def said(state, kind):
    return next(each for each in decided(state).conditions if each.type == kind)


# --- the app under its new name ---

TAKES = [f"SwitchTraffic web True {digest(1)}"]
TAKEN = {
    "one that an app let go": (renamed(), TAKES),
    "not one that its app has still": (renamed(CLAIMED, preview=None), []),
    "nor one that it is about to let go": (renamed(replace(CLAIMED, let_go_by="old")), []),
    "not where the file says nothing": (renamed(spec=manual(), preview=None), []),
    "not where it names a Deployment": (renamed(spec=OF_DEPLOYMENT, preview=None), []),
    "not on the way back": (renamed(spec=replace(AGREES, release=Release("old")), preview=None), []),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_consent_covers(name):
    state, expected = TAKEN[name]
    assert [each for each in written(state) if each.startswith("SwitchTraffic")] == expected


def test_the_service_moves_in_one_write_once_as_many_pods_are_available():
    (write,) = [each for each in decided(renamed()).actions if isinstance(each, SwitchTraffic)]
    assert (write.adopts, write.expected_selector, write.needs_available) == (True, OF_OLD, 3)
    few = renamed(replace(LET_GO, ready_endpoints=5), record={"switch": None})
    assert not [each for each in decided(few).actions if isinstance(each, SwitchTraffic)]
    assert [each.replicas for each in decided(few).actions if isinstance(each, ScaleReplicaSet)] == [5]


THEIRS = AuxiliaryView(
    AuxiliaryObject("PodDisruptionBudget", "web"), "PodDisruptionBudget shop/web is controlled by old"
)
"""What is beside the versions of the former app, as long as that is there."""


def test_until_the_other_app_has_let_go_the_new_one_waits_and_looks_soon():
    leaving = replace(CLAIMED, let_go_by="old")
    waits = renamed(
        leaving,
        preview=replace(leaving, name="web-preview"),
        observed={"auxiliary_objects": (THEIRS,)},
        record={"switch": None},
    )
    assert written(waits) == []
    assert said(waits, "Adopting").message == "waiting until app old has let its Services go"
    assert not said(waits, "Conflict").status
    assert said(renamed(CLAIMED, preview=None, record={"switch": None}), "Adopting").reason == "Conflict"
    assert decided(waits).wake_at <= NOW + timedelta(seconds=3)
    assert NOW + timedelta(seconds=3) < decided(renamed(record={"switch": None})).wake_at <= NOW + timedelta(minutes=1)


OTHERS = replace(PREVIEW, let_go_by="", unclaimed=False, owner="it is X's")
PREVIEWS = {
    "it goes along once live traffic has moved": (
        world(active(1), spec=AGREES, observed={"preview_service": PREVIEW}),
        [f"PointPreview web-preview True {digest(1)}"],
    ),
    "and leads to the candidate at once": (
        world(
            active(1), candidate(2), spec=AGREES, observed={"preview_service": PREVIEW}, record={"preview": digest(2)}
        ),
        [f"PointPreview web-preview True {digest(2)}"],
    ),
    "not before": (renamed(record={"switch": None, "traffic": ""}, view=replace(LET_GO, ready_endpoints=9)), []),
    "not while live traffic is on its way": (renamed(), TAKES),
    "not where it is somebody else's": (world(active(1), spec=AGREES, observed={"preview_service": OTHERS}), []),
    "not by an app that was adopted from a Deployment": (
        world(active(1), spec=OF_DEPLOYMENT, observed={"preview_service": PREVIEW}),
        [],
    ),
    "not by an app without a folder": (
        world(active(1), spec=AGREES, desired={"in_git": False}, observed={"preview_service": PREVIEW}),
        [],
    ),
    "not while the app is suspended": (
        world(active(1), spec=replace(AGREES, suspend=Suspension("x")), observed={"preview_service": PREVIEW}),
        [],
    ),
    "not while it is released": (
        world(active(1), spec=replace(AGREES, release=Release("old")), observed={"preview_service": PREVIEW}),
        [],
    ),
    "one of another name is made as soon as there is something to show": (
        renamed(preview=None),
        [*TAKES, f"ApplyService web-preview False {digest(1)}"],
    ),
}


@pytest.mark.parametrize("name", PREVIEWS)
def test_the_preview_service(name):
    state, expected = PREVIEWS[name]
    assert written(state) == expected


BUDGET = AuxiliaryObject("PodDisruptionBudget", "web")
COPY = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary")
BESIDE = (
    AuxiliaryView(BUDGET, former=True, drifted=True),
    AuxiliaryView(COPY, former=True, scale_target="old-v1-0123456789"),
)


def beside(*versions, **more):
    """A world with a budget and an autoscaler in its folder that the former app let go."""
    return world(
        *versions,
        spec=AGREES,
        observed={"auxiliary_objects": BESIDE, "preview_service": PREVIEW, **more.pop("observed", {})},
        desired={"auxiliary_objects": (BUDGET, COPY), "autoscaler": Autoscaler(COPY, 2, 5), **more.pop("desired", {})},
        **more,
    )


def test_what_is_beside_the_versions_is_taken_over_with_live_traffic_and_not_before():
    def applied(state):
        return [str(each) for each in decided(state).actions if isinstance(each, ApplyAuxiliaryObject)]

    before, after = beside(candidate(1), names_=1, observed={"active_service": LET_GO}), beside(active(1))
    assert applied(before) == []
    assert applied(after) == [
        "apply HorizontalPodAutoscaler web-primary -> v1 (ea1e0b8cad): live traffic goes there now",
        "apply PodDisruptionBudget web: it goes along with live traffic, which was taken over",
    ]
    assert {said(each, "Conflict").status for each in (before, after)} == {False}


def test_what_it_has_not_taken_over_is_not_deleted():
    state = beside(
        active(1), desired={"auxiliary_objects": (), "autoscaler": None}, record={"auxiliary_objects": (BUDGET,)}
    )
    assert not [each for each in decided(state).actions if isinstance(each, DeleteAuxiliaryObject)]


OLD = DeploymentView("old-v1-0123456789", 3, OF_OLD, available=3, kind="ReplicaSet")
"""What served under the former name."""
DELAY = timedelta(seconds=manual().strategy.scale_down_delay_seconds)


def adopted(view=OLD, since=DELAY, **more):
    taken = replace(service("web", 1), before=OF_OLD)
    routed = replace(active(1), activated_at=NOW - since, routed_at=NOW - since)
    record = {"adopted": Adopted("", 3), **more.pop("record", {})}
    return world(routed, spec=AGREES, observed={"active_service": taken, "deployment": view}, record=record, **more)


STEP_BY_STEP = replace(AGREES, adopt=Adoption(scale_down=ScaleDown.PROGRESSIVELY))
FEW = (pods(1, 3, 1),)
"""Of three pods of ours one is available."""
GOES = {
    "step by step": (
        replace(adopted(sets=FEW), spec=STEP_BY_STEP),
        ["scale ReplicaSet old-v1-0123456789 from 3 to 2: live traffic was taken over"],
    ),
    "but for a DaemonSet, which has no steps": (
        replace(adopted(replace(OLD, kind="DaemonSet"), sets=FEW), spec=STEP_BY_STEP),
        [],
    ),
    "after the delay": (adopted(), ["scale ReplicaSet old-v1-0123456789 from 3 to 0: live traffic was taken over"]),
    "not before": (adopted(since=DELAY - SECOND), []),
    "not where a Service never selected it": (adopted(replace(OLD, labels=(("app", "x"),))), []),
    "not where somebody controls it by now": (adopted(replace(OLD, controller="Deployment web")), []),
    "not a second time": (adopted(record={"adopted": Adopted("", 3, left=True)}), []),
}


@pytest.mark.parametrize("name", GOES)
def test_what_served_goes(name):
    state, expected = GOES[name]
    scaled = [str(each) for each in decided(state).actions if isinstance(each, ScaleDeployment)]
    assert [each.partition(" from its pods")[0] for each in scaled] == expected


# --- the app whose folder left ---

GONE = {"in_git": False, "target": Missing.ABSENT, "primary": Missing.ABSENT, "heir": "new", "whole": False}
LEAVES = replace(manual(), deletion_policy=DeletionPolicy.ORPHAN)
TOLD = {"orphaned": True}


def leaving(*versions, desired=None, spec=LEAVES, **more):
    wanted = GONE if desired is None else desired
    record = {"orphaned": True, **more.pop("record", {})}
    return world(*(versions or (active(1),)), spec=spec, desired=wanted, record=record, **more)


def took_over(view):
    """It took over itself a minute ago, for which its pods of before stay warm ten times as long."""
    state = adopted(view, since=timedelta(minutes=1), desired=GONE, record={"orphaned": True})
    lasting = replace(AGREES.strategy, scale_down_delay_seconds=600)
    return replace(state, spec=replace(AGREES, strategy=lasting, deletion_policy=DeletionPolicy.ORPHAN))


def test_pods_of_before_its_own_adoption_go_first_and_at_once():
    """Nobody else would know of them, and nobody goes back to them under another name."""
    (scaled,) = (each for each in decided(took_over(OLD)).actions if isinstance(each, ScaleDeployment))
    assert (scaled.name, scaled.kind, scaled.replicas) == (OLD.name, "ReplicaSet", 0)
    kept = took_over(OLD)
    kept = replace(kept, desired=replace(kept.desired, heir=""))
    assert not [each for each in decided(kept).actions if isinstance(each, ScaleDeployment)]


DRAINS = replace(legacy(1), left_at=NOW - SECOND)
ARRIVED = replace(active(2), activated_at=NOW - SECOND, routed_at=NOW - SECOND)
SLOW = replace(LEAVES, strategy=replace(LEAVES.strategy, drain_seconds=30))
SERVES = DeleteApp(DeletionPolicy.ORPHAN, heir="new", serving=(short(digest(1)),))
ENDS = {
    "at once, but for what serves": (leaving(), [SERVES]),
    "and what the preview shows": (
        leaving(active(1), candidate(2), observed={"preview_service": service("web-preview", 2)}),
        [replace(SERVES, serving=(short(digest(1)), short(digest(2))))],
    ),
    "not before it has told Git": (leaving(record={"orphaned": False}), []),
    "not while live traffic moves": (
        leaving(active(1), candidate(2), record={"switch": Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)}),
        [],
    ),
    "not while requests may reach the version before": (leaving(DRAINS, ARRIVED, spec=SLOW), []),
    "not while it is suspended": (leaving(spec=replace(LEAVES, suspend=Suspension("x"))), []),
    "not while pods of before its own adoption are there": (took_over(OLD), []),
    "but they are gone": (took_over(replace(OLD, gone=True)), [SERVES]),
    "or are not its own to scale": (took_over(replace(OLD, controller="Deployment web")), [SERVES]),
    "or may not be read": (took_over(replace(OLD, trouble="not allowed")), [SERVES]),
    "without an heir nothing goes with it": (
        leaving(DRAINS, ARRIVED, spec=SLOW, desired={**GONE, "heir": ""}),
        [DeleteApp(DeletionPolicy.ORPHAN)],
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_an_app_that_has_an_heir_ends(name):
    state, expected = ENDS[name]
    assert [each for each in decided(state).actions if isinstance(each, DeleteApp)] == expected


def test_its_ledger_and_its_condition_name_the_heir():
    state = leaving(record={"orphaned": False})
    assert decided(state).record.ledger[-1].reason == "the app new takes over what it has, as it is"
    assert said(state, "FolderInMain").message == "the app's folder has left main; it ends: the app new takes over"


def test_one_that_serves_on_looks_for_an_heir():
    kept = leaving(spec=manual(), desired={**GONE, "heir": ""})
    assert decided(kept).wake_at <= NOW + timedelta(minutes=1)
