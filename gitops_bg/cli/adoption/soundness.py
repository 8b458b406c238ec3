"""What would be wrong with the folder of an adopted app, said of the live objects: its files are not there. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from gitops_bg.cli.adoption.choice import Chosen, Object, called
from gitops_bg.cluster.lint import lint
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import folder_of

Origins = Mapping[str, Sequence[Object | None]]
"""The live object of each document of a file, by the file's name; None for what is new."""


def problems_of(
    chosen: Chosen,
    files: Mapping[str, str],
    origins: Origins,
    repository: Mapping[str, bytes | Problem],
    said: Collection[Problem],
    now: datetime,
) -> Iterator[Problem]:
    """Every error that `check` would find with these files, by name in the app's folder, and does not find now.

    One of a file is told of the field of the live object, unless one of this field is ``said`` already; one elsewhere
    in the repository, which the new files contradict, with its own place. What the folder has already is left out.
    """
    folder = folder_of(chosen.app)
    there = {path: each for path, each in repository.items() if not path.startswith(f"{folder}/")}
    known = set(check_repository(there.items(), lint, now).problems)
    after = there | {f"{folder}/{name}": text.encode() for name, text in files.items()}
    for found in check_repository(after.items(), lint, now).problems:
        name = found.file.removeprefix(f"{folder}/")
        if name not in files:
            if found not in known:
                yield found
            continue
        live = _origin_of(found, files[name], origins.get(name, ()))
        subject = called(live) if live else f"{found.file}, as it would be"
        if not any(each.file == subject and _is_inside(found.field, each.field) for each in said):
            message = f"would be wrong as {found.file}: {found.message}" if live else found.message
            yield Problem(subject, message, field=found.field, remedy=found.remedy)


def _origin_of(problem: Problem, text: str, origins: Sequence[Object | None]) -> Object | None:
    """The live object of the document that a problem is of."""
    before = text.split("\n")[: (problem.line or 1) - 1]
    number = before.count("---")
    return origins[number] if number < len(origins) else None


def _is_inside(field: str, outer: str) -> bool:
    return bool(outer) and (field == outer or field.startswith((f"{outer}.", f"{outer}[")))
