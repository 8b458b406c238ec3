"""Who answers a request by a set of HTTPRoutes: the precedence of the Gateway API. Pure.

https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule and #httproutespec (hostnames): the most specific host,
an exact path, the longest prefix, a method, most headers; then the first HTTPRoute by name, and its first rule.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gitops_bg.core.model.http_routes import Backend, Deny, HttpMatch, HttpRoute, HttpRule, PathKind

NOT_FOUND, DENIED = "404", "denied"
_KINDS = {PathKind.EXACT: 2, PathKind.REGEX: 1, PathKind.PREFIX: 0}


@dataclass(frozen=True, slots=True, order=True)
class SampleRequest:
    """One request for each set of conditions that a rule may have."""

    path: str
    version: str = ""
    """What its version's header names; empty: it has none."""
    host: str = ""
    """Empty: one that no rule names."""
    method: str = ""
    """Empty: one that no rule names."""
    headers: tuple[tuple[str, str], ...] = ()
    """The other headers."""
    kind: PathKind = PathKind.PREFIX
    """With `PathKind.REGEX` the path stands for all that match it."""

    def __str__(self) -> str:
        """The request in a few words.

        >>> str(SampleRequest("/cart", "v2", "shop.example.com", "GET", (("X-Beta", "yes"),)))
        'GET shop.example.com/cart, v2, X-Beta: yes'
        >>> str(SampleRequest("/a.*", kind=PathKind.REGEX))
        '/a.* (regex)'
        """
        path = f"{self.method} {self.host}{self.path}".strip()
        kind = " (regex)" if self.kind is PathKind.REGEX else ""
        more = (self.version, *(f"{name}: {value}" for name, value in self.headers))
        return ", ".join(filter(None, (path + kind, *more)))


def sample_requests(routes: Iterable[HttpRoute], header: str) -> list[SampleRequest]:
    """Return a request for every match of every rule: without the version's ``header``, and with each that a rule
    names.
    """
    every = list(routes)
    found = {
        _sample(match, host, header)
        for route in every
        for host in route.hosts or ("",)
        for rule in route.rules
        for match in rule.matches
    }
    versions = {each.version for each in found} | {""}
    return sorted({replace(each, version=version) for each in found for version in versions})


class Answers:
    """Who answers requests by these HTTPRoutes. ``header`` is the version's, ``deny`` how the group denies."""

    def __init__(self, routes: Iterable[HttpRoute], header: str, deny: Deny) -> None:
        self._header = header.lower()
        self._deny = deny
        self._found: defaultdict[tuple[PathKind, str], list[_Match]] = defaultdict(list)
        for route in routes:
            for place, rule in enumerate(route.rules):
                for match in rule.matches:
                    path = match.path.rstrip("/") if match.kind is PathKind.PREFIX else match.path
                    self._found[match.kind, path].append(_Match(route, place, rule, match))
        self._expressions = [path for kind, path in self._found if kind is PathKind.REGEX]

    def of(self, request: SampleRequest) -> str:
        """Return the Service that gets a request, `DENIED`, or `NOT_FOUND`."""
        given = {name.lower(): value for name, value in request.headers}
        if request.version:
            given[self._header] = request.version
        found = [
            (each.specificity(request), each.route.name, each.place, each.rule.to)
            for key in self._keys(request)
            for each in self._found.get(key, ())
            if each.has(request, given)
        ]
        if not found:
            return NOT_FOUND
        best = max(each[0] for each in found)
        to = min((each for each in found if each[0] == best), key=lambda each: each[1:3])[3]
        return to.service if isinstance(to, Backend) and to != self._deny.backend else DENIED

    def _keys(self, request: SampleRequest) -> Iterator[tuple[PathKind, str]]:
        """Yield the paths of rules that a request has."""
        if request.kind is PathKind.REGEX:  # It has no path of its own: only what surely matches all of them does.
            yield PathKind.REGEX, request.path
            yield PathKind.PREFIX, ""
            return
        yield PathKind.EXACT, request.path
        parts = request.path.rstrip("/").split("/")
        for count in range(len(parts), 0, -1):
            yield PathKind.PREFIX, "/".join(parts[:count])
        for path in self._expressions:
            if re.fullmatch(path, request.path):
                yield PathKind.REGEX, path


@dataclass(frozen=True, slots=True)
class _Match:
    """One match of a rule, with its place."""

    route: HttpRoute
    place: int
    rule: HttpRule
    match: HttpMatch

    def has(self, request: SampleRequest, given: Mapping[str, str]) -> bool:
        """Whether a request of its path, with these headers, meets all other conditions."""
        return (
            any(True for _ in _host(self.route, request))
            and self.match.method in ("", request.method)
            and all(given.get(name.lower()) == value for name, value in self.match.headers)
        )

    def specificity(self, request: SampleRequest) -> tuple[tuple[int, int], int, int, bool, int]:
        """How specific it is for a request that it has."""
        match = self.match
        host = max(_host(self.route, request), default=(0, 0))
        return host, _KINDS[match.kind], len(match.path), bool(match.method), len(match.headers)


def _sample(match: HttpMatch, host: str, header: str) -> SampleRequest:
    version = next((value for name, value in match.headers if name.lower() == header.lower()), "")
    others = tuple(each for each in match.headers if each[0].lower() != header.lower())
    kind = match.kind if match.kind is PathKind.REGEX else PathKind.PREFIX
    return SampleRequest(match.path, version, host, match.method, others, kind)


def _host(route: HttpRoute, request: SampleRequest) -> Iterator[tuple[int, int]]:
    """Yield how specific each host of a route is that the request has: a name before a wildcard, the longer one first.

    >>> list(_host(HttpRoute("a", ("*.a.com", "b.a.com"), (), ()), SampleRequest("/", host="b.a.com")))
    [(1, 6), (2, 7)]
    """
    if not route.hosts:
        yield 0, 0
    for host in route.hosts:
        if host == request.host:
            yield 2, len(host)
        elif host.startswith("*.") and request.host.endswith(host[1:]):
            yield 1, len(host[1:])
