"""`render`: what a chart or a kustomization renders becomes the target of an app. Writes files; creates no commit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.cli.errors import CommandFailed, ObjectNotFound
from gitops_bg.cli.options.options import NAME, OUTPUT, OutputOptions
from gitops_bg.cli.options.values import an_app
from gitops_bg.cli.output import Output, problem_line
from gitops_bg.cli.repository.rendering import files_below, render_with, rendered_apps, target_file_of
from gitops_bg.cli.repository.worktree import files_of
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.models import Render
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.rendered import BESIDE_FILE, Rendered, digest_of, inputs_of, missing, rendered, was_rendered
from gitops_bg.spec.yaml.reader import Document

if TYPE_CHECKING:
    from gitops_bg.views.shapes.files import RenderedAppJson


Content = bytes | Problem


def render(
    out: OutputOptions,
    apps: Annotated[
        list[str] | None,
        typer.Argument(parser=an_app, metavar="[APP...]", help=NAME, show_default="every app that has spec.render"),
    ] = None,
    into: Annotated[
        Path, typer.Option("--into", metavar="PATH", help="The work tree of the repository.", show_default="here")
    ] = Path(),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and write nothing.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Render the targets of apps from spec.render: by helm, or by kustomize, as they are on the PATH.

    Writes the workload into the target, and what else the app's folder may have into rendered.yaml. The agent renders
    nothing: commit what was written. `check` says, without helm, when it is stale.

    Example: gitops-bg render shop/web
    """
    output = Output(out)
    if not into.is_dir():
        raise ObjectNotFound(f"{into} is no folder; name a work tree with --into")
    contents = dict(files_of(into))
    done = [_rendered(into, contents, each, dry_run=dry_run) for each in _chosen(contents, apps or [])]
    if output.json:
        output.data({"apps": [_json(*each) for each in done], "written": not dry_run})
        return
    for app, result, changed in done:
        for problem in result.listed:
            output.line(f"left out: {problem_line(problem)}", "yellow")
        verb = "would change" if dry_run else "wrote"
        output.line(f"{app}: {verb} {', '.join(changed)}" if changed else f"{app}: nothing has changed", "green")


Found = tuple[AppKey, str, Document, Render]


def _chosen(contents: dict[str, Content], names: list[str]) -> list[Found]:
    """Return the apps that are to be rendered. Raises `InvalidInput` for a wrong spec.render, `ObjectNotFound` for
    none.
    """
    found: list[Found] = []
    known = [each for each in rendered_apps(contents) if not names or {str(each[0]), each[0].name} & set(names)]
    for app, folder, document, render in known:
        if render is None:
            raise InvalidInput(*_problems(document))
        found.append((app, folder, document, render))
    for name in names:
        if not any(name in (str(app), app.name) for app, *_ in found):
            raise ObjectNotFound(f"no app.yaml of {name} has spec.render; add render: {{kustomize: PATH}}")
    if not found:
        raise ObjectNotFound("no app has spec.render; add render: {kustomize: PATH} to an app.yaml")
    return found


def _problems(document: Document) -> tuple[Problem, ...]:
    """Return the problems of spec.render, with their places in app.yaml."""
    from gitops_bg.spec.app.models import BlueGreenDeployment

    return tuple(each for each in validate(BlueGreenDeployment, document)[1] if each.field.startswith("spec.render"))


def _rendered(
    root: Path, contents: dict[str, Content], found: Found, *, dry_run: bool
) -> tuple[AppKey, Rendered, list[str]]:
    """Render one app, and return the paths of the files that changed."""
    app, folder, document, render = found
    for place in missing(render, lambda place: files_below(root, place)):
        message = f"{place} is not in the repository"
        raise InvalidInput(document.problem(("spec", "render"), message, "write the path from the repository's root"))
    inputs = digest_of(app, render, inputs_of(render, lambda place: files_below(root, place)))
    result = rendered(folder, render, target_file_of(document), render_with(render, app, root), inputs)
    changed = [path for name, text in result.files.items() if contents.get(path := f"{folder}/{name}") != text.encode()]
    gone = contents.get(f"{folder}/{BESIDE_FILE}")
    if BESIDE_FILE not in result.files and isinstance(gone, bytes) and was_rendered(gone):
        changed.append(f"{folder}/{BESIDE_FILE}")
    if not dry_run:
        _write(root, folder, result, changed)
    return app, result, changed


def _write(root: Path, folder: str, result: Rendered, changed: list[str]) -> None:
    """Write what changed; a file of what is not rendered any more goes."""
    for path in changed:
        file, text = root / path, result.files.get(path.removeprefix(f"{folder}/"))
        if any(each.is_symlink() for each in (file, *file.parents) if root in each.parents):
            raise CommandFailed(f"{path} is, or lies behind, a symbolic link; links are not followed")
        try:
            if text is None:
                file.unlink()
            else:
                file.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error


def _json(app: AppKey, result: Rendered, changed: list[str]) -> "RenderedAppJson":
    from gitops_bg.spec.codec import to_json

    return {"app": str(app), "changed": changed, "listed": [to_json(each) for each in result.listed]}
