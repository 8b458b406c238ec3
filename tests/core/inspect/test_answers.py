"""Who answers a request: by the Gateway API's precedence, and as the oracle of the tests says of every rendering."""

from __future__ import annotations

import pytest

from gitops_bg.core.groups.forecast import DENIED, NOT_FOUND, RouteAnswers, SampleRequest, sample_requests
from gitops_bg.core.model.auxiliary import Backend, Deny, HttpMatch, HttpRoute, HttpRule, PathKind
from tests.core.groups import gateway
from tests.core.groups.simulation import GATEWAY, store

HEADER = "X-Version"
NOBODY = Deny(backend=Backend("deny", 80))


def rule(to: str, path: str, kind: PathKind = PathKind.PREFIX, *headers: tuple[str, str], method: str = "") -> HttpRule:
    return HttpRule((HttpMatch(path, kind, headers, method),), Backend(to, 80))


def route(*rules: HttpRule, name: str = "a", hosts: tuple[str, ...] = ()) -> HttpRoute:
    return HttpRoute(name, hosts, (), rules)


ORDER = [
    ("an exact path before a longer prefix", [rule("b", "/a"), rule("a", "/a", PathKind.EXACT)]),
    ("a method before headers", [rule("b", "/a", PathKind.PREFIX, ("X", "1")), rule("a", "/a", method="GET")]),
    ("more headers before fewer", [rule("b", "/a"), rule("a", "/a", PathKind.PREFIX, ("X", "1"))]),
    ("the first of two that are alike", [rule("a", "/a"), rule("b", "/a")]),
    ("a longer prefix before a short one", [rule("b", "/"), rule("a", "/a")]),
]


@pytest.mark.parametrize(("what", "rules"), ORDER, ids=[each[0] for each in ORDER])
def test_the_more_specific_rule_answers(what: str, rules: list[HttpRule]) -> None:
    asked = SampleRequest("/a", method="GET", headers=(("x", "1"),))
    assert RouteAnswers([route(*rules)], HEADER, NOBODY).of(asked) == "a", what


def test_a_name_beats_a_wildcard_and_a_wildcard_beats_no_host() -> None:
    routes = [
        route(rule("any", "/a"), name="a"),
        route(rule("wild", "/a"), name="b", hosts=("*.example.com",)),
        route(rule("named", "/a"), name="c", hosts=("shop.example.com",)),
    ]
    hosts = ("shop.example.com", "blog.example.com", "example.org")
    found = [RouteAnswers(routes, HEADER, NOBODY).of(SampleRequest("/a", host=host)) for host in hosts]
    assert found == ["named", "wild", "any"]


def test_the_deny_service_and_rules_without_a_backend_deny() -> None:
    routes = [route(rule("deny", "/a"), HttpRule((HttpMatch("/b"),), Deny()))]
    found = [RouteAnswers(routes, HEADER, NOBODY).of(SampleRequest(path)) for path in ("/a", "/b", "/c")]
    assert found == [DENIED, DENIED, NOT_FOUND]


def test_a_regular_expression_is_asked_about_as_itself_and_matches_whole_paths() -> None:
    routes = [route(rule("re", "/a[0-9]+", PathKind.REGEX), rule("all", "/"))]
    (first, second) = sample_requests(routes, HEADER)
    assert (first.path, second.kind) == ("/", PathKind.REGEX)
    assert RouteAnswers(routes, HEADER, NOBODY).of(second) == "re"
    assert [RouteAnswers(routes, HEADER, NOBODY).of(SampleRequest(path)) for path in ("/a1", "/a1/b")] == ["re", "all"]


def test_each_condition_is_asked_about_without_the_header_and_with_each_version() -> None:
    routes = [route(rule("a", "/a"), rule("b", "/a", PathKind.PREFIX, ("x-version", "v2")), rule("c", "/c"))]
    found = [(each.path, each.version) for each in sample_requests(routes, HEADER)]
    assert found == [("/a", ""), ("/a", "v2"), ("/c", ""), ("/c", "v2")]


def test_every_answer_is_that_of_the_oracle_at_every_moment_of_a_promotion_and_a_rollback() -> None:
    world, compared = store(), 0
    for active in ("v1", "v2", "v1"):
        world.active = active
        for _ in range(20):
            world.step()
            routes = list(world.routes.values())
            for asked in sample_requests(routes, HEADER):
                headers = {HEADER: asked.version} if asked.version else {}
                expected = gateway.answer(routes, gateway.Request(asked.path, headers))
                ours = RouteAnswers(routes, HEADER, GATEWAY.deny).of(asked)
                assert ours == ("denied" if expected == "deny" else expected)
                compared += 1
    assert compared > 100
