"""Shows rows: for a terminal, as JSON, and in the page of the documentation. Measures nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.page import machine, markdown_table, write_block
from tests.bench.rows import Row

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "performance.md"
_COLUMNS = ("Work", "Cluster", "Apps", "Measured", "Budget", "", "Part of it", "Detail")


def print_table(rows: Sequence[Row], console: Console) -> None:
    """The table, with what missed its budget in red."""
    table = Table(title="What DESIGN §8 promises", caption=machine(), title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column in {"Apps", "Measured", "Budget", "Part of it"} else "left")
    for row in rows:
        table.add_row(*_cells(row), style=None if row.met else "red")
    console.print(table)


def as_json(rows: Sequence[Row]) -> str:
    """The rows for programs."""
    return json.dumps({"machine": machine(), "rows": [_plain(row) for row in rows]}, indent=2, ensure_ascii=False)


def write_page(rows: Sequence[Row], page: Path = PAGE) -> None:
    """Put the table between the marks of the page. Raises ``ValueError`` where it has none."""
    write_block(page, "bench", [machine(), "", *markdown_table(_COLUMNS, list(map(_cells, rows)))])


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    apps = f"{row.apps:,}" if row.apps else ""
    measured, budget = (f"{_number(value)} {row.unit}".strip() for value in (row.value, row.budget))
    return row.work, row.cluster, apps, measured, budget, "met" if row.met else "MISSED", ratio, row.detail


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _plain(row: Row) -> dict[str, object]:
    return {**asdict(row), "met": row.met, "ratio": row.ratio}
