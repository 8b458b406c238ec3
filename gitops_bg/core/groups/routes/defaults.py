"""Where HTTPRoutes lead requests that name no version: what people who know nothing of versions get."""

from collections.abc import Iterable

from gitops_bg.core.groups.model import GroupGateway
from gitops_bg.core.model.http_routes import Backend, HttpMatch, HttpRoute

_Requests = tuple[tuple[str, ...], HttpMatch]
"""Hosts, and what else the requests have in common."""


def led_by_default(routes: Iterable[HttpRoute], gateway: GroupGateway | None) -> dict[_Requests, frozenset[str]]:
    """The Services that get the requests without the version's header. Two routes may say the same requests while one
    of them takes these over from the other.
    """
    header = gateway.version_header.lower() if gateway is not None else ""
    found: dict[_Requests, frozenset[str]] = {}
    for route in routes:
        for rule in route.rules:
            if not isinstance(rule.to, Backend):
                continue
            for match in rule.matches:
                if all(name.lower() != header for name, _ in match.headers):
                    found[route.hosts, match] = found.get((route.hosts, match), frozenset()) | {rule.to.service}
    return found
