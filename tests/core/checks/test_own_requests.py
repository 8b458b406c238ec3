"""Whose route has the requests of an app first: it is named, no promotion goes past it, and it goes once its owner left
main and the app answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.checks.gates import gates_before_commit, gates_before_switch
from gitops_bg.core.checks.own_requests import first_of_others, to_take_over
from gitops_bg.core.checks.rival_routes import with_formers
from gitops_bg.core.model.actions import DeleteAuxiliaryObject
from gitops_bg.core.model.auxiliary import AppRoute, AuxiliaryObject
from gitops_bg.core.model.decision import GateKind, Phase
from gitops_bg.core.model.http_routes import HttpMatch, ParentRef, PathKind, RivalRoute, RouteClaim
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.world import World
from tests.core.simulation import manual
from tests.core.worlds import NOW, active, candidate, decided, service, world

PUBLIC = ParentRef("public")
ROUTE = AuxiliaryObject("HTTPRoute", "web")
BESIDE = HttpMatch(headers=(("X-Version", "candidate"),))
OURS = RouteClaim((PUBLIC,), (), (BESIDE, HttpMatch()))
OLDER, YOUNGER = "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"
SAID = "HTTPRoute store of the release group store has the requests / first: it says the same ones, and is older"


def rival(*matches: HttpMatch, **changes: Any) -> RivalRoute:
    """A route of the group `store` for all requests, or for these, which is older."""
    claim = RouteClaim(changes.pop("parents", (PUBLIC,)), changes.pop("hosts", ()), matches or (HttpMatch(),))
    return replace(RivalRoute("store", "the release group store", claim, OLDER, group="store"), **changes)


def live(**changes: Any) -> AuxiliaryView:
    ports = (("web", 80), ("web-preview", 80))
    return replace(AuxiliaryView(ROUTE, ports=ports, taken=True, answered=True, born="2026-01-02T00:00:00Z"), **changes)


def routed(*rivals: RivalRoute, view: AuxiliaryView | None = None, claim: RouteClaim = OURS, **fields: Any) -> World:
    """The app `web` serves version 1 by its route, among the routes of others."""
    seen = {
        "active_service": service("web", 1, ports='[{"port":80}]', ready_endpoints=2),
        "auxiliary_objects": (view or live(),),
        "rivals": rivals,
        **fields.pop("observed", {}),
    }
    desired = {"auxiliary_objects": (ROUTE,), "route": AppRoute(ROUTE, 80, None, claim)}
    versions = fields.pop("versions", (active(1),))
    record = {"auxiliary_objects": (ROUTE,)}
    return world(*versions, desired=desired, observed=seen, record=record, **fields)


SAME_ELSEWHERE = RouteClaim((PUBLIC,), ("shop.example.com",), (HttpMatch(),))
NAMED = {
    "the same requests, and older": (routed(rival()), SAID),
    "and ours is not live yet": (routed(rival(born=YOUNGER), observed={"auxiliary_objects": ()}), SAID),
    "with a host that both have": (routed(rival(hosts=("shop.example.com", "a.io")), claim=SAME_ELSEWHERE), SAID),
    "younger": (routed(rival(born=YOUNGER)), ""),
    "narrower paths": (routed(rival(HttpMatch("/cart"))), ""),
    "another Gateway": (routed(rival(parents=(ParentRef("internal"),))), ""),
    "one listener of the Gateway, such as that of redirects": (
        routed(rival(parents=(ParentRef("public", section="http"),))),
        "",
    ),
    "another host": (routed(rival(hosts=("a.io",)), claim=SAME_ELSEWHERE), ""),
    "every host, where ours is for one: the more specific wins": (routed(rival(), claim=SAME_ELSEWHERE), ""),
    "nobody": (routed(), ""),
}


@pytest.mark.parametrize("case", NAMED)
def test_who_has_the_requests_first_is_named(case: str) -> None:
    state, said = NAMED[case]
    assert first_of_others(state) == said
    decision = decided(state)
    assert (decision.phase is Phase.DEGRADED) is bool(said)
    (conflict,) = (each for each in decision.conditions if each.type == "Conflict")
    assert (conflict.reason, conflict.status) == ("RequestsTaken" if said else "NoConflict", bool(said))


def test_no_promotion_goes_past_it_and_every_way_back_does() -> None:
    versions = (active(1), candidate(2, available_since=NOW))
    state = routed(rival(), versions=versions, spec=manual())
    _, next_version = versions
    shut = [each for each in gates_before_commit(state, next_version) if not each.open]
    assert (GateKind.ENDPOINTS, SAID) in [(each.kind, each.reason) for each in shut]
    coming = replace(state, desired=replace(state.desired, primary=state.desired.target))  # type: ignore[arg-type]
    assert SAID in [each.reason for each in gates_before_switch(coming, next_version) if not each.open]


FORMER = rival(former=True)
MANY = (HttpMatch("/cart"), HttpMatch("/a", PathKind.EXACT), HttpMatch("/.*", PathKind.REGEX), HttpMatch(method="GET"))
GOES = {
    "its owner left main, and ours is taken": (routed(FORMER), True),
    "with narrower requests beside the same ones": (routed(rival(HttpMatch(), *MANY, former=True)), True),
    "at a Gateway that never says anything": (routed(FORMER, view=live(taken=None, answered=False)), True),
    "its owner is in main": (routed(rival()), False),
    "it is at another Gateway as well": (
        routed(rival(parents=(PUBLIC, ParentRef("internal")), former=True)),
        False,
    ),
    "it says what no agent writes": (routed(rival(former=True, whole=False)), False),
    "somebody in main would have the requests instead": (routed(FORMER, rival(name="other")), False),
    "a Gateway refuses ours": (routed(FORMER, view=live(taken=False)), False),
    "a Gateway is silent of ours alone": (
        routed(rival(former=True, answered=True), view=live(taken=None, answered=False)),
        False,
    ),
    "ours is not as Git says": (routed(FORMER, view=live(drifted=True)), False),
    "ours is at another Gateway still": (routed(FORMER, view=live(moves=True)), False),
    "ours does not lead to the live Service": (routed(FORMER, view=live(ports=(("web-preview", 80),))), False),
    "no pod answers": (routed(FORMER, observed={"active_service": service("web", 1, ready_endpoints=0)}), False),
    "the Service leads elsewhere": (routed(FORMER, observed={"active_service": service("web", 2)}), False),
    "suspended": (routed(FORMER, spec=replace(manual(), suspend=Suspension("an incident"))), False),
}


@pytest.mark.parametrize("case", GOES)
def test_the_route_of_an_owner_that_left_main_goes_once_nobody_would_miss_it(case: str) -> None:
    state, goes = GOES[case]
    assert bool(to_take_over(state)) is goes
    deleted = [each for each in decided(state).actions if isinstance(each, DeleteAuxiliaryObject)]
    assert [(str(each.auxiliary_object), each.owner) for each in deleted] == (
        [("HTTPRoute store", "the release group store")] if goes else []
    )


STAYS = {
    "another Gateway": (
        rival(parents=(PUBLIC, ParentRef("internal")), former=True),
        "it is at another Gateway, or for another host, as well",
    ),
    "somebody edited it": (rival(former=True, whole=False), "it says what no agent writes"),
}


@pytest.mark.parametrize("case", STAYS)
def test_why_it_stays_although_its_owner_left_main_is_said(case: str) -> None:
    former, why = STAYS[case]
    assert first_of_others(routed(former)) == f"{SAID}; its folder left main, and it stays: {why}"


def test_only_owners_that_are_live_and_left_main_count_as_former_ones() -> None:
    others = (rival(), rival(name="old", group="", app="old"), rival(name="x", group=""))
    marked = with_formers(others, [AppKey("shop", "old")], ["market"])
    assert [each.name for each in marked if each.former] == ["old"]
