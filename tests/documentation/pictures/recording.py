"""The recording of the demo on the first page: `python -m tests.documentation.pictures.recording` plays the demo, and
draws what it prints, line by line at its time, as a picture that moves (SVG with SMIL: it needs no script, no player).

The figures in it are those of the machine that played it, so `make docs` does not draw it anew.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

PICTURE = Path(__file__).parents[3] / "docs" / "pictures" / "demo.svg"
DEMO = [str(Path(sys.executable).with_name("gitops-bg")), "demo"]

COLUMNS, ROWS = 96, 26
"""What the picture shows at a time; longer lines are cut."""
LONGEST_PAUSE, LAST_PAUSE = 1.0, 8.0
"""Seconds between two lines, at most, and before it begins again."""

_WIDTH, _HEIGHT, _MARGIN = 7.8, 18, 14
"""Of a character, of a line, and around them, in pixels."""
_STYLES = (("  $ ", "typed"), ("  edit ", "typed"), ("  ✓", "met"), ("  ✗", "missed"), ("    ", "output"))
_CSS = (
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d5dae1;white-space:pre}"
    ".title{fill:#fff;font-weight:bold}.typed{fill:#5cc8d7;font-weight:bold}.met{fill:#7bc77b}"
    ".missed{fill:#ef6b6b}.output{fill:#99a3b0}"
)


class Line(NamedTuple):
    """A line, and the seconds since the first one."""

    at: float
    text: str


def record(command: Sequence[str]) -> list[Line]:
    """Run a command, and return what it prints. Raises ``CalledProcessError`` where it fails."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1) as process:
        assert process.stdout is not None
        begun = time.monotonic()
        lines = [Line(time.monotonic() - begun, text.rstrip()) for text in process.stdout]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return lines


def without_waiting(lines: Sequence[Line]) -> list[Line]:
    """Shorten the pauses between lines, so that nobody watches a machine wait.

    >>> without_waiting([Line(3.0, "a"), Line(3.5, "b"), Line(9.5, "c")])
    [Line(at=0.0, text='a'), Line(at=0.5, text='b'), Line(at=1.5, text='c')]
    """
    at, found = 0.0, [Line(0.0, lines[0].text)]
    for before, line in pairwise(lines):
        at += min(line.at - before.at, LONGEST_PAUSE)
        found.append(Line(at, line.text))
    return found


def drawn(lines: Sequence[Line]) -> str:
    """Return the picture: each line appears at its time, and the older ones scroll away. Where nothing can move, the
    first lines stand still.
    """
    whole = lines[-1].at + LAST_PAUSE
    width, height = COLUMNS * _WIDTH + 2 * _MARGIN, ROWS * _HEIGHT + 2 * _MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
            "<title>The demo: push, promote, roll back, and how live traffic follows</title>",
            f"<style>{_CSS}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#1b2129"/>',
            f'<svg x="{_MARGIN}" y="{_MARGIN}" width="{COLUMNS * _WIDTH:g}" height="{ROWS * _HEIGHT}"><g>',
            *_texts(lines, whole),
            _scrolled(lines, whole),
            "</g></svg>",
            "</svg>",
            "",
        )
    )


def _texts(lines: Sequence[Line], whole: float) -> Iterator[str]:
    for row, line in enumerate(lines):
        if not line.text:
            continue
        shown = line.text if len(line.text) <= COLUMNS else line.text[: COLUMNS - 1] + "…"
        appears = (
            f'<animate attributeName="opacity" values="0;1" keyTimes="0;{max(line.at / whole, 1e-4):.4f}" '
            f'calcMode="discrete" dur="{whole:.1f}s" repeatCount="indefinite"/>'
        )
        y = row * _HEIGHT + _HEIGHT - 5
        yield f'<text class="{_style(line.text)}" y="{y}" xml:space="preserve">{escape(shown)}{appears}</text>'


def _style(text: str) -> str:
    return next((style for beginning, style in _STYLES if text.startswith(beginning)), "title")


def _scrolled(lines: Sequence[Line], whole: float) -> str:
    moves = [(line.at / whole, row - ROWS + 1) for row, line in enumerate(lines) if row >= ROWS]
    times = ";".join(f"{at:.4f}" for at, _ in moves)
    places = ";".join(f"0 {-_HEIGHT * rows}" for _, rows in moves)
    return (
        f'<animateTransform attributeName="transform" type="translate" values="0 0;{places}" keyTimes="0;{times}" '
        f'calcMode="discrete" dur="{whole:.1f}s" repeatCount="indefinite"/>'
    )


def main() -> None:
    """Play the demo, and write the picture."""
    PICTURE.write_text(drawn(without_waiting(record(DEMO))), encoding="utf-8")


if __name__ == "__main__":
    main()
