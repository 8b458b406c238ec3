"""Conditions of Argo Rollouts, which are in expr-lang: what CEL writes, or reads, otherwise. Evaluates nothing.

Most conditions are the same text in both languages (argo-rollouts.md §3,
https://expr-lang.org/docs/language-definition). What CEL refuses gets its remedy from `instead`; what it takes, and
means otherwise, is found by `misread`.
"""

import re

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

_LONGEST = 2_000
"""A longer condition is refused once its args are filled in."""
_INDEX_FROM_THE_END = re.compile(r"\[\s*-", re.ASCII)
_CONVERTED = re.compile(r"double\s*\([^()]*\)\Z", re.ASCII)
_CONVERTS = re.compile(r"double\s*\(", re.ASCII)
_ENDS_AS_FLOAT = re.compile(r"(?<![\w.])\d*\.\d+\Z", re.ASCII)
_BEGINS_AS_FLOAT = re.compile(r"\d*\.\d+(?![\w.])", re.ASCII)


def instead(text: str) -> str:
    """What to write instead of the form of expr-lang that keeps CEL from reading a condition; empty where none is.

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
    """What CEL takes and means otherwise than expr-lang: what it is, and what to write. None where both mean the same.

    >>> misread("result.errors / result.total < 0.05")
    ('divides: of whole numbers CEL drops the rest, so 3 / 4 is 0', 'write double(…) around what is divided')
    >>> misread("result[-1] < 0.05")
    ('counts an index from the end, which CEL finds nothing at', 'write result[size(result) - 1]')
    >>> misread("double(result.errors) / result.total < 0.05"), misread("result.url != 'a/b'")
    (None, None)
    """
    plain = without_texts(text[:_LONGEST])
    if _INDEX_FROM_THE_END.search(plain):
        return "counts an index from the end, which CEL finds nothing at", "write result[size(result) - 1]"
    if any(_drops_the_rest(plain, place) for place, sign in enumerate(plain) if sign == "/"):
        message = "divides: of whole numbers CEL drops the rest, so 3 / 4 is 0"
        return message, "write double(…) around what is divided"
    return None


def _drops_the_rest(plain: str, place: int) -> bool:
    """Whether neither side of a division is known to be a number with a fraction."""
    left, right = plain[:place].rstrip(), plain[place + 1 :].lstrip()
    if _CONVERTED.search(left) or _CONVERTS.match(right):
        return False
    return not (_ENDS_AS_FLOAT.search(left) or _BEGINS_AS_FLOAT.match(right))
