"""Puts the rows of `scale` into the page of the documentation: a picture, and two tables. Measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.bench.page import machine, markdown_table, write_block
from tests.bench.rows import Row
from tests.bench.scale.chart import Line, Panel, draw, number
from tests.bench.scale.rows import CHANGE, COLD, COLD_CPU, CREATED, IDLE, MEMORY, ONE_APP

PICTURE = "performance-scale.svg"
"""Beside the page."""
_COLUMNS = {
    COLD: "Cold start",
    COLD_CPU: "… CPU",
    MEMORY: "Memory",
    IDLE: "Idle tick: CPU",
    CREATED: "One change: commit seen → candidate",
    CHANGE: "… CPU",
}
"""The columns of the table, by what was measured."""
_PANELS = (
    ("Cold start, nothing to do", "s", {"until all apps are looked at": COLD, "CPU of the agent": COLD_CPU}),
    ("Memory of the agent", "MiB", {"resident": MEMORY}),
    ("Idle tick", "ms", {"CPU of the agent": IDLE}),
    ("One app changed", "ms", {"commit seen → candidate": CREATED, "CPU of the agent, to the end": CHANGE}),
)


def write_scale(rows: Sequence[Row], page: Path) -> None:
    """The picture beside the page, and the tables between its marks. Raises ``ValueError`` where it has none."""
    write_block(page, "scale", [machine(), "", *_by_apps(rows)])
    write_block(page, "memory of one app", _of_one_app(rows))
    (page.parent / PICTURE).write_text(picture(rows), encoding="utf-8")


def picture(rows: Sequence[Row]) -> str:
    """The figures against the number of apps."""

    def line(name: str, work: str) -> Line:
        return Line(name, tuple((row.apps, row.value) for row in rows if row.work == work))

    panels = [
        Panel(title, unit, tuple(line(name, work) for name, work in lines.items())) for title, unit, lines in _PANELS
    ]
    most = max(row.apps for row in rows)
    description = f"Cold start, memory, an idle tick and one change with 1 to {most:,} apps, on logarithmic axes."
    return draw("What the agent costs, by the number of apps", description, "apps", panels)


def _by_apps(rows: Sequence[Row]) -> list[str]:
    apps = sorted({row.apps for row in rows if row.work == COLD})
    found = {(row.apps, row.work): row for row in rows}
    lines = [[f"{each:,}", *(_said(found[each, work]) for work in _COLUMNS)] for each in apps]
    return markdown_table(["Apps", *_COLUMNS.values()], lines)


def _of_one_app(rows: Sequence[Row]) -> list[str]:
    parts = [row for row in rows if row.unit == "KiB"]
    lines = [(row.work, _said(row), f"{number(row.budget)} KiB", row.detail) for row in parts]
    if parts:
        whole, *rest = parts
        other = whole.value - sum(row.value for row in rest)
        why = "memory without objects: gaps of the allocator, and remains of lists"
        lines.append(("… no object", f"{number(other)} KiB", "", why))
    return markdown_table((ONE_APP.capitalize(), "Measured", "Budget", "Why"), lines)


def _said(row: Row) -> str:
    return f"{number(row.value)} {row.unit}"
