"""Which rule a request belongs to: the Gateway API's specification as a table, named after its conformance tests."""

from __future__ import annotations

import pytest

from gitops_bg.sandbox.traffic.gateway import (
    Asked,
    RouteTable,
    _rewritten,
    _seconds,
    hosts_of,
    is_accepted,
    refers_to,
    refusal,
)

Json = dict[str, object]


def rule(name: str, *matches: Json) -> Json:
    return {"name": name, **({"matches": list(matches)} if matches else {})}


def path(kind: str, value: str, **more: object) -> Json:
    return {"path": {"type": kind, "value": value}, **more}


def exact(value: str, **more: object) -> Json:
    return path("Exact", value, **more)


def prefix(value: str, **more: object) -> Json:
    return path("PathPrefix", value, **more)


def regex(value: str, **more: object) -> Json:
    return path("RegularExpression", value, **more)


def header(name: str, value: str, kind: str = "Exact") -> Json:
    return {"type": kind, "name": name, "value": value}


def route(*rules: Json, name: str = "r", hosts: tuple[str, ...] = (), created: str = "2026-01-01T00:00:00Z") -> Json:
    metadata = {"namespace": "shop", "name": name, "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"rules": list(rules), **({"hostnames": list(hosts)} if hosts else {})}}


def asked(target: str, method: str = "GET", host: str = "example.com", **headers: str) -> Asked:
    lower = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return Asked.of(method, target, {"host": host, **lower})


def found(routes: list[Json], request: Asked) -> str:
    rule_of = RouteTable(routes).find(request)
    return str(rule_of.rule["name"]) if rule_of else ""


BETA = [header("Version", "two")]
ROWS: dict[str, tuple[list[Json], dict[str, str]]] = {
    "HTTPRouteExactPathMatching": (
        [route(rule("one", exact("/one")), rule("two", exact("/two")))],
        {"/one": "one", "/two": "two", "/": "", "/one/example": "", "/two/": "", "/Two": ""},
    ),
    "HTTPRouteMatching": (
        [route(rule("v1", prefix("/"), {"headers": [header("version", "one")]}), rule("v2", prefix("/v2")))],
        {"/": "v1", "/example": "v1", "/v2": "v2", "/v2/": "v2", "/v2/example": "v2", "/v2example": "v1"},
    ),
    "HTTPRoutePathMatchOrder": (
        [
            route(
                rule("exact", exact("/match/exact/one")),
                rule("longest", prefix("/match/prefix/one")),
                rule("short", prefix("/match")),
                rule("middle", prefix("/match/prefix/")),
            )
        ],
        {
            "/match/exact/one": "exact",
            "/match/exact": "short",
            "/match": "short",
            "/match/prefix/one/any": "longest",
            "/match/prefix/any": "middle",
            "/match/any": "short",
        },
    ),
    "a rule without a match is for every path": ([route(rule("all"))], {"/": "all", "/a?b=c": "all"}),
    "a regular expression matches the whole path, and loses to an exact one": (
        [route(rule("regex", regex("/a+/.*")), rule("exact", exact("/aa/x")), rule("prefix", prefix("/aa")))],
        {"/aa/x": "exact", "/aaa/y": "regex", "/aa/y": "regex", "/ab/y": "", "/aa": "prefix"},
    ),
    "of equal rules the first wins": ([route(rule("a", prefix("/x")), rule("b", prefix("/x")))], {"/x": "a"}),
    "HTTPRouteMatchingAcrossRoutes: the oldest route wins": (
        [route(rule("new"), name="a", created="2026-02-01T00:00:00Z"), route(rule("old"), name="b")],
        {"/": "old"},
    ),
    "of routes of one age the first name wins": ([route(rule("b"), name="b"), route(rule("a"), name="a")], {"/": "a"}),
    "a path is compared as it is meant, not as it is written": ([route(rule("a", exact("/a b")))], {"/a%20b": "a"}),
}


@pytest.mark.parametrize("row", ROWS)
def test_paths(row: str) -> None:
    routes, expected = ROWS[row]
    assert {target: found(routes, asked(target)) for target in expected} == expected


HEADERS: dict[str, tuple[list[Json], list[tuple[Asked, str]]]] = {
    "HTTPRouteHeaderMatching": (
        [
            route(
                rule("one", {"headers": [header("version", "one")]}),
                rule("two", {"headers": BETA}),
                rule("orange", {"headers": [*BETA, header("color", "orange")]}),
                rule("blue", {"headers": [header("color", "blue")]}, {"headers": [header("color", "green")]}),
            )
        ],
        [
            (asked("/", Version="one"), "one"),
            (asked("/", VERSION="two"), "two"),
            (asked("/", Version="two", Color="orange"), "orange"),
            (asked("/", Color="blue"), "blue"),
            (asked("/", Color="green"), "blue"),
            (asked("/", Version="three"), ""),
            (asked("/"), ""),
        ],
    ),
    "a header by a regular expression": (
        [route(rule("any", {"headers": [header("version", "v[0-9]+", "RegularExpression")]}))],
        [(asked("/", Version="v12"), "any"), (asked("/", Version="v12x"), "")],
    ),
    "HTTPRouteMethodMatching: a method counts more than headers, and less than a longer path": (
        [
            route(
                rule("post", prefix("/", method="POST")),
                rule("headers", prefix("/", headers=[*BETA, header("a", "b")])),
                rule("longer", prefix("/path")),
            )
        ],
        [
            (asked("/", "POST", Version="two", A="b"), "post"),
            (asked("/", "GET", Version="two", A="b"), "headers"),
            (asked("/path", "POST"), "longer"),
            (asked("/", "PUT"), ""),
        ],
    ),
    "HTTPRouteQueryParamMatching": (
        [
            route(
                rule("whale", {"queryParams": [{"name": "animal", "value": "whale"}]}),
                rule(
                    "both", {"queryParams": [{"name": "animal", "value": "whale"}, {"name": "color", "value": "blue"}]}
                ),
            )
        ],
        [
            (asked("/?animal=whale"), "whale"),
            (asked("/?animal=whale&color=blue"), "both"),
            (asked("/?animal=whale&animal=dolphin"), "whale"),
            (asked("/?animal=dolphin&animal=whale"), ""),
            (asked("/?ANIMAL=whale"), ""),
        ],
    ),
    "HTTPRouteHostnameIntersection: the most specific host, whatever the path": (
        [
            route(rule("every", exact("/x")), name="every"),
            route(rule("wild"), name="wild", hosts=("*.example.com",)),
            route(rule("wilder"), name="wilder", hosts=("*.com",)),
            route(rule("named"), name="named", hosts=("a.example.com",)),
        ],
        [
            (asked("/x", host="a.example.com"), "named"),
            (asked("/x", host="b.example.com:8080"), "wild"),
            (asked("/x", host="B.C.EXAMPLE.COM"), "wild"),
            (asked("/x", host="example.com"), "wilder"),
            (asked("/x", host="example.org"), "every"),
        ],
    ),
}


@pytest.mark.parametrize("row", HEADERS)
def test_hosts_methods_headers_and_queries(row: str) -> None:
    routes, expected = HEADERS[row]
    for request, name in expected:
        assert found(routes, request) == name, request


LISTENERS = [
    ((), ("",), [""]),
    ((), ("a.io",), ["a.io"]),
    (("a.io", "b.io"), ("",), ["a.io", "b.io"]),
    (("a.io", "b.io"), ("a.io",), ["a.io"]),
    (("x.a.io",), ("*.a.io",), ["x.a.io"]),
    (("*.a.io",), ("x.a.io",), ["x.a.io"]),
    (("*.a.io",), ("*.io",), ["*.a.io"]),
    (("a.io",), ("*.a.io",), []),
]


@pytest.mark.parametrize(("hosts", "listeners", "both"), LISTENERS)
def test_a_route_is_reached_by_hosts_that_it_and_a_listener_have(
    hosts: tuple[str, ...], listeners: tuple[str, ...], both: list[str]
) -> None:
    assert hosts_of(route(rule("a"), hosts=hosts), listeners) == both


REWRITES = [
    ({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/one"}, "/strip/two?x=1", "/strip", "/one/two?x=1"),
    ({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}, "/strip/two", "/strip", "/two"),
    ({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}, "/strip", "/strip", "/"),
    ({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/one"}, "/two", "/", "/one/two"),
    ({"type": "ReplaceFullPath", "replaceFullPath": "/one"}, "/full/two?x=1", "/full", "/one?x=1"),
    ({}, "/a", "/", "/a"),
]


@pytest.mark.parametrize(("said", "target", "matched", "becomes"), REWRITES)
def test_HTTPRouteRewritePath(said: Json, target: str, matched: str, becomes: str) -> None:
    assert _rewritten(said, target, matched) == becomes


def test_durations() -> None:
    assert [_seconds(each) for each in ("0s", "10s", "500ms", "1m30s", "1h")] == [0, 10, 0.5, 90, 3600]


def test_an_expression_that_is_none_matches_nothing_and_breaks_no_other_route() -> None:
    routes = [route(rule("bad", regex("/("), {"headers": [header("a", "(", "RegularExpression")]}), rule("good"))]
    assert found(routes, asked("/(", A="(")) == "good"


def gateway(*listeners: Json) -> Json:
    return {"metadata": {"namespace": "edge", "name": "public"}, "spec": {"listeners": list(listeners)}}


HTTP: Json = {"name": "http", "port": 80}
OPEN: Json = {**HTTP, "allowedRoutes": {"namespaces": {"from": "All"}}}
REFUSALS = [
    ({}, HTTP, "NotAllowedByListeners"),
    ({}, OPEN, ""),
    ({"sectionName": "http"}, OPEN, ""),
    ({"sectionName": "https"}, OPEN, "NoMatchingParent"),
    ({"port": 81}, OPEN, "NoMatchingParent"),
    ({}, {**OPEN, "hostname": "a.io"}, "NoMatchingListenerHostname"),
    ({}, {**OPEN, "hostname": "*.example.com"}, ""),
]


@pytest.mark.parametrize(("ref", "listener", "reason"), REFUSALS)
def test_a_gateway_takes_the_routes_that_its_listeners_allow(ref: Json, listener: Json, reason: str) -> None:
    own = route(rule("a"), hosts=("x.example.com",))
    named = {"namespace": "edge", "name": "public", **ref}
    assert refers_to(own, named, gateway(listener))
    assert refusal(own, named, gateway(listener)) == reason
    own["spec"]["parentRefs"] = [named]  # type: ignore[index]
    assert is_accepted(own, gateway(listener)) is not bool(reason)
