"""What `check` takes of routes, the Gateway API takes: by the rules in CEL of its own definition of HTTPRoute."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.groups.model import GroupState, add_service
from gitops_bg.core.groups.routing import render
from gitops_bg.core.groups.world import with_routes
from gitops_bg.core.model.auxiliary import Backend, HttpMatch, HttpRoute, HttpRule, ParentRef
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.groups.load import load_group
from gitops_bg.spec.manifests.traffic import http_route_spec
from tests.core.groups.notation import NOW
from tests.support.cluster.gateway_api import HOW_TO_GET_THEM, broken_rules, definitions

pytestmark = pytest.mark.skipif(not definitions(), reason=HOW_TO_GET_THEM)

STORE = GroupKey("shop", "store")
API = "gitops-bg.dev/v1alpha1"
PARENTS = "[{name: public}]"
ROUTE = "{path: {prefix: /cart}}"


def load(parents: str = PARENTS, *routes: str, deny: str = "{}") -> DesiredGroup:
    """A group whose two versions have the same routes of one service."""
    gateway: dict[str, Any] = {"gateway": {"parentRefs": yaml.safe_load(parents)}, **yaml.safe_load(deny)}
    group = {"active": "v1", "hosts": ["shop.example.com"], **gateway}
    metadata = {"name": STORE.name, "namespace": STORE.namespace}
    head = {"apiVersion": API, "kind": "ReleaseGroup", "metadata": metadata, "spec": group}
    said = [{"port": 80, **yaml.safe_load(each)} for each in routes or (ROUTE,)]
    body = {"apiVersion": API, "kind": "ServiceRoutes", "routes": said}
    files = {f"{version}/cart/routes.yaml": yaml.safe_dump(body).encode() for version in ("v1", "v2")}
    return load_group(STORE, {"group.yaml": yaml.safe_dump(head).encode(), **files}).desired


def broken(desired: DesiredGroup) -> list[str]:
    """What the Gateway API has against the HTTPRoutes while v1 serves and v2 is a candidate."""
    assert desired.spec is not None, desired.problems
    assert desired.spec.gateway is not None
    state = add_service(add_service(GroupState(), "cart", "v1", (), NOW), "cart", "v2", (), NOW)
    routes = render(with_routes(state, desired), STORE, desired.spec.gateway)
    assert routes
    return [said for each in routes for said in broken_rules(http_route_spec(each))]


TAKEN = {
    "one Gateway": load(),
    "several Gateways": load("[{name: public}, {name: public, namespace: edge}, {name: inner, port: 80}]"),
    "two listeners of one": load("[{name: public, sectionName: http}, {name: public, sectionName: https}]"),
    "all that a route may say": load(
        PARENTS, "{path: {exact: /a}, headers: {A: b}, methods: [GET, POST], rewrite: /b, timeout: 1m30s}"
    ),
    "a prefix that is rewritten for several methods": load(
        PARENTS, "{path: {prefix: /a}, methods: [GET, POST], rewrite: /}"
    ),
    "an expression that is rewritten": load(PARENTS, "{path: {regex: '/a//.*'}, rewrite: /b}"),
    "a path with signs": load(PARENTS, '{path: {prefix: "/-._~!$&\'()*+,;=:@%20"}}'),
    "what nobody may send": load(PARENTS, "{path: {prefix: /a}, allowed: false}"),
    "that by an extension": load(
        PARENTS,
        "{path: {prefix: /a}, allowed: false}",
        deny="{denyMode: extension, denyExtension: {group: e.io, kind: Filter, name: deny}}",
    ),
    "that by nobody": load(PARENTS, "{path: {prefix: /a}, allowed: false}", deny="{denyMode: noBackend}"),
    "more routes than one HTTPRoute takes": load(PARENTS, *(f"{{path: {{prefix: /p{each}}}}}" for each in range(90))),
}


@pytest.mark.parametrize("row", TAKEN)
def test_what_check_takes_the_gateway_api_takes(row: str) -> None:
    assert broken(TAKEN[row]) == []


REFUSED = {
    "the same twice": "[{name: public}, {name: public}]",
    "a Gateway and a listener of it": "[{name: public}, {name: public, sectionName: https}]",
    "a Gateway by two ports": "[{name: public, port: 80}, {name: public, port: 443}]",
    "a listener by two ports": "[{name: a, sectionName: x, port: 80}, {name: a, sectionName: x, port: 81}]",
}


@pytest.mark.parametrize("row", REFUSED)
def test_parents_that_the_gateway_api_refuses_are_a_mistake(row: str) -> None:
    said = yaml.safe_load(REFUSED[row])
    parents = tuple(ParentRef(each["name"], "", each.get("sectionName", ""), each.get("port", 0)) for each in said)
    route = HttpRoute("store", (), parents, (HttpRule((HttpMatch("/"),), Backend("cart-v1", 80)),))
    assert broken_rules(http_route_spec(route)), "else it is no mistake"
    (problem,) = load(REFUSED[row]).problems
    assert problem.field == "spec.gateway.parentRefs"
    assert "name a sectionName of its own in each" in str(problem)
