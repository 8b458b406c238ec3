"""Escapes texts of others for Markdown of three forges: they cannot break a table, mention or link.

A commit's subject and the reason of a gate are written by people who may push. They are shown in ``<code>``, where no
forge looks for mentions and references, and every sign that could mean something to a renderer is an entity.
"""

import re

from gitops_bg.core.text.printable import printable

_LONGEST = 200
_PLAIN = re.compile(r"[^\W_]|[ .,/=+]")
_TICKS = re.compile(r"`+")


def code(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` literally, on one line, cut to ``longest`` characters; fit for a cell of a table.

    >>> code("a|b @ada"), code("")
    ('<code>a&#124;b &#64;ada</code>', '–')
    """
    shown = cut(printable(text.strip()), longest)
    return f"<code>{''.join(map(_inert, shown))}</code>" if shown else "–"


def plain(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` for places without Markdown: a title, the description of a status."""
    return cut(printable(" ".join(text.split())), longest)


def cut(text: str, longest: int) -> str:
    """Return ``text`` cut to at most this many characters; an ellipsis marks a cut.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[: max(0, longest - 1)]}…"


def block(lines: list[str], language: str = "") -> str:
    """Return lines in a code block, literally: its fence is longer than any in them.

    >>> print(block(["a ```` b"]))
    `````
    a ```` b
    `````
    """
    shown = "\n".join(map(printable, lines))
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def _inert(sign: str) -> str:
    return sign if _PLAIN.match(sign) else f"&#{ord(sign)};"
