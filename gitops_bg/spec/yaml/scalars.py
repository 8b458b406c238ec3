"""What a single value of YAML means, and how a JSON value is written as YAML. Knows no files, places or kinds.

Of a value that was read: an unquoted scalar, one of which nobody has checked the type yet, a file mode. Of one that is
written: one text for one value, in block style with readable diffs, the same for every parser. That is for files the
agent owns; an author's file is only ever edited in place (`spec.manifests.edit`).

Last, paths of fields inside a document, and which of them hold what nobody may be shown.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import UNPRINTABLE, json_for_yaml
from gitops_bg.core.foreign_text import HOLDERS
from gitops_bg.core.model.digest import Json

# --- values of which nobody has checked the type yet ---

Body = Mapping[str, Any]
"""A mapping as written, to be read only."""


def as_map(value: Any) -> Body:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_maps(value: Any) -> list[Body]:
    """Return the mappings of a list; none where it is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def maps(value: Any) -> Iterator[tuple[int, Body]]:
    """Return the mappings of a list that say something, each with its place."""
    return ((place, each) for place, each in enumerate(value if isinstance(value, list) else ()) if as_map(each))


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """Return the entries of a mapping whose key and value are text."""
    return ((key, each) for key, each in as_map(value).items() if isinstance(key, str) and isinstance(each, str))


# --- the modes of mounted files: people write them in octal; JSON, which Kubernetes takes, has decimal numbers only ---

LARGEST_MODE = 0o777
MODE_FIELDS = ("defaultMode", "mode")
"""The fields of volumes that hold one; the second also of a single item."""

_OCTAL = re.compile(r"0o?([0-7]{3,4})")


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known word closest to ``word``; empty where none is close.

    >>> nearest("replica", ["replicas", "template"]), nearest("sidecars", ["replicas"])
    ('replicas', '')
    """
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=cutoff)), "")


def mode_remedy(path: Sequence[str | int], text: str) -> str:
    """Return what to write for a mode in octal at a path; empty where it is none.

    >>> mode_remedy(["volumes", 0, "secret", "defaultMode"], "0400")
    'write 256, which is 0400 in octal'
    """
    found = _OCTAL.fullmatch(text) if path and path[-1] in MODE_FIELDS else None
    return f"write {int(found[1], 8)}, which is 0{found[1].lstrip('0')} in octal" if found else ""


def meant_in_octal(mode: int) -> int | None:
    """Return the mode that the digits of a number say in octal; None where they say none.

    >>> meant_in_octal(644), meant_in_octal(420), meant_in_octal(888)
    (420, 272, None)
    """
    digits = str(mode)
    if len(digits) != 3 or not set(digits) <= set("01234567"):
        return None
    return int(digits, 8)


# --- unquoted scalars, and where YAML 1.1 and 1.2 disagree about them ---
# kubectl reads YAML 1.1 with exceptions, other tools 1.2: a scalar that any of them reads differently is refused
# (DESIGN §7, pitfalls.md §4). Compared: YAML 1.1 as PyYAML has it, the core schema of YAML 1.2, go-yaml v2.

Scalar = None | bool | int | float | str


@dataclass(frozen=True, slots=True)
class AmbiguousScalar:
    """Why an unquoted scalar is refused, and what to write instead."""

    message: str
    remedy: str


def quoted(text: str) -> str:
    """Return the remedy that always works.

    >>> quoted("yes")
    'quote it: "yes"'
    """
    return f'quote it: "{text}"'


def _truth(text: str, meaning: str) -> AmbiguousScalar:
    return AmbiguousScalar(
        "a truth value to some YAML parsers and text to others", f"write {meaning}, or {quoted(text)}"
    )


def unquoted(text: str, kind: type) -> str:
    """Return the remedy for a value in quotes that is to be of a kind; empty where it is none of that kind by any
    reading.

    >>> unquoted("2", int), unquoted("010", int), unquoted("web", int)
    ('remove the quotes', 'write it in decimal digits, without quotes', '')
    >>> unquoted("false", bool), unquoted("Yes", bool), unquoted("1", bool)
    ('remove the quotes', 'write true', 'write true or false')
    """
    if kind is bool:
        old = _TRUTH_IN_OLD_YAML.get(text.lower())
        return "remove the quotes" if isinstance(resolve(text), bool) else f"write {old or 'true or false'}"
    value = resolve(text)
    if isinstance(value, AmbiguousScalar) and _LOOSE_NUMBER.fullmatch(text.replace("_", "").lower()):
        return "write it in decimal digits, without quotes"
    return "remove the quotes" if isinstance(value, int) and not isinstance(value, bool) else ""


_CASINGS = (str.lower, str.capitalize, str.upper)
_TRUTH_IN_OLD_YAML = {"y": "true", "yes": "true", "on": "true", "n": "false", "no": "false", "off": "false"}
_WORDS: dict[str, Scalar | AmbiguousScalar] = {
    "": None,
    "~": None,
    **{casing("null"): None for casing in _CASINGS},
    **{casing("true"): True for casing in _CASINGS},
    **{casing("false"): False for casing in _CASINGS},
    **{casing(word): _truth(casing(word), value) for word, value in _TRUTH_IN_OLD_YAML.items() for casing in _CASINGS},
    "=": AmbiguousScalar("a special value to some YAML parsers and text to others", quoted("=")),
    "<<": AmbiguousScalar("a merge, which not every YAML parser knows", "write the merged fields out"),
}
_MAY_START_A_NUMBER = frozenset("0123456789+-.")

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"(?:[-+]?[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][-+][0-9]+)?")
# Text that at least one parser takes for a number, without underscores and in lower case.
_LOOSE_NUMBER = re.compile(
    r"[-+]?(?:0b[01]+|0o[0-7]+|0x[0-9a-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
    r"|[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9]*)?)"
)
_NO_JSON_NUMBER = re.compile(r"[-+]?\.(?:inf|nan)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def resolve(text: str) -> Scalar | AmbiguousScalar:
    """Return the value that every YAML parser gives an unquoted ``text``, or the doubt where they differ.

    >>> resolve("1.0.0"), resolve("8080"), resolve("True"), resolve("~")
    ('1.0.0', 8080, True, None)
    >>> resolve("yes").remedy
    'write true, or quote it: "yes"'
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_START_A_NUMBER:
        return text
    return _resolve_number(text)


