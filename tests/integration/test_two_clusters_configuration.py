"""ConfigMaps and Secrets: what the real API server makes of them and refuses, the sandbox does, in the same words."""

from __future__ import annotations

import base64

import pytest

from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection, config_maps
from tests.support.cluster.rawapi import MERGE, Json

KEY_RULE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
FROZEN = "Forbidden: field is immutable when `immutable` is set"
ONE_MIB = 1024 * 1024


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def path_to(kind: str, namespace: str) -> str:
    return collection("v1", kind, namespace)


def named(**fields: object) -> Json:
    return {"metadata": {"name": "one"}, **fields}


def made(cluster: TestCluster, namespace: str, kind: str, **fields: object) -> Json:
    """What a new object comes back as, without its metadata."""
    answer = cluster.create(path_to(kind, namespace), named(**fields))
    return {key: value for key, value in answer.items() if key not in ("apiVersion", "kind", "metadata")}


# What comes back.


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({}, {}),
        ({"data": {}}, {}),
        ({"data": {"a": "1"}}, {"data": {"a": "1"}}),
        ({"data": {"a": None}}, {"data": {"a": ""}}),
        ({"data": {"A_b-c.d": "1"}}, {"data": {"A_b-c.d": "1"}}),
        ({"binaryData": {"a": "YWJj\nZGVm"}}, {"binaryData": {"a": "YWJjZGVm"}}),
        ({"data": {"a": "1"}, "immutable": False}, {"data": {"a": "1"}, "immutable": False}),
    ],
)
def test_a_config_map_is_kept_like_this(cluster: TestCluster, namespace: str, sent: Json, kept: Json) -> None:
    assert made(cluster, namespace, "ConfigMap", **sent) == kept


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({}, {"type": "Opaque"}),
        ({"type": ""}, {"type": "Opaque"}),
        ({"stringData": {"password": "hush"}}, {"type": "Opaque", "data": {"password": coded("hush")}}),
        (
            {"data": {"a": coded("1"), "b": coded("2")}, "stringData": {"a": "over"}},
            {"type": "Opaque", "data": {"a": coded("over"), "b": coded("2")}},
        ),
        ({"stringData": {"a": None}}, {"type": "Opaque", "data": {"a": ""}}),
        ({"data": {"a": None}}, {"type": "Opaque", "data": {"a": ""}}),
        ({"data": {"a": "YWI1YR=="}}, {"type": "Opaque", "data": {"a": "YWI1YQ=="}}),
        ({"type": "example.com/own"}, {"type": "example.com/own"}),
    ],
)
def test_a_secret_is_kept_like_this(cluster: TestCluster, namespace: str, sent: Json, kept: Json) -> None:
    assert made(cluster, namespace, "Secret", **sent) == kept


def test_one_mebibyte_of_values_is_taken(cluster: TestCluster, namespace: str) -> None:
    assert len(made(cluster, namespace, "ConfigMap", data={"long-key": "x" * ONE_MIB})["data"]["long-key"]) == ONE_MIB


# What is refused at once.


@pytest.mark.parametrize(
    ("kind", "fields", "causes"),
    [
        ("ConfigMap", {"data": {"a b": "1"}}, {("data[a b]", KEY_RULE)}),
        ("ConfigMap", {"data": {"": "1"}}, {("data[]", KEY_RULE)}),
        ("ConfigMap", {"data": {".": "1"}}, {("data[.]", "must not be '.'")}),
        ("ConfigMap", {"data": {"..": "1"}}, {("data[..]", "must not be '..'")}),
        ("ConfigMap", {"data": {"..x": "1"}}, {("data[..x]", "must not start with '..'")}),
        ("ConfigMap", {"data": {"k" * 254: "1"}}, {(f"data[{'k' * 254}]", "must be no more than 253 characters")}),
        ("ConfigMap", {"binaryData": {"a b": ""}}, {("binaryData[a b]", KEY_RULE)}),
        ("ConfigMap", {"data": {"a": "1"}, "binaryData": {"a": ""}}, {("data[a]", "duplicate of key present in")}),
        ("ConfigMap", {"data": {"a": "x" * (ONE_MIB + 1)}}, {("[]", "1048576 bytes")}),
        ("ConfigMap", {"data": {"a": "x" * ONE_MIB}, "binaryData": {"b": "MQ=="}}, {("[]", "1048576 bytes")}),
        ("Secret", {"data": {"a b": ""}}, {("data[a b]", KEY_RULE)}),
        ("Secret", {"stringData": {"a b": "1"}}, {("data[a b]", KEY_RULE)}),
        ("Secret", {"stringData": {"a": "x" * (ONE_MIB + 1)}}, {("data", "1048576 bytes")}),
        ("Secret", {"type": "kubernetes.io/tls", "stringData": {"tls.crt": ""}}, {("data[tls.key]", "Required value")}),
        (
            "Secret",
            {"type": "kubernetes.io/basic-auth"},
            {("data[username]", "Required value"), ("data[password]", "Required value")},
        ),
        (
            "Secret",
            {"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": ""}},
            {("data[ssh-privatekey]", "Required value")},
        ),
        ("Secret", {"type": "kubernetes.io/dockercfg"}, {("data[.dockercfg]", "Required value")}),
        (
            "Secret",
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "not JSON"}},
            {("data[.dockerconfigjson]", 'Invalid value: "<secret contents redacted>": ')},
        ),
        (
            "Secret",
            {"type": "kubernetes.io/service-account-token"},
            {("metadata.annotations[kubernetes.io/service-account.name]", "Required value")},
        ),
    ],
)
def test_an_invalid_one_is_a_422_that_names_field_and_rule(
    cluster: TestCluster, namespace: str, kind: str, fields: Json, causes: set[tuple[str, str]]
) -> None:
    status, answer = cluster.request("POST", path_to(kind, namespace), named(**fields))
    assert (status, answer["reason"]) == (422, "Invalid")
    # Kubernetes 1.20 forgot to put the name in: `data[%s][password]`.
    said = {each["field"].replace("[%s]", ""): each["message"] for each in answer["details"]["causes"]}
    assert said.keys() == {field for field, _ in causes}
    for field, words in causes:
        assert words in said[field]


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("Secret", {"data": {"a": "!!"}}, "illegal base64 data at input byte 0"),
        ("Secret", {"data": {"a": "YWJj!A=="}}, "illegal base64 data at input byte 4"),
        ("Secret", {"data": {"a": "abc"}}, "illegal base64 data at input byte 0"),
        ("Secret", {"data": {"a": "__--"}}, "illegal base64 data at input byte 0"),
        ("ConfigMap", {"binaryData": {"a": "!!"}}, "illegal base64 data at input byte 0"),
        ("ConfigMap", {"data": {"a": 1}}, "cannot be handled as a ConfigMap"),
        ("ConfigMap", {"data": {"a": {"b": "c"}}}, "cannot be handled as a ConfigMap"),
        ("ConfigMap", {"immutable": "yes"}, "cannot be handled as a ConfigMap"),
        ("Secret", {"stringData": {"a": 1}}, "cannot be handled as a Secret"),
        ("Secret", {"immutable": "yes"}, "cannot be handled as a Secret"),
    ],
)
def test_one_that_cannot_be_read_is_a_400(
    cluster: TestCluster, namespace: str, kind: str, fields: Json, words: str
) -> None:
    status, answer = cluster.request("POST", path_to(kind, namespace), named(**fields))
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert words in answer["message"]


