"""Expressions of policies, compiled once per file.

The cost of one evaluation is bounded in advance: by the nesting of loops, and by the size of what they iterate over
(history of at most 50, and only the apps that the expression names).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gitops_bg.core.checks.policy_rules import VARIABLES
from gitops_bg.core.model.policy_rules import NoAnswer
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.analysis.expr_conditions import without_texts
from gitops_bg.spec.analysis.expressions import BadExpression, NoValue, check, loops_in, value_of
from gitops_bg.spec.analysis.expressions import NoAnswer as CelHasNone

MOST_COMMAS = 50
"""How many things an expression with a loop may list; a loop has one comma itself."""
_MAP = re.compile(r"\.\s*map\s*\(")
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


def compile_expression(text: str) -> CompiledExpression:
    """Return the compiled expression; raise `BadExpression` with what is wrong with it.

    >>> compile_expression("to.version > 3")({"to": {"version": 4}})
    True
    """
    check(text, VARIABLES)
    _check_cost(text)
    return CompiledExpression(text)


def _check_cost(text: str) -> None:
    """Refuse what makes large lists of small ones, where there is a loop: the library copies a list for each of its
    items, and keeps every app waiting meanwhile.
    """
    plain = without_texts(text)
    if not loops_in(text)[1]:
        return
    if _MAP.search(plain):
        raise BadExpression("map makes lists of lists: ask with exists, all or filter")
    if "+" in plain:
        raise BadExpression("beside a loop nothing is added up: lists would grow; compare the parts")
    if plain.count(",") > MOST_COMMAS:
        raise BadExpression(f"beside loops it lists more than {MOST_COMMAS} things; name them in several rules")


def apps_named_in(text: str) -> frozenset[AppKey]:
    """Return the apps that an expression names: ``apps['namespace/name']``, ``'namespace/name' in apps``.

    >>> apps_named_in("apps['shop/api'].healthy && to.images[0] == 'shop/web'")
    frozenset({AppKey(namespace='shop', name='api')})
    """
    found = (*_INDEXED.finditer(text), *_CONTAINED.finditer(text))
    return frozenset(AppKey(*each.groups()) for each in found)
