"""What is packed comes back as it was, and two are equal where their texts are."""

import json
from typing import Any

import pytest

from gitops_bg.core.foreign_json import PackedJson

VALUES: dict[str, Any] = {
    "nothing": {},
    "of every kind": {"a": [1, -2.5, True, None, "x"], "b": {"c": []}},
    "other scripts": {"message": "grün → 青 \U0001f600"},
    "a control character": {"message": "\x00\n\u2028"},
    "large": {"conditions": [{"type": f"Type{number}", "message": "m" * number} for number in range(2_000)]},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_what_is_packed_comes_back(value: Any) -> None:
    assert PackedJson.of(value).read() == value


def test_equal_values_are_equal_and_others_are_not() -> None:
    assert PackedJson.of({"a": 1}) == PackedJson.of({"a": 1})
    assert hash(PackedJson.of({"a": 1})) == hash(PackedJson.of({"a": 1}))
    assert PackedJson.of({"a": 1}) != PackedJson.of({"a": 2})


def test_who_reads_may_change_what_it_gets() -> None:
    packed = PackedJson.of({"conditions": []})
    packed.read()["conditions"].append("mine")
    assert packed.read() == {"conditions": []}


def test_what_repeats_itself_takes_a_fraction_of_its_text() -> None:
    assert len(PackedJson.of(VALUES["large"]).packed) * 20 < len(json.dumps(VALUES["large"]))
