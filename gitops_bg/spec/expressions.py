"""CEL, the one language of conditions, and JSONPath: the only file that knows their libraries. Evaluates; decides
nothing.

Regular expressions of users are those of CEL, RE2's syntax, and so searched for in time linear in the text. Conditions
of Argo Rollouts, which are in expr-lang, are read here too: what CEL writes, or reads, otherwise is said, and nothing
of it is evaluated.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.core.model.policy_rules import NoAnswer
from gitops_bg.spec.libraries import import_alone

if TYPE_CHECKING:
    import jsonpath

LONGEST = 2_000
DEEPEST = 2
"""How deeply loops (all, exists, map, filter) may be nested."""
MOST_LOOPS = 8
MOST_VALUES = 1_000
"""How many values, and characters of texts, an expression without loops may have before it is no longer cheap."""


class BadExpression(ValueError):
    """The text is not a usable expression; says why."""


class NoValue(Exception):
    """The expression reads a field or an item that does not exist."""


def check(text: str, variables: Sequence[str]) -> None:
    """Raise ``BadExpression`` unless ``text`` is CEL over these variables.

    >>> check("result[0] < 0.05", ["result"])
    """
    program = _compile(text)
    _check_plain(text)
    known = {*variables, *_TYPES, *_BOUND.findall(text)}
    unknown = next((name for name in program.variables() if name not in known), None)
    if unknown:
        raise BadExpression(f"{unknown} is unknown; known here: {', '.join(variables)}{_like_argo(unknown)}")
    missing = next((name for name in program.functions() if name not in _KNOWN_FUNCTIONS), None)
    if missing:
        raise BadExpression(f"there is no function {missing}{_like_argo(missing)}")
    depth, loops = loops_in(text)
    if depth > DEEPEST:
        raise BadExpression(f"{depth} loops stand in one another; {DEEPEST} are the most")
    if loops > MOST_LOOPS:
        raise BadExpression(f"it has {loops} loops; {MOST_LOOPS} are the most")
    _check_patterns(text, loops)
    if set(program.variables()) <= set(_BOUND.findall(text)):
        _check_constant(text)


def _check_plain(text: str) -> None:
    """Refuse the forms of texts behind which a loop could hide from `loops_in`."""
    if _COSTLY.search(text) and (_ODD_TEXT.search(text) or "//" in without_texts(text)):
        raise BadExpression("beside a loop or matches, write texts in plain quotes, and no comments")


def _check_patterns(text: str, loops: int) -> None:
    """Demand that patterns are written out, so that nobody's data is one; a loop must not compile large ones again
    and again.
    """
    for call in _MATCHES.finditer(text):
        pattern = TEXT.match(text, call.end())
        if pattern is None:
            raise BadExpression('the pattern of matches must be written out, such as matches("^v[0-9]+$")')
        if loops and "{" in pattern.group():
            raise BadExpression("a pattern of an expression with a loop must not count with {}; write it without")


def _check_constant(text: str) -> None:
    """Evaluate an expression without variables now; the library has no type checker for the others.

    It costs no more than its short text: what has a loop is refused.
    """
    if loops_in(text)[1]:
        raise BadExpression("it asks about nothing, and has a loop: leave it out, or ask about a variable")
    try:
        is_true(text, {})
    except (NoValue, NoAnswer) as error:
        raise BadExpression(f"it can never be true: {error}") from error


def loops_in(text: str) -> tuple[int, int]:
    """Return how deeply loops are nested, and how many there are.

    >>> loops_in("result.all(a, a.exists(b, b > 1)) && result.exists(c, c == '.all(')")
    (2, 3)
    """
    plain = without_texts(text)
    stack: list[bool] = []
    deepest = loops = 0
    for place, sign in enumerate(plain):
        if sign == "(":
            is_loop = _LOOP.search(plain[:place].rstrip()) is not None
            stack.append(is_loop)
            loops += is_loop
            deepest = max(deepest, sum(stack))
        elif sign == ")" and stack:
            stack.pop()
    return deepest, loops


def is_cheap(text: str, values: Any) -> bool:
    """Return whether evaluating the expression on these values takes a moment at most: no loop, no pattern, few values.

    >>> is_cheap("result[0] < 0.05", {"result": [0.01]}), is_cheap("result.all(x, x < 1)", {"result": [0.01]})
    (True, False)
    """
    return not _COSTLY.search(text) and _size(values, MOST_VALUES) <= MOST_VALUES


def _size(value: Any, most: int) -> int:
    """Return how many values and characters there are, counted as far as ``most``."""
    size, rest = 0, [value]
    while rest and size <= most:
        one = rest.pop()
        size += len(one) if isinstance(one, str) else 1
        if isinstance(one, Mapping):
            rest += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            rest += one
    return size


def is_true(text: str, values: Mapping[str, Any]) -> bool:
    """Return whether the expression is true of these JSON values.

    Raises ``BadExpression``, ``NoValue``, or ``NoAnswer``, for example where the answer is no truth value.

    >>> is_true("result.errors < 3 && size(result.names) > 0", {"result": {"errors": 2, "names": ["a"]}})
    True
    """
    answer = value_of(text, values)
    if isinstance(answer, bool):
        return answer
    raise NoAnswer(f"{text} is {answer!r}, neither true nor false")


def value_of(text: str, values: Mapping[str, Any]) -> Any:
    """Return the value of the expression on these values. Raises ``BadExpression``, ``NoValue`` or ``NoAnswer``.

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
    try:
        return import_alone("cel.cel").compile(text)
    except Exception as error:
        raise BadExpression(instead(text) or _syntax(error)) from error


