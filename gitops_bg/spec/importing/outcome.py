"""Reads what an import would write as the agent would: an import that is not valid is not whole. Writes nothing."""

from collections.abc import Iterator, Mapping

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.importing.manifest import Manifest


def problems_of(
    files: Mapping[str, str], origins: Mapping[str, Manifest], repository: Mapping[str, bytes | Problem]
) -> Iterator[Problem]:
    """The errors that `check` would find, and does not find now: in the new files each with the place of what the file
    comes from, in others, where a new file contradicts them, with their own.
    """
    whole = {**repository, **{path: text.encode() for path, text in files.items()}}
    known = set(check_repository(repository.items()).problems)
    for found in check_repository(whole.items()).problems:
        field = f"{found.field}: " if found.field else ""
        if found.file in files:
            message = f"would be wrong as {found.file}: {field}{found.message}"
            yield origins[found.file].problem((), message, found.remedy)
        elif found not in known:
            yield found
