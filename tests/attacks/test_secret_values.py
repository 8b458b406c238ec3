"""What is below `data` of anything in Git is in no message, however the file is broken, whatever its kind is called."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import chain

import pytest

from gitops_bg.cluster.api.errors import refusal
from gitops_bg.cluster.lint import lint
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.yaml.reader import read
from tests.spec.app.test_check import GOOD

NEEDLES = ("hunter2", "canary", "98765432", "0123456701", "2026-11-25")
BODIES = {
    "a number": "stringData: {pin: 98765432}\n",
    "a number in data": "data: {pin: 98765432}\n",
    "an octal number": "stringData: {pin: 0123456701}\n",
    "a date": "stringData: {pin: 2026-11-25}\n",
    "a number of more than 64 bits": "stringData: {pin: 98765432109876543210987}\n",
    "an infinite number": "stringData: {pin: 98765432e+999}\n",
    "an alias": "stringData: {pin: *hunter2canary}\n",
    "an anchor": "stringData: {pin: &hunter2canary [*hunter2canary]}\n",
    "a tag": "stringData: {pin: !hunter2canary x}\n",
    "a tag of Kubernetes' base64": "data: {pin: !!binary hunter2canary}\n",
    "the handle of a tag": "stringData: {pin: !hunter2canary!x}\n",
    "the handle of a tag, for the parser in Python": "stringData: {a: [--u=http://x:80], pin: !hunter2canary!x}\n",
    "a second colon": "stringData:\n  pin: hunter2canary: x\n",
    "a quote without an end": 'stringData:\n  pin: "hunter2canary\n',
    "a quote that ends elsewhere": "stringData:\n  pin: 'hunter2canary\n  x: 5\n",
    "an unknown escape": 'stringData:\n  pin: "hunter2canary\\q"\n',
    "a tab": "stringData:\n\tpin: hunter2canary\n",
    "a percent sign": "stringData:\n  pin: %hunter2canary\n",
    "an at sign": "stringData:\n  pin: @hunter2canary\n",
    "no base64": "data: {pin: hunter2canary_}\n",
    "a list": "stringData: [hunter2canary]\n",
    "no mapping": "stringData: hunter2canary\n",
    "no mapping, but a number": "stringData: 0123456701\n",
    "a mapping": "stringData: {pin: {hunter2canary: 5}}\n",
    "a mapping with what is doubtful": "stringData: {pin: {hunter2canary: yes}}\n",
    "a mapping with a doubtful key": "stringData: {pin: {0123456701: x}}\n",
    "a mapping with a key twice": "stringData: {pin: {hunter2canary: 1, hunter2canary: 2}}\n",
    "a line that is indented wrongly": "stringData:\n  pin: |\n  hunter2 canary/x: a\n",
    "a merge": "stringData:\n  <<: {pin: hunter2canary}\n",
    "a list as a key": "stringData: {? [hunter2canary] : x}\n",
    "a misspelt field": "stringdata: {pin: 98765432}\n",
    "a field with a capital": "Data: {pin: 0123456701}\n",
    "another field that is wrong": "immutable: perhaps\nstringData: {pin: hunter2canary}\n",
    "a template of a Secret": "spec: {template: {data: {pin: 0123456701}}}\n",
    "a template with a tag": "spec: {template: {stringData: {pin: !hunter2canary x}}}\n",
}
HEAD = "apiVersion: v1\nkind: {}\nmetadata: {{name: db}}\n"
KINDS = ("Secret", "secret", "ConfigMap", "SealedSecret", "SecretList", "Vault")
PRIMARY = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Primary
metadata: {{name: web, namespace: shop}}
version: 1
digest: v1:00
template: {{}}
configuration:
- kind: {}
  name: db
  data: {{pin: {}}}
"""
VALUES = ("98765432", "0123456701", "[hunter2]", "{hunter2: 5}", "hunter2_", "!hunter2 x", "*hunter2", '"hunter2')


def _texts(body: str) -> Iterator[str]:
    for kind in KINDS:
        yield HEAD.format(kind) + body
    inner = (HEAD.format("Secret") + body).rstrip().replace("\n", "\n  ")
    yield f"apiVersion: v1\nkind: List\nitems:\n- {inner}\n"


@pytest.mark.parametrize("body", BODIES)
def test_no_problem_of_a_file_names_a_value(body: str) -> None:
    told = [_problems("apps/shop/web/db.yaml", text) for text in _texts(BODIES[body])]
    assert any(told)
    assert not [each for each in chain(*told) if any(needle in each for needle in NEEDLES)]


@pytest.mark.parametrize("kind", ["Secret", "secret", "ConfigMap"])
def test_no_problem_of_a_primary_names_a_value_of_its_configuration(kind: str) -> None:
    told = [_problems("apps/shop/web/primary.yaml", PRIMARY.format(kind, value)) for value in VALUES]
    assert all(told)
    assert not [each for each in chain(*told) if any(needle in each for needle in NEEDLES)]


def _problems(path: str, text: str) -> list[str]:
    files = {**GOOD, path: text}
    found = check_repository([(name, str(content).encode()) for name, content in files.items()]).problems
    documents = read(path, text.encode()).documents
    return list(map(str, chain(found, *map(lint, documents))))


def test_what_the_api_server_quotes_of_an_object_is_hidden_whatever_its_kind() -> None:
    """Webhooks of the API server, and its decoder, quote what they refuse."""
    encoded = base64.b64encode(b"hunter2canary").decode()
    for kind, data in (
        ("Secret", {"data": {"pin": encoded}}),
        ("vault", {"spec": {"stringData": {"a": ["hunter2canary"]}}}),
    ):
        body = {"kind": kind, "metadata": {"name": "db"}, **data}
        said = f"db is invalid: Invalid value: {json.dumps(body)}: hunter2canary"
        answer = json.dumps({"kind": "Status", "reason": "Invalid", "message": said}).encode()
        error = str(refusal("apply Secret db", 422, {}, answer, sent=body))
        assert "db is invalid" in error
        assert "hunter2" not in error
        assert encoded not in error
