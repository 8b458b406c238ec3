"""The JSON patch that moves a Service: selector and ports together, and only what is not right already. Pure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_bg.cluster.manifests.patches import change_selector, replace_ports
from gitops_bg.core.model.actions import PointPreview
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import selector

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


@pytest.mark.parametrize("name", PORTS)
def test_ports_move_with_the_selector(name: str) -> None:
    wanted, written = PORTS[name]
    action = PointPreview("web", (("app", "web"),), DIGEST, json.dumps(wanted) if wanted else "")
    patch = change_selector(APP, action, {"ports": LIVE})
    assert {"op": "test", "path": "/spec/selector", "value": {"app": "web"}} in patch
    assert {"op": "add", "path": "/spec/selector", "value": selector(APP, DIGEST)} in patch
    assert [each["value"] for each in patch if each["path"] == "/spec/ports"] == ([written] if written else [])


def test_ports_that_are_right_need_no_patch() -> None:
    live = {"metadata": {"resourceVersion": "7"}, "spec": {"ports": LIVE}}
    assert replace_ports(live, {"spec": {"ports": LIVE, "selector": {}}}) == []
    lock, *_ = replace_ports(live, {"spec": {"ports": [WEB], "selector": {}}})
    assert lock == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
