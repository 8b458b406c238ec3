"""Hides secrets in texts, in every form in which they occur. Pure; it does not know where the texts go.

Its time is linear in the length of the text, and in that of the secrets: who chooses them may choose them to be slow.
A regular expression of the secrets is not linear, `str.find` is (since Python 3.10).
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

MASK = "***"
_SHORTEST_PART = 4  # A shorter part at the end of a text reveals nothing, and may be anything.
_SHORTEST_LINE = 8  # A traceback or a diff may show single lines of a multi-line secret.
_QUOTED = re.compile("(?:%[0-9A-Fa-f]{2})+")

HOLDERS = frozenset({"data", "stringdata", "binarydata"})
"""The fields, in small letters, below which Kubernetes' objects of any kind hold what is shown nowhere."""

Span = tuple[int, int]
"""Where a part of a text begins, and where it ends."""


def forms(secret: str) -> Iterator[str]:
    """The forms of a secret: as it is, in a repr, in JSON, with + for a blank, in base64, on one line, line by line."""
    lines = [line.strip() for line in secret.splitlines()]
    long_lines = [line for line in lines if len(line) >= _SHORTEST_LINE]
    for text in filter(None, (secret.strip(), " ".join(secret.split()), *long_lines)):
        data = text.encode(errors="replace")
        yield text
        yield repr(text)[1:-1]  # Python's own errors have it so.
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield text.replace(" ", "+")
        yield base64.b64encode(data).decode().rstrip("=")
        yield base64.urlsafe_b64encode(data).decode().rstrip("=")


def held_in(value: Any) -> Iterator[str]:
    """What an object, or a list of objects, has below ``data`` and the like: the texts, and what is encoded in them.

    >>> sorted(held_in({"kind": "Secret", "data": {"pin": "aHVudGVyMg=="}}))
    ['aHVudGVyMg==', 'hunter2']
    """
    for key, item in _items(value):
        if isinstance(key, str) and key.lower() in HOLDERS:
            yield from _long_enough(item)
        else:
            yield from held_in(item)


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _long_enough(value: Any) -> Iterator[str]:
    for _, item in _items(value):
        yield from _long_enough(item)
    if isinstance(value, str) and len(value) >= _SHORTEST_PART:
        yield value
        with suppress(ValueError):
            decoded = base64.b64decode(value, validate=True).decode()
            if len(decoded) >= _SHORTEST_PART:
                yield decoded


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` with ``***`` in place of each secret, and of the start of a secret at its end.

    >>> hidden("Bearer s3cr3t was refused", ["s3cr3t"])
    'Bearer *** was refused'
    """
    known = {form for secret in secrets for form in forms(secret)}
    return _masked(text, known, lambda view, form: (*_places(view, form), *_beginning(view, form))) if known else text


def without(text: str, known: Iterable[str]) -> str:
    """Return ``text`` with ``***`` in place of each of these texts."""
    return _masked(text, known, _places)


def _masked(text: str, known: Iterable[str], find: Callable[[str, str], Iterable[Span]]) -> str:
    """The text without all that is found in it, or in it without percent-encoding: every client of HTTP, and every
    server, has characters of its own that it encodes.
    """
    known = tuple(filter(None, known))
    found = [span for form in known for span in find(text, form)]
    if "%" in text:
        plain, starts = _unquoted(text)
        found += [(starts[start], starts[end]) for form in known for start, end in find(plain, form)]
    found.sort()
    if not found:
        return text
    kept, copied = list[str](), 0
    for start, end in _joined(found):
        kept += (text[copied:start], MASK)
        copied = end
    return "".join((*kept, text[copied:]))


def _unquoted(text: str) -> tuple[str, list[int]]:
    """The text without percent-encoding; and where each of its characters begins in the text, and where the text ends.

    >>> _unquoted("a%2Fb")
    ('a/b', [0, 1, 4, 5])
    """
    kept, starts, at = list[str](), list[int](), 0
    for run in _QUOTED.finditer(text):
        kept.append(text[at : run.start()])
        starts += range(at, run.start())
        at = run.start()
        for sign in bytes.fromhex(run[0].replace("%", "")).decode(errors="surrogateescape"):
            kept.append(sign)
            starts.append(at)
            at += 3 * len(sign.encode(errors="surrogateescape"))
    return "".join((*kept, text[at:])), [*starts, *range(at, len(text) + 1)]


def _places(text: str, form: str) -> Iterator[Span]:
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + len(form))


def _beginning(text: str, form: str) -> Iterator[Span]:
    """The longest start of a form that is the end of a text, which may have been cut in the middle of it."""
    tail = text[1 - len(form) :]
    if form[:_SHORTEST_PART] not in tail:
        return
    length = _border([*form, None, *tail])
    if length >= _SHORTEST_PART:
        yield len(text) - length, len(text)


def _border(signs: Sequence[str | None]) -> int:
    """The length of the longest sequence that these signs both begin and end with, without being all of them (Knuth,
    Morris, Pratt).

    >>> _border("abcab")
    2
    """
    borders = [0]
    for sign in signs[1:]:
        length = borders[-1]
        while length and sign != signs[length]:
            length = borders[length - 1]
        borders.append(length + (sign == signs[length]))
    return borders[-1]


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Sorted spans, those that overlap as one."""
    start = end = 0
    for first, last in spans:
        if first >= end:
            if end:
                yield start, end
            start = first
        end = max(end, last)
    yield start, end
