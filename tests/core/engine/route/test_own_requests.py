"""Whose route has the requests of an app first: it is named, no promotion goes past it, and it goes once its owner left
main and the app answers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.actions import CommitPrimary, DeleteAuxiliaryObject
from gitops_bg.core.model.auxiliary import (
    AppRoute,
    AuxiliaryObject,
    HttpMatch,
    ParentRef,
    PathKind,
    RivalRoute,
    RouteClaim,
)
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.world import World
from tests.core.shown import ABSENT
from tests.core.simulation import automatic, manual
from tests.core.worlds import NOW, SECOND, active, candidate, conditions, decided, legacy, pods, service, world

PUBLIC = ParentRef("public")
ROUTE = AuxiliaryObject("HTTPRoute", "web")
BESIDE = HttpMatch(headers=(("X-Version", "candidate"),))
OURS = RouteClaim((PUBLIC,), (), (BESIDE, HttpMatch()))
OLDER, YOUNGER = "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"
SAID = "HTTPRoute store of the release group store has the requests / first: it says the same ones, and is older"


SECOND_SERVES = {"active_service": service("web", 2, ports='[{"port":80}]')}
BACK: dict[str, Any] = {"versions": (legacy(1), active(2)), "names_": 1, "observed": SECOND_SERVES}


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
    assert (decided(state).phase is Phase.DEGRADED) is bool(said)
    assert conditions(state)["Conflict"] == ((True, "RequestsTaken", said) if said else ABSENT)


MOVES = {
    "the commit of a promotion": routed(versions=(active(1), candidate(2)), spec=automatic()),
    "a promotion that main names": routed(versions=(active(1), candidate(2)), names_=2),
}


@pytest.mark.parametrize("case", MOVES)
def test_no_promotion_goes_past_it(case: str) -> None:
    free = MOVES[case]
    stopped = replace(free, observed=replace(free.observed, rivals=(rival(),)))
    assert (moves(free), moves(stopped)) == (True, False)
    shut = [(each.kind, each.reason) for each in decided(stopped).gates if not each.open]
    assert shut == [(GateKind.ENDPOINTS, SAID)]


def moves(state: World) -> bool:
    """Whether a promotion is committed, or traffic is to move."""
    decision = decided(state)
    return decision.record.routing.switch is not None or any(isinstance(one, CommitPrimary) for one in decision.actions)


def test_every_way_back_goes_past_it() -> None:
    assert moves(routed(rival(), **BACK))


FORMER = rival(former=True)
EXACT = HttpMatch("/a", PathKind.EXACT)
TWO_PATHS = RouteClaim((PUBLIC,), (), (HttpMatch("/cart"), EXACT))
MANY = (HttpMatch("/cart"), EXACT, HttpMatch("/.*", PathKind.REGEX), HttpMatch(method="GET"))
GOES = {
    "its owner left main, and ours is taken": (routed(FORMER), True),
    "its owner left main, and it is younger than ours": (routed(rival(former=True, born=YOUNGER)), True),
    "with narrower requests beside the same ones": (routed(rival(HttpMatch(), *MANY, former=True)), True),
    "at a Gateway that never says anything": (routed(FORMER, view=live(taken=None, answered=False)), True),
    "with one path of ours alone": (routed(rival(HttpMatch("/cart"), EXACT, former=True), claim=TWO_PATHS), True),
    "with a pattern, though it begins as ours": (
        routed(rival(HttpMatch("/cart"), HttpMatch("/cart/.*", PathKind.REGEX), former=True), claim=TWO_PATHS),
        False,
    ),
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
    "ours is somebody else's": (routed(FORMER, view=live(owner="somebody")), False),
    "ours cannot be read": (routed(FORMER, view=live(trouble="it is broken")), False),
    "ours is being deleted": (routed(FORMER, view=live(deleting=True)), False),
    "ours does not lead to the live Service": (routed(FORMER, view=live(ports=(("web-preview", 80),))), False),
    "no pod answers": (routed(FORMER, observed={"active_service": service("web", 1, ready_endpoints=0)}), False),
    "too few pods answer": (routed(FORMER, sets=(pods(1, 3, 2),)), False),
    "traffic is to move": (routed(FORMER, **BACK), False),
    "the Service leads elsewhere": (routed(FORMER, observed={"active_service": service("web", 2)}), False),
    "suspended": (routed(FORMER, spec=replace(manual(), suspend=Suspension("an incident"))), False),
}


@pytest.mark.parametrize("case", GOES)
def test_the_route_of_an_owner_that_left_main_goes_once_nobody_would_miss_it(case: str) -> None:
    state, goes = GOES[case]
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
    assert conditions(routed(former))["Conflict"].message == f"{SAID}; its folder left main, and it stays: {why}"


def test_a_gateway_is_asked_soon_while_an_owner_that_left_main_has_the_requests() -> None:
    waits = [decided(routed(each)).wake_at for each in (FORMER, rival())]
    assert waits == [NOW + 3 * SECOND, NOW + 60 * SECOND]
