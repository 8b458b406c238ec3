"""Gateways: real HTTP, each request routed by the HTTPRoutes that are attached at that moment. It must write nothing.

A request goes to a pod that is ready when it comes in, whatever connection it came on; a pod that is told to end
finishes the requests that it has.
"""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from gitops_bg.sandbox.http.watches import WatchEvent
from gitops_bg.sandbox.http.wire import Acceptor, Connection, Request, Response
from gitops_bg.sandbox.objects.kinds import SERVICES, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, is_pod_ready, key_of
from gitops_bg.sandbox.objects.store import ObjectKey, Store
from gitops_bg.sandbox.traffic.proxy import PodServers

# --- which rule of which HTTPRoute a request belongs to, by the Gateway API's precedence ---
# https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule: the most specific hostname; an exact path, the longest
# prefix, a method, the most headers, the most query parameters; then the oldest HTTPRoute, the first by name, the first
# rule. A regular expression matches the whole path and counts between an exact path and a prefix. It must reach no
# pod.

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
    """Return names before wildcards, longer before shorter, and those for every host last."""
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


# --- Gateways and their ports ---

GATEWAY_API = "gateway.networking.k8s.io"
GATEWAYS: ResourceKey = (GATEWAY_API, "gateways")
HTTP_ROUTES: ResourceKey = (GATEWAY_API, "httproutes")


class GatewayProxy:
    """The local ports of Gateways, opened when somebody first asks for them."""

    def __init__(self, store: Store, pods_of: Callable[[Manifest], list[Manifest]], pods: PodServers) -> None:
        """Make the Gateways of a store."""
        self._store = store
        self._pods_of = pods_of
        self._pods = pods
        self._lock = Lock()
        self._ports: dict[ObjectKey, socket.socket] = {}
        self._tables: dict[ObjectKey, RouteTable] = {}
        self._turns: Counter[object] = Counter()
        store.listeners.append(self._notice)

    def port_of(self, gateway: ObjectKey, acceptor: Acceptor) -> int:
        """Return the local port of a Gateway; it stays the same, also while the Gateway does not exist."""
        with self._lock:
            if gateway not in self._ports:
                self._ports[gateway] = acceptor.listen(partial(self._serve, gateway))
            port: int = self._ports[gateway].getsockname()[1]
            return port

    def clear(self) -> None:
        """Forget all ports, which the acceptor has closed."""
        self._ports.clear()

    def _notice(self, resource: ResourceKey, _: WatchEvent) -> None:
        if resource in (GATEWAYS, HTTP_ROUTES):
            self._tables = {}

    def _serve(self, gateway: ObjectKey, connection: Connection) -> None:
        while (request := connection.read()) is not None:
            if not connection.send(self._answer(gateway, request), request):
                return

    def _answer(self, gateway: ObjectKey, request: Request) -> Response:
        with self._store.lock:
            found = self._table(gateway).find(Asked.of(request.method, request.target, request.headers))
            if found is None:
                return _plain(404, "no route")
            chosen = self._choose(found)
            serve = self._pods.begin(chosen) if isinstance(chosen, dict) else None
        if serve is None:
            return chosen if isinstance(chosen, Response) else _plain(503, "no pod is ready")
        return _filtered(found, request, serve)

    def _table(self, gateway: ObjectKey) -> RouteTable:
        if gateway not in self._tables:
            live = self._store.get(GATEWAYS, gateway)
            listeners = live.obj["spec"].get("listeners") or [] if live else []
            routes = [each.obj for each in self._store.all(HTTP_ROUTES) if live and is_accepted(each.obj, live.obj)]
            self._tables[gateway] = RouteTable(routes, [each.get("hostname", "") for each in listeners])
        return self._tables[gateway]

    def _choose(self, found: Found) -> Manifest | Response:
        """Return the pod for a request, or the answer where there is none."""
        if any(each["type"] == "ExtensionRef" for each in found.rule.get("filters") or ()):
            return _plain(500, "an extension that nobody knows")
        backends = [each for each in found.rule.get("backendRefs") or () if each.get("weight", 1)]
        if not backends:
            return _redirection(found) or _plain(500, "no backend")
        backend = self._weighted(backends)
        key = (backend.get("namespace") or found.namespace, backend["name"])
        # A backend in another namespace needs a ReferenceGrant, which nothing here knows.
        is_service = backend.get("kind", "Service") == "Service" and key[0] == found.namespace
        service = self._store.get(SERVICES, key) if is_service else None
        if service is None or all(each["port"] != backend.get("port") for each in service.obj["spec"]["ports"]):
            return _plain(500, f"no Service {key[0]}/{key[1]} with port {backend.get('port')}")
        ready = [pod for pod in self._pods_of(service.obj) if _receives_traffic(pod)]
        self._turns[key] += 1
        return ready[self._turns[key] % len(ready)] if ready else _plain(503, "no pod is ready")

    def _weighted(self, backends: list[Manifest]) -> Manifest:
        """Return one after the other, each as often as its weight says."""
        names = tuple((each["name"], each.get("weight", 1)) for each in backends)
        self._turns[names] += 1
        turn = self._turns[names] % sum(weight for _, weight in names)
        for backend, (_, weight) in zip(backends, names, strict=True):
            if turn < weight:
                return backend
            turn -= weight
        raise AssertionError("a turn is less than the sum of the weights")


