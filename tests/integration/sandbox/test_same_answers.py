"""Answers to odd requests, word for word the same from the sandbox and from a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.sandbox.conftest import APPLY, JSON_PATCH, MERGE, config_map, replica_set
from tests.support.cluster.clusters import TestCluster

JSON = "application/json"
OWN = "/apis/apps/v1/namespaces/{0}/replicasets/web"
ALL = "/apis/apps/v1/namespaces/{0}/replicasets"


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "expected"),
    [
        ("PATCH", OWN, {"spec": {"replicas": "3"}}, MERGE, (422, "Invalid")),
        ("PATCH", OWN, {"metadata": {"uid": "1"}}, MERGE, (422, "Invalid")),
        ("PATCH", OWN, {"metadata": {"resourceVersion": "1"}}, MERGE, (409, "Conflict")),
        ("PATCH", OWN, {"metadata": {"name": "other"}}, MERGE, (400, "BadRequest")),
        ("PATCH", OWN, [{"op": "test", "path": "/spec/replicas", "value": 9}], JSON_PATCH, (422, "Invalid")),
        ("PATCH", OWN, {"not": "a list"}, JSON_PATCH, (400, "BadRequest")),
        ("PATCH", OWN + "?fieldManager=a", {"metadata": {"name": "web"}}, APPLY, (400, "BadRequest")),
        ("PATCH", OWN + "/scale", {"spec": {"replicas": -2}}, MERGE, (422, "Invalid")),
        ("GET", OWN + "/nothing", None, JSON, (404, "NotFound")),
        ("POST", OWN, {}, JSON, (405, "MethodNotAllowed")),
        ("POST", ALL, {"metadata": {"name": "x"}, "spec": {}}, JSON, (422, "Invalid")),
        ("GET", ALL + "?labelSelector=a%20in%201", None, JSON, (400, "BadRequest")),
        ("GET", ALL + "?fieldSelector=spec.x%3D1", None, JSON, (400, "BadRequest")),
        ("GET", ALL + "?continue=zzz", None, JSON, (400, "BadRequest")),
        ("DELETE", OWN, {"preconditions": {"uid": "x"}}, JSON, (409, "Conflict")),
        ("POST", "/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "n"}}, JSON, (404, "NotFound")),
        ("POST", "/api/v1/configmaps", {"metadata": {"name": "n"}}, JSON, (405, "MethodNotAllowed")),
    ],
)
def test_an_odd_request_gets_the_same_status_and_reason(
    cluster: TestCluster, namespace: str, method: str, path: str, body: Any, kind: str, expected: tuple[int, str]
) -> None:
    own = replica_set("web", replicas=0)
    cluster.create(ALL.format(namespace), {**own, "metadata": {"name": "web"}})
    status, answer = cluster.request(method, path.format(namespace), body, content_type=kind)
    assert (status, answer["reason"]) == expected, answer
    assert (answer["kind"], answer["code"]) == ("Status", status)


def test_a_failed_test_of_a_json_patch_is_worded_the_same(cluster: TestCluster, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    cluster.create(path, config_map("c", a="1"))
    change = [{"op": "test", "path": "/data/a", "value": "2"}]
    _, answer = cluster.request("PATCH", f"{path}/c", change, content_type=JSON_PATCH)
    assert answer["message"] == "the server rejected our request due to an error in our request"


def test_the_creator_owns_what_it_sent_and_not_what_the_server_assigned(cluster: TestCluster, namespace: str) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}
    made = cluster.create(f"/api/v1/namespaces/{namespace}/services", body)
    (entry,) = made["metadata"]["managedFields"]
    assert entry["operation"] == "Update"
    assert {"f:selector", "f:ports", "f:type"} <= entry["fieldsV1"]["f:spec"].keys()
    assert "f:clusterIP" not in entry["fieldsV1"]["f:spec"]
    assert "f:status" not in entry["fieldsV1"]


def test_a_scale_of_zero_leaves_the_number_out(cluster: TestCluster, namespace: str) -> None:
    own = replica_set("web", replicas=0)
    cluster.create(ALL.format(namespace), {**own, "metadata": {"name": "web"}})
    assert cluster.get(OWN.format(namespace) + "/scale")["spec"] == {}
