"""The CustomResourceDefinitions of the Gateway API, as its project publishes them: test data beside the repository."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cel
import pytest
import yaml

from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.rawapi import Json
from tests.support.manifests import custom_resource_definition

CRDS = Path(__file__).parents[3].parent / "shared" / "crds"
GATEWAY_CLASS = "tests"
HOW_TO_GET_THEM = f"the CustomResourceDefinitions of the Gateway API are not in {CRDS.parent.name}/{CRDS.name}"


@functools.cache
def definitions() -> tuple[Json, ...]:
    """All of them; none where this machine does not have them."""
    files = sorted(CRDS.glob("gateway.networking.k8s.io_*.yaml"))
    return tuple(_for_old_servers(yaml.load(file.read_text(), yaml.CSafeLoader)) for file in files)


def _for_old_servers(value: Any) -> Any:
    """Without the rules in CEL, which the control plane of the tests is too old to know."""
    if isinstance(value, dict):
        return {key: _for_old_servers(each) for key, each in value.items() if key != "x-kubernetes-validations"}
    return [_for_old_servers(each) for each in value] if isinstance(value, list) else value


def broken_rules(spec: Json, definition: Json | None = None) -> list[str]:
    """What the rules in CEL of a definition, HTTPRoute's by default, say against a spec.

    Today's API servers ask them, that of the tests cannot.
    """
    (file,) = CRDS.glob("*_httproutes.yaml")
    versions = (definition or yaml.load(file.read_text(), yaml.CSafeLoader))["spec"]["versions"]
    (schema,) = (each["schema"]["openAPIV3Schema"] for each in versions if each["name"] == "v1")
    return list(_broken(schema["properties"]["spec"], spec, "spec"))


def _broken(schema: Json, value: Any, place: str) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", ()):
        if not cel.evaluate(rule["rule"], {"self": _escaped(value)}):
            yield f"{place}: {rule['message']}"
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _broken(schema.get("properties", {}).get(key, {}), each, f"{place}.{key}")
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _broken(schema.get("items", {}), each, f"{place}[{number}]")


def _escaped(value: Any) -> Any:
    """With the names that rules have for fields whose own names are words of CEL."""
    if isinstance(value, dict):
        return {"__namespace__" if key == "namespace" else key: _escaped(each) for key, each in value.items()}
    return [_escaped(each) for each in value] if isinstance(value, list) else value


def install_gateway_api(cluster: TestCluster) -> None:
    """Install the Gateway API; skips the test where its definitions are not at hand."""
    if not definitions():
        pytest.skip(HOW_TO_GET_THEM)
    for definition in definitions():
        plural = definition["spec"]["names"]["plural"]
        if cluster.request("GET", f"/apis/gateway.networking.k8s.io/v1/{plural}")[0] != 200:
            cluster.install_crd(definition)


def open_gateway(cluster: TestCluster, namespace: str, name: str = "public") -> None:
    """Make a Gateway of a namespace, `public` by default, and the Service that denies.

    The sandbox takes routes at once, whatever the class; a control plane has nobody who says anything of them.
    """
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    spec = {"gatewayClassName": GATEWAY_CLASS, "listeners": [listener]}
    metadata = {"name": name, "namespace": namespace}
    body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": metadata, "spec": spec}
    cluster.apply(body)
    deny, port = {"name": "gitops-bg-deny", "namespace": namespace}, {"port": 80, "protocol": "TCP"}
    cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": deny, "spec": {"ports": [port]}})


def install_grpc_routes(cluster: TestCluster) -> None:
    """Install GRPCRoute beside the rest: as the project publishes it, or else with any fields."""
    install_gateway_api(cluster)
    published = grpc_definition()
    definition = published or custom_resource_definition("GRPCRoute", "gateway.networking.k8s.io")
    if not published:
        definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for tests only"}
    cluster.install_crd(_for_old_servers(definition))


def grpc_definition() -> Json | None:
    """That of GRPCRoute, which is not among the test data; None where nobody fetched it."""
    file = Path(os.environ.get("GITOPS_BG_GATEWAY_API", "")) / "gateway.networking.k8s.io_grpcroutes.yaml"
    return yaml.load(file.read_text(), yaml.CSafeLoader) if file.is_absolute() and file.is_file() else None
