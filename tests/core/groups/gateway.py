"""Who answers a request by a set of HTTPRoutes: the Gateway API's precedence, as its specification says it.

https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule ("Proxy or Load Balancer routing configuration …"):
exact path, longest prefix, method, most headers; then the oldest HTTPRoute, the first by name, the first rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitops_bg.core.model.auxiliary import Backend, HttpMatch, HttpRoute, PathKind

NOBODY = "404"
DENIED = "denied"


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    host: str = "shop.example.com"


def answer(routes: Iterable[HttpRoute], request: Request, ages: Mapping[str, int] | None = None) -> str:
    """The Service that gets a request, `DENIED`, or `NOBODY`. `ages`: smaller is older; where absent all are alike."""
    found = [
        (_specificity(match), (ages or {}).get(route.name, 0), route.name, place, rule)
        for route in routes
        if not route.hosts or request.host in route.hosts
        for place, rule in enumerate(route.rules)
        for match in rule.matches
        if matches(match, request)
    ]
    if not found:
        return NOBODY
    best = max(each[0] for each in found)
    rule = min((each for each in found if each[0] == best), key=lambda each: each[1:4])[4]
    return rule.to.service if isinstance(rule.to, Backend) else DENIED


def matches(match: HttpMatch, request: Request) -> bool:
    given = {name.lower(): value for name, value in request.headers.items()}
    return (
        _path(match, request.path)
        and match.method in ("", request.method)
        and all(given.get(name.lower()) == value for name, value in match.headers)
    )


def _path(match: HttpMatch, path: str) -> bool:
    match match.kind:
        case PathKind.EXACT:
            return path == match.path
        case PathKind.REGEX:
            return re.fullmatch(match.path, path) is not None
        case PathKind.PREFIX:
            prefix = match.path.rstrip("/")
            return path == prefix or path.startswith(f"{prefix}/")


def _specificity(match: HttpMatch) -> tuple[int, int, int, int]:
    kinds = {PathKind.EXACT: 2, PathKind.REGEX: 1, PathKind.PREFIX: 0}
    return kinds[match.kind], len(match.path), int(bool(match.method)), len(match.headers)