def _syntax(error: Exception) -> str:
    """Return the parser's complaint without its drawing of the place."""
    lines = [line.strip() for line in lines_of(str(error))]
    complaint = next((line for line in lines if "ERROR: <input>:" in line), lines[0] if lines else "")
    return complaint.partition("ERROR: <input>:")[2] or complaint


def _first_sentence(error: Exception) -> str:
    return (lines_of(str(error))[0] or type(error).__name__).partition(". ")[0]


def _like_argo(name: str) -> str:
    return f"; {FUNCTIONS[name]}" if name in FUNCTIONS else ""


_BOUND = re.compile(r"\.(?:all|exists|exists_one|existsOne|map|filter)\(\s*([A-Za-z_]\w*)\s*,")
"""The variables that macros bind: `result.all(each, each < 1)`."""

_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\Z")
_COSTLY = re.compile(r"\b(?:all|exists|exists_one|existsOne|map|filter|matches)\b")
_ODD_TEXT = re.compile(r"\b[rRbB]+['\"]|'\'\'|\"\"\"")
_MATCHES = re.compile(r"\bmatches\s*\(\s*")

_TYPES = frozenset(["int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type"])

_OPERATORS = "_+_ _-_ _*_ _/_ _%_ _==_ _!=_ _<_ _<=_ _>_ _>=_ _&&_ _||_ !_ -_ _?_:_ _[_] @in in @not_strictly_false"
_MACROS = "has all exists exists_one existsOne map filter"
_STANDARD = (
    "size string int uint double bytes type dyn duration timestamp contains startsWith endsWith matches "
    "getFullYear getMonth getDayOfMonth getDate getDayOfYear getDayOfWeek "
    "getHours getMinutes getSeconds getMilliseconds"
)
_KNOWN_FUNCTIONS = frozenset(f"{_OPERATORS} {_MACROS} {_STANDARD}".split())


_FOUND = "text.matches(pattern)"


@dataclass(frozen=True, slots=True)
class CompiledPattern:
    """A regular expression that is one."""

    pattern: str

    def __call__(self, text: str) -> bool:
        """Return whether it is found; a text that cannot be searched does not match."""
        try:
            return value_of(_FOUND, {"text": text, "pattern": self.pattern}) is True
        except (NoValue, NoAnswer):
            return False


