"""The one decoder of JSON from outside: with limits, and with a result that can always be encoded again.

`read_json` refuses what breaks a rule of `Limits`; it is for a document of one author. `read_objects` is for answers
that contain objects of many authors: a bad value of one becomes null, or a replacement character, and the other objects
stay as they are. `reread_json` is for texts that this process wrote itself.

Python's own decoder returns infinities and lone surrogates (which fail later, where they are encoded), and raises
RecursionError for twenty thousand brackets. msgspec refuses all of these, and takes two thirds of the time: what it
accepts is taken as it is, and the rest is read by the slower one, which says what is wrong, or mends it
(docs/decisions/0003).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

DEEPEST = 100
"""Levels of nesting; a Deployment has about 12. Python's own functions fail at some hundreds."""
LONGEST_NUMBER = 40
"""Digits and signs of a whole number in a document; a 64-bit number has 20, and a hash written as a number 39."""
LONGEST_AMONG_OTHERS = 4300
"""Those of a whole number among the objects of many authors: Python writes no longer one."""

_decode = msgspec.json.decode
_ODD = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What it raises for a text that is no JSON, and for what Python's own decoder reads and cannot encode again."""

_MANY_DIGITS = re.compile(rf"-[0-9]{{{LONGEST_NUMBER}}}|[0-9]{{{LONGEST_NUMBER + 1}}}")

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """The text is not JSON that this module accepts; the message says why, without repeating the text."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a document. ``bytes`` counts UTF-8 bytes of bytes, and characters of a text."""

    bytes: int = 16 * 1024 * 1024
    depth: int = DEEPEST
    twice: bool = True
    """Whether a key may occur twice in an object, as nearly every reader of JSON allows; the last one counts."""


ORDINARY = Limits()
UNIQUE = Limits(twice=False)


def read_json(text: str | bytes, limits: Limits = ORDINARY) -> Any:
    """Decode a text of one author. Raises `NotJson`.

    >>> read_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> read_json("1e999")
    Traceback (most recent call last):
    gitops_bg.core.text.foreign_json.NotJson: it has the number 1e999, which JSON readers make an infinity of
    """
    if len(text) > limits.bytes:
        raise NotJson(f"it is longer than {limits.bytes:,}")
    decoded = _decoded(text)
    if _brackets(decoded) > limits.depth and depth_of(decoded) > limits.depth:
        raise NotJson(f"it is nested more than {limits.depth} levels deep")
    value = _parsed(decoded, limits)
    if _ESCAPED_SURROGATE.search(decoded) and _has_surrogate(value):
        raise NotJson("it has an escape that is half a character")
    return value


def read_objects(text: bytes) -> Any:
    """Decode an answer with objects of many authors. Raises `NotJson` where it is no JSON at all.

    A value nested too deep, or a number that cannot be encoded again, becomes null; half a character becomes U+FFFD.
    """
    try:
        return _decode(text)
    except _ODD:
        return _read_leniently(text)


def _read_leniently(text: bytes) -> Any:
    decoded = text.decode(errors="replace")
    try:
        value = _LENIENT.decode(decoded)
        return _mended(value) if _ESCAPED_SURROGATE.search(decoded) else value
    except RecursionError:
        return _read_leniently(_pruned(decoded).encode())
    except ValueError as error:
        raise NotJson(str(error)) from error


def reread_json(text: str | bytes) -> Any:
    """Decode a text that this process wrote itself."""
    try:
        return _decode(text)
    except _ODD:
        return json.loads(text)


def sorted_json(value: Any) -> bytes:
    """The JSON of a value with sorted keys: the same bytes for the same content.

    >>> sorted_json({"b": [1, True], "a": None})
    b'{"a":null,"b":[1,true]}'
    """
    return msgspec.json.encode(value, order="sorted")


def depth_of(text: str) -> int:
    """How many levels of brackets a text has, outside of strings.

    >>> depth_of('{"a]": [[]]}')
    3
    """
    deepest = level = 0
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        if sign in "[{":
            level += 1
            deepest = max(deepest, level)
        elif sign != '"':
            level -= 1
    return deepest


def _decoded(text: str | bytes) -> str:
    try:
        if isinstance(text, str):
            text.isascii() or text.encode()
            return text
        return text.decode()
    except UnicodeError as error:
        raise NotJson("it is not UTF-8") from error


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{")


def _parsed(text: str, limits: Limits) -> Any:
    if limits.twice and not _MANY_DIGITS.search(text):
        try:
            return _decode(text)
        except _ODD:
            pass  # The reader below says what is wrong.
    try:
        return (_STRICT if limits.twice else _UNIQUE).decode(text)
    except RecursionError as error:
        raise NotJson("it is nested too deep") from error
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(str(error)) from error


def _constant(name: str) -> NoReturn:
    raise NotJson(f"it has {name}, which JSON does not know")


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise NotJson(f"it has a whole number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise NotJson(f"it has the number {text[:40]}, which JSON readers make an infinity of")
    return value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotJson("a key stands twice in an object of it")
    return found


def _whole_or_null(text: str) -> int | None:
    return int(text) if len(text) <= LONGEST_AMONG_OTHERS else None


def _finite_or_null(text: str) -> float | None:
    value = float(text)
    return value if value - value == 0 else None


_STRICT = json.JSONDecoder(parse_constant=_constant, parse_int=_whole, parse_float=_finite)
_UNIQUE = json.JSONDecoder(
    parse_constant=_constant, parse_int=_whole, parse_float=_finite, object_pairs_hook=_no_key_twice
)
_LENIENT = json.JSONDecoder(parse_constant=lambda _: None, parse_int=_whole_or_null, parse_float=_finite_or_null)


def _has_surrogate(value: Any) -> bool:
    return any(_SURROGATE.search(text) for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, list) else value


def _pruned(text: str) -> str:
    """Return the text with null in place of everything nested deeper than `DEEPEST`."""
    kept: list[str] = []
    level = copied = 0
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        if sign in "[{":
            level += 1
            if level == DEEPEST + 1:
                kept.append(text[copied : token.start()] + "null")
        elif sign != '"':
            if level == DEEPEST + 1:
                copied = token.end()
            level -= 1
    return "".join([*kept, text[copied:]]) if level <= DEEPEST else "".join(kept)
