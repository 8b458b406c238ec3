"""The HTTPRoutes of a group: a pure function of its state (docs/decisions/0037, versions-and-routes.md §8).

Requests without the version's header go where the active version's routes lead. Of a candidate and of the legacy
version every route has a rule with the header; what they must not answer, and the active one would, is denied. Requests
that name an archived or unknown version are answered by the active one, as no rule has their header.

Rules are packed into HTTPRoutes within the limits of the Gateway API, so that packing never changes who answers. Rules
that can be equally specific have the same path, and all rules of a path are in one HTTPRoute: which of two wins then
depends on their order alone, never on the age of objects. A path is always in the shard that a hash of it names; there
are as many shards as are needed, always a power of two, so that one more path moves few others.

Matches share a rule only where they name a version by its header. Some implementations rank a whole rule by the length
of its text: many matches without the header in one rule would beat a shorter rule with it, and lead those who name a
version to another one.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.model import (
    GroupGateway,
    GroupState,
    Route,
    RouteMatch,
    TransitionStep,
    VersionStage,
    version_number,
)
from gitops_bg.core.model.auxiliary import Backend, Deny, HttpMatch, HttpRoute, HttpRule, PathKind
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import fit

# https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec, and the CustomResourceDefinition's own validation.
MOST_RULES, MOST_MATCHES_OF_A_RULE, MOST_MATCHES = 16, 64, 128
_MOST_SHARDS = 4096

Hosts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostRule:
    """A rule, and the hosts that it is for (empty: all)."""

    hosts: Hosts
    rule: HttpRule


def sharded(group: GroupKey, gateway: GroupGateway, rules: Iterable[HostRule]) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes of these rules, which keep their order, by name."""
    by_hosts: dict[Hosts, list[HttpRule]] = {}
    for each in rules:
        by_hosts.setdefault(each.hosts, []).append(each.rule)
    routes = [
        HttpRoute(_shard_name(group, gateway, hosts, number, part), hosts, gateway.parents, packed)
        for hosts, own in by_hosts.items()
        for number, parts in _shards(own, gateway.version_header).items()
        for part, packed in enumerate(parts)
    ]
    return tuple(sorted(routes, key=lambda route: route.name))


def _shards(rules: list[HttpRule], version_header: str) -> Mapping[int, list[tuple[HttpRule, ...]]]:
    """Return the rules of each shard by its number; more than one part only where one path alone is too much."""
    count = 1
    while True:
        found: dict[int, list[HttpRule]] = {}
        for rule in rules:
            found.setdefault(_number(rule) % count, []).append(rule)
        packed = {number: _packed(own, version_header) for number, own in found.items()}
        if all(_fits(each) or _is_one_path(each) for each in packed.values()) or count == _MOST_SHARDS:
            return {number: _parts(each) for number, each in sorted(packed.items())}
        count *= 2


def _number(rule: HttpRule) -> int:
    """Return the same number for all rules of a path."""
    match = rule.matches[0]
    return int.from_bytes(hashlib.sha256(f"{match.kind} {match.path}".encode()).digest()[:4], "big")


def _packed(rules: list[HttpRule], version_header: str) -> tuple[HttpRule, ...]:
    """Put matches that name a version and lead to the same place into one rule.

    Only where no other rule in between is for the same path.
    """
    packed: list[HttpRule] = []
    for rule in rules:
        alone = rule.rewrite or not _names_version(rule, version_header)
        place = None if alone else _last_to_join(packed, rule, version_header)
        if place is None:
            packed.append(rule)
        else:
            packed[place] = replace(packed[place], matches=(*packed[place].matches, *rule.matches))
    return tuple(packed)


def _names_version(rule: HttpRule, version_header: str) -> bool:
    return all(version_header in dict(match.headers) for match in rule.matches)


def _last_to_join(packed: list[HttpRule], rule: HttpRule, version_header: str) -> int | None:
    """Return the last rule that this one may join without overtaking a rule for one of its paths."""
    paths = {(match.kind, match.path) for match in rule.matches}
    for place in range(len(packed) - 1, -1, -1):
        other = packed[place]
        same = (other.to, other.rewrite, other.timeout) == (rule.to, rule.rewrite, rule.timeout)
        fits = len(other.matches) + len(rule.matches) <= MOST_MATCHES_OF_A_RULE
        if same and fits and _names_version(other, version_header):
            return place
        if any((match.kind, match.path) in paths for match in other.matches):
            return None
    return None


