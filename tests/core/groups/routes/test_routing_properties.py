"""Who answers in any group, at rest and on the way: never the pods of a version that the request does not mean."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from gitops_bg.core.groups import routing
from gitops_bg.core.groups.model import (
    GroupState,
    PromotionRejected,
    RouteMatch,
    TransitionStep,
    VersionStage,
    promote,
    rollback,
)
from gitops_bg.core.groups.routing import during, render
from gitops_bg.core.model.auxiliary import HttpRoute, PathKind
from tests.core.groups.gateway import DENIED, NOBODY, Request, answer
from tests.core.groups.notation import NOW, group
from tests.core.groups.routes.test_routing import GATEWAY, STORE, asked

SERVICES, VERSIONS = ["a", "b", "c"], ["v1", "v2", "v3", "v4"]
PATHS = ["/", "/a", "/a/b", "/c", "/c/d/e", "/x"]


@st.composite
def groups(draw: st.DrawFn) -> GroupState:
    """A group in which every version has routes of some services, by path and header; no two alike."""
    stages = draw(st.sampled_from(["v1A v2C", "v1A v2C v3C", "v1L v2A v3C", "v1R v2L v3A v4C", "v1A"]))
    parts, taken = set[str](), set[tuple[str, RouteMatch]]()
    state = group(stages)
    for version in (each.name for each in state.versions):
        for service in draw(st.sets(st.sampled_from(SERVICES))):
            parts.add(f"{service}@{version}")
    state = group(stages, " ".join(sorted(parts)))
    routes = []
    for place in state.endpoints:
        for path in draw(st.sets(st.sampled_from(PATHS), max_size=3)):
            match = RouteMatch(
                path,
                draw(st.sampled_from([PathKind.PREFIX, PathKind.EXACT])),
                headers=draw(st.sampled_from([(), (("X-Beta", "yes"),)])),
            )
            if (place.version, match) not in taken:
                taken.add((place.version, match))
                routes.append(group("", f"{path}->{place.service}@{place.version}").routes[0])
                routes[-1] = replace(routes[-1], match=match)
    return replace(state, routes=tuple(routes))


REQUESTS = [
    (path, version, beta) for path in [*PATHS, "/a/b/z", "/q"] for version in ["", *VERSIONS, "v9"] for beta in (0, 1)
]


def answers(routes: tuple[HttpRoute, ...]) -> dict[tuple[str, str, int], str]:
    more: list[dict[str, str]] = [{}, {"X-Beta": "yes"}]
    return {(path, version, beta): asked(routes, path, version, **more[beta]) for path, version, beta in REQUESTS}


@given(groups())
@settings(max_examples=60, deadline=None)
def test_no_request_that_names_a_version_is_answered_by_another_one_that_has_the_service(state: GroupState) -> None:
    """What a version has pods of, no other version's pods answer for it."""
    routes = render(state, STORE, GATEWAY)
    for version in state.at(VersionStage.CANDIDATE, VersionStage.LEGACY):
        own = {place.service for place in state.endpoints if place.version == version}
        for path, _, beta in REQUESTS:
            found = asked(routes, path, version, **([{}, {"X-Beta": "yes"}][beta]))
            service, _, of = found.rpartition("-")
            assert service not in own or of == version, (path, version, found)


@given(groups())
@settings(max_examples=60, deadline=None)
def test_a_version_that_is_not_reached_by_a_header_is_answered_as_without_one(state: GroupState) -> None:
    routes = render(state, STORE, GATEWAY)
    reached = state.at(VersionStage.CANDIDATE, VersionStage.LEGACY)
    found = answers(routes)
    for path, version, beta in REQUESTS:
        if version not in reached:
            assert found[path, version, beta] == found[path, "", beta]


@given(groups(), st.data())
@settings(max_examples=80, deadline=None)
def test_on_the_way_every_request_is_answered_as_before_or_as_after_or_by_the_version_that_it_names(
    state: GroupState, data: st.DataObject
) -> None:
    ways = [(promote, each) for each in state.at(VersionStage.CANDIDATE)]
    target = data.draw(st.sampled_from([*(name for _, name in ways), "back"]))
    try:
        after = rollback(state, NOW) if target == "back" else promote(state, target, 1, NOW)
    except PromotionRejected:
        return
    first, last = answers(render(state, STORE, GATEWAY)), answers(render(after, STORE, GATEWAY))
    for step in TransitionStep:
        found = answers(during(state, after, STORE, GATEWAY, step))
        for (path, version, beta), given_by in found.items():
            allowed = {first[path, version, beta], last[path, version, beta]}
            if allowed & {NOBODY, DENIED}:
                allowed |= {NOBODY, DENIED}
            own = version and given_by.endswith(f"-{version}")
            assert own or given_by in allowed, (step, path, version, beta, given_by, allowed)


def is_a_path_cut(routes: tuple[HttpRoute, ...]) -> bool:
    """Whether several HTTPRoutes have rules of one path, as they must where these are more than one may hold."""
    paths = [{(match.kind, match.path) for rule in route.rules for match in rule.matches} for route in routes]
    return sum(map(len, paths)) > len(set().union(*paths))


@given(groups())
@settings(max_examples=60, deadline=None)
def test_the_age_of_objects_does_not_change_who_answers(state: GroupState) -> None:
    with patch.object(routing, "MOST_RULES", 4):
        routes = render(state, STORE, GATEWAY)
    assume(not is_a_path_cut(routes))
    event(f"{min(len(routes), 3)} HTTPRoutes")
    ages = {route.name: -place for place, route in enumerate(routes)}
    for path, version, beta in REQUESTS:
        request = Request(path, {"X-Version": version, **([{}, {"X-Beta": "yes"}][beta])})
        assert answer(routes, request) == answer(routes, request, ages)
