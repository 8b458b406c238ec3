"""Who answers the requests of a group where routes meet: which route takes requests from another one, who gets those
that name no version, and which must not fall through to the active version.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from gitops_bg.core.groups.model import GroupGateway, GroupState, Route, RouteMatch, VersionStage
from gitops_bg.core.model.http_routes import Backend, HttpMatch, HttpRoute, PathKind

# --- what requests that name no version get: what people get who know nothing of versions ---

_Requests = tuple[tuple[str, ...], HttpMatch]
"""Hosts, and what else the requests have in common."""


def led_by_default(routes: Iterable[HttpRoute], gateway: GroupGateway | None) -> dict[_Requests, frozenset[str]]:
    """The Services that get the requests without the version's header: of the rules of a route, the first one leads
    them. Two routes may say the same requests while one of them takes these over from the other.
    """
    header = gateway.version_header.lower() if gateway is not None else ""
    found: dict[_Requests, frozenset[str]] = {}
    for route in routes:
        for match, service in _led_by(route, header).items():
            found[route.hosts, match] = found.get((route.hosts, match), frozenset()) | {service}
    return found


def claims_requests(new: _Requests, old: _Requests) -> bool:
    """Whether a rule for some requests would take one that another rule is for: one may be narrower."""
    return any(matches_claim(one, other, ()) for one in _matches(new) for other in _matches(old))


def _matches(requests: _Requests) -> Iterator[RouteMatch]:
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
# By the precedence of the Gateway API (`core.inspect.answers`), also where only the path, host, method or headers of
# one are narrower. Where that leaves it open, as with regular expressions, it would.

_SPECIAL = re.compile(r"[\\.\[\](){}*+?^$|]")


def matches_claim(new: RouteMatch, old: RouteMatch, hosts: tuple[str, ...]) -> bool:
    """Whether some request that ``old`` is for would go by ``new``; ``hosts`` are those of matches that name none.

    >>> cart, narrower = RouteMatch("/cart"), RouteMatch("/cart/export")
    >>> matches_claim(narrower, cart, ()), matches_claim(cart, narrower, ()), matches_claim(RouteMatch("/cartoon"), cart, ())
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
    """How specific a host is: a name before a wildcard, the longer one first."""
    return (0 if not host else 1 if host.startswith("*.") else 2), len(host)


def _same_host(one: str, other: str) -> bool:
    return not one or not other or one == other or _is_below_wildcard(one, other) or _is_below_wildcard(other, one)


def _is_below_wildcard(wildcard: str, host: str) -> bool:
    return wildcard.startswith("*.") and host.endswith(wildcard[1:])


def _same_method(one: RouteMatch, other: RouteMatch) -> bool:
    return not one.methods or not other.methods or bool(set(one.methods) & set(other.methods))


def _same_headers(one: RouteMatch, other: RouteMatch) -> bool:
    """Whether a request can have the headers of both."""
    mine = {name.lower(): value for name, value in one.headers}
    return all(mine.get(name.lower(), value) == value for name, value in other.headers)


def _same_path(one: RouteMatch, other: RouteMatch) -> bool:
    """Whether a request can have the path of both."""
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
    """Whether two paths, one of which is a regular expression, may be for the same request, told from what both begin
    with.
    """
    mine, theirs = _head(one), _head(other)
    return mine.startswith(theirs) or theirs.startswith(mine)


def _head(match: RouteMatch) -> str:
    """The text with which every path of a match begins."""
    if match.kind is not PathKind.REGEX:
        return match.path.rstrip("/")
    found = _SPECIAL.search(match.path)
    if found is None:
        return match.path
    if "|" in match.path:
        return ""
    optional = found[0] in "*?{"
    return match.path[: max(0, found.start() - optional)]
