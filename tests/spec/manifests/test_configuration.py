"""ConfigMaps and Secrets as parts of a version: one form, golden digests, and what an author is told."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from gitops_bg.core.model.digest import canonical_json
from gitops_bg.spec.manifests.configuration import (
    MAX_BYTES,
    MAX_OBJECT_BYTES,
    Configuration,
    check_configuration,
    check_size,
    configuration_of,
    is_tracked,
    refs_in,
    text_of,
)
from gitops_bg.spec.yaml.reader import Document, read_one

# What an object holds, its canonical text, its digest. Never change a line: each would start a rollout everywhere.
GOLDEN: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "an empty ConfigMap": (
        "ConfigMap",
        {},
        '{"kind":"ConfigMap","name":"web"}',
        "v1:d6358be02f0d2f64dda2ccbbc1fbb898b8b2652759985f9182df703baf41d41b",
    ),
    "data and binaryData": (
        "ConfigMap",
        {"data": {"color": "blue", "empty": ""}, "binaryData": {"icon": "AP8="}},
        '{"binaryData":{"icon":"AP8="},"data":{"color":"blue","empty":""},"kind":"ConfigMap","name":"web"}',
        "v1:0a405c980b3aaf4331aa4c4347cac7f32d4400791df6bad5648c9cfa105284b5",
    ),
    "a Secret": (
        "Secret",
        {"data": {"password": "aHVudGVyMg=="}},
        '{"data":{"password":"aHVudGVyMg=="},"kind":"Secret","name":"web"}',
        "v1:59f9c166e676fd1176f7ecdb425f47eff8f9e919a29fdc70222dcda2a06b4109",
    ),
    "a Secret with a type": (
        "Secret",
        {"type": "kubernetes.io/tls", "data": {"tls.key": "AA=="}},
        '{"data":{"tls.key":"AA=="},"kind":"Secret","name":"web","type":"kubernetes.io/tls"}',
        "v1:1287d204b4ccc20d18cb709082ddc4e88373172180206d93bbfacd1d83c8104e",
    ),
}


def held(kind: str, name: str = "web", **body: Any) -> Configuration:
    return configuration_of(kind, name, body)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    kind, body, text, digest = GOLDEN[name]
    made = held(kind, **body)
    assert (canonical_json(made.content), made.ref.digest) == (text, digest)


SAME: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "stringData is data": (
        "Secret",
        {"stringData": {"password": "hunter2"}},
        {"data": {"password": "aHVudGVyMg=="}},
    ),
    "stringData comes before data": (
        "Secret",
        {"data": {"password": "eA=="}, "stringData": {"password": "hunter2"}},
        {"data": {"password": "aHVudGVyMg=="}},
    ),
    "line breaks in base64": ("Secret", {"data": {"a": "aHVu\ndGVyMg==\n"}}, {"data": {"a": "aHVudGVyMg=="}}),
    "the default type": ("Secret", {"type": "Opaque", "data": {"a": "eA=="}}, {"data": {"a": "eA=="}}),
    "metadata": ("ConfigMap", {"metadata": {"labels": {"a": "b"}}, "data": {"a": "b"}}, {"data": {"a": "b"}}),
    "that it is immutable": ("ConfigMap", {"immutable": True, "data": {"a": "b"}}, {"data": {"a": "b"}}),
    "an empty map": ("ConfigMap", {"data": {"a": "b"}, "binaryData": {}}, {"data": {"a": "b"}}),
    "nothing written": ("ConfigMap", {"data": None}, {}),
}


@pytest.mark.parametrize("name", SAME)
def test_what_makes_no_difference(name: str) -> None:
    kind, one, other = SAME[name]
    assert held(kind, **one) == held(kind, **other)


DIFFERENT: dict[str, tuple[Configuration, Configuration]] = {
    "the name": (held("ConfigMap", "a"), held("ConfigMap", "b")),
    "the kind": (held("ConfigMap", data={"a": "eA=="}), held("Secret", data={"a": "eA=="})),
    "a value": (held("ConfigMap", data={"a": "b"}), held("ConfigMap", data={"a": "c"})),
    "a key": (held("ConfigMap", data={"a": "b"}), held("ConfigMap", data={"b": "b"})),
    "binaryData": (held("ConfigMap", binaryData={"a": "eA=="}), held("ConfigMap", binaryData={"a": "eQ=="})),
    "data or binaryData": (held("ConfigMap", data={"a": "eA=="}), held("ConfigMap", binaryData={"a": "eA=="})),
    "the type": (held("Secret", data={"a": "eA=="}), held("Secret", type="x/y", data={"a": "eA=="})),
    "an empty value": (held("ConfigMap", data={"a": ""}), held("ConfigMap")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_makes_a_difference(name: str) -> None:
    one, other = DIFFERENT[name]
    assert one.ref != other.ref
    assert one.ref.digest != other.ref.digest


def test_what_is_in_it_is_not_shown_by_repr() -> None:
    assert "hunter2" not in repr(held("ConfigMap", data={"password": "hunter2"}))


def test_references_are_kept_as_text() -> None:
    refs = tuple(sorted((held("Secret").ref, held("ConfigMap", "b").ref, held("ConfigMap", "a").ref)))
    assert refs_in(text_of(reversed(refs))) == refs
    assert (text_of(()), refs_in("")) == ("", ())
    for broken in ("[", "[1]", '[["a"]]', '{"a": 1}', "7"):
        assert refs_in(broken) == ()


REFERRED_TO = frozenset({("ConfigMap", "web"), ("Secret", "web")})
TRACKED: dict[str, tuple[dict[str, Any], bool]] = {
    "what the template refers to": ({"kind": "ConfigMap"}, True),
    "a Secret with a type": ({"kind": "Secret", "type": "kubernetes.io/tls"}, True),
    "what nothing refers to": ({"kind": "ConfigMap", "metadata": {"name": "other"}}, False),
    "another kind of this name": ({"kind": "Service"}, False),
    "disabled": (
        {
            "kind": "ConfigMap",
            "metadata": {"name": "web", "annotations": {"gitops-bg.dev/config-tracking": "disabled"}},
        },
        False,
    ),
    "disabled in Flagger's word": (
        {"kind": "ConfigMap", "metadata": {"name": "web", "annotations": {"flagger.app/config-tracking": "disable"}}},
        False,
    ),
    "an annotation that says otherwise": (
        {"kind": "ConfigMap", "metadata": {"name": "web", "annotations": {"gitops-bg.dev/config-tracking": "yes"}}},
        True,
    ),
    "the token of a ServiceAccount": ({"kind": "Secret", "type": "kubernetes.io/service-account-token"}, False),
}


@pytest.mark.parametrize("name", TRACKED)
def test_which_manifests_are_part_of_a_version(name: str) -> None:
    manifest, tracked = TRACKED[name]
    assert is_tracked({"metadata": {"name": "web"}, **manifest}, REFERRED_TO) is tracked


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
SECRET = CONFIG_MAP.replace("ConfigMap", "Secret")
WRONG = {
    "a name that is none": (
        CONFIG_MAP.replace("web", "My_Settings"),
        ["c.yaml:3: metadata.name: is no name that Kubernetes takes (use small letters, digits, - and .)"],
    ),
    "a number": (CONFIG_MAP + "data:\n  port: 80\n", ["c.yaml:5: data.port: expected text, found a number"]),
    "a truth value": (CONFIG_MAP + "data: {x: true}\n", ["expected text, found a truth value (put it in quotes)"]),
    "nothing": (CONFIG_MAP + "data:\n  a:\n", ["data.a: expected text, found nothing"]),
    "a list for a map": (CONFIG_MAP + "data: [a]\n", ["c.yaml:4: data: expected a mapping, found a list"]),
    "a key that is no name": (CONFIG_MAP + 'data: {"a b": x}\n', ["data: is no key that Kubernetes takes"]),
    "a key that leads away": (CONFIG_MAP + 'data: {"..": x}\n', ["is no key that Kubernetes takes"]),
    "a key twice": (CONFIG_MAP + "data: {a: x}\nbinaryData: {a: eA==}\n", ["c.yaml:5: binaryData.a: is in data, too"]),
    "bad base64 in a ConfigMap": (
        CONFIG_MAP + "binaryData: {a: hunter2}\n",
        ["binaryData.a: is not base64 (encode it)"],
    ),
    "bad base64 in a Secret": (
        SECRET + "data: {a: hunter2}\n",
        ["c.yaml:4: data.a: is not base64 (write the text under stringData)"],
    ),
    "letters that are no base64": (SECRET + "data: {a: größe}\n", ["data.a: is not base64"]),
    "a number in stringData": (SECRET + "stringData: {pin: 1234}\n", ["stringData.pin: expected text, found a number"]),
    "a type that is none": (SECRET + "type: [x]\n", ["type: expected text, found a list"]),
    "two things": (CONFIG_MAP + "data: {a: 1, b: 2}\n", ["data.a: expected", "data.b: expected"]),
    "SOPS": (
        SECRET + "data: {a: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}\n",
        ["c.yaml:5: sops: an object encrypted by SOPS cannot be used"],
    ),
    "too much": (CONFIG_MAP + f"data: {{a: {'x' * (MAX_OBJECT_BYTES - 100)}, b: {'y' * 101}}}\n", ["1,048,577 bytes"]),
}


def complaints(text: str) -> list[str]:
    if len(text) > MAX_OBJECT_BYTES:  # Larger than a file may be.
        document: Document | None = Document("c.yaml", yaml.safe_load(text))
    else:
        document, _ = read_one("c.yaml", text.encode())
    assert document is not None
    return [str(problem) for problem in check_configuration(document)]


@pytest.mark.parametrize("name", WRONG)
def test_what_an_author_is_told(name: str) -> None:
    text, wanted = WRONG[name]
    found = complaints(text)
    assert len(found) == len(wanted)
    for complaint, words in zip(found, wanted, strict=True):
        assert words in complaint
        assert "hunter2" not in complaint


def test_a_good_object_is_not_complained_about() -> None:
    assert complaints(CONFIG_MAP + "data: {a: x, B_1.json: '{}'}\nbinaryData: {c: eA==}\n") == []
    assert complaints(SECRET + "type: Opaque\ndata: {a: eA==}\nstringData: {b: größe}\n") == []


def test_all_configuration_of_a_version_has_its_place_in_primary_yaml() -> None:
    document, _ = read_one("target.yaml", b"spec:\n  template: {}\n")
    assert document is not None
    fits = [held("ConfigMap", str(number), data={"a": "x" * 1000}) for number in range(9)]
    assert list(check_size(fits, document, ("spec", "template"))) == []
    much = [held("Secret", str(number), data={"a": base64.b64encode(b"x" * 90_000).decode()}) for number in range(6)]
    (problem,) = check_size(much, document, ("spec", "template"))
    assert f"a version may have {MAX_BYTES:,}" in str(problem)
    assert problem.line == 2
