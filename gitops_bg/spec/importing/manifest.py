"""The manifests that an import begins with: each document of each file, with its place; and tables of what becomes of
each field of a foreign kind, with the fields of a manifest that are left. Decides nothing, and knows no kind.

A table has the paths of the kind's schema, with ``[]`` for the items of a list and ``{}`` for the values of a map; what
is said of a path holds for everything below it that has no entry of its own. A field without an entry is listed, too:
nothing is dropped silently.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import printable
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.tools import without_marks
from gitops_bg.spec.manifests.configuration import CONFIG_MAP, SECRET
from gitops_bg.spec.manifests.edit import pieces
from gitops_bg.spec.manifests.objects import unrendered, unrendered_file
from gitops_bg.spec.yaml.reader import Document, FileReading, kind_of, read
from gitops_bg.spec.yaml.scalars import Path, as_map, to_yaml

SERVER_METADATA = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "ownerReferences",
    "finalizers",
)
"""What the API server and controllers write into metadata, and no author."""

SERVER_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/",
    "rollout.argoproj.io/",
    "autoscaling.alpha.kubernetes.io/",
)
"""Annotations that commands and controllers write, by their beginnings."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a file: a whole document, or an item of a List."""

    document: Document
    path: Path
    """From the document's root to the object."""
    value: Mapping[str, Any]
    namespace: str
    """Its own, or the one that counts where it says none; empty where neither is known."""
    text: str = field(default="", repr=False)
    """The document as its author wrote it; empty where the object is an item of a List, or made."""

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.value.get("kind", ""))

    @property
    def api(self) -> str:
        """Its apiVersion."""
        return str(self.value.get("apiVersion", ""))

    @property
    def name(self) -> str:
        """Its name; empty where it has none."""
        name = as_map(self.value.get("metadata")).get("name")
        return name if isinstance(name, str) else ""

    @property
    def spec(self) -> Mapping[str, Any]:
        """Its spec."""
        return as_map(self.value.get("spec"))

    @property
    def origin(self) -> str:
        """Where it comes from, for a comment: ``rollout.yaml:3, Rollout web``."""
        line = self.problem((), "").line or 1
        return printable(f"{self.document.file}:{line}, {self.kind} {self.name}")

    def problem(self, path: Path, message: str, remedy: str = "", *, at_key: bool = False) -> Problem:
        """Return a problem with a field of the object."""
        return self.document.problem((*self.path, *path), message, remedy, at_key=at_key)


def read_manifests(sources: Iterable[tuple[str, bytes]], namespace: str) -> tuple[list[Manifest], list[Problem]]:
    """Return all objects of the files, by name and content, and the problems of what is none. Lists are opened.

    ``namespace`` is that of objects that say none.
    """
    found: list[Manifest] = []
    problems: list[Problem] = []
    for file, data in sources:
        reading = read(file, data)
        template = tuple(_unrendered(file, data, reading))
        problems.extend(template or reading.problems)
        texts = {} if template else _texts(file, data, reading)
        for document in () if template else reading.documents:
            for path, value in _objects(document):
                problem = _not_an_object(document, path, value)
                if problem:
                    problems.append(problem)
                else:
                    own = as_map(value.get("metadata")).get("namespace")
                    text = "" if path else texts.get(document.number, "")
                    found.append(Manifest(document, path, value, str(own or namespace), text))
    return found, problems


def _texts(file: str, data: bytes, reading: FileReading) -> dict[int, str]:
    """Return the documents of a file as their author wrote them, by number; without those that cannot be told from
    others.
    """
    if reading.problems:
        return {}
    found: dict[int, str] = {}
    written = iter(pieces(file, data))
    for document in reading.documents:
        piece = next((each for each in written if each.value == document.value), None)
        if piece and piece.text.strip("\n"):
            found[document.number] = piece.text.strip("\n") + "\n"
    return found


_RENDERED = (
    "import what it renders to: `kubectl kustomize FOLDER | gitops-bg import -`, or "
    "`helm template RELEASE CHART | gitops-bg import -`"
)


def _unrendered(file: str, data: bytes, reading: FileReading) -> Iterator[Problem]:
    """Yield why a file holds no manifest: kustomize or helm reads it, and nobody else."""
    if unrendered_file(file):
        yield Problem(file, "is read by kustomize or helm, and nothing is rendered here", 1, 1, remedy=_RENDERED)
        return
    holds_texts = any(as_map(each.value).get("kind") in (CONFIG_MAP, SECRET) for each in reading.documents)
    for found in unrendered(file, data, reading.problems, holds_texts=holds_texts):
        yield replace(found, message="holds {{ }}: it is a template, and nothing is rendered here", remedy=_RENDERED)


def _objects(document: Document) -> Iterator[tuple[Path, Any]]:
    value = document.value
    if isinstance(value, Mapping) and str(value.get("kind", "")).endswith("List") and "items" in value:
        items = value["items"]
        yield from (((("items", number), item)) for number, item in enumerate(items if isinstance(items, list) else ()))
    else:
        yield (), value


