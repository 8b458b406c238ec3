"""Which rule of which HTTPRoute a request belongs to, by the Gateway API's precedence. Pure; it must reach no pod.

https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule: the most specific hostname; an exact path, the longest
prefix, a method, the most headers, the most query parameters; then the oldest HTTPRoute, the first by name, the first
rule. A regular expression matches the whole path and counts between an exact path and a prefix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from gitops_bg.sandbox.objects.objects import Manifest

_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that decide where it goes; names of headers are lower-case."""

    host: str
    path: str
    query: tuple[tuple[str, str], ...]
    method: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, method: str, target: str, headers: Mapping[str, str]) -> Asked:
        """Read them from a request."""
        parts = urlsplit(target)
        host = headers.get("host", "").partition(":")[0].lower()
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        return cls(host, unquote(parts.path) or "/", query, method, headers)


@dataclass(frozen=True, slots=True)
class Found:
    """The rule that a request belongs to."""

    namespace: str
    rule: Manifest
    prefix: str
    """The prefix that matched; empty for other kinds of paths."""


@dataclass(frozen=True, slots=True)
class _Entry:
    order: _Key
    host: str
    fits: Callable[[Asked], bool]
    found: Found


class RouteTable:
    """The routes of one Gateway, compiled once."""

    def __init__(self, routes: Iterable[Manifest], hostnames: Iterable[str] = ()) -> None:
        """Compile routes; `hostnames` are those of the listeners (none, or an empty one: every host)."""
        allowed = tuple(hostnames)
        entries = (entry for route in routes for entry in _entries(route, allowed))
        self._entries = sorted(entries, key=lambda entry: entry.order)

    def find(self, asked: Asked) -> Found | None:
        """Return the rule of a request, or None."""
        return next((each.found for each in self._entries if _covers(each.host, asked.host) and each.fits(asked)), None)


def hosts_of(route: Manifest, listeners: Iterable[str]) -> list[str]:
    """Return the hosts that a route is reached by through listeners with these hostnames; none: it is not."""
    own, allowed = route["spec"].get("hostnames") or [""], list(listeners) or [""]
    both = (_common(host, listener) for host in own for listener in allowed)
    return list(dict.fromkeys(host for host in both if host is not None))


def _common(host: str, listener: str) -> str | None:
    """Return the more specific of two hostnames where one covers the other (both may be wildcards)."""
    if not host or not listener:
        return host or listener
    if host == listener or _covers(listener, host):
        return host
    return listener if _covers(host, listener) else None


def _covers(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) >= len(pattern)
    return pattern in ("", host)


def _entries(route: Manifest, listeners: tuple[str, ...]) -> Iterator[_Entry]:
    metadata = route["metadata"]
    age: _Key = (metadata.get("creationTimestamp", ""), metadata["namespace"], metadata["name"])
    for host in hosts_of(route, listeners):
        for number, rule in enumerate(route["spec"].get("rules") or ()):
            for match in rule.get("matches") or [{}]:
                kind, value = _path_of(match)
                order = (_host_order(host), *_match_order(match, kind, value), *age, number)
                prefix = value if kind == "PathPrefix" else ""
                yield _Entry(order, host, _predicate(match, kind, value), Found(metadata["namespace"], rule, prefix))


def _path_of(match: Manifest) -> tuple[str, str]:
    path = match.get("path") or {}
    return path.get("type", "PathPrefix"), path.get("value", "/")


def _host_order(host: str) -> _Key:
    """Names before wildcards, longer before shorter, and those for every host last."""
    return (0 if host and not host.startswith("*.") else 1 if host else 2, -len(host))


def _match_order(match: Manifest, kind: str, value: str) -> _Key:
    kinds = {"Exact": 0, "RegularExpression": 1, "PathPrefix": 2}
    method = 0 if match.get("method") else 1
    return kinds[kind], -len(value), method, -len(match.get("headers") or ()), -len(match.get("queryParams") or ())


def _predicate(match: Manifest, kind: str, value: str) -> Callable[[Asked], bool]:
    path = _path_predicate(kind, value)
    method = match.get("method")
    headers = [(each["name"].lower(), _value_predicate(each)) for each in match.get("headers") or ()]
    queries = [(each["name"], _value_predicate(each)) for each in match.get("queryParams") or ()]

    def fits(asked: Asked) -> bool:
        given = dict(reversed(asked.query))  # the first of several values of one name counts
        return (
            path(asked.path)
            and method in (None, asked.method)
            and all(name in asked.headers and says(asked.headers[name]) for name, says in headers)
            and all(name in given and says(given[name]) for name, says in queries)
        )

    return fits


def _path_predicate(kind: str, value: str) -> Callable[[str], bool]:
    if kind == "Exact":
        return lambda path: path == value
    if kind == "RegularExpression":
        return _full_match(value)
    prefix = value.rstrip("/")
    return lambda path: path == prefix or path.startswith(f"{prefix}/")


def _value_predicate(each: Mapping[str, Any]) -> Callable[[str], bool]:
    value = str(each["value"])
    if each.get("type") == "RegularExpression":
        return _full_match(value)
    return lambda given: given == value


def _full_match(expression: str) -> Callable[[str], bool]:
    """Return whether all of a text matches; an expression that is none matches nothing, and breaks no other route."""
    try:
        pattern = re.compile(expression)
    except re.error:
        return lambda _: False
    return lambda text: pattern.fullmatch(text) is not None
