"""`group new`: writes the folder of a version into a work tree, as a copy of another one. It commits nothing.

Asks neither Git nor a cluster: whoever changes the copy pushes it.
"""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.cli.errors import CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.groups import Group, Version, a_version_or_none
from gitops_bg.cli.options.options import OutputOptions, PlaceOptions
from gitops_bg.cli.options.values import app_name
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.rendering import files_below
from gitops_bg.cli.repository.worktree import files_of, write_new_folder
from gitops_bg.cluster.lint import lint
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.model import version_number
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import GROUP_FILE, GROUPS_FOLDER, PRIMARY_FILE, group_folder, group_of, is_version
from gitops_bg.spec.groups.content import active_in


def new(
    group: Group,
    version: Version,
    out: OutputOptions,
    place: PlaceOptions,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="VERSION",
            parser=a_version_or_none,
            help="The version to copy.",
            show_default="what active names",
        ),
    ] = "",
    service: Annotated[
        list[str] | None,
        typer.Option(
            "--service", metavar="SERVICE", help="Bring this one alone; may be repeated. Others serve on as they are."
        ),
    ] = None,
    checkout: Annotated[
        Path, typer.Option("--checkout", metavar="DIR", help="The work tree to write into.", show_default="here")
    ] = Path(),
) -> None:
    """Write the folder of a new version of a group into a work tree, as a copy of the one that `active` names.

    What the agent has committed for that one stays behind. Then change the images, commit and push: the version comes
    up as a candidate. Nothing is written where `check` would find an error in it.

    Example: gitops-bg group new shop/store v3 --service cart
    """
    output = Output(out)
    key = _named(checkout, group, place.namespace)
    folder, active = group_folder(key), _active(checkout, key)
    _demand_new(checkout, key, version, active)
    chosen = source or active
    found = _copied(checkout, f"{folder}/{chosen}", tuple(service or ()))
    _demand_sound(checkout, f"{folder}/{version}", found)
    write_new_folder(checkout / folder / version, found)
    paths = [f"{folder}/{version}/{path}" for path in sorted(found)]
    if output.json:
        output.data({"group": str(key), "version": version, "copyOf": chosen, "files": paths})
        return
    output.line(f"{key}: {version} is a copy of {chosen}: {len(paths)} files in {folder}/{version}/", "green")
    output.line("Change what is new in it, above all the images; then:")
    add = f"git add {shlex.quote(f'{folder}/{version}')} && git commit -m {shlex.quote(f'{key.name}: {version}')}"
    output.line(f"  {add} && git push")
    output.line(f"Once it is up, as X-Version: {version} shows: gitops-bg promote {key} --to {version}")


def _named(checkout: Path, name: str, namespace: str) -> GroupKey:
    """Return the group of the work tree that a person means. Raises `ObjectNotFound`, `UsageError`."""
    written, bare = app_name(name)
    namespace = written or namespace
    root = checkout / GROUPS_FOLDER
    there = [GroupKey(each.parts[-3], each.parts[-2]) for each in sorted(root.glob(f"*/*/{GROUP_FILE}"))]
    found = [key for key in there if key.name == bare and namespace in ("", key.namespace)]
    if not found:
        known = f"; it has {', '.join(map(str, there))}" if there else f": it has no {GROUPS_FOLDER}/"
        raise ObjectNotFound(f"the work tree {checkout.resolve()} has no group {name}{known}")
    if len(found) > 1:
        raise UsageError(f"{name} is ambiguous: {', '.join(map(str, found))}; name one of them in full")
    return found[0]


def _active(checkout: Path, key: GroupKey) -> str:
    path = f"{group_folder(key)}/{GROUP_FILE}"
    active = active_in(files_below(checkout, path).get(path, b""))
    if not active:
        raise CommandFailed(f"nobody can read which version {path} names: mend it first")
    return active


def _demand_new(checkout: Path, key: GroupKey, version: str, active: str) -> None:
    """Check that a folder of this name would become a candidate. Raises `CommandFailed`."""
    folder = checkout / group_folder(key)
    there = [each.name for each in folder.iterdir() if is_version(each.name)]
    free = f"v{max(map(version_number, (active, *there))) + 1}"
    if (folder / version).exists():
        raise CommandFailed(f"{key} has a version {version} already: the next one that is free is {free}")
    if version_number(version) < version_number(active):
        rejected = "is active, so that the agent would reject it"
        raise CommandFailed(f"{version} is older than {active}, which {rejected}: write {free}")


def _copied(checkout: Path, folder: str, services: tuple[str, ...]) -> dict[str, bytes]:
    """Return the files to write, by their paths in the new folder. Raises `ObjectNotFound`."""
    below = {path.removeprefix(f"{folder}/"): data for path, data in files_below(checkout, folder).items()}
    own = {path: data for path, data in below.items() if path.rpartition("/")[2] != PRIMARY_FILE}
    if not own:
        raise ObjectNotFound(f"the work tree has no files in {folder}/: name a version that it has with --from")
    brought = sorted({path.partition("/")[0] for path in own if "/" in path})
    if unknown := sorted(set(services) - set(brought)):
        had = ", ".join(brought)
        raise ObjectNotFound(f"{folder} has no service {unknown[0]}: it has {had}; name another version with --from")
    return {path: data for path, data in own.items() if not services or path.partition("/")[0] in services}


def _demand_sound(checkout: Path, folder: str, files: Mapping[str, bytes]) -> None:
    """Raise `InvalidInput` where the work tree would have an error in the new folder that it has not without."""
    before = dict(files_of(checkout))
    after = {**before, **{f"{folder}/{path}": data for path, data in files.items()}}
    known = set(_problems_in(before, folder))
    wrong = [each for each in _problems_in(after, folder) if each not in known]
    if wrong:
        raise InvalidInput(*wrong, Problem(folder, "nothing was written"))


def _problems_in(files: Mapping[str, bytes | Problem], folder: str) -> Iterator[Problem]:
    """Return the errors of the group that the folder belongs to."""
    found = group_of(f"{folder}/")
    group = group_folder(found[0]) if found else folder
    problems = check_repository(files.items(), lint).problems
    return (each for each in problems if each.file.startswith(f"{group}/"))