# What never changes.

SETTLED: Json = {"data": {"a": coded("1")}, "immutable": True}


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"data": {"a": coded("2")}}, ["data"]),
        ({"data": {"b": coded("2")}}, ["data"]),
        ({"data": None}, ["data"]),
        ({"immutable": False}, ["immutable"]),
        ({"immutable": None}, ["immutable"]),
        ({"immutable": None, "data": None}, ["immutable", "data"]),
    ],
)
def test_an_immutable_one_keeps_its_data_and_stays_immutable(
    cluster: TestCluster, namespace: str, kind: str, change: Json, fields: list[str]
) -> None:
    path = path_to(kind, namespace)
    cluster.create(path, named(**SETTLED))
    status, answer = cluster.request("PATCH", f"{path}/one", change, content_type=MERGE)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert [(each["field"], each["message"]) for each in answer["details"]["causes"]] == [(f, FROZEN) for f in fields]


def test_an_immutable_config_map_keeps_its_binary_data(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), named(binaryData={"a": coded("1")}, immutable=True))
    change = {"binaryData": {"a": coded("2")}}
    status, answer = cluster.request("PATCH", f"{config_maps(namespace)}/one", change, content_type=MERGE)
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "binaryData")


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize("change", [{"metadata": {"labels": {"a": "b"}}}, {"data": {"a": coded("1")}}, SETTLED])
def test_an_immutable_one_takes_labels_and_the_same_data(
    cluster: TestCluster, namespace: str, kind: str, change: Json
) -> None:
    path = path_to(kind, namespace)
    cluster.create(path, named(**SETTLED))
    assert cluster.patch(f"{path}/one", change)["data"] == SETTLED["data"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_change_may_make_it_immutable_and_deletion_is_always_possible(
    cluster: TestCluster, namespace: str, kind: str
) -> None:
    path = path_to(kind, namespace)
    cluster.create(path, named(data={"a": coded("1")}))
    assert cluster.patch(f"{path}/one", {"immutable": True, "data": {"a": coded("2")}})["immutable"] is True
    cluster.delete(f"{path}/one")
    assert cluster.find(f"{path}/one") is None


def test_an_empty_map_is_none_where_it_is_immutable(cluster: TestCluster, namespace: str) -> None:
    cluster.create(config_maps(namespace), named(immutable=True))
    assert "data" not in cluster.patch(f"{config_maps(namespace)}/one", {"data": {}})


@pytest.mark.parametrize(
    ("before", "change", "method"),
    [({}, {"type": "x/y"}, "PATCH"), ({"type": "x/y"}, named(), "PUT"), (SETTLED, {"type": "x/y"}, "PATCH")],
)
def test_the_type_of_a_secret_never_changes(
    cluster: TestCluster, namespace: str, before: Json, change: Json, method: str
) -> None:
    path = path_to("Secret", namespace)
    cluster.create(path, named(**before))
    content = {"content_type": MERGE} if method == "PATCH" else {}
    status, answer = cluster.request(method, f"{path}/one", change, **content)
    wanted = change.get("type", "Opaque")
    assert status == 422
    assert answer["message"].startswith(f'Secret "one" is invalid: type: Invalid value: "{wanted}": field is immutable')


def test_string_data_of_a_patch_goes_over_what_is_there(cluster: TestCluster, namespace: str) -> None:
    path = path_to("Secret", namespace)
    cluster.create(path, named(data={"a": coded("1"), "b": coded("2")}))
    changed = cluster.patch(f"{path}/one", {"stringData": {"a": "3"}})
    assert changed["data"] == {"a": coded("3"), "b": coded("2")}
    assert "stringData" not in changed
