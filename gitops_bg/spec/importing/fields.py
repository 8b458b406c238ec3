"""Tables of what becomes of each field of a foreign kind, and the fields of a manifest that are left. Knows no kind.

A table has the paths of the kind's schema, with ``[]`` for the items of a list and ``{}`` for the values of a map; what
is said of a path holds for everything below it that has no entry of its own. A field without an entry is listed, too:
nothing is dropped silently.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.manifest import Manifest
from gitops_bg.spec.yaml.paths import Path


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
    """Entries for fields that are taken over."""
    return dict.fromkeys(paths, TAKEN)


def left(why: str, instead: str, *paths: str, unless: tuple[Any, ...] = ()) -> dict[str, Fate]:
    """Entries for fields without an equal, for the same reason."""
    return dict.fromkeys(paths, Left(why, instead, unless))


def fate_of(table: Table, path: str) -> Fate | None:
    """What becomes of a field: what is said of it, or of the nearest field above it; None where nothing is said.

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
    """The fields below ``root`` that are left, each with its place, why, and what to do instead."""
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
    """The path of an entry: of a field, or of any value of a map."""
    named = f"{path}.{key}".removeprefix(".")
    return f"{path}{{}}" if named not in table and any(each.startswith(f"{path}{{}}") for each in table) else named


def _unmapped(manifest: Manifest, fate: Left, place: Path) -> Problem:
    return manifest.problem(place, fate.why, fate.instead, at_key=True)
