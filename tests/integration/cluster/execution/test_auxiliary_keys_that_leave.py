"""A key that leaves the manifest of an autoscaler, a budget, a ConfigMap or a Secret leaves the live object."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

from gitops_bg.core.model.actions import ApplyApp
from tests.integration.cluster.execution.test_auxiliary_objects import apply, auxiliary_object_of, live, path, seen
from tests.integration.cluster.keys import differing, keys, without
from tests.integration.cluster.scene import Scene, snapshot
from tests.support.auxiliary_objects import HPA, budget, hpa, untracked
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.rawapi import ApiError, Json
from tests.support.waiting import eventually

V1 = snapshot("v1")
NOTED = {"labels": {"team": "shop"}, "annotations": {"example.com/note": "x"}}
POLICY = {"type": "Pods", "value": 2, "periodSeconds": 30}
RULES = {"stabilizationWindowSeconds": 60, "selectPolicy": "Min", "policies": [POLICY]}
WEB = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}


def noted(manifest: Json) -> Json:
    metadata = manifest["metadata"]
    return {**manifest, "metadata": {**metadata, **{key: {**metadata.get(key, {}), **NOTED[key]} for key in NOTED}}}


EACH: Mapping[str, Json] = {
    "an autoscaler": noted(hpa(behavior={"scaleUp": RULES, "scaleDown": {**RULES}})),
    "a budget": noted(budget(minAvailable=1, selector=WEB)),
    "a budget of those that are away": noted(budget(maxUnavailable=1, selector=WEB)),
    "a ConfigMap": noted({**untracked(level="info", empty=""), "binaryData": {"icon": "AP8="}}),
    "a Secret": noted({**untracked("Secret"), "data": {"a": "eA=="}, "stringData": {"b": "x"}}),
}
DOUBLE = {"type": "Percent", "value": 100, "periodSeconds": 15}
UNSAID = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, DOUBLE],
    },
    "scaleDown": {"selectPolicy": "Max", "policies": [DOUBLE]},
}
"""How an autoscaler behaves where nobody says it: Kubernetes 1.20 writes that out once anybody says anything of it."""
_FIXED = ("apiVersion", "kind", "name", "scaleTargetRef", "gitops-bg.dev/config-tracking")
"""What no manifest goes without, or the agent says."""


def said_in(body: Json) -> dict[str, Any]:
    """What its authors say in an object."""
    rest = {key: deepcopy(body[key]) for key in ("spec", "data", "binaryData", "stringData") if body.get(key)}
    if rest.get("spec", {}).pop("scaleTargetRef", None):
        behavior = rest["spec"].get("behavior") or {}
        rest["spec"]["behavior"] = {way: {**UNSAID[way], **(behavior.get(way) or {})} for way in UNSAID}
    metadata = body["metadata"]
    notes = {kind: {key: (metadata.get(kind) or {}).get(key) for key in NOTED[kind]} for kind in NOTED}
    return {**rest, "metadata": notes}


def anew(scene: Scene, manifest: Json) -> Json | None:
    """What the API server makes of a manifest that nobody has applied before; None where it refuses it."""
    place, _, name = path(scene, auxiliary_object_of(manifest)).rpartition("/")
    version = place.removeprefix("/apis/").removeprefix("/api/").partition("/namespaces/")[0]
    body = {**manifest, "apiVersion": version, "metadata": {**manifest["metadata"], "name": f"{name}-anew"}}
    try:
        made = scene.cluster.create(place, body)
    except ApiError:
        return None
    scene.cluster.delete(f"{place}/{name}-anew")
    return made


@pytest.mark.parametrize("name", EACH)
def test_every_optional_key_can_go(scene: Scene, name: str) -> None:
    full, aim = EACH[name], V1.digest if EACH[name]["kind"] == HPA else ""
    scene.do(ApplyApp())
    tried: list[tuple[str, ...]] = []
    where_its_controller_writes = aim and isinstance(scene.cluster, ControlPlaneCluster)
    for place in keys(full):
        if place in (("metadata",), ("spec",)) or any(step in _FIXED for step in place):
            continue
        less = without(full, place)
        fresh = anew(scene, less)
        if fresh is None:
            continue
        apply(scene, full, aim)
        if where_its_controller_writes and not tried:
            eventually(lambda: len(live(scene, full)["metadata"]["managedFields"]) > 1, what="its controller writes")
        assert seen(scene, less).drifted, place
        apply(scene, less, aim)
        assert differing(said_in(live(scene, less)), said_in(fresh), "") == [], place
        assert not seen(scene, less).drifted, place
        tried.append(place)
    assert len(tried) >= 5, tried
