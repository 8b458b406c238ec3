"""Reads a work tree as the agent reads a commit: it follows no links and reads no huge files. Knows no manifest."""

import os
from collections.abc import Iterator
from pathlib import Path

from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.git.blobs import LARGEST_BYTES
from gitops_bg.spec.app.layout import SIGNERS_FILE, is_read


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
    """Whether a link that leads nowhere here may be meant for a folder, as the agent sees it: by its name."""
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
