"""Reading ``groups/<namespace>/<group>/``: what it says, and every mistake with its file, its line and the remedy."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gitops_bg.core.groups.inputs import DesiredGroup, DesiredRoute, DesiredService
from gitops_bg.core.groups.model import RouteMatch
from gitops_bg.core.model.auxiliary import NO_BACKEND, Backend, Deny, ExtensionRef, ParentRef, PathKind
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.groups.load import load_group

STORE = GroupKey("shop", "store")
GROUP = """apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {name: store, namespace: shop}
spec:
  active: v1
"""
ROUTES = "apiVersion: gitops-bg.dev/v1alpha1\nkind: ServiceRoutes\nroutes:\n"
VERSION = "apiVersion: gitops-bg.dev/v1alpha1\nkind: GroupVersion\n"
SERVICE = """apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec:
  ports: [{port: 8080}]
"""
GOOD = {"group.yaml": GROUP, "v1/cart/target.yaml": "", "v1/cart/service.yaml": SERVICE}


def load(files: Mapping[str, str | None] | None = None, **more: str) -> DesiredGroup:
    """Load a good folder with some files changed (None: without it)."""
    all_files = {**GOOD, **(files or {}), **more}
    return load_group(
        STORE, {path: text.encode() for path, text in all_files.items() if text is not None}, "c1"
    ).desired


def routes(*lines: str, group: str = "", service: str | None = SERVICE) -> dict[str, str | None]:
    """A folder with these routes of cart in v1."""
    written = ROUTES + "".join(f"- {line}\n" for line in lines)
    return {"group.yaml": GROUP + group, "v1/cart/routes.yaml": written, "v1/cart/service.yaml": service}


def routes_of(loaded: DesiredGroup, version: str = "v1", service: str = "cart") -> tuple[DesiredRoute, ...]:
    assert loaded.problems == ()
    return loaded.versions[version].services[service].routes


def test_a_group_says_who_suspends_it_and_which_services_may_leave() -> None:
    more = "  suspend: {reason: a holiday, by: ada}\n  removedServices: [auth]\n"
    spec = load({"group.yaml": GROUP + more}).spec
    assert spec is not None
    assert (spec.suspend, spec.removed_services) == (Suspension("a holiday", "ada"), frozenset({"auth"}))


def test_a_group_says_its_active_version_and_what_each_version_brings() -> None:
    loaded = load(
        {"v2/cart/target.yaml": "", "v2/auth/target.yaml": "", "v2/version.yaml": VERSION + "services: [job]"}
    )
    assert loaded.problems == ()
    assert loaded.spec is not None
    assert (loaded.spec.active, loaded.spec.archive_size, loaded.spec.gateway) == ("v1", 1, None)
    assert {name: set(version.services) for name, version in loaded.versions.items()} == {
        "v1": {"cart"},
        "v2": {"cart", "auth", "job"},
    }
    assert loaded.versions["v2"].services["job"] == DesiredService(pods=False)
    assert loaded.commit == "c1"


DENY = {
    "": Deny(backend=Backend("gitops-bg-deny", 80)),
    "  denyService: {name: nobody, port: 81}\n": Deny(backend=Backend("nobody", 81)),
    "  denyMode: noBackend\n": NO_BACKEND,
    "  denyMode: extension\n  denyExtension: {group: e.io, kind: Filter, name: deny}\n": Deny(
        extension=ExtensionRef("e.io", "Filter", "deny")
    ),
}


@pytest.mark.parametrize("written", DENY)
def test_a_gateway_says_where_requests_come_in_and_what_becomes_of_those_that_nobody_may_answer(written: str) -> None:
    gateway = "  gateway: {parentRefs: [{name: public, namespace: edge, sectionName: https, port: 443}]}\n"
    loaded = load({"group.yaml": GROUP + gateway + "  hosts: [a.example.com]\n  versionHeader: X-Stage\n" + written})
    assert loaded.spec is not None, loaded.problems
    assert loaded.spec.gateway is not None
    assert loaded.spec.gateway.parents == (ParentRef("public", "edge", "https", 443),)
    assert loaded.spec.gateway.hosts == ("a.example.com",)
    assert loaded.spec.gateway.version_header == "X-Stage"
    assert loaded.spec.gateway.deny == DENY[written]


ROUTE = {
    "path: {prefix: /cart/}": DesiredRoute(RouteMatch("/cart"), 8080),
    "path: {prefix: /}": DesiredRoute(RouteMatch("/"), 8080),
    "path: {exact: /cart/}": DesiredRoute(RouteMatch("/cart/", PathKind.EXACT), 8080),
    "path: {regex: '/c[ae]rt'}": DesiredRoute(RouteMatch("/c[ae]rt", PathKind.REGEX), 8080),
    "{path: {prefix: /a}, host: b.example.com}": DesiredRoute(RouteMatch("/a", host="b.example.com"), 8080),
    "{path: {prefix: /a}, headers: {B: '2', A: '1'}}": DesiredRoute(
        RouteMatch("/a", headers=(("A", "1"), ("B", "2"))), 8080
    ),
    "{path: {prefix: /a}, methods: [POST, GET]}": DesiredRoute(RouteMatch("/a", methods=("GET", "POST")), 8080),
    "{path: {prefix: /a}, rewrite: /b, timeout: 10s}": DesiredRoute(
        RouteMatch("/a"), 8080, rewrite="/b", timeout="10s"
    ),
    "{path: {prefix: /a}, allowed: false}": DesiredRoute(RouteMatch("/a"), 8080, allowed=False),
}


@pytest.mark.parametrize("written", ROUTE)
def test_a_route(written: str) -> None:
    assert routes_of(load(routes(written))) == (ROUTE[written],)


def test_a_route_of_a_service_with_several_ports_names_one() -> None:
    two = SERVICE.replace("[{port: 8080}]", "[{name: http, port: 8080}, {name: admin, port: 9090}]")
    assert routes_of(load(routes("{path: {prefix: /a}, port: 9090}", service=two)))[0].port == 9090


def test_two_routes_for_different_methods_are_two_routes() -> None:
    both = routes("{path: {prefix: /a}, methods: [GET]}", "{path: {prefix: /a}, methods: [POST]}")
    assert len(routes_of(load(both))) == 2


GATEWAY = "  gateway: {parentRefs: [{name: public}]}\n"
TOO_LONG = "c" * 62
WRONG: dict[str, tuple[Mapping[str, str | None], str]] = {
    "no group.yaml": ({"group.yaml": None}, "group.yaml: is missing (add it, or delete the folder)"),
    "another name": (
        {"group.yaml": GROUP.replace("name: store", "name: stor")},
        "group.yaml:3: metadata.name: stor is not the name of the folder groups/shop/store (write store)",
    ),
    "another namespace": (
        {"group.yaml": GROUP.replace("namespace: shop", "namespace: default")},
        "metadata.namespace: default is not the namespace of the folder groups/shop/store (write shop)",
    ),
    "a version that is not there": (
        {"group.yaml": GROUP.replace("v1\n", "v3\n")},
        "group.yaml:5: spec.active: there is no version v3 (add the folder v3/, or name one of v1)",
    ),
    "an unreadable version": (
        {"v01/cart/target.yaml": ""},
        "v01: is not the name of a version (call it v1, v2, … v10: a v and a number without leading zeros)",
    ),
    "a version in words": ({"two/cart/target.yaml": ""}, "groups/shop/store/two: is not the name of a version"),
    "an active version in words": (
        {"group.yaml": GROUP.replace("v1\n", "two\n")},
        "spec.active: 'two' is not allowed (write the name of a version: v1, v2, … v10)",
    ),
    "an empty version": (
        {"v2/version.yaml": VERSION + "services: []"},
        "v2: has no service (add the folder of a service, or name services in version.yaml)",
    ),
    "a manifest beside the folders": (
        {"v1/stray.yaml": ""},
        "v1/stray.yaml: is not in the folder of a service, so nobody reads it "
        "(move it to groups/shop/store/v1/<service>/)",
    ),
    "a manifest beside group.yaml": ({"stray.yaml": ""}, "stray.yaml: is neither group.yaml nor in a version's folder"),
    "a manifest too deep": ({"v1/cart/deep/x.yaml": ""}, "v1/cart/deep/x.yaml: is not in the folder of a service"),
    "a service with an impossible name": ({"v1/Cart/target.yaml": ""}, "v1/Cart: cannot be the name of a service"),
    "a service with a name that is too long": (
        {f"v1/{TOO_LONG}/target.yaml": ""},
        "is longer than the 63 characters that Kubernetes allows (use a shorter name)",
    ),
    "a service twice": (
        {"v1/version.yaml": VERSION + "services: [job, job]"},
        "v1/version.yaml:3: services[1]: job is named twice (remove it here)",
    ),
    "a service with a folder that is named too": (
        {"v1/version.yaml": VERSION + "services: [cart]"},
        "v1/version.yaml:3: services[0]: cart has a folder in v1 already (remove it here)",
    ),
    "an archive below 0": (
        {"group.yaml": GROUP + "  archiveSize: -1\n"},
        "group.yaml:6: spec.archiveSize: -1 is too small (write 0 or more)",
    ),
    "a policy of apps alone": (
        {"group.yaml": GROUP + "  deletionPolicy: orphan\n"},
        "group.yaml:6: spec.deletionPolicy: 'orphan' is not allowed (write keep or delete)",
    ),
    "a misspelt field": ({"group.yaml": GROUP + "  archivSize: 1\n"}, "(did you mean archiveSize?)"),
    "an impossible header": (
        {"group.yaml": GROUP + "  versionHeader: 'X Version'\n"},
        "'X Version' is not allowed (use letters, digits and - as in X-Version, and no space)",
    ),
    "an extension without its object": (
        {"group.yaml": GROUP + "  denyMode: extension\n"},
        "spec.denyMode: extension needs the object that answers (add denyExtension)",
    ),
    "a host twice": ({"group.yaml": GROUP + "  hosts: [a.io, a.io]\n"}, "spec.hosts[1]: a.io is named twice"),
    "no host": ({"group.yaml": GROUP + "  hosts: ['http://a.io']\n"}, "'http://a.io' is no host name"),
    "more hosts than an HTTPRoute takes": (
        {"group.yaml": GROUP + f"  hosts: [{', '.join(f'h{each}.io' for each in range(17))}]\n"},
        "group.yaml:6: spec.hosts: has 17 (write 16 at most)",
    ),
    "an address": ({"group.yaml": GROUP + "  hosts: ['10.0.0.1']\n"}, "'10.0.0.1' is no host name"),
    "a path without a slash": (
        routes("path: {prefix: cart}"),
        "v1/cart/routes.yaml:4: routes[0].path.prefix: 'cart' is no path (write one such as /cart: it begins with a ",
    ),
    "a path with a query": (routes("path: {exact: '/a?b'}"), "'/a?b' is no path"),
    "a path that leads up": (routes("path: {prefix: /a/../b}"), "'/a/../b' is no path"),
    "a path with a double slash": (routes("path: {prefix: //a}"), "'//a' is no path"),
    "no path": (routes("path: {}"), "routes[0].path: must have exactly one of prefix, exact and regex"),
    "two paths": (routes("path: {prefix: /a, exact: /a}"), "must have exactly one of prefix, exact and regex"),
    "no expression": (routes("path: {regex: '/('}"), "'/(' is no regular expression"),
    "an unknown method": (routes("{path: {prefix: /a}, methods: [FETCH]}"), "'FETCH' is not allowed"),
    "a method twice": (routes("{path: {prefix: /a}, methods: [GET, GET]}"), "methods[1]: GET is named twice"),
    "the version's own header": (
        routes("{path: {prefix: /a}, headers: {x-version: v1}}"),
        "is the header that chooses the version (spec.versionHeader of group.yaml)",
    ),
    "a header twice": (routes("{path: {prefix: /a}, headers: {A: '1', a: '2'}}"), "a is there twice"),
    "a host outside": (
        routes("{path: {prefix: /a}, host: b.io}", group=GATEWAY + "  hosts: [a.io, '*.c.io']\n"),
        "routes[0].host: b.io is not a host of the group "
        "(add it to spec.hosts of group.yaml, or use one of a.io, *.c.io)",
    ),
    "a rewrite of what is denied": (
        routes("{path: {prefix: /a}, allowed: false, rewrite: /b}"),
        "rewrite: means nothing for requests that are not allowed (remove it)",
    ),
    "a time limit in words": (
        routes("{path: {prefix: /a}, timeout: soon}"),
        "'soon' is not allowed (write a time such as 10s, 500ms or 1m30s)",
    ),
    "an unknown port": (
        routes("{path: {prefix: /a}, port: 81}"),
        "routes[0].port: the Service cart has no port 81 (write 8080)",
    ),
    "no port": (
        routes("path: {prefix: /a}", service=None),
        "routes[0]: the Service cart has no ports in this folder, so port is needed",
    ),
    "a route twice": (
        routes("path: {prefix: /a}", "path: {prefix: /a/}"),
        "routes[1]: the route /a belongs to cart (routes.0 of groups/shop/store/v1/cart/routes.yaml) already",
    ),
    "a route that two services claim": (
        {
            **routes("path: {prefix: /a}"),
            "v1/zoo/routes.yaml": ROUTES
            + "- path: {prefix: /a}\n  methods: [GET]\n  port: 80\n- path: {prefix: /a}\n  port: 80\n",
        },
        "v1/zoo/routes.yaml:7: routes[1]: the route /a belongs to cart "
        "(routes.0 of groups/shop/store/v1/cart/routes.yaml)",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_has_its_place_and_its_remedy_and_nothing_of_the_group_is_used(what: str) -> None:
    files, said = WRONG[what]
    loaded = load(files)
    assert any(said in str(problem) for problem in loaded.problems), [str(each) for each in loaded.problems]
    assert (loaded.spec, loaded.versions) == (None, {})


@pytest.mark.parametrize("place", ["v1/cart/x.yaml", "v1/cart", "v1", "v2"])
def test_a_file_that_git_found_unusable_is_the_groups_problem(place: str) -> None:
    link = Problem(f"groups/shop/store/{place}", "is a symbolic link")
    loaded = load_group(STORE, {path: text.encode() for path, text in GOOD.items()} | {place: link}).desired
    assert (loaded.spec, loaded.problems) == (None, (link,))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("v1/cart/service.yaml", ["v1/cart/service.yaml", "v1/cart/routes.yaml"]),
        ("v1/cart/routes.yaml", ["v1/cart/routes.yaml"]),
        ("v1/cart", ["v1/cart"]),
        ("v1", ["v1"]),
    ],
)
def test_what_a_link_hides_is_not_said_to_be_missing(place: str, said: list[str]) -> None:
    """Found so: to add the Service with its ports, a service to the version, or the folder of the version."""
    files: dict[str, bytes | Problem] = {path: text.encode() for path, text in GOOD.items()}
    files |= {path: text.encode() for path, text in routes("path: {prefix: /a}").items()}
    files = {path: each for path, each in files.items() if not f"{path}/".startswith(f"{place}/")}
    files[place] = Problem(f"groups/shop/store/{place}", "is a symbolic link")
    problems = load_group(STORE, files).desired.problems
    assert [each.file.removeprefix("groups/shop/store/") for each in problems] == said
    assert all(each.message == "is a symbolic link" or each.remedy.startswith("mend that file") for each in problems)


def test_the_port_of_a_service_whose_file_is_broken_is_unknown_and_not_missing() -> None:
    broken = load(routes("path: {prefix: /a}", service="kind: Service\nmetadata: ["))
    (problem,) = broken.problems
    assert (broken.spec, problem.file.endswith("routes.yaml")) == (None, True)
    assert problem.message.endswith(
        "nobody can tell the port of the Service cart: a file of this folder cannot be read"
    )
    named = load(routes("{path: {prefix: /a}, port: 80}", service="kind: Service\nmetadata: ["))
    assert named.problems == ()


@pytest.mark.parametrize("place", ["v1/cart/LICENSE", "v1/cart/docs/LICENSE", "v1/docs/LICENSE"])
def test_a_link_that_can_hide_no_manifest_means_nothing(place: str) -> None:
    link = Problem(f"groups/shop/store/{place}", "is a symbolic link")
    files = {path: text.encode() for path, text in GOOD.items()} | {place: link}
    assert load_group(STORE, files, "c1").desired == load()


def test_a_host_under_a_wildcard_of_the_group_is_one_of_its_hosts() -> None:
    wild = routes("{path: {prefix: /a}, host: x.c.io}", group=GATEWAY + "  hosts: ['*.c.io']\n")
    assert load(wild).problems == ()


def test_what_a_promotion_writes_does_not_change_the_content_of_a_version() -> None:
    content = load().versions["v1"].content
    assert load({"v1/cart/primary.yaml": "kind: Primary"}).versions["v1"].content == content
    assert set(load({"v2/cart/primary.yaml": "kind: Primary"}).versions) == {"v1"}, "it alone makes no version"
    assert load({"v2/cart/target.yaml": ""}).versions["v1"].content == content
    assert load({"v1/cart/target.yaml": "kind: Deployment"}).versions["v1"].content != content
