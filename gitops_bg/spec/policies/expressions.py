"""Expressions and patterns of policies, compiled once per file: CEL for both, whose patterns take linear time.

The cost of one evaluation is bounded in advance: by the nesting of loops, and by the size of what they iterate over
(history of at most 50, and only the apps that the expression names).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gitops_bg.core.checks.policies.values import VARIABLES
from gitops_bg.core.model.policies.rules import NoAnswer
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.analysis.expressions import BadExpression, NoValue, check, value_of
from gitops_bg.spec.analysis.expressions import NoAnswer as CelHasNone

DEEPEST = 2
"""How deeply loops (all, exists, map, filter) may be nested."""
MOST_LOOPS = 8
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_LOOP = re.compile(r"\.(?:all|exists|exists_one|existsOne|map|filter)$")
_APP = r"[\"']([a-z0-9][-a-z0-9]{0,62})/([a-z0-9][-a-z0-9]{0,62})[\"']"
_INDEXED = re.compile(rf"\bapps\s*\[\s*{_APP}\s*\]")
_CONTAINED = re.compile(rf"{_APP}\s+in\s+apps\b")


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """An expression over the variables of policies."""

    text: str

    def __call__(self, values: Mapping[str, object]) -> object:
        """Return the answer; raise `NoAnswer`."""
        try:
            return value_of(self.text, values)
        except (NoValue, CelHasNone, BadExpression) as error:
            raise NoAnswer(str(error)) from error


@dataclass(frozen=True, slots=True)
class CompiledPattern:
    """A regular expression (RE2's syntax), searched for in time linear in the text."""

    pattern: str

    def __call__(self, text: str) -> bool:
        """Return whether it is found; a text that cannot be searched does not match."""
        try:
            return value_of("text.matches(pattern)", {"text": text, "pattern": self.pattern}) is True
        except (NoValue, CelHasNone):
            return False


def compile_expression(text: str) -> CompiledExpression:
    """Return the compiled expression; raise `BadExpression` with what is wrong with it.

    >>> compile_expression("to.version > 3")({"to": {"version": 4}})
    True
    """
    check(text, VARIABLES)
    depth, loops = _loops(_TEXTS.sub("''", text))
    if depth > DEEPEST:
        raise BadExpression(f"{depth} loops stand in one another; {DEEPEST} are the most")
    if loops > MOST_LOOPS:
        raise BadExpression(f"it has {loops} loops; {MOST_LOOPS} are the most")
    return CompiledExpression(text)


def compile_pattern(pattern: str) -> CompiledPattern:
    """Return the compiled pattern; raise `BadExpression` with what is wrong with it."""
    try:
        value_of("text.matches(pattern)", {"text": "", "pattern": pattern})
    except (NoValue, CelHasNone) as error:
        raise BadExpression(f"{pattern!r} is no regular expression (RE2's syntax)") from error
    return CompiledPattern(pattern)


def apps_named_in(text: str) -> frozenset[AppKey]:
    """Return the apps that an expression names: ``apps['namespace/name']``, ``'namespace/name' in apps``.

    >>> apps_named_in("apps['shop/api'].healthy && to.images[0] == 'shop/web'")
    frozenset({AppKey(namespace='shop', name='api')})
    """
    found = (*_INDEXED.finditer(text), *_CONTAINED.finditer(text))
    return frozenset(AppKey(*each.groups()) for each in found)


def _loops(text: str) -> tuple[int, int]:
    """Return how deeply loops are nested, and how many there are."""
    stack: list[bool] = []
    deepest = loops = 0
    for place, sign in enumerate(text):
        if sign == "(":
            is_loop = _LOOP.search(text[:place].rstrip()) is not None
            stack.append(is_loop)
            loops += is_loop
            deepest = max(deepest, sum(stack))
        elif sign == ")" and stack:
            stack.pop()
    return deepest, loops
