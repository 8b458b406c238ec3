"""The JSON patch that moves a Service: selector and ports together, and only what is not right already. Pure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_bg.cluster.manifests.adoption import before_in
from gitops_bg.cluster.manifests.patches import change_selector, prepare_service
from gitops_bg.core.model.actions import PointPreview
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import APP as APP_LABEL
from gitops_bg.core.names import MANAGED_BY, MANAGER, selector

APP = AppKey("shop", "web")
DIGEST = "v1:" + "3f9c012345" * 6
LIVE = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "http", "nodePort": 30080}]
WEB = {"name": "http", "port": 80, "targetPort": "web"}
MOVED = {**WEB, "protocol": "TCP", "nodePort": 30080}

PORTS: dict[str, tuple[list[dict[str, Any]] | None, list[dict[str, Any]] | None]] = {
    "those that are right are not written": ([{"name": "http", "port": 80, "targetPort": "http"}], None),
    "unknown ones stay": (None, None),
    "others take their place, and keep the number on each node": ([WEB], [MOVED]),
    "unless they say another": ([{**WEB, "nodePort": 31000}], [{**MOVED, "nodePort": 31000}]),
    "one of another name has none": ([{"port": 80}], [{"port": 80, "protocol": "TCP"}]),
}


def service(controller: str = "", *, spec: dict[str, Any] | None = None, **labels: str) -> dict[str, Any]:
    """A live Service; `controller` is the app whose object controls it."""
    head = {"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "BlueGreenDeployment", "uid": "u", "controller": True}
    owners = [{**head, "name": controller}] if controller else []
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "labels": labels}
    return {"metadata": {**metadata, "ownerReferences": owners}, "spec": {"ports": LIVE, **(spec or {})}}


@pytest.mark.parametrize("name", PORTS)
def test_ports_move_with_the_selector(name: str) -> None:
    wanted, written = PORTS[name]
    action = PointPreview("web", (("app", "web"),), DIGEST, json.dumps(wanted) if wanted else "")
    patch = change_selector(APP, action, service())
    assert {"op": "test", "path": "/spec/selector", "value": {"app": "web"}} in patch
    assert {"op": "add", "path": "/spec/selector", "value": selector(APP, DIGEST)} in patch
    assert [each["value"] for each in patch if each["path"] == "/spec/ports"] == ([written] if written else [])


def test_a_service_that_is_right_needs_no_patch() -> None:
    live = service("web", spec={"ports": LIVE})
    assert prepare_service(live, {"kind": "Service", "spec": {"ports": LIVE, "selector": {}}}) == []
    lock, *_ = prepare_service(live, {"kind": "Service", "spec": {"ports": [WEB], "selector": {}}})
    assert lock == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}


MINE = {"selector": {"app": "web"}, "sessionAffinity": "ClientIP"}
WANTED = {"kind": "Service", "spec": {"ports": [WEB], "selector": {}}}
FIRST_WRITE = {
    "a repair": prepare_service(service(spec=MINE), WANTED),
    "a switch": change_selector(APP, PointPreview("web", (("app", "web"),), DIGEST, ""), service(spec=MINE)),
}


@pytest.mark.parametrize("name", FIRST_WRITE)
def test_a_service_that_labels_handed_over_keeps_what_it_had_before(name: str) -> None:
    lock, *written = FIRST_WRITE[name]
    assert lock["path"] == "/metadata/resourceVersion"
    (kept,) = (each["value"] for each in written if each["path"] == "/metadata/annotations")
    assert before_in(kept).selector == (("app", "web"),)
    assert before_in(kept).routing == {"sessionAffinity": "ClientIP"}
    again, ours = service(spec=MINE), service(spec={"selector": selector(APP, DIGEST)})
    again["metadata"]["annotations"] = kept
    for later in (again, ours, service("web", spec=MINE)):
        assert not any(each["path"] == "/metadata/annotations" for each in prepare_service(later, WANTED))


OURS = {MANAGED_BY: MANAGER, APP_LABEL: "web"}
LABELS = {"/metadata/labels/app.kubernetes.io~1managed-by": MANAGER, "/metadata/labels/gitops-bg.dev~1app": "web"}
STILL_OURS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "its controller says so": (service("web", **OURS), {"/metadata/ownerReferences": "as it is"}),
    "whatever its labels": (service("web", **{MANAGED_BY: "Helm"}), {"/metadata/ownerReferences": "as it is"}),
    "nobody controls it, so its labels do": (service(**OURS), LABELS),
    "another app controls it, so its labels would have to": (service("cart", **OURS), LABELS),
}


@pytest.mark.parametrize("name", STILL_OURS)
def test_a_service_is_moved_only_while_it_is_ours(name: str) -> None:
    live, tested = STILL_OURS[name]
    patch = change_selector(APP, PointPreview("web", (("app", "web"),), DIGEST, ""), live)
    tests = {
        each["path"]: each["value"]
        for each in patch
        if each["op"] == "test" and each["path"].startswith(("/metadata/labels", "/metadata/owner"))
    }
    as_it_is = live["metadata"]["ownerReferences"]
    assert tests == {path: as_it_is if value == "as it is" else value for path, value in tested.items()}
