"""`init`: a new configuration repository from the template. Copies files; creates no commit and no remote."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.cli.clone.worktree import policy_library, template_folder
from gitops_bg.cli.commands.schema import ALL, write_schemas
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.options import OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.core.names import API_VERSION
from gitops_bg.spec.app.layout import is_manifest
from gitops_bg.spec.json_schema import schema_of_all

LIBRARY = Path("policies") / "library"
"""The folder of ready policies; they have no effect until somebody copies them."""
EXAMPLES = Path("examples") / "groups"
"""The folder of an example, which has no effect until somebody moves it."""
SCHEMAS = Path(".gitops-bg")
"""The folder of the schema for editors; nobody else reads it."""
_OURS = re.compile(f"^apiVersion: {re.escape(API_VERSION)}$", re.MULTILINE)


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="An empty folder, or a new one.")],
    out: OutputOptions,
) -> None:
    """Copy the template of a configuration repository into DIR.

    Example: gitops-bg init my-config && gitops-bg check my-config
    """
    _demand_empty(directory)
    template = template_folder()
    try:
        shutil.copytree(template, directory, dirs_exist_ok=True)
        if library := policy_library():
            shutil.copytree(library, directory / LIBRARY, dirs_exist_ok=True)
        write_schemas(directory / SCHEMAS, {ALL: schema_of_all()})
        _name_schema(directory)
    except (OSError, shutil.Error) as error:
        raise CommandFailed(f"{directory} cannot be written: {error}") from error
    files = sorted(str(path.relative_to(directory)) for path in _files_in(directory))
    output = Output(out)
    if output.json:
        output.data({"directory": str(directory), "files": files})
        return
    output.line(f"Made {directory} with {len(files)} files.", "green")
    output.line(
        f"Ready policies are in {directory / LIBRARY}; one that is copied to {directory / LIBRARY.parent} counts."
    )
    output.line(f"A release group is in {directory / EXAMPLES}; moved to {directory / EXAMPLES.name} it counts.")
    output.line(f"Editors find the schema of the files in {directory / SCHEMAS}; `gitops-bg schema` writes it anew.")
    output.line(f"Next: edit {directory}/apps, run `gitops-bg check {directory}`, commit and push.")


def _name_schema(directory: Path) -> None:
    """Say in the first line of each file of ours where its schema is, as editors' YAML language servers read it.

    Files that are there to be moved are left out: the path would be another one then.
    """
    for path in list(_files_in(directory)):
        place = path.relative_to(directory)
        to_be_moved = any(place.is_relative_to(each) for each in (LIBRARY, EXAMPLES))
        text = path.read_text() if is_manifest(path.name) and not to_be_moved else ""
        if _OURS.search(text):
            schema = os.path.relpath(directory / SCHEMAS / ALL, path.parent)
            path.write_text(f"# yaml-language-server: $schema={Path(schema).as_posix()}\n{text}")


def _files_in(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file() and ".git" not in path.relative_to(directory).parts)


def _demand_empty(directory: Path) -> None:
    """Accept a missing or empty folder, or a git repository without files; anything else is somebody's work."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise CommandFailed(f"{directory} is a file; name a folder")
    there = sorted(path.name for path in directory.iterdir() if path.name != ".git")
    if there:
        shown = ", ".join(there[:3]) + (" …" if len(there) > 3 else "")
        raise CommandFailed(f"{directory} is not empty ({shown}); name a new or empty folder")
