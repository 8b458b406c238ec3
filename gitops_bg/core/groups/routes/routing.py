"""The HTTPRoutes of a group: a pure function of its state (docs/decisions/0037, versions-and-routes.md §8).

Requests without the version's header go where the active version's routes lead. Of a candidate and of the legacy
version every route has a rule with the header; what they must not answer, and the active one would, is denied. Requests
that name an archived or unknown version are answered by the active one, as no rule has their header.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from gitops_bg.core.groups.model import (
    GroupGateway,
    GroupState,
    Route,
    RouteMatch,
    TransitionStep,
    VersionStage,
    version_number,
)
from gitops_bg.core.groups.routes.sharding import HostRule, sharded
from gitops_bg.core.groups.routes.taking import Prohibition, prohibitions
from gitops_bg.core.model.http_routes import Backend, Deny, HttpMatch, HttpRoute, HttpRule
from gitops_bg.core.model.version import GroupKey

_REMEMBERED = 1024
"""States whose routes are remembered: pass after pass asks for those of the same few."""


@dataclass(frozen=True, slots=True)
class _Headed:
    """The rules of one version that is reached by its header."""

    version: str
    routes: tuple[Route, ...]
    denied: tuple[RouteMatch, ...]


@lru_cache(maxsize=_REMEMBERED)
def render(state: GroupState, group: GroupKey, gateway: GroupGateway) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes of a group that is at rest, in the order of their names."""
    headed = _headed(state, state.at(VersionStage.CANDIDATE, VersionStage.LEGACY))
    return _routes(group, gateway, _routes_of(state, state.only(VersionStage.ACTIVE)), headed)


@lru_cache(maxsize=_REMEMBERED)
def during(
    before: GroupState, after: GroupState, group: GroupKey, gateway: GroupGateway, step: TransitionStep
) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes on the way between two states.

    At every step each request is answered as before, as after, or by the version that it names.
    """
    source, target = before.only(VersionStage.ACTIVE), after.only(VersionStage.ACTIVE)
    headed = _headed(before, before.at(VersionStage.CANDIDATE, VersionStage.LEGACY))
    stays = (source,) if after.stage(source) is not None else ()
    # What is denied depends on the routes without a header: those of the source while they stand, then the target's.
    if step is TransitionStep.PREPARE:
        return _routes(group, gateway, _routes_of(before, source), [*headed, *_allowing(_headed(before, stays))])
    return _routes(group, gateway, _routes_of(after, target), [*_allowing(headed), *_headed(after, stays)])


def _routes_of(state: GroupState, version: str) -> tuple[Route, ...]:
    return tuple(route for route in state.routes if route.version == version)


def _headed(state: GroupState, versions: Iterable[str]) -> list[_Headed]:
    denied = sorted(prohibitions(state), key=_order)
    return [
        _Headed(version, _routes_of(state, version), tuple(each.match for each in denied if each.version == version))
        for version in versions
    ]


def _allowing(headed: Iterable[_Headed]) -> list[_Headed]:
    return [replace(each, denied=()) for each in headed]


def _order(prohibition: Prohibition) -> tuple[object, ...]:
    return prohibition.version, _sorting(prohibition.match)


def _sorting(match: RouteMatch) -> tuple[object, ...]:
    return match.host, match.path, match.kind, match.headers, match.methods


def _routes(
    group: GroupKey, gateway: GroupGateway, default: Iterable[Route], headed: Iterable[_Headed]
) -> tuple[HttpRoute, ...]:
    """Rules with the header come first: of rules that are equally specific, the first one wins.

    So the service that was born last has the requests that an older one claims as well, whatever else that one does.
    """
    rules = (
        *(rule for each in headed for rule in _headed_rules(gateway, each)),
        *(rule for route in sorted(default, key=_by_match) for rule in _rules_of_route(gateway, route, "")),
    )
    return sharded(group, gateway, rules)


def _by_match(route: Route) -> tuple[object, ...]:
    match = route.match
    newest_first = -version_number(route.initial_version)
    return match.path, match.kind, newest_first, match.host, match.headers, match.methods, route.service


def _headed_rules(gateway: GroupGateway, headed: _Headed) -> Iterator[HostRule]:
    for route in sorted(headed.routes, key=_by_match):
        yield from _rules_of_route(gateway, route, headed.version)
    for match in headed.denied:
        hosts = (match.host,) if match.host else gateway.hosts
        yield HostRule(hosts, HttpRule(_matches(gateway, match, headed.version), gateway.deny))


def _rules_of_route(gateway: GroupGateway, route: Route, version: str) -> Iterator[HostRule]:
    """One rule; of a route that rewrites its prefix, one for each match, as the Gateway API demands."""
    to: Backend | Deny = gateway.deny
    if route.allowed:
        to = Backend(f"{route.service}-{route.initial_version}", route.port)
    hosts = (route.match.host,) if route.match.host else gateway.hosts
    matches = _matches(gateway, route.match, version)
    for part in ((match,) for match in matches) if route.rewrite else (matches,):
        yield HostRule(hosts, HttpRule(part, to, route.rewrite, route.timeout))


def _matches(gateway: GroupGateway, match: RouteMatch, version: str) -> tuple[HttpMatch, ...]:
    header = ((gateway.version_header, version),) if version else ()
    headers = tuple(sorted((*match.headers, *header)))
    return tuple(HttpMatch(match.path, match.kind, headers, method) for method in match.methods or ("",))