def _resolve_number(text: str) -> Scalar | AmbiguousScalar:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    return _doubtful_number(text) or text


def _integer(text: str) -> int | AmbiguousScalar:
    value = int(text, 16 if text.startswith("0x") else 10) if len(text) <= 30 else _LARGEST + 1
    if _SMALLEST <= value <= _LARGEST:
        return value
    return AmbiguousScalar("a number of more than 64 bits, which parsers round differently", quoted(text))


def _float(text: str) -> float | AmbiguousScalar:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return AmbiguousScalar("too large a number: parsers make it infinity, which JSON does not have", quoted(text))
    return value


def _doubtful_number(text: str) -> AmbiguousScalar | None:
    bare = text.replace("_", "").lower()
    if _NO_JSON_NUMBER.fullmatch(bare):
        return AmbiguousScalar("no number that JSON, and so Kubernetes, has", quoted(text))
    if _DATE.fullmatch(text):
        return AmbiguousScalar("a date to some YAML parsers and text to others", quoted(text))
    if _LOOSE_NUMBER.fullmatch(bare):
        return AmbiguousScalar("a number to some YAML parsers, and another number or text to others", quoted(text))
    return None


_INDENT = "  "
# Text that never needs quotes: it starts and ends with a word, and contains no indicator of YAML.
_PLAIN = re.compile(r"[A-Za-z0-9_./$(][A-Za-z0-9_./@()+=*~$^-]*(?:[ :][A-Za-z0-9_./@()+=*~$^-]+)*")


