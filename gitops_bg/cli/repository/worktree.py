"""A work tree and its files: read as the agent reads a commit, which follows no links and reads no huge files; and
written as a whole or not at all, overwriting nothing. Finds the folders that come with the program to be copied into
one.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp

from gitops_bg.cli.errors import CommandFailed
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.read.files import LARGEST_BYTES
from gitops_bg.spec.app.layout import SIGNERS_FILE, is_read

_PACKAGE = Path(__file__).resolve().parents[2]


def files_of(root: Path) -> Iterator[tuple[str, bytes | Problem]]:
    """Yield every YAML file and kustomization below ``root``, by its relative path, except those in hidden folders."""
    for folder, subfolders, files in os.walk(root, followlinks=False):
        links = [name for name in subfolders if (Path(folder) / name).is_symlink()]
        subfolders[:] = sorted(name for name in subfolders if not name.startswith(".") and name not in links)
        for name in sorted([*links, *files]):
            file = Path(folder) / name
            path = file.relative_to(root).as_posix()
            if name in files and not (is_read(name) or path == SIGNERS_FILE or _may_lead_to_folder(file)):
                continue
            yield path, _content(file, path)


def _may_lead_to_folder(file: Path) -> bool:
    """Return whether a link that leads nowhere here may be meant for a folder, as the agent sees it: by its name."""
    return file.is_symlink() and not file.exists() and "." not in file.name


def _content(file: Path, path: str) -> bytes | Problem:
    if file.is_symlink():
        what = "file" if is_read(file.name) else "folder"
        return Problem(path, "is a symbolic link; links are not followed", remedy=f"commit the {what} itself")
    try:
        if file.stat().st_size > LARGEST_BYTES:
            limit = f"is larger than {LARGEST_BYTES // 1024} KiB"
            return Problem(path, limit, remedy="keep manifests small; put data elsewhere")
        return file.read_bytes()
    except OSError as error:
        return Problem(path, f"cannot be read: {error.strerror}", remedy="make it a readable file")


def write_new_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths below ``root``. Raises `CommandFailed` where one cannot be written; none is left."""
    made: list[Path] = []
    try:
        for path, text in files.items():
            _write(root, root / path, text, made)
    except OSError as error:
        _undo(made)
        where = error.filename or root
        raise CommandFailed(f"{where} cannot be written, so nothing was: {error.strerror}") from error


def _write(root: Path, file: Path, text: str, made: list[Path]) -> None:
    """Write one file, and note it and every folder that was made for it."""
    if ".." in file.parts:
        raise NotADirectoryError(20, "it leads out of the folder", str(file))
    for folder in reversed([each for each in file.parents if each.is_relative_to(root) and each != root]):
        if folder.is_symlink():
            raise NotADirectoryError(20, "it is a symbolic link", str(folder))
        if not folder.exists():
            folder.mkdir()
            made.append(folder)
    with file.open("x", encoding="utf-8", newline="\n") as opened:
        made.append(file)
        opened.write(text)


def _undo(made: list[Path]) -> None:
    for each in reversed(made):
        if each.is_dir():
            each.rmdir()
        else:
            each.unlink()


def write_new_folder(place: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their paths below ``place``, which appears once it is complete. Raises `CommandFailed`."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=".new-", dir=place.parent))
        try:
            made.chmod(0o755)
            for path, content in files.items():
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                (made / path).write_bytes(content)
            made.rename(place)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise CommandFailed(f"{place} cannot be written: {error.strerror}") from error


def policy_library() -> Path | None:
    """Return the folder of ready policies; None where neither the package nor a checkout has it."""
    return _found("policies", "people.yaml")


def template_folder() -> Path:
    """Return the folder `repo-template`. Raises ``FileNotFoundError`` where neither the package nor a
    checkout has it.
    """
    return _demanded("repo-template", "gitops-bg.yaml")


def deploy_folder() -> Path:
    """Return the folder `deploy`, with the agent's own manifests. Raises as `template_folder`."""
    return _demanded("deploy", "kustomization.yaml")


def _places(name: str) -> tuple[Path, ...]:
    return _PACKAGE / "_data" / name, _PACKAGE.parent / name


def _found(name: str, file: str) -> Path | None:
    return next((place for place in _places(name) if (place / file).is_file()), None)


def _demanded(name: str, file: str) -> Path:
    found = _found(name, file)
    if found is None:
        raise FileNotFoundError(f"{name} is neither in {' nor '.join(map(str, _places(name)))}; reinstall gitops-bg")
    return found
