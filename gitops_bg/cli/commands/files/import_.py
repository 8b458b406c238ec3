"""`import`: manifests of other tools become files of a configuration repository. Writes files; creates no commit."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.cli.errors import ObjectNotFound, UsageError
from gitops_bg.cli.options.options import OUTPUT, OutputOptions
from gitops_bg.cli.options.values import namespace_name
from gitops_bg.cli.output import Output, problem_line
from gitops_bg.cli.repository.worktree import files_of, write_new_files
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.convert import Imported, convert
from gitops_bg.spec.importing.flagger_metrics import METRICS_SERVER
from gitops_bg.spec.yaml.reader import MAX_BYTES

if TYPE_CHECKING:
    from gitops_bg.views.shapes.files import ImportedJson


STDIN = "-"


def import_(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Manifests: files, folders of files, or - for standard input."),
    ],
    out: OutputOptions,
    into: Annotated[
        Path, typer.Option("--into", metavar="PATH", help="The work tree of the repository.", show_default="here")
    ] = Path(),
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", "-n", parser=namespace_name, metavar="NS", help="The namespace of manifests that say none."
        ),
    ] = "",
    metrics_server: Annotated[
        str,
        typer.Option(
            "--metrics-server",
            metavar="URL",
            help="The Prometheus of Flagger's builtin metrics, as Flagger's flag names it.",
        ),
    ] = METRICS_SERVER,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the files, and write none.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Import Rollouts, Canaries, Deployments, and the workloads of bgd-controller and OAM as app folders.

    With what stands beside them: Services, ConfigMaps, autoscalers, budgets; and AnalysisTemplates, MetricTemplates and
    AlertProviders. What has no equal is listed with its place, and what to do instead. An import that cannot be whole
    writes nothing, and says why.

    Example: gitops-bg import rollout.yaml services.yaml --namespace shop
    """
    output = Output(out)
    if not into.is_dir():
        raise ObjectNotFound(f"{into} is no folder; name a work tree with --into, or make one with `gitops-bg init`")
    sources, unread = _sources(files)
    found = convert(sources, dict(files_of(into)), namespace, metrics_server)
    if unread or found.problems:
        _print_unmapped(found.listed, output)
        raise InvalidInput(*unread, *found.problems)
    if not dry_run:
        write_new_files(into, found.files)
    if output.json:
        output.data(_json(found, dry_run=dry_run))
        return
    _print_imported(found, output, into, dry_run=dry_run)


def _sources(names: Iterable[str]) -> tuple[list[tuple[str, bytes]], list[Problem]]:
    """Return the content of each file, and why others have none. Raises `UsageError` where there is no file at all."""
    found: list[tuple[str, bytes]] = []
    problems: list[Problem] = []
    for name in names:
        path = Path(name)
        if name == STDIN:
            found.append(("standard input", sys.stdin.buffer.read(MAX_BYTES + 1)))
        elif path.is_dir():
            for inner, content in files_of(path):
                _sort((path / inner).as_posix(), content, found, problems)
        else:
            _sort(name, _content(path), found, problems)
    if not found and not problems:
        raise UsageError(f"{', '.join(names)}: no manifest there; name files that end with .yaml or .yml")
    return found, problems


def _sort(name: str, content: bytes | Problem, found: list[tuple[str, bytes]], problems: list[Problem]) -> None:
    if isinstance(content, bytes):
        found.append((name, content))
    else:
        problems.append(Problem(name, content.message, remedy=content.remedy))


def _content(path: Path) -> bytes | Problem:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        return Problem(str(path), f"cannot be read: {error.strerror}", remedy="name a file that is there")


def _json(found: Imported, *, dry_run: bool) -> "ImportedJson":
    from gitops_bg.spec.codec import to_json

    return {
        "apps": [str(app) for app in found.apps],
        "files": [{"path": path, "content": content} for path, content in found.files.items()],
        "listed": [to_json(each) for each in found.listed],
        "written": not dry_run,
    }


def _print_imported(found: Imported, output: Output, into: Path, *, dry_run: bool) -> None:
    for path, content in found.files.items():
        output.line(f"# {path}" if dry_run else f"wrote {path}", "bold" if dry_run else "green")
        if dry_run:
            output.text(f"{content}\n")
    _print_unmapped(found.listed, output)
    output.line(_verdict(found, dry_run=dry_run))
    if found.files and not dry_run:
        output.line(f"Next: run `gitops-bg check {into}`, read the files, commit and push.")


def _print_unmapped(listed: Iterable[Problem], output: Output) -> None:
    for each in listed:
        output.line(f"no equal: {problem_line(each)}", "yellow")


def _verdict(found: Imported, *, dry_run: bool) -> str:
    """Return one line about all of it.

    >>> _verdict(Imported({"analysis/a.yaml": ""}), dry_run=False)
    'Imported 0 apps in 1 file; everything has an equal.'
    """
    left = len(found.listed)
    what = f"{_counted(len(found.apps), 'app')} in {_counted(len(found.files), 'file')}"
    rest = f"{_counted(left, 'thing')} to look at" if left else "everything has an equal"
    return f"{'Would import' if dry_run else 'Imported'} {what}; {rest}."


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
