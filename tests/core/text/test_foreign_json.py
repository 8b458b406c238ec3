"""JSON of others is read in one place, within limits, and the result can be written again."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gitops_bg
from gitops_bg.core.foreign_json import DEEPEST, UNIQUE, DocumentLimits, NotJson, read_json, read_objects

PACKAGE = Path(gitops_bg.__file__).parent
OF_ITS_OWN = {"core/foreign_json.py"}
"""Where the standard library may be asked. The sandbox imports nothing of the rest, and stands for a server in Go."""

REFUSED = {
    "NaN": ("[NaN]", "invalid character"),
    "infinity": ("[-Infinity]", "invalid character"),
    "a number that becomes infinite": ("[1e999]", "number out of range"),
    "a number of fifty digits": ("[" + "9" * 50 + "]", "more than 40 digits"),
    "a number of a million digits": ("9" * 1_000_000, "integer value out of range"),
    "brackets": ("[" * 20_000 + "]" * 20_000, "levels deep"),
    "brackets without an end": ("[" * 20_000, "levels deep"),
    "maps in maps": ('{"a":' * 20_000 + "1" + "}" * 20_000, "levels deep"),
    "one level too many": ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "levels deep"),
    "half a character, escaped": (r'{"a": "\ud800"}', "truncated"),
    "half a character as a key": (r'{"\uDFFF": 1}', "surrogate"),
    "half a character, raw": ('["\ud800"]', "UTF-8"),
    "bytes that are no UTF-8": (b'["\xff"]', "UTF-8"),
    "UTF-16": ("[1]".encode("utf-16"), "invalid character"),
    "two values": ("1 2", "trailing characters"),
    "nothing": ("", "truncated"),
    "quotes": ('"' * 200_001, "trailing characters"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    text, why = REFUSED[kind]
    with pytest.raises(NotJson, match=why):
        read_json(text)


def test_what_is_refused_is_not_repeated() -> None:
    with pytest.raises(NotJson) as caught:
        read_json("[" * 20_000)
    assert len(str(caught.value)) < 200


def test_as_deep_as_the_limit_is_read_and_brackets_in_texts_do_not_count() -> None:
    read_json("[" * DEEPEST + "]" * DEEPEST)
    read_json("[" * (DEEPEST - 1) + "[], []" + "]" * (DEEPEST - 1))
    assert read_json(json.dumps(["[{" * 1000])) == ["[{" * 1000]


def test_a_length_may_be_limited_and_a_key_that_stands_twice_refused() -> None:
    with pytest.raises(NotJson, match="longer"):
        read_json("[1, 2]", DocumentLimits(bytes=5))
    assert read_json("[1,2]", DocumentLimits(bytes=5)) == [1, 2]
    assert read_json('{"a": 1, "a": 2}') == {"a": 2}
    assert read_json('{"b": {"a": 1, "b": 2}}', UNIQUE) == {"b": {"a": 1, "b": 2}}
    with pytest.raises(NotJson, match="twice"):
        read_json('{"b": {"a": 1, "a": 2}}', UNIQUE)


def test_whole_numbers_of_forty_digits_are_read() -> None:
    longest = "9" * 40
    assert read_json(longest) == read_objects(longest.encode()) == int(longest)
    for longer in (longest + "9", "-" + longest + "9"):
        with pytest.raises(NotJson, match="more than 40 digits"):
            read_json(longer)


def test_what_stands_too_deep_among_others_is_null_and_what_does_not_is_kept() -> None:
    endless = "[" * 20_000 + "]" * 20_000
    deepest = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    too_deep, kept, beside = read_objects(f"[{endless}, {deepest}, 7]".encode())
    assert beside == 7
    assert json.dumps(too_deep) == "[" * (DEEPEST - 1) + "null" + "]" * (DEEPEST - 1)
    assert json.dumps(kept) == deepest


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**38), 10**38)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(VALUES, st.booleans())
def test_everything_else_is_read_as_the_standard_library_does(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert read_json(text) == read_json(text.encode()) == read_objects(text.encode()) == json.loads(text)


def test_object_that_is_too_deep_does_not_hide_its_neighbours() -> None:
    deep = '{"a":[' * 15_000 + '"]}"' + "]}" * 15_000
    one, too_deep, two = read_objects(f'{{"items": [{{"n": 1}}, {deep}, {{"n": 2}}]}}'.encode())["items"]
    assert (one, two) == ({"n": 1}, {"n": 2})
    assert json.dumps(too_deep).count("[") < DEEPEST


def test_answer_that_is_no_json_is_said_so() -> None:
    for text in (b"", b"<html>", b"[" * 20_000, b'{"a": ', b"[NaN]", b'["\xff"]'):
        with pytest.raises(NotJson):
            read_objects(text)


def _bare(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"loads", "load", "JSONDecoder"}:
            named = node.value.id if isinstance(node.value, ast.Name) else ""
            if named == "json":
                yield f"line {node.lineno}: json.{node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module == "json":
            yield f"line {node.lineno}: from json import …"


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_nobody_else_decodes_json(file: Path) -> None:
    place = file.relative_to(PACKAGE).as_posix()
    if place not in OF_ITS_OWN and not place.startswith("sandbox/"):
        assert list(_bare(ast.parse(file.read_text()))) == []


def test_that_test_can_fail() -> None:
    assert len(list(_bare(ast.parse("json.loads(x)\nfrom json import loads")))) == 2
