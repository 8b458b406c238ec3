"""`schema`: JSON Schemas of what users write, for editors, and of what verbs print for programs. Asks nobody."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from gitops_bg.cli.errors import CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.views.check_report import ReportJson
from gitops_bg.spec.app.validation import nearest
from gitops_bg.spec.json_schema import MODELS, schema_of, schema_of_all

ALL = "schema.json"
"""The file with the schema of every kind."""
REPORT = "CheckReport"


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
    """The schema of what a verb prints. Raises `ObjectNotFound` for an unknown one, `UsageError` beside files."""
    from gitops_bg.cli.printed.verbs import PRINTED, printed_schema  # all that verbs print: `init` does without

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
    """The schemas by file name: of one kind, or of all. Raises `ObjectNotFound` for an unknown kind."""
    models: dict[str, type[BaseModel]] = {**MODELS, REPORT: ReportJson}
    if kind and kind not in models:
        guess = nearest(kind, models, cutoff=0.5)
        also = f"did you mean {guess}?" if guess else f"there are {', '.join(models)}"
        raise ObjectNotFound(f"there is no kind {kind}; {also}")
    each = {name: model for name, model in models.items() if kind in ("", name)}
    found = {f"{name}.json": schema_of(model, name) for name, model in each.items()}
    return found if kind else {ALL: schema_of_all(), **found}
