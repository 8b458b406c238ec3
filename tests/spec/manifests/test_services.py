"""`activeService`, `activeServices` and `previewService` in app.yaml."""

from __future__ import annotations

import pytest

from gitops_bg.spec.app.load import AppConfig, load_app
from tests.spec.texts import APP, SERVICE, TARGET, WEB, source_of


def load(services: str, service: str = SERVICE) -> AppConfig:
    files = {"app.yaml": APP.replace("activeService: web", services), "target.yaml": TARGET, "service.yaml": service}
    return load_app(WEB, {name: text.encode() for name, text in files.items()}, source_of)


NAMED = {
    "activeService: web": ("web",),
    "activeServices: [web]": ("web",),
    "activeServices: [web, web-grpc, web-admin]": ("web", "web-grpc", "web-admin"),
}


@pytest.mark.parametrize("said", NAMED)
def test_one_service_or_several_carry_live_traffic(said: str) -> None:
    config = load(said)
    assert config.problems == ()
    assert config.spec is not None
    assert config.spec.strategy.active_services == NAMED[said]


WRONG = {
    "activeServices: []": "app.yaml:7: spec.strategy.blueGreen.activeServices: must not be empty (write at least one)",
    "{}": "app.yaml:6: spec.strategy.blueGreen.activeService: is required: it says which version is live (add "
    "activeService; a worker without traffic needs a Service, too, which may be headless)",
    "activeService: web\n      activeServices: [web]": "app.yaml:8: spec.strategy.blueGreen.activeServices: means the "
    "same as activeService, which is there, too (keep one of the two)",
    "activeServices: [web, web-grpc, web]": "app.yaml:7: spec.strategy.blueGreen.activeServices[2]: web is named twice "
    "(remove one of the two)",
    "activeServices: [web, web-grpc]\n      previewService: web-grpc": "app.yaml:8: spec.strategy.blueGreen."
    "previewService: must be another Service than activeServices (name a second Service)",
    "activeService: web\n      previewService: web": "app.yaml:8: spec.strategy.blueGreen.previewService: must be "
    "another Service than activeService (name a second Service)",
    "activeServices: [Web]": "app.yaml:7: spec.strategy.blueGreen.activeServices[0]: 'Web' is not allowed (use a DNS "
    "name: at most 63 small letters, digits and -)",
    "activeServices: web": "app.yaml:7: spec.strategy.blueGreen.activeServices: expected a list, found text "
    '(write a list: begin each item with "- ")',
}


@pytest.mark.parametrize("said", WRONG)
def test_bad_input_is_refused_with_its_line(said: str) -> None:
    config = load(said)
    assert [str(problem).removeprefix("apps/shop/web/") for problem in config.problems] == [WRONG[said]]
    assert config.spec is None


def test_service_without_pods_behind_it_cannot_be_one_of_several() -> None:
    external = SERVICE.replace("name: web", "name: web-grpc").replace("spec:", "spec:\n  type: ExternalName")
    (problem,) = load("activeServices: [web, web-grpc]", external).problems
    assert "ExternalName has no pods behind it" in problem.message


def two_ports(*targets: str) -> str:
    ports = "".join(
        f"    - {{name: p{place}, port: {place + 80}, targetPort: {one}}}\n" for place, one in enumerate(targets)
    )
    return f"apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  ports:\n{ports}"


def service_of(name: str, ports: str) -> str:
    return f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{ports: [{ports}]}}\n"


EIGHTY = "{name: http, port: 80, targetPort: 8080, nodePort: 30080, appProtocol: h2c}"
COPY = '[{"name":"http","port":80,"appProtocol":"h2c","targetPort":8080}]'
OF_PREVIEW = {
    "a copy of the active one's": ({"web": EIGHTY}, COPY),
    "its own": ({"web": EIGHTY, "web-preview": "{port: 81}"}, '[{"port":81}]'),
    "none, where its own manifest has none": ({"web": EIGHTY, "web-preview": ""}, "[]"),
    "those of its pods, where the active one has none": ({"web": ""}, ""),
    "those of its pods, where the active one has no manifest": ({}, ""),
    "those of its pods, whatever another Service has": ({"other": EIGHTY}, ""),
    "a copy of the first active one that has any": ({"web": "", "web-b": EIGHTY}, COPY),
}


@pytest.mark.parametrize("name", OF_PREVIEW)
def test_ports_of_the_preview_service(name: str) -> None:
    services, ports = OF_PREVIEW[name]
    named = "activeServices: [web, web-b]" if "web-b" in services else "activeService: web"
    app = APP.replace("activeService: web", f"{named}\n      previewService: web-preview")
    files = {f"{each}.yaml": service_of(each, its) for each, its in services.items()}
    files |= {"app.yaml": app, "target.yaml": TARGET}
    config = load_app(WEB, {file: text.encode() for file, text in files.items()}, source_of)
    assert config.spec is not None
    assert {each.service: each.ports for each in config.ports}["web-preview"] == ports


PORTS = "ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]"
DANGLING = {
    "htp": "service.yaml:7: spec.ports[1].targetPort: no container of target.yaml has a TCP port named htp, so no "
    "request would arrive (write http, or name a containerPort htp in target.yaml)",
    "admin": "service.yaml:7: spec.ports[1].targetPort: no container of target.yaml has a TCP port named admin, so no "
    "request would arrive; it has http, metrics (name a containerPort admin in target.yaml)",
}


@pytest.mark.parametrize("name", DANGLING)
@pytest.mark.parametrize("field", ["activeService: web", "activeService: other\n      previewService: web"])
def test_named_target_port_that_no_container_has_is_refused_with_its_line(field: str, name: str) -> None:
    target = TARGET.replace("image:", f"{PORTS}\n          image:")
    files = {"app.yaml": APP.replace("activeService: web", field), "target.yaml": target}
    files["service.yaml"] = two_ports("http", name)
    config = load_app(WEB, {name: text.encode() for name, text in files.items()}, source_of)
    assert [str(problem).removeprefix("apps/shop/web/") for problem in config.problems] == [DANGLING[name]]
    assert config.services


@pytest.mark.parametrize("name", ["http", "metrics", "8080", "9999"])
def test_target_port_that_a_container_has_or_that_is_a_number_is_taken(name: str) -> None:
    files = {"app.yaml": APP, "target.yaml": TARGET.replace("image:", f"{PORTS}\n          image:")}
    files["service.yaml"] = two_ports("http", name)
    config = load_app(WEB, {name: text.encode() for name, text in files.items()}, source_of)
    assert config.problems == ()
    assert [each.service for each in config.ports] == ["web"]
