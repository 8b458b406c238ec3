"""What a field of a policy is written in: expressions of CEL, compiled once per file, and times in the five fields of
cron, by the syntax of crontab(5) and nothing else. Pure.
"""

import re
from collections.abc import Mapping

from gitops_bg.core.checks.policy_rules import VARIABLES
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.policy_rules import Cron, NoAnswer
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.expressions import BadExpression, NoValue, check, loops_in, value_of, without_texts

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
        except (NoValue, BadExpression) as error:
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


_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def read_cron(text: str) -> Cron:
    """Return the parsed expression; raise ``ValueError`` with what is wrong with it.

    >>> sorted(read_cron("0 18 * * fri").weekdays), sorted(read_cron("*/30 9-10 1 jan *").minutes)
    ([4], [0, 30])
    """
    fields = text.split()
    if len(fields) != 5:
        raise ValueError(f"{text!r} has {len(fields)} fields; write minute, hour, day, month, weekday: '0 18 * * fri'")
    minutes, hours, days, months = (
        _numbers(field, low, high, names)
        for field, (low, high, names) in zip(
            fields[:4], ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS)), strict=True
        )
    )
    weekdays = frozenset((number - 1) % 7 for number in _numbers(fields[4], 0, 7, _DAYS))
    either = not (fields[2].startswith("*") or fields[4].startswith("*"))
    if not either and all(min(days) > _LONGEST_MONTH[month - 1] for month in months):
        raise ValueError(f"{text!r} names a day that none of its months has")
    return Cron(text, minutes, hours, days, months, weekdays, either)


def _numbers(field: str, low: int, high: int, names: tuple[str, ...]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.lower().split(","):
        span, slash, step = part.partition("/")
        every = _number(step, 1, high, ()) if slash else 1
        if span == "*":
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, low, high, names)
            last = _number(end, low, high, names) if dash else (high if slash else first)
        if last < first:
            raise ValueError(f"{part!r} ends before it begins")
        found.update(range(first, last + 1, every))
    return frozenset(found)


def _number(text: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text) + low
    if not text.isdecimal() or not low <= int(text) <= high:
        known = f", or {names[0]} … {names[-1]}" if names else ""
        raise ValueError(f"{text!r} is no number from {low} to {high}{known}")
    return int(text)
