"""A record lost during an emergency: what the ledger and traffic still say of it (DESIGN §4.7)."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.actions import ApplyService, ScaleDeployment, SwitchTraffic
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.journal import AwaitsPoll
from gitops_bg.core.model.observed import DeploymentView, ServiceView
from gitops_bg.core.model.record import Adopted, Record
from gitops_bg.core.model.spec import Adoption, ScaleDown, Suspension
from gitops_bg.core.model.statements import Cause, Hold, Says
from gitops_bg.core.model.version import short
from gitops_bg.core.world import World
from tests.core.records import statements_of
from tests.core.simulation import manual, template
from tests.core.worlds import EARLIER, NOW, digest, journal, pods, primary, service, target, world

SINCE = primary(2).changed_by.commit


def lost(
    live: int = 1, held: int = 2, cause: Cause = Cause.ROLLED_BACK, since: str = SINCE, names: int = 2, served: int = 2
) -> World:
    """Versions 1 to 3 have pods; main names ``names``; the ledger knows a hold, and what main named at ``since``."""
    memory = LedgerMemory(
        rollout=7,
        last_version=3,
        active_digests=tuple(digest(number) for number in range(1, served + 1)),
        statements=statements_of(Hold(digest(held), "5xx", EARLIER, cause)),
        primary_by=since,
    )
    desired = {"target": target(2), "primary": replace(primary(names), changed_by=primary(2).changed_by)}
    observed = {"active_service": service("web", live), "preview_service": service("web-preview", live)}
    sets = tuple(pods(number) for number in (1, 2, 3))
    state = world(sets=sets, spec=manual(), desired={**desired, "memory": memory}, observed=observed)
    return replace(state, record=Record())


def decided(state: World) -> Record:
    """The record after the first pass."""
    return decide(state.spec, state.desired, state.observed, state.record, NOW).record


EMERGENCIES = {
    "traffic was taken back, and main did not hear of it": (lost(), 1),
    "somebody aborted it before it served": (lost(cause=Cause.ABORTED, served=1), 1),
    "a reverted push cancelled its promotion": (lost(cause=Cause.TAKEN_BACK, served=1), 1),
    "traffic had not moved yet": (lost(live=2), 1),
    "nor to what main names since": (lost(live=2, names=3), 1),
    "traffic had not moved yet, and main was changed since": (lost(live=2, since="f" * 40), None),
    "main was changed since: that is somebody's answer": (lost(since="f" * 40), None),
    "the ledger does not say since when: nobody can tell": (lost(since=""), None),
    "who merged what then expired was not too late": (lost(cause=Cause.EXPIRED, served=1), None),
    "another version is on hold": (lost(held=3), None),
    "traffic is where main says": (lost(live=2, held=1), None),
}


@pytest.mark.parametrize("name", EMERGENCIES)
def test_emergency_goes_on_without_its_record(name: str) -> None:
    """Found so: live traffic went forward again to what had just been rolled back, as its record was lost."""
    state, goes_to = EMERGENCIES[name]
    record = decided(state)
    assert (record.override.to_digest if record.override else None) == (digest(goes_to) if goes_to else None)
    if goes_to:
        assert record.override.awaits is None, "whatever comes later in main is newer"
        assert short(record.routing.traffic) == state.observed.active_service.digest, "no traffic has moved"
        assert record.git.primary == state.desired.primary.snapshot.digest
        assert record.held(digest(2)), "it is not to be promoted again until somebody says so"


def test_what_the_ledger_says_against_the_version_that_serves_stays() -> None:
    """Found so: a rollback led back to a version that somebody had rolled back, before traffic had left it."""
    record = decided(lost(live=2, names=3))
    assert record.routing.traffic == digest(2)
    assert record.held(digest(2))


def test_past_holds_stay_too() -> None:
    state = lost(live=2, names=3)
    past = Hold(digest(2), "5xx", EARLIER, Cause.ROLLED_BACK, Says.CLEARED)
    memory = replace(state.desired.memory, statements=statements_of(past))
    record = decided(replace(state, desired=replace(state.desired, memory=memory)))
    assert record.objection(digest(2)) == past


FOLLOWED = {
    "main named what serves, then what is held: somebody's answer": (("1", "2"), None),
    "main named something else in between": (("3", "2"), 1),
    "nobody can tell now": (None, 1),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_an_emergency_that_main_had_followed_is_over(name: str) -> None:
    """Found so: the agent took back what somebody promoted after it, the ledger not knowing that main had followed."""
    named, goes_to = FOLLOWED[name]
    state = lost(cause=Cause.ABORTED, since="f" * 40)
    (refusal,) = state.desired.memory.statements
    memory = replace(state.desired.memory, statements=(replace(refusal, awaits=AwaitsPoll((("before", 3),))),))
    passed = None if named is None else tuple(map(template, named))
    record = decided(replace(state, desired=replace(state.desired, memory=memory, journal=journal(named=passed))))
    assert (record.override.to_digest if record.override else None) == (digest(goes_to) if goes_to else None)
    assert bool(record.held(digest(2))) is bool(goes_to)


# --- the active Services do not all show one version ---


def several(*live: int | ServiceView, serving: int = 0, **more: Any) -> World:
    """Services web and web-grpc select these versions; 0: it is missing. By the ledger, ``serving`` served last."""
    state, names = lost(**more), ("web", "web-grpc")
    views = [
        view if isinstance(view, ServiceView) else service(name, view) if view else None
        for name, view in zip(names, live, strict=True)
    ]
    memory = replace(state.desired.memory, serving=digest(serving) if serving else "")
    return replace(
        state,
        spec=manual(more_active_services=names[1:]),
        desired=replace(state.desired, memory=memory),
        observed=replace(state.observed, active_service=views[0], more_active_services=tuple(filter(None, views[1:]))),
    )


def with_former(state: World, *former: ServiceView) -> World:
    return replace(state, observed=replace(state.observed, former_services=former))


def without_pods(state: World, number: int) -> World:
    sets = tuple(replace(view, available=0) if view.number == number else view for view in state.observed.replica_sets)
    return replace(state, observed=replace(state.observed, replica_sets=sets))


THEIRS = service("web-grpc", 2, ours=False, owner="theirs")
FOUND = {
    "one is missing": (several(1, 0), 1),
    "the other is missing": (several(0, 2), 2),
    "one is somebody else's": (several(1, THEIRS), 1),
    "one was wiped": (several(1, service("web-grpc", 0)), 1),
    "they disagree": (several(1, 2), 1),
    "they disagree the other way round": (several(2, 1), 1),
    "half-way to what never served": (several(1, 2, served=1), 1),
    "half-way, and the ledger knows from where": (several(1, 2, serving=2), 2),
    "the ledger knows one that no Service shows": (several(1, 2, serving=3, served=3), 1),
    "the older one has lost its pods": (without_pods(several(1, 2), 1), 2),
    "so has what the ledger knows": (without_pods(several(1, 2, serving=1), 1), 2),
    "none has pods that answer": (without_pods(without_pods(several(1, 2), 1), 2), 1),
    "only main knows it, and it has moved in part": (several(2, 0, served=1), None),
    "only main knows it, and all show it": (several(2, 2, served=1), 2),
    "nobody knows it": (several(3, 3), None),
    "all are missing": (several(0, 0), None),
    "only a former name leads anywhere": (with_former(several(0, 0), service("shop", 1)), 1),
    "only a former preview Service does": (with_former(several(0, 0, serving=1), service("next", 2)), 1),
    "two former names do": (with_former(several(0, 0), service("shop", 2), service("next", 1)), 1),
    "a former name that is somebody else's": (with_former(several(0, 0), THEIRS), None),
    "a former name that was left behind": (with_former(several(2, 2, served=1), service("shop", 1)), 2),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_serves_is_found_as_long_as_a_service_of_ours_leads_to_it(name: str) -> None:
    """Found so: one Service was missing or half-way, the app counted as never deployed, and no gate was asked."""
    state, number = FOUND[name]
    assert decided(state).routing.traffic == (digest(number) if number else "")


@pytest.mark.parametrize(("web", "grpc"), [(1, 2), (2, 1), (1, 0), (0, 1)])
@pytest.mark.parametrize("serving", [0, 1, 2])
def test_traffic_that_was_on_its_way_back_never_goes_forward(web: int, grpc: int, serving: int) -> None:
    """Version 2 is on hold, and main still names it."""
    state = several(web, grpc, serving=serving)
    for _ in range(3):
        decision = decide(state.spec, state.desired, state.observed, state.record, NOW)
        leads = {one.digest for one in decision.actions if isinstance(one, SwitchTraffic | ApplyService)}
        assert leads <= {digest(1)}
        assert not [one for one in decision.actions if isinstance(one, SwitchTraffic) and one.switch_kind == "first"]
        state = replace(state, record=decision.record)


def test_no_version_that_main_names_passes_a_suspension_as_the_first_one() -> None:
    state = several(1, 0, held=3, served=1)
    state = replace(state, spec=replace(state.spec, suspend=Suspension("incident")))
    decision = decide(state.spec, state.desired, state.observed, state.record, NOW)
    assert decision.record.routing.traffic == digest(1)
    assert decision.record.routing.switch is None


def test_a_hand_over_that_was_half_way_goes_on() -> None:
    """Web leads to version 1 already; web-grpc is still somebody else's, and is to be taken over."""
    foreign = ServiceView("web-grpc", "", (("app", "web"),), ours=False, owner="Helm", unclaimed=True)
    state = several(1, foreign, names=1, held=3)
    adopting = replace(state, spec=replace(state.spec, adopt=Adoption(deployment="web")))
    record = decided(adopting)
    assert record.routing.traffic == ""
    assert record.routing.switch.to_digest == digest(1)
    to_another = replace(adopting, desired=replace(adopting.desired, primary=primary(2)))
    assert decided(to_another).routing.traffic == digest(1)


def test_the_deployment_that_an_app_was_adopted_from_is_left_as_it_is_once_the_record_was_lost() -> None:
    """Found so: its owner had scaled it up again, the object was deleted, and the agent took its pods once more."""
    state = lost(live=2, held=3)
    adopted = Adoption("old", scale_down=ScaleDown.PROGRESSIVELY)
    taken = replace(state.observed.active_service, before=(("app", "web"),))  # type: ignore[type-var]
    pods_of_its_owner = DeploymentView("old", 3, (("app", "web"),), available=3)
    state = replace(
        state,
        spec=replace(state.spec, adopt=adopted),
        observed=replace(state.observed, active_service=taken, deployment=pods_of_its_owner),
    )
    decision = decide(state.spec, state.desired, state.observed, state.record, NOW)
    assert decision.record.adopted == Adopted("old", left=True)
    later = decide(state.spec, state.desired, state.observed, decision.record, NOW + timedelta(days=1))
    assert not [each for each in (*decision.actions, *later.actions) if isinstance(each, ScaleDeployment)]
    said = next(each for each in later.conditions if each.type == "Adopting")
    assert said.message.endswith("before the record of this app was made anew: its pods are left as they are")
