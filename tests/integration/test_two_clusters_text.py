"""How the API server reads text: the body of an apply as YAML, all others as JSON. Demanded of the sandbox, too."""

from __future__ import annotations

import json

import pytest

from tests.support import manifests
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import config_maps
from tests.support.cluster.rawapi import APPLY, JSON, JSON_PATCH, MERGE

ROCKET = "\U0001f680"

# Each text as it stands between the quotes of the body: what an apply makes of it, or the words of the refusal.
READ_AS_YAML = {
    "a character of its own": (ROCKET.encode(), ROCKET),
    "an escape of YAML alone": (rb"\U0001F680", ROCKET),
    "an escaped surrogate pair": (rb"\ud83d\ude80", "found invalid Unicode character escape code"),
    "half a character": (rb"\ud83d", "found invalid Unicode character escape code"),
    "an escaped backslash before a u": (rb"\\ud83d", r"\ud83d"),
    "an escaped control character": (rb"\u0000\u001b\u007f\u0085\ufeff\uffff", "\0\x1b\x7f\x85\ufeff\uffff"),
    "a delete character": (b"a\x7fb", "control characters are not allowed"),
    "a control character of latin-1": ("a\x9fb".encode(), "control characters are not allowed"),
    "a byte order mark inside": ("a\ufeffb".encode(), "a\ufeffb"),
    "no character": ("a\uffffb".encode(), "control characters are not allowed"),
    "a line separator": ("a \u2028 b".encode(), "a\u2028b"),
    "a next line": ("a \x85 b".encode(), "a b"),
    "no UTF-8": (b"a\xffb", "invalid"),
}


@pytest.mark.parametrize("case", READ_AS_YAML)
def test_the_body_of_an_apply_is_read_as_yaml(cluster: TestCluster, namespace: str, case: str) -> None:
    text, expected = READ_AS_YAML[case]
    body = json.dumps(manifests.config_map(namespace, text="HERE")).encode().replace(b"HERE", text)
    status, answer = cluster.request(
        "PATCH", f"{config_maps(namespace)}/one", body, content_type=APPLY, fieldManager="one"
    )
    if status == 400:
        assert ": error converting YAML to JSON: yaml: " in answer["message"], answer
        assert expected in answer["message"]
    else:
        assert (status, answer["data"]["text"]) == (201, expected), answer


def test_an_apply_may_be_real_yaml(cluster: TestCluster, namespace: str) -> None:
    body = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: one, namespace: {namespace}}}
data:
  text: |
    {ROCKET}
  day: 2026-01-01
""".encode()
    path = f"{config_maps(namespace)}/one"
    answer = cluster.ask("PATCH", path, body, content_type=APPLY, fieldManager="one")
    assert answer["data"] == {"text": f"{ROCKET}\n", "day": "2026-01-01"}


def test_every_other_body_is_read_as_json(cluster: TestCluster, namespace: str) -> None:
    pair, path = rb'"\ud83d\ude80"', f"{config_maps(namespace)}/one"
    made = json.dumps(manifests.config_map(namespace, text="HERE")).encode().replace(b'"HERE"', pair)
    assert cluster.ask("POST", config_maps(namespace), made)["data"] == {"text": ROCKET}
    merged = cluster.ask("PATCH", path, b'{"data": {"merged": %b}}' % pair, content_type=MERGE)
    assert merged["data"]["merged"] == ROCKET
    change = b'[{"op": "add", "path": "/data/patched", "value": %b}]' % pair
    assert cluster.ask("PATCH", path, change, content_type=JSON_PATCH)["data"]["patched"] == ROCKET
    replaced = cluster.ask("PUT", path, made, content_type=JSON)
    assert replaced["data"] == {"text": ROCKET}
