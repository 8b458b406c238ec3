"""Writes new files into a work tree: all of them, or none. Overwrites nothing, and follows no links."""

from collections.abc import Mapping
from pathlib import Path

from gitops_bg.cli.errors import CommandFailed


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
