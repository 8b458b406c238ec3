"""Sends every log line to a file while the demo runs, so that none appears in the timeline."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_bg.agent.logs import ROOT, TextFormatter


@contextmanager
def logging_to(file: Path) -> Iterator[None]:
    """Log to a file alone, ours from INFO up; restore the former setup at the end."""
    root, ours = logging.getLogger(), logging.getLogger(ROOT)
    before = (root.handlers, root.level, ours.level)
    handler = logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(TextFormatter())
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.handlers = before[0]
        root.setLevel(before[1])
        ours.setLevel(before[2])
        handler.close()


def last_lines(file: Path, count: int = 15) -> list[str]:
    """Return the end of a log."""
    return file.read_text(encoding="utf-8", errors="replace").splitlines()[-count:] if file.exists() else []
