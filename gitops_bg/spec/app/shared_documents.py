"""Documents that apps share by name: those of one kind in a top-level folder of a repository. Fetches nothing.

The problems of a document are kept with it: apps that use it show them, the others go on.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Generic, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.written import DnsLabel
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.layout import is_manifest
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.yaml.reader import Document, first_of_each, read

Spec = TypeVar("Spec")


class SharedMetadata(Model):
    """The name of the document. It is for all namespaces, unless one is written."""

    name: DnsLabel
    namespace: DnsLabel | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


@dataclass(frozen=True)  # no slots: an alias could not construct a generic dataclass with slots
class Item(Generic[Spec]):
    """One document. ``spec`` is None where ``problems`` says why it cannot be used."""

    name: str
    document: Document
    spec: Spec | None
    namespace: str | None = None
    problems: tuple[Problem, ...] = ()

    def says_the_same_as(self, other: "Item[Spec] | None") -> bool:
        """Return whether both documents are equal for an app that uses this one."""
        return other is not None and (self.document.value, self.problems) == (other.document.value, other.problems)


@dataclass(frozen=True)  # no slots: an alias could not construct a generic dataclass with slots
class SharedDocuments(Generic[Spec]):
    """All documents of one kind. ``problems`` are those of files in which no document could be recognised."""

    items: Mapping[str, Item[Spec]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def all_problems(self) -> tuple[Problem, ...]:
        """Return all problems of the folder."""
        return (*self.problems, *(each for item in self.items.values() for each in item.problems))

    def changed(self, other: "SharedDocuments[Spec]") -> frozenset[str]:
        """Return the names whose documents differ between the two, including missing ones; an app may name a missing
        document.
        """
        names = self.items.keys() | other.items.keys()
        return frozenset(name for name in names if not _same(self.items.get(name), other.items.get(name)))


def _same(one: Item[Spec] | None, other: Item[Spec] | None) -> bool:
    return one is other or (one is not None and one.says_the_same_as(other))


def load_shared_documents(
    files: Mapping[str, bytes | Problem], folder: str, models: Mapping[str, type[Any]]
) -> SharedDocuments[Any]:
    """Return the documents in the files of ``folder``, by path. A Problem stands for a file that Git found unusable.

    ``models`` are those of the kinds that may be there, each with ``metadata``, a `SharedMetadata`, and ``spec``. The
    first is the one that messages are about.
    """
    kind = next(iter(models))
    items: dict[str, Item[Any]] = {}
    problems: list[Problem] = []
    for path in sorted(path for path in files if path.startswith(f"{folder}/") and is_manifest(path)):
        content = files[path]
        if isinstance(content, Problem):
            problems.append(content)
            continue
        reading = read(path, content)
        problems.extend(reading.problems)
        for document in reading.documents:
            model = models.get(_kind_of(document), models[kind])
            item = _item(document, model)
            if item is None:
                problems.extend(validate(model, document)[1])
            elif item.name in items:
                items[item.name] = _twice(items[item.name], document, kind)
            else:
                items[item.name] = item
    return SharedDocuments(items, tuple(first_of_each(problems)))


def _kind_of(document: Document) -> str:
    return str(document.value.get("kind")) if isinstance(document.value, dict) else ""


def _item(document: Document, model: type[Any]) -> Item[Any] | None:
    """Convert a document, valid or not; None where it has no name."""
    found, problems = validate(model, document)
    if found is not None:
        return Item(found.metadata.name, document, found.spec, found.metadata.namespace)
    metadata = document.value.get("metadata") if isinstance(document.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return Item(name, document, None, problems=problems) if isinstance(name, str) else None


def _twice(first: Item[Any], document: Document, kind: str) -> Item[Any]:
    """Mark a duplicate: it is unknown which of the two is meant, so neither is used."""
    message = f"there is an {kind} {first.name} in {first.document.file} already"
    problem = document.problem(("metadata", "name"), message, "rename one of the two")
    return Item(first.name, first.document, None, first.namespace, tuple(first_of_each((*first.problems, problem))))
