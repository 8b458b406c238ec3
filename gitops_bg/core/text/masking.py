"""Hides secrets in texts, in every form in which they occur. Pure; it does not know where the texts go."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MASK = "***"
_SHORTEST_PART = 4  # A shorter part at the end of a text reveals nothing, and may be anything.
_SHORTEST_LINE = 8  # A traceback or a diff may show single lines of a multi-line secret.


def forms(secret: str) -> Iterator[str]:
    """The forms of a secret: as it is, in a repr, in JSON, in a URL, in base64, on one line, and line by line."""
    lines = [line.strip() for line in secret.splitlines()]
    long_lines = [line for line in lines if len(line) >= _SHORTEST_LINE]
    for text in filter(None, (secret.strip(), " ".join(secret.split()), *long_lines)):
        yield text
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield quote(text, safe="")
        yield quote(text)
        yield quote_plus(text)
        yield base64.b64encode(text.encode()).decode().rstrip("=")


def pattern_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern that finds any of these texts, the longest first; None where there are none."""
    longest_first = sorted(set(texts), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` with ``***`` in place of each secret, and of the start of a secret at its end.

    >>> hidden("Bearer s3cr3t was refused", ["s3cr3t"])
    'Bearer *** was refused'
    """
    texts = {form for secret in secrets for form in forms(secret)}
    pattern = pattern_of(texts)
    return _without_beginning(pattern.sub(MASK, text), texts) if pattern else text


def _without_beginning(text: str, secrets: Iterable[str]) -> str:
    """Hide the start of a secret at the end of a text, which may have been cut in the middle of it."""
    for secret in secrets:
        for length in range(min(len(secret) - 1, len(text)), _SHORTEST_PART - 1, -1):
            if text.endswith(secret[:length]):
                return text[:-length] + MASK
    return text
