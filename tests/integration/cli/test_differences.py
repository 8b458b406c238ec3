"""Differences read well, whatever was added, removed or moved, and never show what is a secret by its name."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.cli.differences import differences


def pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "web", "image": "a:1", **container}]}}


@pytest.mark.parametrize(
    ("before", "after", "sentences"),
    [
        (pod(), pod(), []),
        (pod(), pod(image="a:2"), ["spec.containers[web].image: a:1 → a:2"]),
        (pod(), pod(tty=True), ["spec.containers[web].tty: + true"]),
        (pod(args=["x"]), pod(), ["spec.containers[web].args: - [x]"]),
        (pod(args=["x"]), pod(args=["x", "y"]), ["spec.containers[web].args[1]: + y"]),
        ({}, {"metadata": {"labels": {"a.io/b": ""}}}, ["metadata: + {labels: {a.io/b: ''}}"]),
        (
            {"metadata": {"labels": {"a.io/b": "1"}}},
            {"metadata": {"labels": {"a.io/b": "2"}}},
            ['metadata.labels["a.io/b"]: 1 → 2'],
        ),
    ],
)
def test_each_difference_is_one_line(before: dict[str, Any], after: dict[str, Any], sentences: list[str]) -> None:
    assert [each.sentence for each in differences(before, after)] == sentences


def test_a_container_put_first_shifts_no_other() -> None:
    after = {"spec": {"containers": [{"name": "log", "image": "l:1"}, {"name": "web", "image": "a:1"}]}}
    assert [each.path for each in differences(pod(), after)] == ["spec.containers[log]"]


def test_a_secret_that_changes_is_seen_but_not_shown() -> None:
    before, after = (pod(env=[{"name": "API_TOKEN", "value": value}]) for value in ("hunter2", "hunter3"))
    [change] = differences(before, after)
    assert change.sentence == "spec.containers[web].env[API_TOKEN].value: *** (#1) → *** (#2)"


def test_a_secret_inside_of_something_new_is_not_shown() -> None:
    [change] = differences(pod(), pod(env=[{"name": "DB_PASSWORD", "value": "hunter2"}]))
    assert "hunter2" not in change.sentence