def _fits(rules: tuple[HttpRule, ...]) -> bool:
    return len(rules) <= MOST_RULES and sum(len(rule.matches) for rule in rules) <= MOST_MATCHES


def _is_one_path(rules: tuple[HttpRule, ...]) -> bool:
    return len({(match.kind, match.path) for rule in rules for match in rule.matches}) == 1


def _parts(rules: tuple[HttpRule, ...]) -> list[tuple[HttpRule, ...]]:
    """Cut what is too much for one HTTPRoute: rules of one path, most of which exclude each other by their version.

    Those with other headers do not: where two parts have equally specific rules for a request, the older object wins.
    """
    parts: list[tuple[HttpRule, ...]] = [()]
    for rule in rules:
        if not _fits((*parts[-1], rule)):
            parts.append(())
        parts[-1] = (*parts[-1], rule)
    return parts


def _shard_name(group: GroupKey, gateway: GroupGateway, hosts: Hosts, number: int, part: int) -> str:
    """Return the plain name for the first shard of the group's own hosts; a hash keeps others apart from those of other
    groups.
    """
    base = gateway.base or group.name
    if hosts == gateway.hosts and not number and not part:
        return fit(base)
    identity = " ".join((base, *hosts, str(number), str(part)))
    return fit(f"{base}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}")


# --- what requests that name no version get: what people get who know nothing of versions ---

_Requests = tuple[tuple[str, ...], HttpMatch]
"""Hosts, and what else the requests have in common."""


def led_by_default(routes: Iterable[HttpRoute], gateway: GroupGateway | None) -> dict[_Requests, frozenset[str]]:
    """Return the Services that get the requests without the version's header: of the rules of a route, the first one
    leads them. Two routes may say the same requests while one of them takes these over from the other.
    """
    header = gateway.version_header.lower() if gateway is not None else ""
    found: dict[_Requests, frozenset[str]] = {}
    for route in routes:
        for match, service in _led_by(route, header).items():
            found[route.hosts, match] = found.get((route.hosts, match), frozenset()) | {service}
    return found


def claims_requests(new: _Requests, old: _Requests) -> bool:
    """Return whether a rule for some requests would take one that another rule is for: one may be narrower."""
    return any(captures(one, other, ()) for one in _matches_of(new) for other in _matches_of(old))


def _matches_of(requests: _Requests) -> Iterator[RouteMatch]:
    hosts, match = requests
    methods = (match.method,) if match.method else ()
    return (RouteMatch(match.path, match.kind, host, match.headers, methods) for host in hosts or ("",))


def _led_by(route: HttpRoute, header: str) -> dict[HttpMatch, str]:
    found: dict[HttpMatch, str] = {}
    for rule in route.rules:
        for match in rule.matches if isinstance(rule.to, Backend) else ():
            headers = tuple(sorted((name.lower(), value) for name, value in match.headers))
            if isinstance(rule.to, Backend) and all(name != header for name, _ in headers):
                found.setdefault(replace(match, headers=headers), rule.to.service)
    return found


# --- what must not fall through to the active version, though it would answer ---
# A request without a route of its own version is answered by the active version. That is wrong where the version has
# the service, and has left the route out, or where the route is younger than the version (versions-and-routes.md §8).


@dataclass(frozen=True, slots=True)
class Prohibition:
    """Requests for ``version`` that match are denied."""

    version: str
    match: RouteMatch


def prohibitions(state: GroupState) -> frozenset[Prohibition]:
    """Return all prohibitions; the active version and archived ones have none."""
    return frozenset(_found(state))


def _found(state: GroupState) -> Iterator[Prohibition]:
    active = state.only(VersionStage.ACTIVE)
    theirs = [route for route in state.routes if route.version == active]
    for version in state.at(VersionStage.CANDIDATE, VersionStage.LEGACY):
        own = {route.match.requests for route in state.routes if route.version == version}
        for route in theirs:
            if route.match.requests not in own and _hides(state, version, active, route):
                yield Prohibition(version, route.match)


def _hides(state: GroupState, version: str, active: str, route: Route) -> bool:
    """Return whether a version must not have a route of the active one."""
    is_newer = state.stage(version) is VersionStage.LEGACY and route.initial_version == active
    return is_newer or state.has(route.service, version)


