"""Writes JSON values as YAML: one text for one value, in block style with readable diffs, the same for every parser.

For files the agent owns; an author's file is only ever edited in place (`edit`).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_bg.core.foreign_json import UNPRINTABLE, json_for_yaml
from gitops_bg.core.model.digest import Json
from gitops_bg.spec.yaml.scalars import resolve

_INDENT = "  "
# Text that never needs quotes: it starts and ends with a word, and contains no indicator of YAML.
_PLAIN = re.compile(r"[A-Za-z0-9_./$(][A-Za-z0-9_./@()+=*~$^-]*(?:[ :][A-Za-z0-9_./@()+=*~$^-]+)*")


def to_yaml(value: Mapping[str, Json]) -> str:
    """A mapping as a block of YAML, ending with a line break; keys keep their order.

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
    """A scalar on one line, quoted where any YAML parser could read it as something else.

    >>> scalar("1.0.0"), scalar("010"), scalar(True), scalar(1e20), scalar("a: b")
    ('1.0.0', '"010"', 'true', '1.0e+20', '"a: b"')
    """
    match value:
        case str():
            return _text(value)
        case float():
            return _float(value)
        case _:
            return json.dumps(value)


def _text(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) is not None and ": " not in text and not text.endswith(":")
    return text if is_plain and resolve(text) == text else json_for_yaml(text)


def _float(value: float) -> str:
    mantissa, exponent, power = json.dumps(value, allow_nan=False).partition("e")
    if not exponent:
        return mantissa
    whole = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{whole}e{power if power[0] in '+-' else '+' + power}"


def _mapping(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, item in value.items():
        yield from _entry(f"{indent}{_text(key)}:", item, indent)


def _entry(start: str, item: Any, indent: str) -> Iterator[str]:
    """The lines of one value after ``start``; nested lines are indented more than ``indent``."""
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
    """Whether a literal block represents the text for every parser; else it is quoted."""
    if "\n" not in text.rstrip("\n") or text[0] in " \n" or UNPRINTABLE.search(text):
        return False
    return not text.endswith("\n\n") and not any(line.endswith(" ") or line == " " for line in text.split("\n"))


def _chomping(text: str) -> str:
    return "" if text.endswith("\n") else "-"
