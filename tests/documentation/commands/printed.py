"""Compares what a command printed with what a page shows of it.

A page says `…` for what it leaves out: within a line, or, as a line of its own, any number of lines. Digests, commits,
ages, dates and the random ends of names differ with every run; any other of the same form is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_DIFFERS = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)?", r"\\S+ ?\\S*"),  # a time
    (r"\b\d\d:\d\d:\d\dZ?", r"\\d\\d:\\d\\d:\\d\\dZ?"),
    (r"(?<![\w.])(?=\w*\d)[0-9a-f]{7,40}\b", "[0-9a-f]{7,40}"),  # a digest or a commit
    (r"(?<=[ -])(?:\d+[hms]){1,3}(?![\w.])", r"(?:\\d+[hms]){1,3}"),  # an age
    (r"(?<=[0-9a-f]{10}-)[a-z0-9]{5}\b", "[a-z0-9]{5}"),  # the end of a pod's name
)
_ANY_LINES = r"(?:.*\n)*?"


def differs(shown: Iterable[str], printed: str) -> bool:
    """Whether a command printed anything else than a page shows.

    >>> differs(["web  3f9c2ab8d1  5s", "…"], "web  aa00bb11cc   2m3s\\nmore\\nand more\\n")
    False
    >>> differs(["web  3f9c2ab8d1  5s"], "web  aa00bb11cc   5s\\nmore\\n")
    True
    >>> differs(["web is … today"], "web is not here\\n")
    True
    """
    pattern = "".join(_ANY_LINES if line.strip() == "…" else f"{_pattern(line)}\\n" for line in shown)
    return re.fullmatch(pattern, _plain(printed)) is None


def _plain(printed: str) -> str:
    """Without the colors, and without what stands at the end of lines, or before the first and after the last."""
    lines = (line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", printed).replace("\t", " ").splitlines())
    return "\n".join(lines).strip("\n") + "\n" if printed.strip() else ""


def _pattern(line: str) -> str:
    """What a line may look like: its words in order, however far apart they stand."""
    marked, pieces = line.rstrip(), []
    position = 0
    for found in re.finditer("|".join(f"({form})" for form, _ in _DIFFERS), marked):
        pieces.append(_words(marked[position : found.start()]))
        pieces.append(_DIFFERS[(found.lastindex or 1) - 1][1].replace("\\\\", "\\"))
        position = found.end()
    return "".join([*pieces, _words(marked[position:])])


def _words(text: str) -> str:
    return re.sub(r"(?:\\ )+", " +", re.sub(r"(?:\\ )*…", ".*", re.escape(text)))
