"""Lines of a file that another process still writes."""

from __future__ import annotations

from pathlib import Path


class GrowingFile:
    """Reads each line once, when it is whole: a writer may be in the middle of the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def lines(self) -> list[str]:
        """The lines that became whole since the last call; none where there is no file yet."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._read)
            whole, end, _ = file.read().rpartition(b"\n")
        self._read += len(whole) + len(end)
        return [line.decode() for line in whole.split(b"\n")] if end else []
