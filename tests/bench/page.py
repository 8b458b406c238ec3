"""Parts of pages that commands write: between `<!-- NAME -->` and `<!-- /NAME -->`."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path


def write_block(page: Path, name: str, lines: Sequence[str]) -> None:
    """Put the lines between the marks of the page. Raises ``ValueError`` where it has none."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, has_begin, rest = page.read_text(encoding="utf-8").partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise ValueError(f"{page} has no {begin} … {end}")
    text = "\n".join(lines)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return ["| " + " | ".join(line) + " |" for line in (columns, ("---",) * len(columns), *rows)]


def machine() -> str:
    """Where something was measured."""
    return f"Python {platform.python_version()} on {platform.system()} with {os.cpu_count()} cores"
