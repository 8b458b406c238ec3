"""The route in front of an app's Services on both clusters: made, recognised, repaired, and the version it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.actions import ApplyApp, ApplyAuxiliaryObject, DeleteApp, DeleteAuxiliaryObject
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.observed import AuxiliaryView, Successor
from gitops_bg.core.model.record import LastRead, Record
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.models import BlueGreen
from gitops_bg.spec.manifests.auxiliary import AuxiliaryObjects
from gitops_bg.spec.manifests.traffic import route_of
from tests.integration.cluster.scene import Scene, snapshot
from tests.support.cluster.gateway_api import broken_rules, grpc_definition, install_grpc_routes
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import MERGE, Json
from tests.support.waiting import eventually

V1, V2 = snapshot("v1"), snapshot("v2")
LEADS = (("web", 80), ("web-preview", 80))
KINDS = {"http": "HTTPRoute", "grpc": "GRPCRoute"}
FIELDS: dict[str, dict[str, Any]] = {
    "http": {"hosts": ["shop.example.com"]},
    "grpc": {"versionHeader": "x-version"},
}


@pytest.fixture(params=KINDS)
def protocol(request: pytest.FixtureRequest, scene: Scene) -> str:
    install_grpc_routes(scene.cluster)
    scene.do(ApplyApp())
    return str(request.param)


def written(scene: Scene, protocol: str, preview_hosts: tuple[str, ...] = (), **changes: Any) -> AppConfig:
    """What the folder says, with a route, and the hosts of the candidate."""
    routes = {"parentRefs": [{"name": "public"}], "protocol": protocol, **FIELDS[protocol], **changes}
    said = {"activeService": "web", "previewService": "web-preview", "previewHosts": [*preview_hosts], "routes": routes}
    blue_green = BlueGreen.model_validate(said)
    route, manifests = route_of(scene.app, blue_green, 80)
    body = {**scene.config.body, "strategy": {"blueGreen": said}}
    return replace(scene.config, body=body, auxiliary_objects=AuxiliaryObjects(manifests, route=route))


def route_in(protocol: str) -> AuxiliaryObject:
    return AuxiliaryObject(KINDS[protocol], "web")


def apply(scene: Scene, protocol: str, named: str = "", **changes: Any) -> None:
    """Have the code under test apply it, so that it names the version of a digest."""
    action = ApplyAuxiliaryObject(route_in(protocol), "told to", named, 1 if named else None)
    scene.do(action, config=written(scene, protocol, **changes))


def seen(scene: Scene, protocol: str, **changes: Any) -> AuxiliaryView | None:
    """The live route, without the moment when it was created."""
    view = next(iter(scene.observe(written(scene, protocol, **changes)).auxiliary_objects), None)
    assert view is None or view.born
    return replace(view, born="") if view is not None else None


def path(scene: Scene, protocol: str) -> str:
    return f"{collection('gateway.networking.k8s.io/v1', KINDS[protocol], scene.app.namespace)}/web"


def headers(scene: Scene, protocol: str) -> list[str]:
    """The values of the header by which requests reach the candidate."""
    found = scene.cluster.find(path(scene, protocol))
    assert found is not None
    return [match["headers"][0]["value"] for match in found["spec"]["rules"][0]["matches"]]


def test_what_was_applied_is_as_git_says_whichever_version_it_names(scene: Scene, protocol: str) -> None:
    assert seen(scene, protocol) is None
    for of in (V1.digest, "", V2.digest):
        apply(scene, protocol, of)
        named = short(of) if of else ""
        assert seen(scene, protocol) == AuxiliaryView(route_in(protocol), names_version=named, ports=LEADS)
        assert headers(scene, protocol) == ["candidate", *filter(None, [named])]


def _add_a_rule(body: Json) -> None:
    body["spec"]["rules"].append({"backendRefs": [{"name": "evil", "port": 80}]})


def _lead_elsewhere(body: Json) -> None:
    body["spec"]["rules"][1]["backendRefs"][0]["name"] = "evil"


def _take_a_gateway(body: Json) -> None:
    body["spec"]["parentRefs"][0]["name"] = "other"


def _add_a_filter(body: Json) -> None:
    header = {"set": [{"name": "x-evil", "value": "1"}]}
    body["spec"]["rules"][1]["filters"] = [{"type": "RequestHeaderModifier", "requestHeaderModifier": header}]


def _add_a_host(body: Json) -> None:
    body["spec"]["hostnames"] = [*(body["spec"].get("hostnames") or []), "evil.example.com"]


@pytest.mark.parametrize("change", [_add_a_rule, _lead_elsewhere, _take_a_gateway, _add_a_filter, _add_a_host])
def test_what_somebody_changed_is_repaired(scene: Scene, protocol: str, change: Callable[[Json], None]) -> None:
    apply(scene, protocol, V1.digest)
    body = scene.cluster.find(path(scene, protocol))
    assert body is not None
    change(body)
    scene.cluster.patch(path(scene, protocol), {"spec": body["spec"]})
    view = seen(scene, protocol)
    assert view is not None
    assert view.drifted or view.moves
    apply(scene, protocol, V1.digest)
    assert seen(scene, protocol) == AuxiliaryView(route_in(protocol), names_version=short(V1.digest), ports=LEADS)


@pytest.mark.parametrize("value", ["somebody-s", None])
def test_a_version_that_somebody_made_it_name_is_seen(scene: Scene, protocol: str, value: str | None) -> None:
    apply(scene, protocol, V1.digest)
    body = scene.cluster.find(path(scene, protocol))
    assert body is not None
    matches = body["spec"]["rules"][0]["matches"]
    if value is None:
        del matches[1]
    else:
        matches[1]["headers"][0]["value"] = value
    scene.cluster.patch(path(scene, protocol), {"spec": body["spec"]})
    view = seen(scene, protocol)
    assert view is not None
    assert (view.names_version, view.drifted) == (value or "", False)


def test_a_header_that_changed_in_git_is_a_difference(scene: Scene, protocol: str) -> None:
    apply(scene, protocol, V1.digest)
    view = seen(scene, protocol, versionHeader="X-Try")
    assert view is not None
    assert view.drifted
    apply(scene, protocol, V1.digest, versionHeader="X-Try")
    assert seen(scene, protocol, versionHeader="X-Try") == AuxiliaryView(
        route_in(protocol), names_version=short(V1.digest), ports=LEADS
    )


def test_it_leads_to_the_ports_that_its_services_have(scene: Scene, protocol: str) -> None:
    apply(scene, protocol)
    ports = (("web", 81), ("web-preview", 82))
    action = ApplyAuxiliaryObject(route_in(protocol), "told to", "", None, ports)
    scene.do(action, config=written(scene, protocol))
    assert seen(scene, protocol) == AuxiliaryView(route_in(protocol), ports=ports)


def test_it_leads_live_traffic_alone_where_the_preview_service_is_somebody_elses(scene: Scene, protocol: str) -> None:
    for ports in ((("web", 80),), LEADS, (("web", 80),)):
        action = ApplyAuxiliaryObject(route_in(protocol), "told to", "", None, ports)
        scene.do(action, config=written(scene, protocol))
        found = scene.cluster.find(path(scene, protocol))
        assert found is not None
        led = [each["name"] for rule in found["spec"]["rules"] for each in rule["backendRefs"]]
        assert sorted(led) == [name for name, _ in ports]
        assert seen(scene, protocol) == AuxiliaryView(route_in(protocol), ports=ports)


def test_it_outlives_the_object_of_its_app_unless_that_is_deleted_on_purpose(scene: Scene, protocol: str) -> None:
    apply(scene, protocol)
    found = scene.cluster.find(path(scene, protocol))
    assert found is not None
    owners = lambda body: [each["kind"] for each in body["metadata"]["ownerReferences"]]  # noqa: E731
    assert owners(found) == ["BlueGreenDeployment", "Namespace"]
    scene.do(ApplyApp(), config=written(scene, protocol))
    scene.do(DeleteApp())
    gone = lambda: scene.cluster.find(path(scene, protocol)) is None  # noqa: E731
    eventually(gone, what="it goes with its app")


def test_it_is_deleted_when_it_left_git(scene: Scene, protocol: str) -> None:
    apply(scene, protocol)
    scene.do(DeleteAuxiliaryObject(route_in(protocol), "it left Git"))
    assert scene.cluster.find(path(scene, protocol)) is None


@pytest.mark.parametrize("protocol", ["grpc"], indirect=True)
@pytest.mark.parametrize("named", ["", V2.digest])
def test_a_grpc_route_breaks_no_rule_of_its_published_definition(scene: Scene, protocol: str, named: str) -> None:
    """Its rules in CEL, which the API server of the tests is too old to ask; the rest, every test here shows."""
    definition = grpc_definition()
    if definition is None:
        pytest.skip("GITOPS_BG_GATEWAY_API=$(tests/support/gateway-api/fetch.sh) fetches the definition of GRPCRoute")
    apply(scene, protocol, named)
    body = scene.cluster.find(path(scene, protocol))
    assert body is not None
    assert broken_rules(body["spec"], definition) == []
    twice = [*body["spec"]["parentRefs"], *body["spec"]["parentRefs"]]
    assert broken_rules(body["spec"] | {"parentRefs": twice}, definition), "the rules are asked"


@pytest.mark.parametrize("protocol", ["grpc"], indirect=True)  # of HTTPRoutes the sandbox's own Gateway speaks
@pytest.mark.parametrize(
    ("status", "generation", "refused"), [("False", 0, True), ("True", 0, False), ("False", -1, False)]
)
def test_what_a_gateway_says_of_it_is_known(
    scene: Scene, protocol: str, status: str, generation: int, refused: bool
) -> None:
    apply(scene, protocol)
    body = scene.cluster.find(path(scene, protocol))
    assert body is not None
    condition = {
        "type": "Accepted",
        "status": status,
        "reason": "NotAllowedByListeners",
        "message": "no listener takes it",
        "observedGeneration": body["metadata"]["generation"] + generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    parent = {"parentRef": {"name": "public"}, "controllerName": "example.com/gateway", "conditions": [condition]}
    body["status"] = {"parents": [parent]}
    assert scene.cluster.request("PUT", f"{path(scene, protocol)}/status", body)[0] == 200
    view = seen(scene, protocol)
    assert view is not None
    sentence = f"a Gateway refuses {KINDS[protocol]} {scene.app.namespace}/web: NotAllowedByListeners: no listener"
    assert view.refused.startswith(sentence) is refused


def taken(scene: Scene, at: str, taken: bool) -> None:
    """The Gateway says of the route at this path whether it took it."""
    said = "True" if taken else "False"
    conditions = [
        {
            "type": kind,
            "status": said,
            "reason": "Told",
            "message": "",
            "observedGeneration": 9,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind in ("Accepted", "ResolvedRefs")
    ]
    parent = {"parentRef": {"name": "public"}, "controllerName": "example.com/gateway", "conditions": conditions}
    scene.cluster.patch(f"{at}/status", {"status": {"parents": [parent]}}, MERGE)


def former_with(**read: Any) -> Record:
    """The record of an app that has left main."""
    return Record(last_read=LastRead(**read))


@pytest.mark.parametrize("protocol", ["grpc"], indirect=True)  # of HTTPRoutes the sandbox's own Gateway speaks
def test_an_app_of_another_name_has_a_route_once_the_gateway_has_taken_it(scene: Scene, protocol: str) -> None:
    apply(scene, protocol)
    former = former_with(moved_to="shop", auxiliary_objects=(route_in(protocol),))
    successor = lambda: scene.observe(written(scene, protocol), former).successor  # noqa: E731
    assert successor() == Successor(wants_route=True), "nobody knows what it wants"
    new = replace(scene, app=AppKey(scene.app.namespace, "shop"))
    new.do(ApplyApp())
    assert successor() == Successor(wants_route=False)
    folder = written(new, protocol)
    new.do(ApplyApp(), config=folder)
    assert successor() == Successor(wants_route=True)
    assert folder.auxiliary_objects.route is not None
    new.do(ApplyAuxiliaryObject(folder.auxiliary_objects.route.live, "told to"), config=folder)
    assert successor() == Successor(wants_route=True, has_route=True), "no Gateway says anything"
    taken(scene, path(scene, protocol), True)
    assert successor() == Successor(wants_route=True), "it has taken the former one only"
    own = path(scene, protocol).removesuffix("web") + "shop"
    taken(scene, own, False)
    assert successor() == Successor(wants_route=True), "it refuses the new one"
    taken(scene, own, True)
    assert successor() == Successor(wants_route=True, has_route=True)
    assert (
        scene.observe(written(scene, protocol), former_with(auxiliary_objects=(route_in(protocol),))).successor is None
    )
    assert scene.observe(written(scene, protocol), former_with(moved_to="shop")).successor is None


NAMED, FOR_ALL = "{digest}.preview.example.com", "preview.example.com"


def hosts_of(scene: Scene, protocol: str) -> list[str]:
    found = scene.cluster.find(f"{path(scene, protocol)}.preview")
    return list(found["spec"]["hostnames"]) if found else []


def test_the_hosts_of_a_candidate_follow_the_version_that_they_name(scene: Scene, protocol: str) -> None:
    """Somebody's change of them is seen and repaired; no route ever is for every host."""
    one = AuxiliaryObject(KINDS[protocol], "web.preview")
    leads = (("web-preview", 80),)

    def said(hosts: tuple[str, ...]) -> AppConfig:
        return written(scene, protocol, hosts, hosts=["shop.example.com"])

    def applied(hosts: tuple[str, ...], named: str = "") -> None:
        scene.do(ApplyAuxiliaryObject(one, "told to", named, 1 if named else None, leads), config=said(hosts))

    def live(hosts: tuple[str, ...]) -> tuple[str, bool, bool]:
        views = scene.observe(said(hosts)).auxiliary_objects
        view = next(each for each in views if each.auxiliary_object == one)
        assert view.ports == leads
        return view.names_version, view.drifted, view.moves

    applied((FOR_ALL,))
    assert hosts_of(scene, protocol) == [FOR_ALL]
    assert live((FOR_ALL,)) == ("", False, False)
    assert live((NAMED,)) == ("", True, False)
    for digest in (V1.digest, V2.digest):
        applied((NAMED, FOR_ALL), digest)
        assert hosts_of(scene, protocol) == [f"{short(digest)}.preview.example.com", FOR_ALL]
        assert live((NAMED, FOR_ALL)) == (short(digest), False, False)
    applied((NAMED,), V2.digest)
    scene.cluster.patch(f"{path(scene, protocol)}.preview", {"spec": {"hostnames": ["*.example.com"]}}, MERGE)
    assert live((NAMED,)) == (short(V2.digest), True, False)
    applied((NAMED,), V2.digest)
    assert hosts_of(scene, protocol) == [f"{short(V2.digest)}.preview.example.com"]
    scene.do(DeleteAuxiliaryObject(one, "there is no candidate"), config=said((NAMED,)))
    assert hosts_of(scene, protocol) == []
