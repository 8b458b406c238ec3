"""What we read is what kubectl reads: asked of the real kubectl, without a cluster."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from typing import Any

import pytest

from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.spec.yaml.scalars import AmbiguousScalar, resolve
from tests.spec.yaml.test_scalars import SAME_FOR_ALL
from tests.support.waiting import HANGS

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl in PATH")

HEAD = "apiVersion: example.com/v1\nkind: Example\nmetadata: {name: x}\n"


def by_kubectl(text: str) -> Any:
    command = ["kubectl", "annotate", "--local", "-f", "-", "a=b", "-o", "json"]
    answer = subprocess.run(command, input=text, capture_output=True, text=True, timeout=HANGS)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)["spec"]


def by_us(text: str) -> Any:
    document, problems = read_one("x.yaml", text.encode())
    assert problems == ()
    assert document is not None
    return document.value["spec"]


def random_scalars(count: int) -> list[str]:
    """Plain scalars close to numbers, dates and truth values, which our reader does not refuse."""
    chooser = random.Random(1)  # the same ones every time
    alphabets = ["0123456789.", "01289eE+-._", "0xabf1o", "yesnoffYN", "0129:.", "2026-01T:Z", "truefalsn~UL"]
    found: set[str] = set()
    while len(found) < count:
        text = "".join(chooser.choices(chooser.choice(alphabets), k=chooser.randint(1, 8)))
        if not isinstance(resolve(text), AmbiguousScalar) and text[0] not in "-:" and not text.endswith(":"):
            found.add(text)
    return sorted(found)


def test_scalars() -> None:
    texts = [*(text for text in SAME_FOR_ALL if text != "-"), *random_scalars(5000)]
    text = HEAD + "spec:\n" + "".join(f"  - {text}\n" for text in texts)
    differing = [
        (text, ours, theirs)
        for text, ours, theirs in zip(texts, by_us(text), by_kubectl(text), strict=True)
        if ours != theirs
    ]
    assert differing == []


DOCUMENTS = {
    "block text": "spec:\n  a: |\n    x\n     y\n\n  b: >-\n    one\n    two\n  c: |+\n    x\n\n",
    "quotes": "spec: {a: 'it''s', b: \"\\t\\u00e9\\x41\", c: \"two\n  lines\"}\n",
    "aliases": "spec:\n  a: &x {b: [1]}\n  c: *x\n",
    "Windows line breaks": "spec:\r\n  a: |\r\n    x\r\n  b: 1\r\n",
    "URLs in brackets": "spec: {a: [http://x:80, a:b], b: {c: web:1}}\n",
    "unicode": "spec: {é: 😀, a: \u00a0x}\n",
    "a list at its parent's indentation": "spec:\n  a:\n  - b\n  - c: 1\n    d: 2\n",
    "comments": "spec: # one\n  # two\n  a: b # three\n  c: d#e\n",
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents(case: str) -> None:
    text = HEAD + DOCUMENTS[case]
    assert by_us(text) == by_kubectl(text)
