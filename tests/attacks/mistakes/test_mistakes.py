"""A file with tens of thousands of mistakes is read a few times, not once for each of them."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from gitops_bg.cluster.lint import lint
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.yaml.parser import MAX_PROBLEMS
from gitops_bg.spec.yaml.reader import MAX_BYTES, locate

APP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: BlueGreenDeployment
metadata: {name: web, namespace: shop}
spec:
"""
TARGET = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      containers:
"""
FILES = {
    "an app with unknown fields": ("app.yaml", APP + "".join(f"  wrong{number}: 1\n" for number in range(20_000))),
    "a target with unknown fields": (
        "target.yaml",
        TARGET + "".join(f"      - {{name: c{number}, image: a, odd: 1}}\n" for number in range(6_000)),
    ),
    "a target with images that are none": (
        "target.yaml",
        TARGET + "".join(f"      - {{name: c{number}, image: 'a b'}}\n" for number in range(6_000)),
    ),
    "a target with ports twice": (
        "target.yaml",
        TARGET + "      - name: c\n        image: a:1\n        ports:\n" + "        - {containerPort: 80}\n" * 10_000,
    ),
    "a target with variables twice": (
        "target.yaml",
        TARGET + "      - name: c\n        image: a:1\n        env:\n" + "        - {name: A, value: b}\n" * 8_000,
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_first_mistakes_are_named_and_the_rest_is_said_to_be_there(kind: str) -> None:
    name, text = FILES[kind]
    file, data = f"apps/shop/web/{name}", text.encode()
    assert len(data) < MAX_BYTES
    begun = time.process_time()
    locate(data + b"\n")
    once = time.process_time() - begun
    begun = time.process_time()
    found = check_repository([(file, data)], lint, datetime(2026, 11, 25, tzinfo=UTC)).findings
    assert time.process_time() - begun < 20 * once + 1
    said = [each.problem for each in found if each.problem.file == file]
    more = [each for each in said if "more problems" in each.message]
    assert MAX_PROBLEMS <= len(said) < 5 * MAX_PROBLEMS
    assert more, "that there are more of them is said, too"
    assert all(each.line for each in said)