def is_accepted(route: Manifest, gateway: Manifest) -> bool:
    """Return whether a Gateway takes a route: by one of its parentRefs."""
    return any(refers_to(route, ref, gateway) and not refusal(route, ref, gateway) for ref in _parents(route))


def refers_to(route: Manifest, ref: Manifest, gateway: Manifest) -> bool:
    """Return whether a parentRef of a route names a Gateway."""
    key = (ref.get("namespace") or route["metadata"]["namespace"], ref["name"])
    return ref.get("kind", "Gateway") == "Gateway" and key == key_of(gateway)


def refusal(route: Manifest, ref: Manifest, gateway: Manifest) -> str:
    """Return the reason for which a Gateway does not take a route by a parentRef; empty where it does.

    https://gateway-api.sigs.k8s.io/reference/spec/#allowedroutes: by default those of its own namespace.
    """
    listeners = [each for each in gateway["spec"].get("listeners") or () if _is_meant(ref, each)]
    if not listeners:
        return "NoMatchingParent"
    allowing = [each for each in listeners if _allows(each, route, gateway)]
    if not allowing:
        return "NotAllowedByListeners"
    found = any(hosts_of(route, [each.get("hostname", "")]) for each in allowing)
    return "" if found else "NoMatchingListenerHostname"


def _parents(route: Manifest) -> list[Manifest]:
    return route["spec"].get("parentRefs") or []


def _is_meant(ref: Manifest, listener: Manifest) -> bool:
    return all(ref.get(key, listener[own]) == listener[own] for key, own in (("sectionName", "name"), ("port", "port")))


def _allows(listener: Manifest, route: Manifest, gateway: Manifest) -> bool:
    said = ((listener.get("allowedRoutes") or {}).get("namespaces") or {}).get("from", "Same")
    return bool(said == "All" or route["metadata"]["namespace"] == gateway["metadata"]["namespace"])


def _receives_traffic(pod: Manifest) -> bool:
    return is_pod_ready(pod) and "deletionTimestamp" not in pod["metadata"]


def _redirection(found: Found) -> Response | None:
    for each in found.rule.get("filters") or ():
        if each["type"] == "RequestRedirect":
            said = each["requestRedirect"]
            place = f"{said.get('scheme', 'http')}://{said.get('hostname', '')}"
            return Response(said.get("statusCode", 302), headers={"Location": place})
    return None


def _filtered(found: Found, request: Request, serve: Callable[[], tuple[Response, float]]) -> Response:
    """Answer with the rule's filters and its time limit; the pod's answer says what path it was asked for."""
    path, headers, removed = request.target, dict[str, str](), list[str]()
    for each in found.rule.get("filters") or ():
        if each["type"] == "URLRewrite":
            path = _rewritten(each["urlRewrite"].get("path") or {}, path, found.prefix)
        elif each["type"] == "ResponseHeaderModifier":
            changes = each["responseHeaderModifier"]
            removed += changes.get("remove") or []
            headers |= {one["name"]: one["value"] for one in (changes.get("set") or []) + (changes.get("add") or [])}
    response, seconds = serve()
    limit = _seconds((found.rule.get("timeouts") or {}).get("request", "0s"))
    if limit and seconds > limit:
        return _plain(504, "the pod took too long")
    response.headers |= {"X-Path": path, **headers}
    for name in removed:
        response.headers.pop(name, None)
    return response


def _rewritten(said: Manifest, target: str, prefix: str) -> str:
    path, mark, query = target.partition("?")
    if said.get("type") == "ReplaceFullPath":
        path = said["replaceFullPath"]
    elif said.get("type") == "ReplacePrefixMatch":
        rest = path[len(prefix.rstrip("/")) :]
        path = f"{said['replacePrefixMatch'].rstrip('/')}{rest}" or "/"
    return f"{path}{mark}{query}"


def _seconds(duration: str) -> float:
    """Return the seconds of a duration of the Gateway API, such as `1m30s` or `500ms`."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    total, number, unit = 0.0, "", ""
    for sign in f"{duration}0":
        if sign.isdigit() and unit:
            total, number, unit = total + int(number) * units[unit], sign, ""
        elif sign.isdigit():
            number += sign
        else:
            unit += sign
    return total


def _plain(status: int, why: str) -> Response:
    return Response(status, f"{why}\n".encode(), content_type="text/plain")
