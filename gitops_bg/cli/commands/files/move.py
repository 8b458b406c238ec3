"""`move`: gives an app another name, in a work tree, as a whole or not at all. It commits nothing.

The agent takes the Services over after the push, without losing a request (docs/how-to/rename-an-app.md).
"""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from gitops_bg.cli.errors import CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import OutputOptions
from gitops_bg.cli.options.values import app_name
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.worktree import files_of
from gitops_bg.cluster.lint import lint
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.spec.analysis.templates import load_templates
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import APP_FILE, ENVIRONMENTS_FILE, folder_of
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.moved import in_the_way, moved, naming
from gitops_bg.spec.yaml.reader import Document, read_one


def move(
    old: Annotated[str, typer.Argument(metavar="NAMESPACE/OLD", help="The app as it is called now.")],
    new: Annotated[str, typer.Argument(metavar="NAMESPACE/NEW", help="The app as it is to be called.")],
    out: OutputOptions,
    checkout: Annotated[
        Path, typer.Option("--checkout", metavar="DIR", help="The work tree to write into.", show_default="here")
    ] = Path(),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say it all, and write nothing.")] = False,
) -> None:
    """Give an app another name, with its Services as they are; say what the agent will do after the push.

    Example: gitops-bg move shop/web shop/storefront
    """
    output, of, to = Output(out), _app(old), _app(new)
    _demand_room(checkout, of, to)
    before = dict(files_of(checkout))
    if ENVIRONMENTS_FILE in before:
        message = f"{of} may be in several environments, and each has to take over by itself"
        remedy = f"rename it in one environment after the other: add {to} there beside it, promote it, then remove {of}"
        raise InvalidInput(Problem(ENVIRONMENTS_FILE, message, remedy=remedy))
    own = {path.removeprefix(f"{folder_of(of)}/"): data for path, data in before.items() if _is_below(path, of)}
    config = load_app(of, own, lambda *_: Source(""), load_templates(before), folder=folder_of(of))
    document = _document(own.get(APP_FILE), of)
    if reasons := tuple(in_the_way(config, document, to)):
        raise InvalidInput(*reasons)
    changed = moved(config, {name: data for name, data in own.items() if isinstance(data, bytes)}, to)
    after = {f"{folder_of(to)}/{name}": data for name, data in {**own, **changed}.items()}
    _demand_sound(before, {path: data for path, data in before.items() if not _is_below(path, of)} | after, of, to)
    if not dry_run:
        _write(checkout, of, to, changed)
    named, former = tuple(naming(config, before, to)), _former(config)
    _print_move(output, of, to, sorted(changed), named, former, written=not dry_run)


def _app(text: str) -> AppKey:
    namespace, name = app_name(text)
    if not namespace:
        raise UsageError(f"{text!r}: in which namespace? Write NAMESPACE/APP, as in shop/web")
    return AppKey(namespace, name)


def _is_below(path: str, app: AppKey) -> bool:
    return path.startswith(f"{folder_of(app)}/")


def _demand_room(checkout: Path, of: AppKey, to: AppKey) -> None:
    if not (checkout / folder_of(of)).is_dir():
        raise ObjectNotFound(f"{checkout} has no folder {folder_of(of)}; name a work tree with --checkout")
    if (checkout / folder_of(to)).exists():
        raise CommandFailed(f"{checkout / folder_of(to)} is there already: {to} is an app of this work tree")


def _document(data: bytes | Problem | None, app: AppKey) -> Document:
    file = f"{folder_of(app)}/{APP_FILE}"
    document, problems = read_one(file, data) if isinstance(data, bytes) else (None, ())
    if document is None:
        raise InvalidInput(*(problems or (Problem(file, "is missing", remedy="only what has one can be moved"),)))
    return document


def _demand_sound(
    before: dict[str, bytes | Problem], after: dict[str, bytes | Problem], of: AppKey, to: AppKey
) -> None:
    """Raise `InvalidInput` with every problem that the work tree would have then, and has not now.

    Each names the file that is there now.
    """
    now = datetime.now(UTC)
    known = set(check_repository(before.items(), lint, now).problems)
    new = [each for each in check_repository(after.items(), lint, now).problems if each not in known]
    if new:
        there = (each.file.replace(f"{folder_of(to)}/", f"{folder_of(of)}/", 1) for each in new)
        raise InvalidInput(*(replace(each, file=file) for each, file in zip(new, there, strict=True)))


def _write(checkout: Path, of: AppKey, to: AppKey, changed: dict[str, bytes]) -> None:
    """Move the folder, or leave it: the new one appears once it is complete, and then the old one goes."""
    source, place = checkout / folder_of(of), checkout / folder_of(to)
    try:
        made = Path(mkdtemp(prefix=".move-", dir=place.parent))
        try:
            shutil.copytree(source, made, symlinks=True, dirs_exist_ok=True)
            for name, data in changed.items():
                (made / name).write_bytes(data)
            made.chmod(0o755)
            made.rename(place)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            raise
        shutil.rmtree(source)
    except OSError as error:
        raise CommandFailed(f"{place} cannot be written: {error.strerror}") from error


def _former(config: AppConfig) -> str:
    """Return what the app was called before by its file, which may have its live traffic still; empty where it does not
    say.

    The file under the new name does not say it any more.
    """
    adopt = config.spec.adopt if config.spec is not None else None
    return adopt.app if adopt is not None else ""


def _plan(of: AppKey, to: AppKey) -> tuple[str, ...]:
    return (
        f"{of} serves on: its folder is gone, and {to} says that it is the same app",
        f"the pods of {to} come up beside it, from the primary.yaml of before",
        f"when as many are available as serve now, {to} takes the active Services over, each in one write, and with"
        " them what is beside the versions: autoscaler, budgets, ConfigMaps",
        f"after scaleDownDelaySeconds {of} is deleted with its pods",
    )


def _print_move(
    output: Output,
    of: AppKey,
    to: AppKey,
    changed: list[str],
    named: tuple[str, ...],
    former: str,
    *,
    written: bool,
) -> None:
    if output.json:
        output.data(
            {
                "app": str(of),
                "to": str(to),
                "written": written,
                "changed": [f"{folder_of(to)}/{name}" for name in changed],
                "plan": list(_plan(of, to)),
                "named": list(named),
            }
        )
        return
    output.line(f"{folder_of(of)} -> {folder_of(to)}; in it another name: {', '.join(changed)}")
    output.line("After the push:", "bold")
    for number, step in enumerate(_plan(of, to), 1):
        output.line(f"  {number}. {step}")
    for path in named:
        output.notice(f"note: {path} names {of}, and is left as it is")
    output.notice(f"note: history, holds and a pending promotion stay with the name {of}; what waits is offered anew")
    if former and former != to.name:
        output.notice(
            f"note: {of} takes over from {former} itself: if that is not pushed yet, move {former} to {to} at once"
        )
    done = "Done." if written else "Nothing was written (--dry-run)."
    output.line(f"{done} Next: read it, `gitops-bg check`, commit both folders and push.", "green")
