"""What targets are rendered from: reads it out of a work tree, finds the targets that are stale, and runs helm and
kustomize of the user, as they are on the PATH. The agent never renders.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from gitops_bg.cli.errors import CommandFailed
from gitops_bg.core.foreign_text import printable
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE, app_of
from gitops_bg.spec.app.models import HelmChart, Render
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.rendered import BESIDE_FILE, digest_of, inputs_of, missing, was_rendered, what_is_stale
from gitops_bg.spec.yaml.reader import Document, read_one
from gitops_bg.spec.yaml.scalars import as_map

Content = bytes | Problem
REMEDY = "run `gitops-bg render {}`, and commit what it writes"
PATIENCE = 120
"""Seconds that one rendering may take."""
_LONGEST_WORDS = 2_000


def files_below(root: Path, place: str) -> dict[str, bytes]:
    """Return every file at or below a path of a work tree, by path, without hidden ones and links; none where it is
    not.
    """
    start = root / place
    if _is_hidden(Path(place)) or any(each.is_symlink() for each in (start, *start.parents) if root in each.parents):
        return {}
    paths = [start] if start.is_file() else sorted(start.rglob("*")) if start.is_dir() else []
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in paths
        if path.is_file() and not path.is_symlink() and not _is_hidden(path.relative_to(root))
    }


def rendered_apps(contents: Mapping[str, Content]) -> Iterator[tuple[AppKey, str, Document, Render | None]]:
    """Yield the apps that say what their target is rendered from: each with its folder, its app.yaml, and that; None
    where it is invalid, which `check` says.
    """
    for path, content in sorted(contents.items()):
        found = app_of(path)
        if found is None or found[1] != APP_FILE or not isinstance(content, bytes) or b"render" not in content:
            continue
        document, _ = read_one(path, content)
        written = as_map(as_map(document.value).get("spec")).get("render") if document else None
        if document and written is not None:
            render, _ = validate(Render, Document(path, written))
            yield found[0], path.rpartition("/")[0], document, render


def target_file_of(document: Document) -> str:
    """Return the name of the target's file that an app.yaml says."""
    named = as_map(as_map(document.value).get("spec")).get("target")
    return named if isinstance(named, str) else DEFAULT_TARGET_FILE


def stale_targets(root: Path, contents: Mapping[str, Content]) -> Iterator[Problem]:
    """Yield the rendered files of a work tree that are not what their inputs render."""
    for app, folder, document, render in rendered_apps(contents):
        if render is None:
            continue
        gone = missing(render, lambda place: files_below(root, place))
        for place in gone:
            message = f"{place} is not in the repository"
            yield document.problem(("spec", "render"), message, "write the path from the repository's root")
        if not gone:
            inputs = digest_of(app, render, inputs_of(render, lambda place: files_below(root, place)))
            yield from _stale_files(app, folder, document, contents, inputs)


def _stale_files(
    app: AppKey, folder: str, document: Document, contents: Mapping[str, Content], inputs: str
) -> Iterator[Problem]:
    target = target_file_of(document)
    for name in (target, BESIDE_FILE):
        content = contents.get(f"{folder}/{name}")
        if isinstance(content, bytes) and (name == target or was_rendered(content)):
            why = what_is_stale(content, inputs)
            if why:
                yield Problem(f"{folder}/{name}", why, 1, 1, remedy=REMEDY.format(app))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def render_with(render: Render, app: AppKey, root: Path) -> bytes:
    """Return what helm or kustomize prints. Raises `CommandFailed` where there is none, or it fails."""
    command = _helm(render.helm, app) if render.helm else _kustomize(render.kustomize or "")
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandFailed(f"{' '.join(command)}: {error}") from error
    if done.returncode:
        words = " ".join(done.stderr.decode(errors="replace")[:_LONGEST_WORDS].split())
        raise CommandFailed(f"{app}: {' '.join(command)} failed: {printable(words)}")
    return done.stdout


def _helm(helm: HelmChart, app: AppKey) -> list[str]:
    program = shutil.which("helm")
    if program is None:
        raise CommandFailed(f"{app} is rendered from a chart, and there is no helm on the PATH: https://helm.sh/docs")
    values = [word for file in helm.values for word in ("--values", file)]
    release = helm.release or app.name
    return [program, "template", release, f"./{helm.chart}", "--namespace", app.namespace, *values]


def _kustomize(folder: str) -> list[str]:
    if program := shutil.which("kustomize"):
        return [program, "build", folder]
    if program := shutil.which("kubectl"):
        return [program, "kustomize", folder]
    raise CommandFailed("there is neither kustomize nor kubectl on the PATH: https://kubectl.docs.kubernetes.io")
