"""`spec.strategy.blueGreen.routes` of app.yaml: the route that is made of it, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.check import notes_of
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.yaml.reader import read
from tests.spec.texts import TARGET, WEB, app_with, source_of

ROUTES = "routes: {parentRefs: [{name: public}]"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {{name: {}}}\nspec: {{ports: [{}]}}\n"
HTTP = "containers:\n      - {name: web, image: 'r/web:1', ports: [{name: http, containerPort: 8080}]}\n"


def target(containers: str = HTTP) -> str:
    head, _, _ = TARGET.partition("containers:")
    return head + containers


def app(routes: str = f"{ROUTES}}}", preview: str = "web-preview") -> str:
    return app_with(blue_green=f"{routes}\n      previewService: {preview}" if preview else routes)


def load(routes: str = f"{ROUTES}}}", preview: str = "web-preview", **services: str) -> AppConfig:
    """The app `web` with routes; ``services`` has the ports of Services of the folder."""
    files = {"app.yaml": app(routes, preview), "target.yaml": target()}
    files |= {f"{name}.yaml": SERVICE.format(name.replace("_", "-"), ports) for name, ports in services.items()}
    return load_app(WEB, {name: text.encode() for name, text in files.items()}, source_of)


def made(config: AppConfig) -> Any:
    assert config.problems == ()
    assert config.auxiliary_objects.route is not None
    return config.auxiliary_objects.manifests[config.auxiliary_objects.route.live]


def backend(name: str, port: int = 8080) -> list[Any]:
    return [{"group": "", "kind": "Service", "name": name, "port": port, "weight": 1}]


def header(value: str = "candidate", name: str = "X-Version") -> Any:
    return {"headers": [{"type": "Exact", "name": name, "value": value}]}


def test_preview_without_a_manifest_has_the_port_of_the_live_service() -> None:
    config = load(web="{port: 80, targetPort: http}")
    route = config.auxiliary_objects.route
    assert route is not None
    assert (route.live, route.port) == (AuxiliaryObject("HTTPRoute", "web"), 80)


EVERYTHING = {"path": {"type": "PathPrefix", "value": "/"}}
PUBLIC = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"}


def test_requests_go_to_the_live_service_and_those_for_the_candidate_to_the_preview() -> None:
    config = load()
    route = config.auxiliary_objects.route
    assert route is not None
    assert (route.live, route.port) == (AuxiliaryObject("HTTPRoute", "web"), 8080)
    assert made(config) == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "web"},
        "spec": {
            "parentRefs": [PUBLIC],
            "hostnames": [],
            "rules": [
                {"matches": [{**EVERYTHING, **header()}], "backendRefs": backend("web-preview")},
                {"matches": [EVERYTHING], "backendRefs": backend("web")},
            ],
        },
    }


def test_without_a_preview_service_every_request_goes_to_the_live_service() -> None:
    assert made(load(preview=""))["spec"]["rules"] == [{"matches": [EVERYTHING], "backendRefs": backend("web")}]


@pytest.mark.parametrize(("preview", "noted"), [("", True), ("web-preview", False)])
def test_a_route_that_reaches_no_candidate_is_noted(preview: str, noted: bool) -> None:
    (document,) = read("apps/shop/web/app.yaml", app(preview=preview).encode()).documents
    notes = [str(each) for each in notes_of(load(preview=preview), document, ())]
    assert any("app.yaml:8" in each and "there is no preview Service" in each for each in notes) is noted


def test_grpc_has_no_paths() -> None:
    route = made(load(f"{ROUTES}, protocol: grpc}}"))
    assert route["kind"] == "GRPCRoute"
    assert route["spec"]["rules"] == [
        {"matches": [header()], "backendRefs": backend("web-preview")},
        {"backendRefs": backend("web")},
    ]


def test_gateways_hosts_and_the_header_are_those_of_the_file() -> None:
    said = "routes: {parentRefs: [{name: a.b, namespace: infra, sectionName: https, port: 443}], hosts: ['*.c.io'], "
    spec = made(load(f"{said}versionHeader: X-Try}}"))["spec"]
    assert spec["parentRefs"] == [{**PUBLIC, "name": "a.b", "namespace": "infra", "sectionName": "https", "port": 443}]
    assert spec["hostnames"] == ["*.c.io"]
    assert spec["rules"][0]["matches"] == [{**EVERYTHING, **header(name="X-Try")}]


PORTS = {
    "the only one of the Services": (f"{ROUTES}}}", {"web": "{port: 80}", "web_preview": "{port: 80}"}, 80),
    "the only one in common": (
        f"{ROUTES}}}",
        {"web": "{name: a, port: 80}, {name: b, port: 81}", "web_preview": "{port: 81}"},
        81,
    ),
    "that of the target's container, where there is no Service": (f"{ROUTES}}}", {}, 8080),
    "the one that the file says": (
        f"{ROUTES}, port: 81}}",
        dict.fromkeys(("web", "web_preview"), "{name: a, port: 80}, {name: b, port: 81}"),
        81,
    ),
}


@pytest.mark.parametrize("which", PORTS)
def test_the_port_is(which: str) -> None:
    routes, services, port = PORTS[which]
    config = load(routes, **services)
    assert made(config)["spec"]["rules"][1]["backendRefs"] == backend("web", port)
    assert config.auxiliary_objects.route is not None
    assert config.auxiliary_objects.route.port == port


TWO = "{name: a, port: 80}, {name: b, port: 81}"
WRONG = {
    "no port in common": (
        f"{ROUTES}}}",
        {"web": "{port: 80}", "web_preview": "{port: 81}"},
        "the Services have no ports in common",
    ),
    "several ports": (f"{ROUTES}}}", {"web": TWO, "web_preview": TWO}, "have 2 ports in common, so port is needed"),
    "a port that is not there": (f"{ROUTES}, port: 9}}", {}, "routes.port: the Service web has no port 9 (write 8080)"),
    "no Gateway": ("routes: {parentRefs: []}", {}, "spec.strategy.blueGreen.routes.parentRefs"),
    "a Gateway twice": ("routes: {parentRefs: [{name: a}, {name: a}]}", {}, "names a twice"),
    "a Gateway without a name": ("routes: {parentRefs: [{name: A_b}]}", {}, "parentRefs[0].name"),
    "no host": (f"{ROUTES}, hosts: ['a b']}}", {}, "'a b' is no host name"),
    "no protocol": (f"{ROUTES}, protocol: tcp}}", {}, "protocol"),
    "a header that is none": (f"{ROUTES}, versionHeader: 'a b'}}", {}, "versionHeader"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_has_its_place_and_its_remedy_and_nothing_leaves_the_cluster_for_it(what: str) -> None:
    routes, services, said = WRONG[what]
    config = load(routes, **services)
    assert any(said in str(problem) for problem in config.problems), [str(each) for each in config.problems]
    assert (config.auxiliary_objects.route, config.auxiliary_objects.whole) == (None, False)


def test_a_service_of_a_release_group_has_its_routes_elsewhere() -> None:
    text = app(preview="").replace("activeService: web", "activeService: web-v1")
    text = text.replace("metadata: {name: web,", "metadata: {name: web-v1,")
    files = {"app.yaml": text.encode(), "target.yaml": target().encode()}
    config = load_app(AppKey("shop", "web-v1"), files, source_of, folder="groups/shop/store/v1/web")
    assert "has its routes in routes.yaml" in str(config.problems[0])
    assert config.auxiliary_objects.route is None


def test_an_app_that_asks_for_no_route_has_none() -> None:
    assert load("autoPromotionEnabled: true").auxiliary_objects.manifests == {}
