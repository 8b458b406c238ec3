"""What differs in the configuration of two versions, by name and key: the words of commits; never a value."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.spec.app.primary import configuration_changes
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of


def config_map(name: str = "web", **data: str) -> Configuration:
    return configuration_of("ConfigMap", name, {"data": data})


def secret(name: str = "db", type_: str = "Opaque", **data: str) -> Configuration:
    return configuration_of("Secret", name, {"type": type_, "stringData": data})


CASES: dict[str, tuple[list[Configuration], list[Configuration], list[str]]] = {
    "nothing": ([], [], []),
    "the same": ([config_map(a="1")], [config_map(a="1")], []),
    "a value": ([config_map(a="1", b="2")], [config_map(a="x", b="2")], ["ConfigMap web (a changed)"]),
    "a key more": ([config_map(a="1")], [config_map(a="1", b="2")], ["ConfigMap web (b added)"]),
    "a key less": ([config_map(a="1", b="2")], [config_map(a="1")], ["ConfigMap web (b removed)"]),
    "all at once": (
        [config_map(a="1", b="2", c="3")],
        [config_map(a="x", b="x", d="4")],
        ["ConfigMap web (a, b changed; d added; c removed)"],
    ),
    "a new one": ([], [config_map(a="1")], ["ConfigMap web added"]),
    "one less": ([secret(a="1")], [], ["Secret db removed"]),
    "a secret": ([secret(password="old")], [secret(password="new")], ["Secret db (password changed)"]),
    "its type": ([secret(a="1")], [secret(type_="example.com/own", a="1")], ["Secret db ((type) added)"]),
    "a key that is called type": ([secret(type="1")], [secret(type="2")], ["Secret db (type changed)"]),
    "in order": (
        [secret(a="1"), config_map("b", x="1"), config_map("a", x="1")],
        [secret(a="2"), config_map("b", x="2"), config_map("a", x="2")],
        ["ConfigMap a (x changed)", "ConfigMap b (x changed)", "Secret db (a changed)"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_named_by_object_and_key(name: str) -> None:
    before, after, said = CASES[name]
    assert [str(change) for change in configuration_changes(before, after)] == said


def test_data_that_becomes_binary_data_is_a_change() -> None:
    other = configuration_of("ConfigMap", "web", {"binaryData": {"a": "AAE="}})
    assert [str(each) for each in configuration_changes([config_map(a="AAE")], [other])] == [
        "ConfigMap web (a changed)"
    ]


def test_many_keys_are_counted() -> None:
    many = {f"key-{number:02}": "x" for number in range(14)}
    [change] = configuration_changes([config_map()], [config_map(**many)])
    assert str(change).endswith("key-08, key-09 and 4 more added)")


@pytest.mark.parametrize("value", ["hunter2", "aHVudGVyMg"])
def test_no_value_is_ever_shown(value: str) -> None:
    before: Any = [secret(password="hunter2"), config_map(a="hunter2")]
    assert value not in repr(configuration_changes(before, [secret(password="another"), config_map(a="another")]))
