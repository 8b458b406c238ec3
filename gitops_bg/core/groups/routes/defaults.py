"""Where HTTPRoutes lead requests that name no version: what people who know nothing of versions get."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gitops_bg.core.groups.model import GroupGateway, RouteMatch
from gitops_bg.core.groups.routes.taking import takes
from gitops_bg.core.model.http_routes import Backend, HttpMatch, HttpRoute

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


def takes_requests(new: _Requests, old: _Requests) -> bool:
    """Whether a rule for some requests would take one that another rule is for: one may be narrower."""
    return any(takes(one, other, ()) for one in _matches(new) for other in _matches(old))


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
