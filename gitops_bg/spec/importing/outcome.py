"""Reads what an import would write as the agent would: an import that is not valid is not whole. Writes nothing."""

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from gitops_bg.core.foreign_text import lines_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.importing.draft import Piece
from gitops_bg.spec.importing.manifest import Manifest
from gitops_bg.spec.yaml.paths import written

_SEPARATOR = "---\n"

Pieces = Mapping[str, Sequence[Piece]]
"""What the new files consist of, by path."""
_Place = tuple[str, int]
"""A file, and a line of it."""


def text_of(pieces: Iterable[Piece]) -> str:
    """The text of a file."""
    return _SEPARATOR.join(each.text for each in pieces)


def problems_of(
    files: Pieces, repository: Mapping[str, bytes | Problem], said: Iterable[Problem], unsure: Container[str] = ()
) -> Iterator[Problem]:
    """The errors that `check` would find, and does not find now: in the new files each with the place of what the file
    comes from, in others, where a new file contradicts them, with their own.

    What follows from an error that is ``said`` already, of the same field of the same object, is not said again, and
    nothing is of the files that are ``unsure``.
    """
    whole = {**repository, **{path: text_of(each).encode() for path, each in files.items()}}
    known = set(check_repository(repository.items()).problems)
    of_object = _by_object((each.origin for pieces in files.values() for each in pieces), said)
    for found in check_repository(whole.items()).problems:
        field = f"{found.field}: " if found.field else ""
        if found.file in unsure:
            continue
        if found.file in files:
            origin = _origin_of(found, files[found.file])
            if not any(_follows(found, each, origin) for each in of_object.get(_place(origin), ())):
                message = f"would be wrong as {found.file}: {field}{found.message}"
                yield origin.problem((), message, found.remedy)
        elif found not in known:
            yield found


def _origin_of(problem: Problem, pieces: Sequence[Piece]) -> Manifest:
    """What the object comes from that a problem of a new file is about."""
    last = 0
    for each in pieces:
        last += len(lines_of(each.text))
        if (problem.line or 1) <= last:
            return each.origin
    return pieces[-1].origin


def _follows(found: Problem, said: Problem, origin: Manifest) -> bool:
    """Whether a problem is of the same field as one that is said, or of one inside of it. Of all of `spec` is said that
    there is nothing to run, which means the target.
    """
    root = f"{written(origin.path)}." if origin.path else ""
    field = said.field.removeprefix(root)
    if not field or (field == "spec" and found.file.endswith(f"/{APP_FILE}")):
        return False
    ours = {found.field, found.field.removeprefix("spec.template.")}  # the latter where a pod template was made
    return any(each == field or each.startswith((f"{field}.", f"{field}[")) for each in ours)


def _by_object(manifests: Iterable[Manifest], said: Iterable[Problem]) -> dict[_Place, list[Problem]]:
    """The problems of each object, by where it begins: it is the last one that begins before them."""
    places = sorted({_place(each) for each in manifests})
    found: dict[_Place, list[Problem]] = {}
    for each in said:
        at = (each.file, each.line or 0)
        before = bisect_right(places, at)
        if before and places[before - 1][0] == each.file:
            found.setdefault(places[before - 1], []).append(each)
    return found


def _place(manifest: Manifest) -> _Place:
    return manifest.document.file, manifest.problem((), "").line or 1
