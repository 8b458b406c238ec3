"""CEL, the one language of conditions: the only file that knows the library. Evaluates; decides nothing.

Its limits are measured in gitops.md §2: no time zones, no `split`, no bound on cost. So expressions are short, come
from a protected branch, and an error is never read as an answer.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

LONGEST = 2_000


class BadExpression(ValueError):
    """The text is not a usable expression; says why."""


class NoValue(Exception):
    """The expression reads a field or an item that does not exist."""


class NoAnswer(Exception):
    """The expression cannot be evaluated on these values."""


def check(text: str, variables: Sequence[str]) -> None:
    """Raise ``BadExpression`` unless ``text`` is CEL over these variables.

    >>> check("result[0] < 0.05", ["result"])
    """
    program = _compile(text)
    known = {*variables, *_TYPES, *_BOUND.findall(text)}
    unknown = next((name for name in program.variables() if name not in known), None)
    if unknown:
        raise BadExpression(f"{unknown} is unknown; known here: {', '.join(variables)}{_like_argo(unknown)}")
    missing = next((name for name in program.functions() if name not in _KNOWN_FUNCTIONS), None)
    if missing:
        raise BadExpression(f"there is no function {missing}{_like_argo(missing)}")
    if not program.variables():
        _check_constant(text)


def _check_constant(text: str) -> None:
    """Evaluate an expression without variables now; the library has no type checker for the others."""
    try:
        is_true(text, {})
    except (NoValue, NoAnswer) as error:
        raise BadExpression(f"it can never be true: {error}") from error


def is_true(text: str, values: Mapping[str, Any]) -> bool:
    """Whether the expression is true of these JSON values.

    Raises ``BadExpression``, ``NoValue``, or ``NoAnswer``, for example where the answer is no truth value.

    >>> is_true("result.errors < 3 && size(result.names) > 0", {"result": {"errors": 2, "names": ["a"]}})
    True
    """
    answer = value_of(text, values)
    if isinstance(answer, bool):
        return answer
    raise NoAnswer(f"{text} is {answer!r}, neither true nor false")


def value_of(text: str, values: Mapping[str, Any]) -> Any:
    """The value of the expression on these values. Raises ``BadExpression``, ``NoValue`` or ``NoAnswer``.

    >>> value_of("size(names) + 1", {"names": ["a"]})
    2
    """
    program = _compile(text)
    try:
        return program.execute(dict(values))
    except (KeyError, IndexError) as error:
        raise NoValue(f"{text}: {error.args[0] if error.args else error} is not there") from error
    except Exception as error:  # the library raises errors of any type; none of them is a bug of ours
        raise NoAnswer(f"{text}: {_first_sentence(error)}") from error


@lru_cache(maxsize=1024)
def _compile(text: str) -> Any:
    if not text.strip():
        raise BadExpression("the expression is empty")
    if len(text) > LONGEST:
        raise BadExpression(f"the expression has {len(text):,} characters; the limit is {LONGEST:,}")
    import cel  # with a terminal library behind it: a tenth of a second of CPU

    try:
        return cel.compile(text)
    except Exception as error:
        raise BadExpression(_syntax(error)) from error


def _syntax(error: Exception) -> str:
    """The parser's complaint without its drawing of the place."""
    lines = [line.strip() for line in str(error).splitlines()]
    complaint = next((line for line in lines if "ERROR: <input>:" in line), lines[0] if lines else "")
    return complaint.partition("ERROR: <input>:")[2] or complaint


def _first_sentence(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].partition(". ")[0]


def _like_argo(name: str) -> str:
    return f"; {_INSTEAD_OF[name]}" if name in _INSTEAD_OF else ""


_BOUND = re.compile(r"\.(?:all|exists|exists_one|existsOne|map|filter)\(\s*([A-Za-z_]\w*)\s*,")
"""The variables that macros bind: `result.all(each, each < 1)`."""

_TYPES = frozenset(["int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type"])

_INSTEAD_OF = {
    "asFloat": "write double(result)",
    "asInt": "write int(result)",
    "len": "write size(result)",
    "isNil": "write result == null",
    "default": "write has(result.field) ? result.field : 0",
    "isNaN": "leave it out: a missing value is inconclusive by itself",
    "isInf": "compare it with a bound",
    "nil": "write null",
}
"""Functions of Argo Rollouts' conditions that CEL names otherwise (argo-rollouts.md §3)."""

_OPERATORS = "_+_ _-_ _*_ _/_ _%_ _==_ _!=_ _<_ _<=_ _>_ _>=_ _&&_ _||_ !_ -_ _?_:_ _[_] @in in @not_strictly_false"
_MACROS = "has all exists exists_one existsOne map filter"
_STANDARD = (
    "size string int uint double bytes type dyn duration timestamp contains startsWith endsWith matches "
    "getFullYear getMonth getDayOfMonth getDate getDayOfYear getDayOfWeek "
    "getHours getMinutes getSeconds getMilliseconds"
)
_KNOWN_FUNCTIONS = frozenset(f"{_OPERATORS} {_MACROS} {_STANDARD}".split())
