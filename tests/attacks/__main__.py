"""`python -m tests.attacks`: attack one app in every way that there is a test for; how long does another one take?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from tests.attacks import bystander
from tests.bench.page import machine, markdown_table, write_block

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "reliability.md"
_COLUMNS = ("Attacks on the neighbour", "Pushes", "Median", "Worst")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests one after another, and print the table; the exit code is that of pytest."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/reference/reliability.md")
    parser.add_argument("pytest", nargs="*", help="options for pytest, after --: -k sizes")
    asked = parser.parse_args(arguments)
    code = pytest.main([str(Path(__file__).parent), "-q", "-p", "no:cacheprovider", *asked.pytest])
    cells = [_cells(row) for row in bystander.rows(bystander.TOOK)]
    table = Table(*_COLUMNS, title="From a push to the candidate of another app", title_justify="left")
    for row in cells:
        table.add_row(*row)
    Console(width=100).print(table)
    if asked.write_docs and code == pytest.ExitCode.OK:
        write_block(_PAGE, "attacks", [machine(), "", *markdown_table(_COLUMNS, cells)])
    return int(code)


def _cells(row: bystander.Row) -> tuple[str, ...]:
    return row.attacks, str(row.number), f"{row.usual:.2f} s", f"{row.worst:.2f} s"


if __name__ == "__main__":
    sys.exit(main())
