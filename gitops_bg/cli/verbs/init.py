"""`init`: a new configuration repository from the template. Copies files; makes no commit and no remote."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.cli.errors import NotSo
from gitops_bg.cli.options import OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.template import template_folder


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="An empty folder, or one that is to be made.")],
    out: OutputOptions,
) -> None:
    """Copy the template of a configuration repository into DIR.

    Example: gitops-bg init my-config && gitops-bg check my-config
    """
    _demand_empty(directory)
    template = template_folder()
    try:
        shutil.copytree(template, directory, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise NotSo(f"{directory} cannot be written: {error}") from error
    files = sorted(str(path.relative_to(template)) for path in template.rglob("*") if path.is_file())
    output = Output(out)
    if output.json:
        output.data({"directory": str(directory), "files": files})
        return
    output.line(f"Made {directory} with {len(files)} files.", "green")
    output.line(f"Next: edit {directory}/apps, run `gitops-bg check {directory}`, commit and push.")


def _demand_empty(directory: Path) -> None:
    """Nothing, an empty folder, or a git repository without a file: anything else is somebody's work."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise NotSo(f"{directory} is a file; name a folder")
    there = sorted(path.name for path in directory.iterdir() if path.name != ".git")
    if there:
        shown = ", ".join(there[:3]) + (" …" if len(there) > 3 else "")
        raise NotSo(f"{directory} is not empty ({shown}); name a new or empty folder")
