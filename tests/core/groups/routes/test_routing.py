"""The HTTPRoutes of a group: who answers which request, at rest and on the way, within the Gateway API's limits.

Rows of the table in `test_lifecycle` by their numbers; requests are resolved by the specification (`gateway`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import pytest

from gitops_bg.core.groups.model import GroupGateway, GroupState, TransitionStep, promote, rollback
from gitops_bg.core.groups.routing import MOST_MATCHES, MOST_MATCHES_OF_A_RULE, MOST_RULES, during, render
from gitops_bg.core.model.auxiliary import Backend, Deny, HttpRoute, ParentRef
from gitops_bg.core.model.version import GroupKey
from tests.core.groups.gateway import DENIED, NOBODY, Request, answer
from tests.core.groups.notation import NOW, group

STORE = GroupKey("shop", "store")
GATEWAY = GroupGateway((ParentRef("public"),), deny=Deny(backend=Backend("deny", 80)))
Step = Callable[[GroupState], GroupState]


def promotes(version: str, keeps: int = 1) -> Step:
    return lambda state: promote(state, version, keeps, NOW)


def rolls_back(state: GroupState) -> GroupState:
    return rollback(state, NOW)


def asked(routes: tuple[HttpRoute, ...], path: str, version: str = "", **more: str) -> str:
    """Who answers, by the Service that it has in the table; a request that the deny Service answers is denied."""
    headers = {**({"X-Version": version} if version else {}), **more}
    return answer(routes, Request(path, headers))


# Versions and parts, what happens, and for each path who answers without a header, with v1, and with v2.
TRAFFIC: dict[str, tuple[GroupState, list[Step], dict[str, str]]] = {
    "41: before, a candidate is reached by its header only": (
        group("v1A v2C", "ts@v1 ts@v2 /c->ts@v1 /u1->ts@v1 /c->ts@v2 /u2->ts@v2"),
        [],
        {"/c": "ts-v1 ts-v1 ts-v2", "/u1": "ts-v1 ts-v1 denied", "/u2": "404 404 ts-v2"},
    ),
    "41: after the promotion, the former version is": (
        group("v1A v2C", "ts@v1 ts@v2 /c->ts@v1 /u1->ts@v1 /c->ts@v2 /u2->ts@v2"),
        [promotes("v2")],
        {"/c": "ts-v2 ts-v1 ts-v2", "/u1": "404 ts-v1 404", "/u2": "ts-v2 denied ts-v2"},
    ),
    "41: after the rollback all is as before": (
        group("v1A v2C", "ts@v1 ts@v2 /c->ts@v1 /u1->ts@v1 /c->ts@v2 /u2->ts@v2"),
        [promotes("v2"), rolls_back],
        {"/c": "ts-v1 ts-v1 ts-v2", "/u1": "ts-v1 ts-v1 denied", "/u2": "404 404 ts-v2"},
    ),
    "43: archived and unknown versions, and the active one, are answered by the active one": (
        group("v1R v2L v4A", "ts@v1 ts@v2 ts@v4 /c->ts@v1 /c->ts@v2 /c->ts@v4"),
        [],
        {"/c": "ts-v4 ts-v4 ts-v2"},
    ),
    "7: what the new version does not bring is answered by the pods that did before": (
        group("v1A v2C", "svc@v1 authz@v1 authz@v2 /t->svc@v1 /a->authz@v1 /a->authz@v2"),
        [promotes("v2")],
        {"/t": "svc-v1 svc-v1 svc-v1", "/a": "authz-v2 authz-v1 authz-v2"},
    ),
    "19: a route that the candidate left out is denied, never answered by the active one": (
        group("v1A v2C", "t@v1 t@v2 /h->t@v1 /t->t@v1 /p->t@v1 /h->t@v2 /t2->t@v2 /p->t@v2"),
        [],
        {"/t": "t-v1 t-v1 denied", "/t2": "404 404 t-v2", "/h": "t-v1 t-v1 t-v2"},
    ),
    "21: a service that the candidate does not have is the active one's": (
        group("v1A v2C", "t@v1 new@v2 /t->t@v1 /new->new@v2"),
        [],
        {"/t": "t-v1 t-v1 t-v1", "/new": "404 404 new-v2"},
    ),
    "X13: a short path of the candidate hides no longer one of a service that it does not have": (
        group("v1A v2C", "a@v1 b@v1 a@v2 /->a@v1 /b/c->b@v1 /->a@v2"),
        [],
        {"/b/c": "b-v1 b-v1 b-v1", "/b": "a-v1 a-v1 a-v2"},
    ),
}


@pytest.mark.parametrize("row", TRAFFIC)
def test_who_answers(row: str) -> None:
    start, steps, expected = TRAFFIC[row]
    routes = render(reduce(lambda state, step: step(state), steps, start), STORE, GATEWAY)
    found = {path: " ".join(asked(routes, path, each) for each in ("", "v1", "v2")) for path in expected}
    assert found == expected


def with_match(state: GroupState, **changes: object) -> GroupState:
    """A group whose first route matches something else."""
    first, *rest = state.routes
    return replace(state, routes=(replace(first, match=replace(first.match, **changes)), *rest))  # type: ignore[arg-type]


def test_the_versions_header_wins_over_another_header_of_the_same_path() -> None:
    state = with_match(group("v1A v2C", "t@v1 t@v2 /t->t@v1 /t->t@v1 /t->t@v2"), headers=(("X-Beta", "yes"),))
    routes = render(state, STORE, GATEWAY)
    assert asked(routes, "/t", "v2", **{"X-Beta": "yes"}) == DENIED, "v2 left out what v1 has for beta requests"
    assert asked(routes, "/t", "v2") == "t-v2"
    assert asked(routes, "/t", **{"X-Beta": "yes"}) == "t-v1"


def test_what_nobody_may_send_is_denied_in_every_version() -> None:
    state = group("v1A v2C", "t@v1 t@v2 /t->t@v1 /t->t@v2")
    state = replace(state, routes=tuple(replace(each, allowed=False) for each in state.routes))
    routes = render(state, STORE, GATEWAY)
    assert {asked(routes, "/t", each) for each in ("", "v1", "v2", "v9")} == {DENIED}


def test_a_rewrite_has_a_rule_for_each_match_and_a_time_limit_stays_with_its_route() -> None:
    state = with_match(group("v1A", "t@v1 /t->t@v1 /o->t@v1"), methods=("GET", "POST"))
    first, other = state.routes
    state = replace(state, routes=(replace(first, rewrite="/x", timeout="9s"), other))
    (route,) = render(state, STORE, GATEWAY)
    assert [(len(rule.matches), rule.rewrite, rule.timeout) for rule in route.rules] == [
        (1, "", ""),
        (1, "/x", "9s"),
        (1, "/x", "9s"),
    ]


def test_a_route_with_a_host_of_its_own_is_an_httproute_of_its_own() -> None:
    gateway = replace(GATEWAY, hosts=("shop.example.com",))
    routes = render(with_match(group("v1A", "t@v1 /t->t@v1 /o->t@v1"), host="b.example.com"), STORE, gateway)
    assert {route.hosts for route in routes} == {("shop.example.com",), ("b.example.com",)}
    assert "store" in {route.name for route in routes}
    assert answer(routes, Request("/t", host="b.example.com")) == "t-v1"
    assert answer(routes, Request("/t", host="shop.example.com")) == NOBODY


def test_the_deny_mode_is_what_denied_rules_lead_to() -> None:
    state = group("v1A v2C", "t@v1 t@v2 /t->t@v1 /h->t@v2")
    for deny in (Deny(), Deny(backend=Backend("d", 81))):
        (route,) = render(state, STORE, replace(GATEWAY, deny=deny))
        assert [rule.to for rule in route.rules if rule.matches[0].path == "/t" and rule.matches[0].headers] == [deny]


def test_an_empty_group_has_no_routes() -> None:
    assert render(GroupState(), STORE, GATEWAY) == ()
    assert render(group("v1A", "t@v1"), STORE, GATEWAY) == ()


def test_on_the_way_a_third_version_is_denied_nothing_that_the_new_active_one_answers() -> None:
    before = group("v1A v2C v3C", "t@v1 t@v3 o@v2 /t->t@v1 /t->o@v2")
    after = promote(before, "v2", 1, NOW)
    steps = [during(before, after, STORE, GATEWAY, step) for step in TransitionStep]
    assert [asked(routes, "/t", "v3") for routes in steps] == [DENIED, "o-v2"]
    assert [asked(routes, "/t") for routes in steps] == ["t-v1", "o-v2"]
    assert [asked(routes, "/t", "v1") for routes in steps] == ["t-v1", "t-v1"]
    assert [asked(routes, "/t", "v2") for routes in steps] == ["o-v2", "o-v2"]


@pytest.mark.parametrize("many", [1, 15, 16, 17, 64, 65, 200, 700])
def test_httproutes_keep_the_limits_of_the_gateway_api(many: int) -> None:
    paths = [f"/p{number}" for number in range(many)]
    parts = " ".join(f"{path}->t{number % 30}@v1" for number, path in enumerate(paths))
    pods = " ".join(f"t{number}@{version}" for number in range(30) for version in ("v1", "v2"))
    routes = render(group("v1A v2C", f"{pods} {parts}"), STORE, GATEWAY)
    for route in routes:
        assert len(route.rules) <= MOST_RULES
        assert sum(len(rule.matches) for rule in route.rules) <= MOST_MATCHES
        assert all(1 <= len(rule.matches) <= MOST_MATCHES_OF_A_RULE for rule in route.rules)
    for number, path in enumerate(paths):
        assert (asked(routes, path), asked(routes, path, "v2")) == (f"t{number % 30}-v1", DENIED)
    assert len({route.name for route in routes}) == len(routes)


def test_one_path_that_is_too_much_for_an_httproute_goes_on_in_another_one() -> None:
    versions = [f"v{number}" for number in range(1, 40)]
    parts = " ".join(f"t@{each} /t->t@{each}" for each in versions)
    routes = render(group("v1A " + " ".join(f"{each}C" for each in versions[1:]), parts), STORE, GATEWAY)
    assert len(routes) > 1
    assert all(len(route.rules) <= MOST_RULES for route in routes)
    assert [asked(routes, "/t", each) for each in versions] == [f"t-{each}" for each in versions]


def test_one_more_path_changes_few_httproutes() -> None:
    def made(many: int) -> dict[str, HttpRoute]:
        parts = " ".join(f"/p{number}->t{number}@v1 t{number}@v1" for number in range(many))
        return {route.name: route for route in render(group("v1A", parts), STORE, GATEWAY)}

    before, after = made(100), made(101)
    assert sum(before.get(name) != route for name, route in after.items()) == 1
    assert before.keys() <= after.keys()


def test_names_fit_whatever_the_group_is_called() -> None:
    long = GroupKey("shop", "s" * 63)
    parts = " ".join(f"/p{number}->t{number}@v1 t{number}@v1" for number in range(100))
    names = [route.name for route in render(group("v1A", parts), long, GATEWAY)]
    assert all(len(name) <= 63 for name in names)
    assert len(set(names)) == len(names)
