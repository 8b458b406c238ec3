"""`init`: a new configuration repository from the template; `schema`: the JSON Schemas that its files name for editors,
and those of what verbs print for programs. Asks nobody, and creates no commit and no remote.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from gitops_bg.cli.commands.inspect.check_report import ReportJson
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.worktree import policy_library, template_folder
from gitops_bg.core.names import API_VERSION
from gitops_bg.spec.app.layout import is_manifest
from gitops_bg.spec.crd import MODELS, schema_of, schema_of_all
from gitops_bg.spec.yaml.scalars import nearest

ALL = "schema.json"
"""The file with the schema of every kind."""
REPORT = "CheckReport"
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


def schema(
    out: OutputOptions,
    kind: Annotated[
        str, typer.Argument(metavar="[KIND]", help="Such as BlueGreenDeployment.", show_default="every kind in one")
    ] = "",
    directory: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Write a file for each kind, and one for all, instead of printing."),
    ] = None,
    verb: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="VERB",
            help="What this verb prints with -o json; error, note: what every verb prints on stderr.",
        ),
    ] = "",
) -> None:
    """Print the JSON Schema of a kind of file, for editors: they complete and check while you write.

    `gitops-bg init` puts one for all kinds into .gitops-bg/schema.json; `check` finds more than any schema. With
    --of it is that of what a verb prints for programs.

    Example: gitops-bg schema --of 'group get'
    """
    output = Output(out)
    if verb:
        output.data(_of(verb, alone=not (kind or directory)))
        return
    if directory is None:
        output.data(_schemas(kind)[f"{kind}.json" if kind else ALL])
        return
    written = write_schemas(directory, _schemas(kind))
    output.both({"directory": str(directory), "files": written}, f"Wrote {len(written)} files to {directory}.")


def _of(verb: str, *, alone: bool) -> dict[str, Any]:
    """Return the schema of what a verb prints. Raises `ObjectNotFound` for an unknown one, `UsageError` beside
    files.
    """
    from gitops_bg.cli.printed import PRINTED, printed_schema  # all that verbs print: `init` does without

    if not alone:
        raise UsageError("--of is for what a verb prints, KIND and --dir for files: give one of them")
    if verb not in PRINTED:
        guess = nearest(verb, PRINTED, cutoff=0.5)
        also = f"did you mean {guess}?" if guess else f"there are {', '.join(PRINTED)}"
        raise ObjectNotFound(f"no verb {verb} prints JSON; {also}")
    return printed_schema(verb)


def write_schemas(directory: Path, schemas: dict[str, Any]) -> list[str]:
    """Write schemas by file name into a folder; returns the names. Raises `CommandFailed` where that is impossible."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in schemas.items():
            (directory / name).write_text(json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise CommandFailed(f"{directory} cannot be written: {error.strerror}") from error
    return sorted(schemas)


def _schemas(kind: str) -> dict[str, Any]:
    """Return the schemas by file name: of one kind, or of all. Raises `ObjectNotFound` for an unknown kind."""
    models: dict[str, type[BaseModel]] = {**MODELS, REPORT: ReportJson}
    if kind and kind not in models:
        guess = nearest(kind, models, cutoff=0.5)
        also = f"did you mean {guess}?" if guess else f"there are {', '.join(models)}"
        raise ObjectNotFound(f"there is no kind {kind}; {also}")
    each = {name: model for name, model in models.items() if kind in ("", name)}
    found = {f"{name}.json": schema_of(model, name) for name, model in each.items()}
    return found if kind else {ALL: schema_of_all(), **found}


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
