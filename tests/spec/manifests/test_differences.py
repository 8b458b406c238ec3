"""Differences read well, whatever was added, removed or moved, and never show what is a secret by its name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.version import short
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of
from gitops_bg.spec.manifests.differences import differences
from gitops_bg.views.differences import ComparedSide, configuration_differences, without_secrets_of


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


# ConfigMaps and Secrets.


def config_map(name: str = "web", binary: dict[str, str] | None = None, **data: str) -> Configuration:
    return configuration_of("ConfigMap", name, {"data": data, "binaryData": binary or {}})


def secret(name: str = "db", type_: str = "", **data: str) -> Configuration:
    return configuration_of("Secret", name, {"stringData": data, **({"type": type_} if type_ else {})})


def side(*contents: Configuration) -> ComparedSide:
    return ComparedSide([each.ref for each in contents], contents)


@pytest.mark.parametrize(
    ("before", "after", "sentences"),
    [
        (side(config_map(a="1")), side(config_map(a="1")), []),
        (side(config_map(a="1")), side(config_map(a="2")), ["ConfigMap/web.a: 1 → 2"]),
        (side(config_map(**{"app.conf": "1"})), side(config_map()), ['ConfigMap/web["app.conf"]: - 1']),
        (side(), side(config_map(a="1", b="2")), ["ConfigMap/web: + {a: 1, b: 2}"]),
        (side(config_map(a="1")), side(), ["ConfigMap/web: - {a: 1}"]),
        (side(secret(a="x")), side(secret(a="y")), ["Secret/db.a: *** (#1) → *** (#2)"]),
        (side(secret(type="x")), side(secret(type="y")), ["Secret/db.type: *** (#1) → *** (#2)"]),
        (side(secret(a="x")), side(secret(a="x", type_="b/c")), ['Secret/db["(type)"]: + b/c']),
        (side(), side(secret(a="x", b="x", c="z")), ["Secret/db: + {a: *** (#1), b: *** (#1), c: *** (#2)}"]),
        (side(config_map(DB_PASSWORD="x")), side(config_map()), ["ConfigMap/web.DB_PASSWORD: - *** (#1)"]),
        (
            side(config_map(binary={"icon": "AAE="})),
            side(config_map(binary={"icon": "AAI="})),
            ["ConfigMap/web.icon: 2 bytes, sha256 b413f47d13 → 2 bytes, sha256 fcf0a6c700"],
        ),
    ],
)
def test_configuration_differs_by_key_and_secrets_are_marks(
    before: ComparedSide, after: ComparedSide, sentences: list[str]
) -> None:
    assert [each.sentence for each in configuration_differences(before, after)] == sentences


def test_configuration_whose_content_is_lost_differs_by_digest() -> None:
    lost, kept = replace(side(config_map(a="1")), contents=()), side(config_map(a="2"))
    [change] = configuration_differences(lost, kept)
    assert change.before == f"content {short(lost.refs[0].digest)}"
    assert change.after == f"content {short(kept.refs[0].digest)}"


def test_texts_of_several_lines_differ_line_by_line() -> None:
    before = "".join(f"line {number}\n" for number in range(20))
    after = before.replace("line 3\n", "line three\n").replace("line 17\n", "")
    [change] = configuration_differences(side(config_map(conf=before)), side(config_map(conf=after)))
    assert list(change.lines) == [
        "ConfigMap/web.conf:",
        *("    line 1", "    line 2", "  - line 3", "  + line three", "    line 4", "    line 5"),
        "  …",
        *("    line 15", "    line 16", "  - line 17", "    line 18", "    line 19"),
    ]


def test_what_a_secret_holds_is_hidden_in_other_values_too() -> None:
    sides = [side(config_map(url=f"https://u:hunter2@{host}"), secret(password="hunter2")) for host in ("a", "b")]
    found = configuration_differences(*sides)
    [change] = without_secrets_of(found, sides[0].contents)
    assert change.sentence == "ConfigMap/web.url: https://u:***@a → https://u:***@b"


def test_a_short_secret_does_not_garble_everything() -> None:
    found = without_secrets_of(differences(pod(), pod(image="a:2")), [secret(a="a")])
    assert [each.sentence for each in found] == ["spec.containers[web].image: a:1 → a:2"]
