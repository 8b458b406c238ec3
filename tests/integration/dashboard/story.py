"""The story of the dashboard as one picture that moves: what a browser showed, one after the other, with what happened.
An SVG with SMIL, as that of the demo: it needs no script and no player.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

PICTURE = Path(__file__).resolve().parents[3] / "docs" / "pictures" / "dashboard-story.svg"
WIDTH, HEIGHT = 1000, 640
SECONDS = 4
"""How long each is shown."""
_CAPTION = 40


@dataclass(frozen=True)
class Frame:
    """A picture of a page (JPEG), and what happened before it."""

    said: str
    picture: bytes


def drawn(frames: Sequence[Frame]) -> str:
    """The picture: each frame for some seconds, then again from the beginning."""
    whole, height = SECONDS * len(frames), HEIGHT + _CAPTION
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    title = f"<title>{escape('; then '.join(each.said for each in frames))}</title>"
    back = f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#1d2733"/>'
    return "\n".join([head, title, back, *_frames(frames, whole), "</svg>\n"])


def _frames(frames: Iterable[Frame], whole: int) -> Iterator[str]:
    for number, each in enumerate(frames):
        begins, ends = number * SECONDS / whole, (number + 1) * SECONDS / whole
        values, times = ("1;0;0", f"0;{ends:.4f};1") if not number else ("0;1;0;0", f"0;{begins:.4f};{ends:.4f};1")
        animate = (
            f'<animate attributeName="opacity" calcMode="discrete" dur="{whole}s" repeatCount="indefinite" '
            f'values="{values}" keyTimes="{times}"/>'
        )
        data = b64encode(each.picture).decode()
        yield f'<g opacity="{0 if number else 1}">{animate}'
        font = 'font-family="system-ui,sans-serif" font-size="17" fill="#fff"'
        yield f'<text x="16" y="26" {font}>{escape(each.said)}</text>'
        image = f'<image y="{_CAPTION}" width="{WIDTH}" height="{HEIGHT}" href="data:image/jpeg;base64,{data}"/>'
        yield f"{image}</g>"
