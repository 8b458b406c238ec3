"""Texts that came from outside: cut into lines, made safe to show, read as times, durations and addresses, and rid of
secrets. Pure: it does not know where the texts go.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any


def lines_of(text: str) -> list[str]:
    """Return the parts of a text between line feeds, at least one; a carriage return at the end of a line is part of
    it.

    ``str.splitlines`` takes U+2028, U+0085 and six more for the end of a line, which people can write into anything.

    >>> lines_of("a\\x85b\\r\\n\\nc")
    ['a\\x85b\\r', '', 'c']
    """
    return text.split("\n")


# --- safe to show: no character forges a line, drives a terminal or reorders the text ---

_LONGEST_LINE = 500


def printable(text: str) -> str:
    """Return ``text`` with every invisible character escaped: control and bidi characters, line ends, lone surrogates.

    >>> printable("a\\n\\u202eb")
    'a\\\\n\\\\u202eb'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def one_line(text: str) -> str:
    """Return ``text`` as one printable line of at most 500 characters.

    >>> one_line("looks good\\n\\nBg-Approved-By: root")
    'looks good Bg-Approved-By: root'
    """
    flat = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return flat if len(flat) <= _LONGEST_LINE else flat[: _LONGEST_LINE - 1] + "…"


# --- times, with their zone, and of years in which any delay can be added and any zone be written ---

YEARS = (1900, 9000)
"""Python counts to the year 9999; beyond these, the sum with a delay, or another zone, would be an error far away."""


def read_moment(text: object) -> datetime:
    """Return the time that a text says, in UTC. Raises ``ValueError``, which says what would be right.

    >>> read_moment("2026-03-01T13:00:00+01:00").isoformat()
    '2026-03-01T12:00:00+00:00'
    """
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise ValueError("expected a time such as 2026-03-01T12:00:00Z")
    if moment.tzinfo is None:
        raise ValueError("the time has no zone; write it with Z")
    if not is_in_range(moment):
        raise ValueError(f"the time is not of the years {YEARS[0]} to {YEARS[1]}")
    return moment.astimezone(UTC)


def is_in_range(moment: datetime) -> bool:
    """Return whether delays can be added to a time, and its zone be changed, whatever they are."""
    return YEARS[0] <= moment.year <= YEARS[1]


# --- secrets, hidden in every form in which they occur ---
# The time is linear in the length of the text, and in that of the secrets: who chooses them may choose them to be slow.
# A regular expression of the secrets is not linear, `str.find` is (since Python 3.10).

MASK = "***"
_SHORTEST_PART = 4  # A shorter part at the end of a text reveals nothing, and may be anything.
_SHORTEST_LINE = 8  # A traceback or a diff may show single lines of a multi-line secret.
_QUOTED = re.compile("(?:%[0-9A-Fa-f]{2})+")

HOLDERS = frozenset({"data", "stringdata", "binarydata"})
"""The fields, in small letters, below which Kubernetes' objects of any kind hold what is shown nowhere."""

Span = tuple[int, int]
"""Where a part of a text begins, and where it ends."""


def forms(secret: str) -> Iterator[str]:
    """Yield the forms of a secret: as it is, in a repr, in JSON, with + for a blank, in base64, on one line, line by
    line.
    """
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
    """Yield what an object, or a list of objects, has below ``data`` and the like: the texts, and what is encoded in
    them.

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
    """Return the text without all that is found in it, or in it without percent-encoding: every client of HTTP, and
    every server, has characters of its own that it encodes.
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
    """Return the text without percent-encoding; and where each of its characters begins in the text, and where the text
    ends.

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
    """Yield the longest start of a form that is the end of a text, which may have been cut in the middle of it."""
    tail = text[1 - len(form) :]
    if form[:_SHORTEST_PART] not in tail:
        return
    length = _border([*form, None, *tail])
    if length >= _SHORTEST_PART:
        yield len(text) - length, len(text)


def _border(signs: Sequence[str | None]) -> int:
    """Return the length of the longest sequence that these signs both begin and end with, without being all of them
    (Knuth, Morris, Pratt).

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
    """Yield sorted spans, those that overlap as one."""
    start = end = 0
    for first, last in spans:
        if first >= end:
            if end:
                yield start, end
            start = first
        end = max(end, last)
    yield start, end


# --- durations ---

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)


def seconds_of(text: str) -> float:
    """Return the seconds of ``30s``, ``5m``, ``1h30m``; a bare number is seconds. Raises ``ValueError``.

    >>> seconds_of("1h30m"), seconds_of("250ms"), seconds_of("10")
    (5400.0, 0.25, 10.0)
    """
    if re.fullmatch(r"\d+(\.\d+)?", text, flags=re.ASCII):
        return float(text)
    if not re.fullmatch(f"(?:{_PART.pattern})+", text):
        raise ValueError(f"{text!r} is not a duration; write it as 30s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


_LIKE_SCP = re.compile(r"(?:[^@/:]+@)?([^/:@]+|\[[^\]]+\]):(?!//)(.+)")


def scp_address(url: str) -> tuple[str, str] | None:
    """Return the host, in small letters, and the path of a remote that is written as for scp; None for any other.

    >>> scp_address("git@Git.example.com:shop/config.git")
    ('git.example.com', 'shop/config.git')
    >>> scp_address("ssh://git@git.example.com/shop"), scp_address("/srv/a:b"), scp_address("./a:b")
    (None, None, None)
    """
    found = None if "://" in url or url.startswith(("/", ".")) else _LIKE_SCP.fullmatch(url)
    return (found[1].lower(), found[2]) if found else None
