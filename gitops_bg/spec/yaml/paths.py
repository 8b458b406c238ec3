"""Paths of fields inside a document, and their text form. Nothing about files."""

import re
from collections.abc import Iterable

Path = tuple[str | int, ...]

_PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


def written(path: Iterable[str | int]) -> str:
    """A path as an error shows it.

    >>> written(("spec", "containers", 0, "image")), written(("metadata", "labels", "app.io/x"))
    ('spec.containers[0].image', 'metadata.labels["app.io/x"]')
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text
