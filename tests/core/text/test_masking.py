"""Secrets are masked in every encoding in which they occur in a text."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from gitops_bg.core.text.masking import hidden

SECRET = 'p"ss wörd/+\\'

FORMS = {
    "as it is": (SECRET, "***"),
    "repr": (repr(SECRET), "'***'"),
    "JSON": (json.dumps({"token": SECRET}), '{"token": "***"}'),
    "JSON in UTF-8": (json.dumps({"token": SECRET}, ensure_ascii=False), '{"token": "***"}'),
    "a path": (quote(SECRET), "***"),
    "a query": (quote_plus(SECRET), "***"),
    "base64": (base64.b64encode(SECRET.encode()).decode().rstrip("="), "***"),
}


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
