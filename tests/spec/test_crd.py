"""The CustomResourceDefinition: what is in deploy/ is what the models say, and API servers take it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.names import API_VERSION, KIND, PLURAL
from gitops_bg.spec.crd import definition, group_definition, render, render_group, spec_schema
from gitops_bg.spec.yaml.reader import read_one
from tests.support.cluster.clusters import TestCluster

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_deployed_definitions_are_the_generated_ones() -> None:
    assert (DEPLOY / "crd.yaml").read_text() == render(), "run: make docs"
    assert (DEPLOY / "crd-releasegroups.yaml").read_text() == render_group(), "run: make docs"


def test_the_command_prints_them() -> None:
    command = [sys.executable, "-m", "gitops_bg.spec.crd"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == render()
    group = subprocess.run([*command, "releasegroups"], capture_output=True, text=True, check=True)
    assert group.stdout == render_group()


@pytest.mark.parametrize(("text", "made"), [(render(), definition()), (render_group(), group_definition())])
def test_it_reads_back_as_it_was_made(text: str, made: dict[str, Any]) -> None:
    document, problems = read_one("crd.yaml", text.encode())
    assert problems == ()
    assert document is not None
    assert document.value == made


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    for each in schema.get("properties", {}).values():
        yield from schemas(each)
    for inside in ("items", "additionalProperties"):
        if inside in schema:
            yield from schemas(schema[inside])


def all_schemas() -> list[dict[str, Any]]:
    return [
        each
        for made in (definition(), group_definition())
        for each in schemas(made["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    ]


def test_the_schema_is_structural() -> None:
    for schema in all_schemas():
        assert "type" in schema or schema.get("x-kubernetes-int-or-string")
        assert schema.get("additionalProperties", {"type": "string"}) == {"type": "string"}
        assert not {"$ref", "anyOf", "oneOf", "default", "title", "const"} & schema.keys()
        assert not {"additionalProperties", "properties"} <= schema.keys(), "one of the two, says Kubernetes"


def test_nothing_is_free_of_a_schema() -> None:
    assert [schema for schema in all_schemas() if "x-kubernetes-preserve-unknown-fields" in schema] == []


def test_every_field_is_explained() -> None:
    def unexplained(schema: dict[str, Any]) -> list[str]:
        return [name for name, each in schema.get("properties", {}).items() if "description" not in each]

    assert [unexplained(each) for each in schemas(spec_schema()) if unexplained(each)] == []


APP = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "metadata": {"name": "web"},
    "spec": {
        "target": "target.yaml",
        "strategy": {"blueGreen": {"activeService": "web", "scaleDownDelaySeconds": "never"}},
    },
}
STATUS = {
    "phase": "Healthy",
    "commit": "9be1c0d",
    "active": {"version": 7, "name": "1.0.0 (v7)", "digest": "v1:3f", "color": "blue", "image": "web:1.0.0"},
    "candidate": {"version": 8, "name": "v8 (4f)", "digest": "v1:4f", "color": "green"},
    "desiredReplicas": 3,
    "availableReplicas": 2,
    "conditions": [
        {"type": "Available", "status": "True", "reason": "x", "message": "y"},
        {"type": "Ready", "status": "False", "reason": "x", "message": "y"},
    ],
    "gates": [{"kind": "pause", "open": False, "reason": "z", "until": "2026-03-01T12:00:00Z"}],
    "waits": [{"gate": "pause", "version": 8, "reason": "z", "until": "2026-03-01T12:00:00Z"}],
    "record": "5eed.eJyrVkotyM9UslIyMFSqBQAkTgQ5",
    "unknown": "pruned",
}


@pytest.fixture
def apps(cluster: TestCluster, namespace: str) -> str:
    """The path of the BlueGreenDeployments of a namespace, in a cluster that has the definition."""
    cluster.install_crd(definition())
    return f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}"


def test_a_cluster_takes_it_and_kubectl_shows_the_columns(cluster: TestCluster, namespace: str, apps: str) -> None:
    cluster.create(apps, APP)
    cluster.patch(f"{apps}/web/status", {"status": STATUS})
    live = cluster.get(f"{apps}/web")
    assert live["status"] == {key: value for key, value in STATUS.items() if key != "unknown"}
    assert live["spec"] == APP["spec"]

    listed = cluster.kubectl("get", "bgd", "-n", namespace, "-o", "wide")
    header, row = listed.stdout.splitlines()
    assert header.split() == [
        *("NAME", "PHASE", "ACTIVE", "CANDIDATE", "READY", "COLOR", "DESIRED", "AVAILABLE", "COMMIT", "IMAGE", "AGE")
    ], listed.stderr
    assert row.split()[:-1] == [
        *("web", "Healthy", "1.0.0", "(v7)", "v8", "(4f)", "False", "blue", "3", "2", "9be1c0d", "web:1.0.0")
    ]
    waited = cluster.kubectl("wait", "bgd/web", "-n", namespace, "--for=condition=Available", "--timeout=5s")
    assert waited.returncode == 0, waited.stderr


@pytest.mark.parametrize(
    "change",
    [{"strategy": {}}, {"deletionPolicy": "Delete"}, {"minReadySeconds": -1}, {"promotion": {"via": "email"}}],
    ids=str,
)
def test_a_cluster_refuses_what_the_schema_forbids(cluster: TestCluster, apps: str, change: dict[str, Any]) -> None:
    status, _ = cluster.request("POST", apps, {**APP, "spec": {**APP["spec"], **change}})
    assert status == 422


def test_every_map_says_what_it_may_hold() -> None:
    """The API server drops what an object without that has."""
    for schema in all_schemas():
        if schema.get("type") == "object":
            kept = schema.get("x-kubernetes-preserve-unknown-fields")
            assert kept or "properties" in schema or "additionalProperties" in schema, schema
