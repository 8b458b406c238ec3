"""Paths of fields inside a document, their text form, and which of them hold what nobody may be shown. Nothing about
files.
"""

import re
from collections.abc import Iterable

from gitops_bg.core.foreign_text import HOLDERS

Path = tuple[str | int, ...]

_PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
"""What Kubernetes takes for a key of ``data``. Anything else there may be a line of a value, indented wrongly."""


def is_hidden(path: Path) -> bool:
    """Whether nothing that the document says at ``path`` may be shown: it may be the value of a secret, whatever the
    kind is called. Capitals do not count: people misspell these fields.

    >>> is_hidden(("stringData", "pin")), is_hidden(("spec", "template", "data")), is_hidden(("metadata", "name"))
    (True, True, False)
    """
    return any(isinstance(part, str) and part.lower() in HOLDERS for part in path)


def written(path: Iterable[str | int]) -> str:
    """A path as an error shows it: of what is below ``data`` only the first key.

    >>> written(("spec", "containers", 0, "image")), written(("metadata", "labels", "app.io/x"))
    ('spec.containers[0].image', 'metadata.labels["app.io/x"]')
    >>> written(("data", "pin", "x", "y")), written(("data", "no key: x"))
    ('data.pin', 'data')
    """
    text = ""
    for part in _showable(tuple(path)):
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text


def _showable(path: Path) -> Path:
    holder = next((place for place, part in enumerate(path) if is_hidden((part,))), len(path))
    key = path[holder + 1 : holder + 2]
    return path[: holder + 1] + tuple(part for part in key if isinstance(part, int) or _KEY.fullmatch(part))
