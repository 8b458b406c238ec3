"""The documents of a file as their author wrote them: extracts one, inserts one, and keeps every other byte.

A line that begins with ``---`` always begins a document, wherever it is (YAML 1.2 §9.1.2). Knows only a document's kind
and name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.manifests.references import Named
from gitops_bg.spec.yaml.reader import read, read_one

_BEGINS = re.compile(r"^---(?=\s|$)", re.MULTILINE | re.ASCII)
_MARKER = re.compile(r"---[^\n]*(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Piece:
    """One document: ``named`` and ``value`` are None where it is empty. ``text`` has no leading marker."""

    marker: str
    text: str
    named: Named | None
    value: Any


def pieces(file: str, data: bytes) -> list[Piece]:
    """The documents of a file, in order. Raises ``InvalidInput`` where it cannot be read."""
    found = [_piece(file, text) for text in _cut(data.decode())]
    reading = read(file, data)
    if reading.problems:
        raise InvalidInput(*reading.problems)
    return found


def piece_of(file: str, data: bytes, named: Named) -> Piece | None:
    """The document of a kind and name, or None. Raises as `pieces`."""
    return next((piece for piece in pieces(file, data) if piece.named == named), None)


def with_document(file: str, data: bytes, named: Named, text: str) -> bytes:
    """Return the file with ``text`` as its document of this kind and name: replaced, or appended.

    Raises ``InvalidInput`` where the file cannot be read, or would not contain exactly that afterwards.
    """
    before = pieces(file, data)
    ended = text if text.endswith("\n") else f"{text}\n"
    if any(piece.named == named for piece in before):
        parts = [piece.marker + (ended if piece.named == named else piece.text) for piece in before]
        changed = "".join(parts)
    else:
        kept = data.decode()
        kept += "" if kept.endswith("\n") or not kept else "\n"
        changed = f"{kept}---\n{ended}" if kept.strip() else ended
    _verify(file, before, changed, named)
    return changed.encode()


def _cut(text: str) -> Iterator[str]:
    starts = [0, *(match.start() for match in _BEGINS.finditer(text) if match.start())]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def _piece(file: str, text: str) -> Piece:
    marker = _MARKER.match(text)
    head = marker[0] if marker else ""
    document, _ = read_one(file, text.encode())
    value = document.value if document else None
    return Piece(head, text[len(head) :], _named(value), value)


def _named(value: Any) -> Named | None:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return (str(value.get("kind")), name) if isinstance(name, str) else None


def _verify(file: str, before: list[Piece], changed: str, named: Named) -> None:
    """Check that every other document is unchanged, and the new one occurs once."""
    after = pieces(file, changed.encode())
    others = [[piece.value for piece in side if piece.named != named and piece.value] for side in (before, after)]
    if others[0] != others[1] or sum(piece.named == named for piece in after) != 1:
        kind, name = named
        message = f"{kind} {name} cannot be put into it without changing more"
        raise InvalidInput(Problem(file, message, remedy="edit the file by hand"))
