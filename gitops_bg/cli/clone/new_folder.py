"""Writes a new folder into a work tree: as a whole, or not at all."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp

from gitops_bg.cli.errors import CommandFailed


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