def compile_pattern(pattern: str) -> CompiledPattern:
    """Return the compiled pattern; raise `BadExpression` with what is wrong with it.

    >>> [compile_pattern("^v[0-9]+$")(text) for text in ("v12", "latest")]
    [True, False]
    """
    try:
        value_of(_FOUND, {"text": "", "pattern": pattern})
    except (NoValue, NoAnswer) as error:
        raise BadExpression(f"{pattern!r} is no regular expression (RE2's syntax)") from error
    return CompiledPattern(pattern)


TEXT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")


def without_texts(text: str) -> str:
    """Return an expression with its quoted texts emptied.

    >>> without_texts("a == '+' || b == 'c'")
    "a == '' || b == ''"
    """
    return TEXT.sub("''", text)


_EACH = "write {} over a name, as in result.{}(each, each < 0.05)"

FUNCTIONS = {
    "asFloat": "write double(result)",
    "asInt": "write int(result)",
    "float": "write double(result)",
    "len": "write size(result)",
    "isNil": "write result == null",
    "default": "write has(result.field) ? result.field : 0",
    "isNaN": "leave it out: a missing value is inconclusive by itself",
    "isInf": "compare it with a bound",
    "nil": "write null",
    "not": "write !",
    "any": _EACH.format("exists", "exists"),
    "none": "write !result.exists(each, each < 0.05)",
    "one": _EACH.format("exists_one", "exists_one"),
    "count": "write size(result.filter(each, each < 0.05))",
    "first": "write result[0]",
    "last": "write result[size(result) - 1]",
    **dict.fromkeys(
        ("sum", "mean", "median", "min", "max", "abs", "round", "floor", "ceil", "reduce", "sort", "sortBy"),
        "CEL has no such function: let what answers compute it",
    ),
    **dict.fromkeys(
        ("trim", "upper", "lower", "split", "replace", "indexOf", "hasPrefix", "hasSuffix"),
        "CEL has no such function: compare with contains, startsWith, endsWith or matches",
    ),
}
"""What CEL has instead of functions and words of expr-lang."""

_SYNTAX = (
    (r"#|\b(?:all|any|none|one|filter|map|count|find)\s*\([^()]*\{", "#", _EACH.format("all", "all")),
    (r"\band\b", "and", "write &&"),
    (r"\bor\b", "or", "write ||"),
    (r"\bnot\s+in\b", "not in", "write !(a in b)"),
    (r"\bnot\b", "not", "write !"),
    (
        r"(?<=[\w\])'])\s+(?:contains|startsWith|endsWith|matches)\s+['(\w]",
        "the operator contains, startsWith, endsWith or matches",
        'write it as a function, as in result.contains("ok")',
    ),
    (r"\?\?", "??", "write has(result.field) ? result.field : 0"),
    (r"\?\.", "?.", "write a dot: a missing field is inconclusive by itself"),
    (r"\[[^\[\]]*:[^\[\]]*\]", "a slice", "name each index, or ask all of them with result.all(each, each < 0.05)"),
    (r"\*\*|\^", "a power", "multiply"),
    (r"(?<!\|)\|(?!\|)", "a pipe", "write the function around its value, as in size(result)"),
    (r"\.\.", "a range", "compare with both bounds"),
    (r"`", "a text in backticks", "write it in quotes"),
    (r"\blet\b|;", "let", "write the value where it is used"),
    (r"\b\d+_\d", "a number with _", "write its digits alone"),
)
"""Forms of expr-lang that CEL cannot read, each with its name and what to write; the first that is there counts."""

_INDEX_FROM_THE_END = re.compile(r"\[\s*-", re.ASCII)
_CONVERTED = re.compile(r"double\s*\([^()]*\)\Z", re.ASCII)
_CONVERTS = re.compile(r"double\s*\(", re.ASCII)
_ENDS_AS_FLOAT = re.compile(r"(?<![\w.])\d*\.\d+\Z", re.ASCII)
_BEGINS_AS_FLOAT = re.compile(r"\d*\.\d+(?![\w.])", re.ASCII)


