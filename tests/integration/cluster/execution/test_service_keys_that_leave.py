"""A key that leaves the manifest of a Service leaves the live Service, whatever was written to it in between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.actions import ApplyApp, ApplyService, PointPreview
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.spec.app.load import AppConfig
from tests.integration.cluster.scene import Scene, create, snapshot
from tests.support.cluster.clusters import ControlPlaneCluster, TestCluster
from tests.support.cluster.rawapi import Json

NAME = "web-preview"
V1, V2 = snapshot("v1"), snapshot("v2")
PORT = {"name": "http", "port": 80, "targetPort": "http"}
STICKY = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}
OUTSIDE = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
EACH: Mapping[str, tuple[Json, tuple[str, ...], int]] = {
    "type": ({"type": "NodePort"}, ("type",), 0),
    "type of all that goes with it": (OUTSIDE, tuple(OUTSIDE), 0),
    "externalTrafficPolicy": (OUTSIDE, ("externalTrafficPolicy",), 0),
    "loadBalancerSourceRanges": (
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"]}, ("loadBalancerSourceRanges",), 0,
    ),
    "loadBalancerIP": ({"type": "LoadBalancer", "loadBalancerIP": "10.1.2.3"}, ("loadBalancerIP",), 0),
    "externalIPs": ({"externalIPs": ["10.1.2.3"]}, ("externalIPs",), 0),
    "publishNotReadyAddresses": ({"publishNotReadyAddresses": True}, ("publishNotReadyAddresses",), 0),
    "sessionAffinity": (STICKY, tuple(STICKY), 0),
    "sessionAffinityConfig": (STICKY, ("sessionAffinityConfig",), 0),
    "internalTrafficPolicy": ({"internalTrafficPolicy": "Local"}, ("internalTrafficPolicy",), 26),
    "allocateLoadBalancerNodePorts": (
        {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, ("allocateLoadBalancerNodePorts",), 24,
    ),
    "trafficDistribution": ({"trafficDistribution": "PreferClose"}, ("trafficDistribution",), 33),
}  # fmt: skip
"""What a Service says, which of that goes, and the first minor release of Kubernetes that has it."""
_CHOSEN = ("clusterIP", "clusterIPs", "healthCheckNodePort", "selector")
"""What the API server chooses for each Service, or the agent says."""


def manifest(spec: Json, **metadata: Any) -> Json:
    said = {"ports": [PORT], **deepcopy(spec)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, **metadata}, "spec": said}


def saying(scene: Scene, body: Json) -> AppConfig:
    return replace(scene.config, services={NAME: body})


def apply(scene: Scene, body: Json) -> None:
    scene.do(ApplyService("preview", NAME, V1.digest, "told to"), config=saying(scene, body))


def view(scene: Scene, body: Json) -> ServiceView:
    found = scene.observe(saying(scene, body)).preview_service
    assert found is not None
    return found


def spec_of(live: Json) -> Json:
    """What a Service says, without what is its own."""
    spec = {key: value for key, value in live["spec"].items() if key not in _CHOSEN}
    spec["ports"] = [{key: value for key, value in port.items() if key != "nodePort"} for port in spec["ports"]]
    return spec


def anew(scene: Scene, body: Json) -> Json:
    """What the API server makes of a manifest that nobody has applied before."""
    other = {**body, "metadata": {**body["metadata"], "name": "anew", "namespace": scene.app.namespace}}
    return scene.cluster.create(f"/api/v1/namespaces/{scene.app.namespace}/services", other)


def minor(cluster: TestCluster) -> int:
    return cluster.minor if isinstance(cluster, ControlPlaneCluster) else 20


@pytest.fixture(params=["at once", "after traffic moved"])
def between(request: pytest.FixtureRequest, scene: Scene) -> Any:
    """What the agent writes between two pushes: nothing, or another version with other ports, and back."""
    scene.do(ApplyApp(), create(V1), create(V2, number=2))

    def write() -> None:
        if request.param == "at once":
            return
        ports = scene.live("services", NAME)["spec"]["ports"]
        port = {"port": 80, "targetPort": 9000}
        scene.do(PointPreview(NAME, tuple(sorted(scene.selector(V1).items())), V2.digest, json.dumps([port])))
        kept = [{key: value for key, value in each.items() if key != "nodePort"} for each in ports]
        scene.do(PointPreview(NAME, tuple(sorted(scene.selector(V2).items())), V1.digest, json.dumps(kept)))

    return write


@pytest.mark.parametrize("name", EACH)
def test_a_key_of_a_service_can_go(scene: Scene, between: Any, name: str) -> None:
    said, going, since = EACH[name]
    if minor(scene.cluster) < since:
        pytest.skip(f"Kubernetes has it since 1.{since}")
    full, less = manifest(said), manifest({key: value for key, value in said.items() if key not in going})
    apply(scene, full)
    between()
    assert not view(scene, full).drifted
    assert view(scene, less).drifted
    apply(scene, less)
    assert spec_of(scene.live("services", NAME)) == spec_of(anew(scene, less))
    assert not view(scene, less).drifted


def test_a_key_of_a_port_can_go(scene: Scene, between: Any) -> None:
    less = manifest({})
    full = manifest({"ports": [{**PORT, "appProtocol": "kubernetes.io/h2c"}]})
    apply(scene, full)
    between()
    assert not view(scene, full).drifted
    assert view(scene, less).drifted
    apply(scene, less)
    assert spec_of(scene.live("services", NAME)) == spec_of(anew(scene, less))
    assert not view(scene, less).drifted


@pytest.mark.parametrize("kind", ["labels", "annotations"])
def test_a_label_or_an_annotation_of_a_service_can_go(scene: Scene, between: Any, kind: str) -> None:
    full, less = manifest({}, **{kind: {"example.com/one": "1", "example.com/two": "2"}}), manifest({})
    one = manifest({}, **{kind: {"example.com/one": "1"}})
    apply(scene, full)
    between()
    theirs = {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}}
    scene.cluster.patch(f"/api/v1/namespaces/{scene.app.namespace}/services/{NAME}", {"metadata": theirs})
    apply(scene, full)
    assert not view(scene, full).drifted
    for body, left in ((one, ["example.com/one"]), (less, [])):
        assert view(scene, body).drifted
        apply(scene, body)
        found = scene.live("services", NAME)["metadata"].get(kind) or {}
        assert sorted(key for key in found if key.startswith("example.com/")) == left
        assert found["theirs"] == "1"
        assert not view(scene, body).drifted
