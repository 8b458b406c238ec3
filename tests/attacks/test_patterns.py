"""No pattern of ours tries again and again, and no pattern of a user is tried by an engine that does."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
import warnings
from collections.abc import Iterator

import pytest

import gitops_bg
from gitops_bg.core import foreign_json
from gitops_bg.core.checks.policy_rules import MOST_HISTORY
from gitops_bg.core.written import Conflict, Glob, Matching
from gitops_bg.spec.expressions import BadExpression, compile_pattern, json_path
from gitops_bg.spec.policies.expressions import compile_expression

with warnings.catch_warnings():  # it reads Python's own parser, whose module has moved
    warnings.simplefilter("ignore", DeprecationWarning)
    from regexploit.ast.sre import SreOpParser
    from regexploit.redos import find

POSSESSIVE = {foreign_json._TOKEN}
"""The finder does not know possessive quantifiers, which never try again."""
CUBIC = 3


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    """Every compiled pattern of a module, and every one that a text of a file has to fit, by its name."""
    for module in pkgutil.walk_packages(gitops_bg.__path__, "gitops_bg."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, re.Pattern):
                    yield f"{module.name}.{name}", value
                for mark in getattr(value, "__metadata__", ()):
                    if isinstance(mark, Matching):
                        yield f"{module.name}.{name}", re.compile(mark.pattern)


def tries_again(pattern: re.Pattern[str] | re.Pattern[bytes]) -> int:
    """How often it may try again: 2 for a time that grows by the square, 3 by the cube, 11 without end."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    found = find(SreOpParser().parse_sre(text, pattern.flags & ~re.UNICODE))
    return max((each.starriness for each in found), default=0)


def test_the_finder_finds_what_never_ends() -> None:
    assert tries_again(re.compile("(a+)+$")) >= CUBIC


def test_no_pattern_of_ours_takes_more_than_the_square_of_a_text() -> None:
    every = dict(patterns())
    assert len(every) > 100
    found = {name: pattern.pattern for name, pattern in every.items() if pattern not in POSSESSIVE}
    assert {name: text for name, text in found.items() if tries_again(every[name]) >= CUBIC} == {}


def test_a_glob_of_a_policy_takes_no_time_to_refuse() -> None:
    """The finder does not see two ways to read `[!a]`; 2^40 tries held up the agent."""
    (mark,) = (each for each in Glob.__metadata__ if isinstance(each, Matching))  # type: ignore[attr-defined]
    begun = time.process_time()
    with pytest.raises(Conflict):
        mark.checked("[!a]" * 40 + " ")
    assert mark.checked("pay-[!ab]*") == "pay-[!ab]*"
    assert time.process_time() - begun < 1


def test_a_pattern_of_a_user_takes_time_linear_in_the_text() -> None:
    """Python's engine would need 2^10,000 tries."""
    evil = compile_pattern("^(a+)+$")
    begun = time.process_time()
    assert not evil("a" * 10_000 + "!")
    assert time.process_time() - begun < 1


HISTORY = [{"at": "2026-11-25", "by": "grace", "from": 1, "to": 2, "tag": "v" * 40} for _ in range(MOST_HISTORY)]
COSTLY = {
    "history.promotions.map(a, history.promotions.map(b, history)).size() > 0": "map makes lists of lists",
    "(history.promotions + history.promotions).filter(a, true).size() > 0": "beside a loop nothing is added up",
    f"[{'1,' * 60}1].all(a, a > 0) && to.version > 1": "it lists more than 50 things",
}


@pytest.mark.parametrize("text", COSTLY)
def test_an_expression_of_a_policy_that_makes_large_lists_is_refused(text: str) -> None:
    """Evaluated as a part of a decision, it would hold up every app; the first of these took 26 s."""
    with pytest.raises(BadExpression, match=COSTLY[text]):
        compile_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "history.promotions.filter(a, history.rollbacks.filter(b, b.to == a.to).size() < 60).size() > 0",
        "history.promotions.all(a, history.rollbacks.all(b, a.tag.contains(b.tag)))",
        f"[{'1,' * 23}1].all(a, [{'1,' * 23}1].filter(b, true).size() > 0) && to.version > 1",
    ],
)
def test_the_costliest_expressions_that_are_left_take_a_moment(text: str) -> None:
    expression = compile_expression(text)
    begun = time.process_time()
    expression({"history": {"promotions": HISTORY, "rollbacks": HISTORY}, "to": {"version": 3}})
    assert time.process_time() - begun < 1


REFUSED = {
    "$..a..b": "all levels (..) more than once",
    "$..*[?@..a]": "all levels (..) more than once",
    "$[?$.a == 1]": "not about the whole answer",
    "$[0,0][0,0][0,0][0,0]": "lists more than 4 things",
    "$[?match(@.a, '(a|a)*b')]": "match",
    "$[?search(@.a, '(a|a)*b')]": "search",
}


@pytest.mark.parametrize("path", REFUSED)
def test_a_json_path_that_may_not_be_linear_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=re.escape(REFUSED[path])):
        json_path(path)


@pytest.mark.parametrize("path", ["$..a", "$['a..b']['$']", "$.a[0,1]", "$[?@.a == ',,,,']", "$[?count(@.*) > 1]"])
def test_what_people_write_is_read(path: str) -> None:
    json_path(path).findall({"a": [1, 2]})
