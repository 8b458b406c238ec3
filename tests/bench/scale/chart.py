"""Draws panels of lines on two logarithmic axes, as SVG. Pure; knows nothing of what is drawn.

The picture has a ground of its own, so that it can be read on a light page and on a dark one; its text stays text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

_WIDTH, _HEIGHT = 460, 300
"""Of a panel."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 76, 44
"""From the edge of a panel to its axes; names and last values of the lines are above them."""
_MARGIN = 16
_INK, _FAINT, _GRID, _GROUND = "#24292f", "#57606a", "#d0d7de", "#ffffff"
_COLORS = ("#0969da", "#bc4c00", "#1a7f37")
"""Blue, orange, green: of the same darkness on white, and told apart by the color-blind, as are their dashes."""
_DASHES = ("none", "6 4", "2 3")


@dataclass(frozen=True)
class Line:
    """Points (x, y), by x."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Panel:
    """Lines of one unit."""

    title: str
    unit: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class _Axis:
    """Whole decades, from one end to the other; ``begin`` and ``end`` are where these are drawn."""

    decades: range
    begin: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], begin: float, end: float) -> _Axis:
        """The decades that hold all values; a logarithmic axis has no zero and nothing below it."""
        if not values or min(values) <= 0:
            raise ValueError(f"a logarithmic axis needs values above 0, not {sorted(values)[:1]}")
        first = math.floor(math.log10(min(values)))
        last = max(first + 1, math.ceil(math.log10(max(values))))
        return cls(range(first, last + 1), begin, end)

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        share = (math.log10(value) - self.decades[0]) / (self.decades[-1] - self.decades[0])
        return round(self.begin + share * (self.end - self.begin), 1)


def draw(title: str, description: str, x_name: str, panels: Sequence[Panel]) -> str:
    """The picture: two panels a row. Raises ``ValueError`` for a value that is not above 0."""
    rows = -(-len(panels) // 2)
    width, height = 2 * _WIDTH + 2 * _MARGIN, rows * _HEIGHT + 2 * _MARGIN
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "role": "img",
            "font-family": "Helvetica, Arial, sans-serif",
            "font-size": "13",
            "fill": _INK,
        },
    )
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "desc").text = description
    _add(root, "rect", width=width, height=height, rx=8, fill=_GROUND)
    for number, panel in enumerate(panels):
        left, top = _MARGIN + number % 2 * _WIDTH, _MARGIN + number // 2 * _HEIGHT
        _draw_panel(_add(root, "g", transform=f"translate({left} {top})"), x_name, panel)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def number(value: float) -> str:
    """A number as people write it.

    >>> [number(each) for each in (0.01, 1.234, 25.6, 331.4, 10_000)]
    ['0.01', '1.23', '25.6', '331', '10,000']
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _draw_panel(group: ET.Element, x_name: str, panel: Panel) -> None:
    points = [point for line in panel.lines for point in line.points]
    x = _Axis.over([point[0] for point in points], _LEFT, _WIDTH - _RIGHT)
    y = _Axis.over([point[1] for point in points], _HEIGHT - _BOTTOM, _TOP)
    _text(group, _LEFT, 20, panel.title, font_weight="bold", font_size=15)
    _draw_axes(group, x, y, x_name, panel.unit)
    for place, line in enumerate(panel.lines):
        _draw_line(group, x, y, line, place, panel.unit)


def _draw_axes(group: ET.Element, x: _Axis, y: _Axis, x_name: str, unit: str) -> None:
    for decade in y.decades:
        at = y.at(10.0**decade)
        _add(group, "line", x1=x.begin, x2=x.end, y1=at, y2=at, stroke=_GRID)
        _text(group, _LEFT - 8, at + 4, f"{number(10.0**decade)} {unit}", fill=_FAINT, text_anchor="end", font_size=12)
    for decade in x.decades:
        at = x.at(10.0**decade)
        _add(group, "line", x1=at, x2=at, y1=y.begin, y2=y.end, stroke=_GRID)
        _text(group, at, y.begin + 18, number(10.0**decade), fill=_FAINT, text_anchor="middle", font_size=12)
    _text(group, (x.begin + x.end) / 2, y.begin + 36, x_name, fill=_FAINT, text_anchor="middle", font_size=12)


def _draw_line(group: ET.Element, x: _Axis, y: _Axis, line: Line, place: int, unit: str) -> None:
    color, dash, top = _COLORS[place], _DASHES[place], 40 + 17 * place
    last = f"{line.name}: {number(line.points[-1][1])} {unit} with {number(line.points[-1][0])}"
    _add(group, "line", x1=_LEFT, x2=_LEFT + 28, y1=top - 4, y2=top - 4, stroke=color, **_stroke(dash))
    _text(group, _LEFT + 36, top, last)
    drawn = [(x.at(each), y.at(value)) for each, value in line.points]
    path = " ".join(f"{across},{down}" for across, down in drawn)
    _add(group, "polyline", points=path, fill="none", stroke=color, **_stroke(dash))
    for across, down in drawn:
        _add(group, "circle", cx=across, cy=down, r=3.5, fill=color)


def _stroke(dash: str) -> dict[str, str]:
    return {"stroke_width": "2", "stroke_dasharray": dash}


def _text(group: ET.Element, x: float, y: float, text: str, **attributes: object) -> None:
    _add(group, "text", x=x, y=y, **attributes).text = text


def _add(parent: ET.Element, tag: str, **attributes: object) -> ET.Element:
    return ET.SubElement(parent, tag, {name.replace("_", "-"): f"{value}" for name, value in attributes.items()})