def instead(text: str) -> str:
    """Return what to write instead of the form of expr-lang that keeps CEL from reading a condition; empty where none
    is.

    >>> instead("result[0] < 0.05 and result[1] < 0.05")
    'and is of expr-lang, the language of Argo Rollouts: write &&'
    >>> instead("all(result, {# < 0.05})")
    '# is of expr-lang, the language of Argo Rollouts: write all over a name, as in result.all(each, each < 0.05)'
    >>> instead("result <")
    ''
    """
    plain = without_texts(text)
    for form, name, remedy in _SYNTAX:
        if re.search(form, plain, re.ASCII):
            return f"{name} is of expr-lang, the language of Argo Rollouts: {remedy}"
    return ""


def misread(text: str) -> tuple[str, str] | None:
    """Return what CEL takes and means otherwise than expr-lang: what it is, and what to write. None where both mean the
    same.

    >>> misread("result.errors / result.total < 0.05")
    ('divides: of whole numbers CEL drops the rest, so 3 / 4 is 0', 'write double(…) around what is divided')
    >>> misread("result[-1] < 0.05")
    ('counts an index from the end, which CEL finds nothing at', 'write result[size(result) - 1]')
    >>> misread("double(result.errors) / result.total < 0.05"), misread("result.url != 'a/b'")
    (None, None)
    """
    plain = without_texts(text[:LONGEST])
    if _INDEX_FROM_THE_END.search(plain):
        return "counts an index from the end, which CEL finds nothing at", "write result[size(result) - 1]"
    if any(_drops_the_rest(plain, place) for place, sign in enumerate(plain) if sign == "/"):
        message = "divides: of whole numbers CEL drops the rest, so 3 / 4 is 0"
        return message, "write double(…) around what is divided"
    return None


def _drops_the_rest(plain: str, place: int) -> bool:
    """Return whether neither side of a division is known to be a number with a fraction."""
    left, right = plain[:place].rstrip(), plain[place + 1 :].lstrip()
    if _CONVERTED.search(left) or _CONVERTS.match(right):
        return False
    return not (_ENDS_AS_FLOAT.search(left) or _BEGINS_AS_FLOAT.match(right))


# --- JSONPath ---


def json_path(text: str) -> "jsonpath.JSONPath":
    """Return the path that ``{$.data.ok}``, ``$.data.ok`` or ``{.data.ok}`` names (RFC 9535). Raises ``ValueError``.

    Reading it takes time linear in the answer: it goes through all levels (``..``) once at most, a filter asks about
    the value at hand alone, and nothing is searched by a pattern, which Python would try again and again.
    """
    import jsonpath  # a twentieth of a second of CPU, and few apps measure

    path = text.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1].strip()
    path = path if path.startswith("$") else f"${path}"
    plain = _QUOTED.sub("''", path)
    if plain.count("..") > 1:
        raise ValueError("it goes through all levels (..) more than once")
    if plain.count(",") > _MOST_COMMAS:
        raise ValueError(f"it lists more than {_MOST_COMMAS + 1} things, such as [0,1]")
    if "$" in plain[1:]:
        raise ValueError("a filter may ask about the value at hand (@) alone, not about the whole answer ($)")
    try:
        return _strict_paths().compile(path)  # type: ignore[return-value]
    except jsonpath.JSONPathError as error:
        raise ValueError(lines_of(str(error))[0]) from error


@cache
def _strict_paths() -> "jsonpath.JSONPathEnvironment":
    import jsonpath

    paths = jsonpath.JSONPathEnvironment(strict=True)
    for name in ("match", "search"):
        del paths.function_extensions[name]
    return paths


_MOST_COMMAS = 3
"""Each list of selectors multiplies what is found."""
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