def to_yaml(value: Mapping[str, Json]) -> str:
    """Return a mapping as a block of YAML, ending with a line break; keys keep their order.

    >>> print(to_yaml({"a": "yes", "b": [{"c": 1, "d": []}], "e": "two\\nlines\\n"}), end="")
    a: "yes"
    b:
      - c: 1
        d: []
    e: |
      two
      lines
    """
    return "\n".join(_mapping(value, "")) + "\n"


def scalar(value: Json) -> str:
    """Return a scalar on one line, quoted where any YAML parser could read it as something else.

    >>> scalar("1.0.0"), scalar("010"), scalar(True), scalar(1e20), scalar("a: b")
    ('1.0.0', '"010"', 'true', '1.0e+20', '"a: b"')
    """
    match value:
        case str():
            return _text(value)
        case float():
            return _text_of_float(value)
        case _:
            return json.dumps(value)


def _text(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) is not None and ": " not in text and not text.endswith(":")
    return text if is_plain and resolve(text) == text else json_for_yaml(text)


def _text_of_float(value: float) -> str:
    mantissa, exponent, power = json.dumps(value, allow_nan=False).partition("e")
    if not exponent:
        return mantissa
    whole = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{whole}e{power if power[0] in '+-' else '+' + power}"


def _mapping(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, item in value.items():
        yield from _entry(f"{indent}{_text(key)}:", item, indent)


def _entry(start: str, item: Any, indent: str) -> Iterator[str]:
    """Yield the lines of one value after ``start``; nested lines are indented more than ``indent``."""
    inner = indent + _INDENT
    if isinstance(item, str) and _fits_literal(item):
        yield f"{start} |{_chomping(item)}"
        yield from ((inner + line if line else "") for line in item.removesuffix("\n").split("\n"))
    elif isinstance(item, Mapping) and item:
        yield start
        yield from _mapping(item, inner)
    elif isinstance(item, Sequence) and item and not isinstance(item, str):
        yield start
        yield from _sequence(item, inner)
    else:
        yield f"{start} {scalar(item)}"


def _sequence(items: Sequence[Any], indent: str) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping) and item:
            first, *rest = _mapping(item, indent + _INDENT)
            yield f"{indent}- {first.lstrip(' ')}"
            yield from rest
        else:
            yield from _entry(f"{indent}-", item, indent)


def _fits_literal(text: str) -> bool:
    """Return whether a literal block represents the text for every parser; else it is quoted."""
    if "\n" not in text.rstrip("\n") or text[0] in " \n" or UNPRINTABLE.search(text):
        return False
    return not text.endswith("\n\n") and not any(line.endswith(" ") or line == " " for line in text.split("\n"))


def _chomping(text: str) -> str:
    return "" if text.endswith("\n") else "-"


# --- paths of fields ---

Path = tuple[str | int, ...]

_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
"""What Kubernetes takes for a key of ``data``. Anything else there may be a line of a value, indented wrongly."""


def is_hidden(path: Path) -> bool:
    """Return whether nothing that the document says at ``path`` may be shown: it may be the value of a secret, whatever
    the kind is called. Capitals do not count: people misspell these fields.

    >>> is_hidden(("stringData", "pin")), is_hidden(("spec", "template", "data")), is_hidden(("metadata", "name"))
    (True, True, False)
    """
    return any(isinstance(part, str) and part.lower() in HOLDERS for part in path)


def written(path: Iterable[str | int]) -> str:
    """Return a path as an error shows it: of what is below ``data`` only the first key.

    >>> written(("spec", "containers", 0, "image")), written(("metadata", "labels", "app.io/x"))
    ('spec.containers[0].image', 'metadata.labels["app.io/x"]')
    >>> written(("data", "pin", "x", "y")), written(("data", "no key: x"))
    ('data.pin', 'data')
    """
    text = ""
    for part in _showable(tuple(path)):
        if isinstance(part, int):
            text += f"[{part}]"
        elif _NAME.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def _showable(path: Path) -> Path:
    holder = next((place for place, part in enumerate(path) if is_hidden((part,))), len(path))
    key = path[holder + 1 : holder + 2]
    return path[: holder + 1] + tuple(part for part in key if isinstance(part, int) or _DATA_KEY.fullmatch(part))
