"""Hides secrets in texts, in every form in which they turn up there. Pure; it does not know where texts go."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MASK = "***"
_SHORTEST_LINE = 8  # Of a multi-line secret, a traceback or a diff may show single lines.


def forms(secret: str) -> Iterator[str]:
    """The ways a secret turns up: as it is, in a repr, in JSON, in a URL, in base64, and line by line."""
    lines = [line.strip() for line in secret.splitlines()]
    long_lines = [line for line in lines if len(line) >= _SHORTEST_LINE]
    for text in filter(None, (secret.strip(), *long_lines)):
        yield text
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield quote(text, safe="")
        yield quote(text)
        yield quote_plus(text)
        yield base64.b64encode(text.encode()).decode().rstrip("=")


def pattern_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    """What finds any of these texts, the longest first; None where there are none."""
    longest_first = sorted(set(texts), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def hidden(text: str, secrets: Iterable[str]) -> str:
    """``text`` with ``***`` in place of each secret.

    >>> hidden("Bearer s3cr3t was refused", ["s3cr3t"])
    'Bearer *** was refused'
    """
    pattern = pattern_of(form for secret in secrets for form in forms(secret))
    return pattern.sub(MASK, text) if pattern else text