# --- which route takes requests from another one ---
# By the precedence of the Gateway API (`core.groups.forecast`), also where only the path, host, method or headers of
# one are narrower. Where that leaves it open, as with regular expressions, it would.

_SPECIAL = re.compile(r"[\\.\[\](){}*+?^$|]")


def captures(new: RouteMatch, old: RouteMatch, hosts: tuple[str, ...]) -> bool:
    """Return whether some request that ``old`` is for would go by ``new``; ``hosts`` are those of matches that name
    none.

    >>> cart, narrower = RouteMatch("/cart"), RouteMatch("/cart/export")
    >>> captures(narrower, cart, ()), captures(cart, narrower, ()), captures(RouteMatch("/cartoon"), cart, ())
    (True, False, False)
    """
    if not (_same_method(new, old) and _same_headers(new, old) and _same_path(new, old)):
        return False
    pairs = product(_hosts(new, hosts), _hosts(old, hosts))
    return any(_goes_first(new, old, ours, theirs) for ours, theirs in pairs if _same_host(ours, theirs))


def _goes_first(new: RouteMatch, old: RouteMatch, ours: str, theirs: str) -> bool:
    if PathKind.REGEX in (new.kind, old.kind):
        return True
    return (_of_host(ours), *_rank(new)) >= (_of_host(theirs), *_rank(old))


def _rank(match: RouteMatch) -> tuple[bool, int, bool, int]:
    return match.kind is PathKind.EXACT, len(match.path.rstrip("/")), bool(match.methods), len(match.headers)


def _hosts(match: RouteMatch, hosts: tuple[str, ...]) -> tuple[str, ...]:
    return (match.host,) if match.host else hosts or ("",)


def _of_host(host: str) -> tuple[int, int]:
    """Return how specific a host is: a name before a wildcard, the longer one first."""
    return (0 if not host else 1 if host.startswith("*.") else 2), len(host)


def _same_host(one: str, other: str) -> bool:
    return not one or not other or one == other or _is_below_wildcard(one, other) or _is_below_wildcard(other, one)


def _is_below_wildcard(wildcard: str, host: str) -> bool:
    return wildcard.startswith("*.") and host.endswith(wildcard[1:])


def _same_method(one: RouteMatch, other: RouteMatch) -> bool:
    return not one.methods or not other.methods or bool(set(one.methods) & set(other.methods))


def _same_headers(one: RouteMatch, other: RouteMatch) -> bool:
    """Return whether a request can have the headers of both."""
    mine = {name.lower(): value for name, value in one.headers}
    return all(mine.get(name.lower(), value) == value for name, value in other.headers)


def _same_path(one: RouteMatch, other: RouteMatch) -> bool:
    """Return whether a request can have the path of both."""
    kinds = {one.kind, other.kind}
    if PathKind.REGEX in kinds:
        return _may_share(one, other)
    if kinds == {PathKind.EXACT}:
        return one.path == other.path
    if kinds == {PathKind.PREFIX}:
        return _is_below(one.path, other.path) or _is_below(other.path, one.path)
    exact, prefix = (one, other) if one.kind is PathKind.EXACT else (other, one)
    return _is_below(exact.path, prefix.path)


def _is_below(path: str, prefix: str) -> bool:
    return f"{path.rstrip('/')}/".startswith(f"{prefix.rstrip('/')}/")


def _may_share(one: RouteMatch, other: RouteMatch) -> bool:
    """Return whether two paths, one of which is a regular expression, may be for the same request, told from what both
    begin with.
    """
    mine, theirs = _head(one), _head(other)
    return mine.startswith(theirs) or theirs.startswith(mine)


def _head(match: RouteMatch) -> str:
    """Return the text with which every path of a match begins."""
    if match.kind is not PathKind.REGEX:
        return match.path.rstrip("/")
    found = _SPECIAL.search(match.path)
    if found is None:
        return match.path
    if "|" in match.path:
        return ""
    optional = found[0] in "*?{"
    return match.path[: max(0, found.start() - optional)]


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
    """Return the routes, whose rules with the header come first: of rules that are equally specific, the first one
    wins.

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
    """Yield the rule; of a route that rewrites its prefix, one for each match, as the Gateway API demands."""
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
