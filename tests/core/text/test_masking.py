"""Secrets are masked in every encoding in which they occur in a text."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from gitops_bg.core.foreign_text import held_in, hidden

SECRET = 'p"ss wörd/+\\'

FORMS = {
    "as it is": (SECRET, "***"),
    "repr": (repr(SECRET), "'***'"),
    "JSON": (json.dumps({"token": SECRET}), '{"token": "***"}'),
    "JSON in UTF-8": (json.dumps({"token": SECRET}, ensure_ascii=False), '{"token": "***"}'),
    "a path": (quote(SECRET), "***"),
    "a query": (quote_plus(SECRET), "***"),
    "the URL of a client that encodes some characters": (SECRET.replace('"', "%22").replace("ö", "%c3%B6"), "***"),
    "base64": (base64.b64encode(SECRET.encode()).decode().rstrip("="), "***"),
    "base64 of a URL": (base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="), "***"),
}


SLOW_ONES: dict[str, Callable[[int], tuple[str, str]]] = {
    "an ordinary secret": lambda size: ("s3cr3t-token", "where is s3cr3t-toke " * (size // 21)),
    "one letter, and a secret that ends otherwise": lambda size: ("a" * (size // 2) + "b", "a" * size),
    "a secret that begins again and again": lambda size: ("ab" * (size // 2) + "c", "ab" * (size // 2)),
    "a URL that is encoded": lambda size: ("s3cr3t-token/", "%73%33cr3t-token" * (size // 16)),
    "a secret that is everywhere": lambda size: ("aaaa", "a" * size),
}


@pytest.mark.parametrize("kind", SLOW_ONES)
def test_time_is_linear_in_the_length_of_text_and_secret(kind: str) -> None:
    """Ten times the length: ten times the CPU, where it were quadratic a hundred times."""

    def seconds(size: int) -> float:
        secret, text = SLOW_ONES[kind](size)
        begun = time.process_time()
        hidden(text, [secret])
        return time.process_time() - begun

    small, large = (min(seconds(size * 1024) for _ in range(3)) for size in (16, 160))
    assert large < 40 * max(small, 0.001)


HELD: dict[str, tuple[Any, set[str]]] = {
    "texts, with what is encoded in them": ({"data": {"a": "YWJjZA=="}}, {"YWJjZA==", "abcd"}),
    "of four letters and more": ({"stringData": {"a": "wxyz!", "b": "wxyz", "c": "xyz"}}, {"wxyz!", "wxyz"}),
    "encoded ones, too": ({"data": {"a": "YWJj"}}, {"YWJj"}),
    "what is no base64 as it stands": ({"data": {"a": "YWJj ZGVm"}}, {"YWJj ZGVm"}),
    "in lists, at any depth, in any spelling": ({"spec": [{"Binarydata": [{"x": ["secret"]}]}]}, {"secret"}),
    "not beside it": ({"metadata": {"name": "a-name"}, "data": None}, set()),
    "no numbers": ({"data": {"a": 12345}}, set()),
}


@pytest.mark.parametrize("kind", HELD)
def test_what_an_object_holds(kind: str) -> None:
    value, texts = HELD[kind]
    assert set(held_in(value)) == texts


def test_secrets_side_by_side_are_two() -> None:
    assert hidden("secretsecret", ["secret"]) == "******"


def test_secrets_that_overlap_are_hidden_as_one() -> None:
    assert hidden("x abcdefgh y", ["abcdef", "cdefgh"]) == "x *** y"


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_in_the_form_of(form: str) -> None:
    written, told = FORMS[form]
    assert hidden(f"before {written} after", [SECRET]) == f"before {told} after"


def test_the_longest_of_several_secrets_is_hidden_whole() -> None:
    assert hidden("abcdef abc", ["abc", "abcdef"]) == "*** ***"


def test_nothing_is_hidden_where_nothing_is_secret() -> None:
    assert hidden("as it was", []) == "as it was"
    assert hidden("as it was", ["", "  "]) == "as it was"


@pytest.mark.parametrize("length", range(4, len("s3cr3t-token")))
def test_the_beginning_of_a_secret_is_hidden_where_the_text_was_cut(length: int) -> None:
    assert hidden("Bearer " + "s3cr3t-token"[:length], ["s3cr3t-token"]) == "Bearer ***"


def test_lines_of_a_secret_are_hidden_one_by_one_unless_they_are_too_short_to_tell() -> None:
    key = "-- KEY --\n  MIIabcde\nseven77\n"
    assert hidden("line MIIabcde, line seven77, line -- KEY --", [key]) == "line ***, line seven77, line ***"
    assert hidden("-- KEY -- MIIabcde seven77", [key]) == "***", "on one line"


def test_three_letters_at_the_end_may_be_anything() -> None:
    assert hidden("Bearer s3c", ["s3cr3t-token"]) == "Bearer s3c"


def test_a_whole_text_may_be_the_beginning_of_a_secret() -> None:
    assert hidden("s3cr3t", ["s3cr3t-token"]) == "***"
    assert hidden("s3cr3t-toke", ["s3cr3t-token"]) == "***"
