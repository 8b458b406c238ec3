"""The real kubectl works against the sandbox as against any cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_bg.sandbox import Sandbox
from tests.integration.sandbox.conftest import Kubectl, config_map, ready_replicas, replica_set, service
from tests.support.waiting import eventually

DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "colors.demo.dev"},
    "spec": {
        "group": "demo.dev",
        "scope": "Namespaced",
        "names": {"plural": "colors", "singular": "color", "kind": "Color", "shortNames": ["col"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [
                    {"name": "Shade", "type": "string", "jsonPath": ".spec.shade"},
                    {
                        "name": "Ready",
                        "type": "string",
                        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
                    },
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["shade"],
                                "properties": {
                                    "shade": {"type": "string", "enum": ["light", "dark"]},
                                    "replicas": {"type": "integer", "default": 1},
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def color(shade: str) -> dict[str, Any]:
    return {"apiVersion": "demo.dev/v1", "kind": "Color", "metadata": {"name": "red"}, "spec": {"shade": shade}}


def test_apply_creates_then_leaves_alone_then_configures(kubectl: Kubectl) -> None:
    said = [kubectl("apply", "-f", "-", manifest=replica_set("a", replicas=n)).stdout for n in (1, 1, 2)]
    verbs = [line.split()[-1] for line in said]
    assert verbs == ["created", "unchanged", "configured"]


def test_server_side_apply_names_the_conflict_and_can_be_forced(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", manifest=config_map("c", a="1"))
    two = ("apply", "--server-side", "--field-manager=two", "-f", "-")
    refused = kubectl(*two, manifest=config_map("c", a="2"), fails=True)
    assert 'conflict with "one": .data.a' in refused.stderr
    kubectl(*two, "--force-conflicts", manifest=config_map("c", a="2"))
    assert kubectl("get", "configmap", "c", "-o", "jsonpath={.data.a}").stdout == "2"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"data":{"a":"2"}}'),
        ("strategic", '{"data":{"a":"2"}}'),
        ("json", '[{"op":"replace","path":"/data/a","value":"2"}]'),
    ],
)
def test_patch_works_in_all_three_formats(kubectl: Kubectl, kind: str, patch: str) -> None:
    kubectl("create", "configmap", "c", "--from-literal=a=1")
    kubectl("patch", "configmap", "c", "--type", kind, "-p", patch)
    assert kubectl("get", "configmap", "c", "-o", "jsonpath={.data.a}").stdout == "2"


def test_wait_sees_conditions_fields_and_deletions(kubectl: Kubectl, sandbox: Sandbox) -> None:
    kubectl("apply", "-f", "-", manifest=replica_set("a", replicas=2))
    kubectl("wait", "replicaset/a", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=10s")
    kubectl("wait", "pod", "-l", "version=a", "--for=condition=Ready", "--timeout=10s")
    pod = sandbox.objects("v1", "Pod", "shop")[0]["metadata"]["name"]
    kubectl("delete", "replicaset", "a", "--wait=false")
    kubectl("wait", f"pod/{pod}", "--for=delete", "--timeout=10s")


def test_scale_and_get_show_the_numbers(kubectl: Kubectl, sandbox: Sandbox) -> None:
    kubectl("apply", "-f", "-", manifest=replica_set("a"))
    kubectl("scale", "replicaset", "a", "--replicas=3")
    eventually(lambda: ready_replicas(sandbox, "a") == 3, what="three pods are ready")
    row = kubectl("get", "rs", "a", "--no-headers").stdout.split()
    assert row[:4] == ["a", "3", "3", "3"]


def test_a_definition_serves_its_kind_with_columns_scale_status_and_validation(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", manifest=DEFINITION)
    kubectl("wait", "crd/colors.demo.dev", "--for=condition=Established", "--timeout=10s")
    refused = kubectl("apply", "-f", "-", manifest=color("loud"), fails=True)
    assert 'spec.shade: Unsupported value: "loud": supported values: "light", "dark"' in refused.stderr
    kubectl("apply", "-f", "-", manifest=color("dark"))
    status = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl("patch", "col", "red", "--subresource=status", "--type=merge", "-p", status)
    kubectl("scale", "col", "red", "--replicas=4")
    assert kubectl("get", "col", "red", "--no-headers").stdout.split() == ["red", "dark", "True"]
    kubectl("wait", "col/red", "--for=condition=Ready", "--timeout=10s")
    assert json.loads(kubectl("get", "col", "red", "-o", "json").stdout)["spec"]["replicas"] == 4


def test_an_unknown_field_of_a_custom_object_is_named(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", manifest=DEFINITION)
    wrong = {**color("dark"), "spec": {"shade": "dark", "shda": 1}}
    assert 'unknown field "spec.shda"' in kubectl("apply", "-f", "-", manifest=wrong, fails=True).stderr


@pytest.mark.parametrize("kind", ["replicaset", "service", "pod", "configmap", "namespace", "endpointslice"])
def test_describe_works(kubectl: Kubectl, sandbox: Sandbox, kind: str) -> None:
    kubectl("apply", "-f", "-", manifest=replica_set("a"))
    kubectl("apply", "-f", "-", manifest=service("a", "a"))
    kubectl("create", "configmap", "c", "--from-literal=a=1")
    eventually(lambda: ready_replicas(sandbox, "a") == 1, what="the pod is ready")
    assert "Name:" in kubectl("describe", kind).stdout


def test_get_all_lists_what_there_is(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", manifest=replica_set("a"))
    kubectl("apply", "-f", "-", manifest=service("web", "a"))
    said = kubectl("get", "all", "-o", "name").stdout.split()
    assert {"replicaset.apps/a", "service/web"} <= set(said)


def test_api_resources_name_short_names_and_kinds(kubectl: Kubectl) -> None:
    lines = [line.split() for line in kubectl("api-resources", "--no-headers").stdout.splitlines()]
    assert ["replicasets", "rs", "apps/v1", "true", "ReplicaSet"] in lines


def test_a_deployment_of_someone_else_is_kept(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "theirs", "--image=web:1")
    assert kubectl("get", "deployment", "theirs", "-o", "jsonpath={.spec.replicas}").stdout == "1"


def test_dry_run_and_diff_change_nothing(kubectl: Kubectl, sandbox: Sandbox) -> None:
    kubectl("apply", "-f", "-", manifest=config_map("c", a="1"))
    kubectl("apply", "--dry-run=server", "-f", "-", manifest=config_map("c", a="2"))
    shown = kubectl("diff", "-f", "-", manifest=config_map("c", a="2"), fails=True).stdout
    assert '+  a: "2"' in shown
    (found,) = [obj for obj in sandbox.objects("v1", "ConfigMap", "shop") if obj["metadata"]["name"] == "c"]
    assert found["data"] == {"a": "1"}
