"""Conditions in CEL: what is refused before it runs, and that an error is never an answer."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.core.model.policy_rules import NoAnswer
from gitops_bg.spec.expressions import (
    LONGEST,
    BadExpression,
    NoValue,
    check,
    is_cheap,
    is_true,
    misread,
)

GOOD = [
    "result < 0.05",
    "result[0] >= 0.95 && result[0] <= 1.0",
    "result.all(each, each < 500)",
    "result.exists( e , e.code == 'a') || size(result.filter(x, x > 1)) == 0",
    "has(result.errors) ? result.errors == 0 : false",
    "'ok' in result.states && !result.down && -1 + 2 > 0",
    "result.exists_one(x, x.map(y, y * 2)[0] > 1)",
    "timestamp(result.at).getFullYear() > 2020",
    "string(result).matches('^ok')",
    "double(result) / 2.0 < 1.0 && int(result) % 2 == 1",
    "type(result) == int",
]


@pytest.mark.parametrize("text", GOOD)
def test_good_expressions_pass(text: str) -> None:
    check(text, ["result"])


BAD = {
    "": "the expression is empty",
    "  ": "the expression is empty",
    "result <": "mismatched input",
    "results < 1": "results is unknown; known here: result",
    "x > 1": "x is unknown",
    "result.all(x, y > 1)": "y is unknown",
    "asFloat(result) < 1.0": "there is no function asFloat; write double(result)",
    "len(result) > 0": "write size(result)",
    "isNaN(result)": "inconclusive by itself",
    "result == nil": "nil is unknown; known here: result; write null",
    "min(result) > 1": "there is no function min",
    "result > 1" + " || result > 1" * 200: f"the limit is {LONGEST:,}",
    "(" * 900 + "1" + ")" * 900: "",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_expressions_are_refused_with_the_reason(text: str) -> None:
    with pytest.raises(BadExpression) as caught:
        check(text, ["result"])
    assert BAD[text] in str(caught.value)
    assert "\n" not in str(caught.value)


EXPR = {
    "result[0] < 1 and result[1] < 1": "and is of expr-lang, the language of Argo Rollouts: write &&",
    "result == 'a and b' or result == 'c'": "or is of expr-lang",
    "not (result > 1)": "write !",
    "result not in [1, 2]": "write !(a in b)",
    "all(result, {# < 0.05})": "as in result.all(each, each < 0.05)",
    "any(result, # < 0.05)": "as in result.all(each, each < 0.05)",
    "any(result, true)": "as in result.exists(each, each < 0.05)",
    "result contains 'ok'": 'write it as a function, as in result.contains("ok")',
    "result.name matches '^a'": 'write it as a function, as in result.contains("ok")',
    "result.errors ?? 0 < 1": "write has(result.field) ? result.field : 0",
    "result?.errors < 1": "a missing field is inconclusive by itself",
    "result[0:2] == [1, 2]": "name each index",
    "result ** 2 < 1": "multiply",
    "result ^ 2 < 1": "multiply",
    "result | len() > 1": "write the function around its value",
    "result in 1..3": "compare with both bounds",
    "result == `a`": "write it in quotes",
    "let x = result; x < 1": "write the value where it is used",
    "result < 1_000": "write its digits alone",
    "sum(result) < 1": "CEL has no such function: let what answers compute it",
    "lower(result) == 'ok'": "CEL has no such function: compare with",
    "float(result) < 1": "write double(result)",
    "last(result) < 1": "write result[size(result) - 1]",
    "default(result, 0) < 1": "write has(result.field) ? result.field : 0",
}


@pytest.mark.parametrize("text", EXPR)
def test_what_is_written_otherwise_in_expr_lang_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(BadExpression) as caught:
        check(text, ["result"])
    assert EXPR[text] in str(caught.value)


READ_ALIKE = [
    "result[0] < 0.05",
    "result.a > 0 ? result.b < 1 : true",
    "result.a / 2.0 < 1",
    "0.5 / result.a < 1",
    "double(result.a) / result.b < 1",
    "result.a / double(result.b) < 1",
    "result == 'a/b'",
    "result.a - 1 < 0",
    "result[0] - -1 < 0",
]


@pytest.mark.parametrize("text", READ_ALIKE)
def test_what_expr_lang_and_cel_read_alike(text: str) -> None:
    assert misread(text) is None


READ_OTHERWISE = ["result[-1] < 1", "result.a / result.b < 1", "result.a / 2 < 1", "1 / (result.a + 1) < 1"]


@pytest.mark.parametrize("text", READ_OTHERWISE)
def test_what_cel_takes_and_reads_otherwise_than_expr_lang(text: str) -> None:
    assert misread(text)


ANSWERS: list[tuple[str, Any, bool]] = [
    ("result < 1", 0.5, True),
    ("result < 0.5", 1, False),
    ("result == 1.0", 1, True),
    ("result == null", None, True),
    ("size(result) == 0 || result[0] < 1", [], True),
    ("result.name == 'a'", {"name": "a"}, True),
]


@pytest.mark.parametrize(("text", "result", "answer"), ANSWERS)
def test_answers(text: str, result: Any, answer: bool) -> None:
    assert is_true(text, {"result": result}) is answer


@pytest.mark.parametrize(
    ("text", "result"), [("result[0] < 1", []), ("result.rate < 1", {}), ("result['rate'] < 1", {})]
)
def test_what_is_not_there_is_no_answer_but_no_value(text: str, result: Any) -> None:
    with pytest.raises(NoValue):
        is_true(text, {"result": result})


@pytest.mark.parametrize(
    ("text", "result"), [("result < 1", "a"), ("result + 1", 1), ("1 / result == 1", 0), ("f(result)", 1)]
)
def test_an_error_is_no_answer(text: str, result: Any) -> None:
    with pytest.raises(NoAnswer):
        is_true(text, {"result": result})


def test_every_function_that_check_lets_pass_is_there() -> None:
    one = "timestamp('2026-01-01T00:00:00Z')"
    names = "FullYear Month DayOfMonth Date DayOfYear DayOfWeek Hours Minutes Seconds Milliseconds"
    calls = [f"{one}.get{name}() >= 0" for name in names.split()]
    calls += ["size('a') == 1", "string(1) == '1'", "uint(1) == 1u", "bytes('a') == b'a'", "dyn(1) == 1"]
    calls += ["duration('1s') > duration('1ms')", "'ab'.contains('a')", "'ab'.startsWith('a')", "'ab'.endsWith('b')"]
    for call in calls:
        check(call, [])
        assert is_true(call, {}), call


CONSTANT = {
    "1 + 'a' > 2": "1 + 'a' > 2: No such overload",
    "[1][3] == 1": "[1][3] == 1: index out of bounds",
    "1 / 0 == 1": "1 / 0 == 1: division by zero",
    "'yes'": "'yes' is 'yes', neither true nor false",
    "1 + 1": "1 + 1 is 2, neither true nor false",
}


@pytest.mark.parametrize("text", CONSTANT)
def test_what_asks_about_nothing_is_evaluated_when_it_is_checked(text: str) -> None:
    with pytest.raises(BadExpression) as caught:
        check(text, ["result"])
    assert f"it can never be true: {CONSTANT[text]}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_always_true_is_an_expression() -> None:
    check("true", ["result"])


COSTLY = {
    "result.all(a, a.all(b, b.all(c, c > 1)))": "3 loops stand in one another; 2 are the most",
    " && ".join(["result.all(a, a > 1)"] * 9): "it has 9 loops; 8 are the most",
    "[1, 2].all(a, a > 0)": "it asks about nothing, and has a loop",
    "result.matches(result)": "the pattern of matches must be written out",
    "result.all(a, a.matches('(a{500}){500}'))": "must not count with {}",
    "r'\\' == result.all(a, a > 1) || '' == ''": "write texts in plain quotes, and no comments",
    "result.all // hidden\n(a, a > 1)": "write texts in plain quotes, and no comments",
    "'''a''' in result.map(a, a)": "write texts in plain quotes, and no comments",
}


@pytest.mark.parametrize("text", COSTLY)
def test_what_could_cost_without_bound_is_refused_before_anything_is_evaluated(text: str) -> None:
    with pytest.raises(BadExpression) as caught:
        check(text, ["result"])
    assert COSTLY[text] in str(caught.value)


@pytest.mark.parametrize(
    ("text", "values", "cheap"),
    [
        ("result[0] < 0.05", [0.01], True),
        ("result.url == 'https://shop.example/all'", {"url": "https://shop.example"}, False),
        ("result[0] < 0.05", [0.01] * 2_000, False),
        ("result == 'a'", "a" * 2_000, False),
        ("result == {}", {"a" * 2_000: 1}, False),
        ("result.exists(x, x > 1)", [1], False),
        ("result.exists // hidden\n(x, x > 1)", [1], False),
        ("result.matches('a')", "a", False),
    ],
)
def test_only_what_has_no_loop_no_pattern_and_few_values_is_cheap(text: str, values: object, cheap: bool) -> None:
    assert is_cheap(text, {"result": values}) is cheap