def _not_an_object(document: Document, path: Path, value: Any) -> Problem | None:
    if not isinstance(value, Mapping):
        return document.problem(path, f"expected an object of Kubernetes, found {kind_of(value)}")
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str):
            return document.problem((*path, key), "is required: it says what this is", f"add {key}")
    return None


def cleaned(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object without what the API server and controllers write into it."""
    result = {key: _without_nulls(each) for key, each in value.items() if key != "status"}
    metadata = {key: each for key, each in as_map(value.get("metadata")).items() if key not in SERVER_METADATA}
    if "annotations" in metadata:
        metadata["annotations"] = authored(as_map(metadata["annotations"]))
    result["metadata"] = {key: each for key, each in metadata.items() if each or key not in ("annotations", "labels")}
    return result


def handed_over(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object `cleaned`, and without the marks of the tool that applied it until now."""
    return cleaned({**value, "metadata": without_marks(as_map(value.get("metadata")))})


def _without_nulls(value: Any) -> Any:
    """Return the value without fields that say nothing, such as the creationTimestamp of a pod template."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def authored(annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations that an author wrote."""
    return {key: each for key, each in annotations.items() if not key.startswith(SERVER_ANNOTATIONS)}


def text_of(manifest: Manifest, value: Mapping[str, Any]) -> str:
    """Return the object as YAML: as its author wrote it, with comments, if it still says the same; else written
    anew.
    """
    return manifest.text if manifest.text and value == manifest.value else to_yaml(value)


@dataclass(frozen=True, slots=True)
class Left:
    """A field without an equal."""

    why: str
    instead: str
    unless: tuple[Any, ...] = ()
    """Values that ask for nothing: nothing is said of them."""


class ImportedField:
    """A field that the import takes over, with all that is below it."""


TAKEN = ImportedField()
Fate = Left | ImportedField
Table = Mapping[str, Fate]

UNKNOWN = Left("is no field that gitops-bg knows of this kind", "look whether it is misspelt; it is left out")


def imported(*paths: str) -> dict[str, Fate]:
    """Return entries for fields that are taken over."""
    return dict.fromkeys(paths, TAKEN)


def left(why: str, instead: str, *paths: str, unless: tuple[Any, ...] = ()) -> dict[str, Fate]:
    """Return entries for fields without an equal, for the same reason."""
    return dict.fromkeys(paths, Left(why, instead, unless))


def fate_of(table: Table, path: str) -> Fate | None:
    """Return what becomes of a field: what is said of it, or of the nearest field above it; None where nothing is said.

    >>> table = {**imported("a"), **left("has no equal", "write b", "a.x")}
    >>> fate_of(table, "a.b[].c") is TAKEN, fate_of(table, "a.x.y").instead, fate_of(table, "b")
    (True, 'write b', None)
    """
    while path:
        if path in table:
            return table[path]
        path = path.removesuffix("[]").removesuffix("{}") if path.endswith(("[]", "{}")) else path.rpartition(".")[0]
    return None


def left_fields(manifest: Manifest, table: Table, root: Path = ("spec",)) -> Iterator[Problem]:
    """Yield the fields below ``root`` that are left, each with its place, why, and what to do instead."""
    value: Any = manifest.value
    for part in root:
        value = value.get(part) if isinstance(value, Mapping) else None
    yield from _left(manifest, table, root, "", value)


def _left(manifest: Manifest, table: Table, place: Path, path: str, value: Any) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        entries = [(str(key), each, _below(table, path, str(key))) for key, each in value.items()]
    elif isinstance(value, list):
        yield from (
            problem
            for number, each in enumerate(value)
            for problem in _left(manifest, table, (*place, number), f"{path}[]", each)
        )
        return
    else:
        return
    for key, each, inner in entries:
        fate = fate_of(table, inner) or UNKNOWN
        if each is None:
            continue
        if any(other.startswith((f"{inner}.", f"{inner}[]", f"{inner}{{}}")) for other in table):
            if isinstance(fate, Left) and inner in table and not isinstance(each, Mapping | list):
                yield _unmapped(manifest, fate, (*place, key))
            else:
                yield from _left(manifest, table, (*place, key), inner, each)
        elif isinstance(fate, Left) and not any(each is other or each == other for other in fate.unless):
            yield _unmapped(manifest, fate, (*place, key))


def _below(table: Table, path: str, key: str) -> str:
    """Return the path of an entry: of a field, or of any value of a map."""
    named = f"{path}.{key}".removeprefix(".")
    return f"{path}{{}}" if named not in table and any(each.startswith(f"{path}{{}}") for each in table) else named


def _unmapped(manifest: Manifest, fate: Left, place: Path) -> Problem:
    return manifest.problem(place, fate.why, fate.instead, at_key=True)
