"""A document that is made of others: each value has the place where somebody wrote it, whichever file that is in."""

from collections.abc import Callable
from dataclasses import field

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

Origin = Callable[[Path], tuple[Document, Path]]
"""Returns the document, and the path in it, that a path of the whole was written at."""


@dataclass(frozen=True, slots=True)
class LayeredDocument(Document):
    """``file`` is the one of the layer below all others; ``value`` is that of all layers together."""

    origin: Origin = field(default=lambda _: (Document("", None), ()), compare=False, repr=False)

    def problem(self, path: Path, message: str, remedy: str = "", *, at_key: bool = False) -> Problem:
        """Return a problem with the field at ``path``, where that was written."""
        document, there = self.origin(path)
        return document.problem(there, message, remedy, at_key=at_key)

    def quoting(self, path: Path) -> str:
        """Return the remedy that makes the scalar at ``path`` text, as in the file where it was written."""
        document, there = self.origin(path)
        return document.quoting(there)


def below(document: Document, prefix: Path, file: str = "") -> LayeredDocument:
    """Return what a document has at a path as a document of its own; its problems keep their places."""
    value = document.value
    for part in prefix:
        value = value[part]
    return LayeredDocument(file or document.file, value, origin=lambda path: _origin(document, (*prefix, *path)))


def _origin(document: Document, path: Path) -> tuple[Document, Path]:
    return document.origin(path) if isinstance(document, LayeredDocument) else (document, path)


def layered(base: Document, over: Document, merged: "Merged") -> LayeredDocument:
    """Return two layers as one: ``merged`` has the value, and where each part of it comes from."""

    def origin(path: Path) -> tuple[Document, Path]:
        for length in range(len(path), -1, -1):
            mark = merged.marks.get(path[:length])
            if mark is not None:
                is_over, start = mark
                return _origin(over if is_over else base, (*start, *path[length:]))
        return _origin(base, path)

    return LayeredDocument(base.file, merged.value, base.data, base.number, origin=origin)


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged value. ``marks``: for a path of it, whether what is there and below comes from the upper layer, and its
    path in its layer.
    """

    value: object
    marks: dict[Path, tuple[bool, Path]]
