"""The rows of the comparison, beside what nobody can be faster than: for terminals, as JSON, for the documentation."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.page import machine, markdown_table, write_block
from tests.bench.peers.limits import Limits
from tests.bench.peers.measuring import Figure

PAGE = Path(__file__).parents[3] / "docs" / "architecture" / "peers" / "speed.md"
_CREATION, _SWITCH = "a new ReplicaSet", "a write to a Service"
_A_SECOND = 1000
"""ms, from which on they are said as seconds."""
_LIMITS = ("Limit", "Limit with Git")


@dataclass(frozen=True)
class Row:
    """One row: what it is, and what there is at least to be done, without Git and with it."""

    key: str
    work: str
    unit: str
    limit: float | None
    limit_with_git: float | None
    limit_is: str


@dataclass(frozen=True)
class Comparison:
    """All of one run."""

    columns: Mapping[str, Mapping[str, Figure]]
    """By contender: its figures by the key of their row; none where it was not given."""
    limits: Limits
    crowd: int
    missing: Sequence[str]
    """How to get those that were not given."""

    def rows(self) -> list[Row]:
        """In the order of a cycle."""
        at, fetched = self.limits, self.limits.push + self.limits.question
        created, switched, crowd = at.request + at.creation, at.request + at.switch, at.crowd_from_git
        both, once = at.creation + at.switch, f"{_CREATION}, {_SWITCH}"
        fetches = at.cpu_of_writes + at.cpu_of_git
        asked_for_pods = "change → candidate's ReplicaSet asked for pods"
        crowded = "as many new ReplicaSets with a ready pod, and writes to Services"
        lines = (
            ("change", asked_for_pods, "ms", created, fetched + at.creation, _CREATION),
            ("promotion", "promote → live traffic", "ms", switched, fetched + at.switch, _SWITCH),
            ("rollback", "roll back → live traffic", "ms", switched, fetched + at.switch, _SWITCH),
            (
                "release",
                "push → live traffic by itself",
                "ms",
                created + at.switch,
                fetched + both,
                f"{_CREATION}, {_SWITCH}",
            ),
            ("crowd", f"{self.crowd:,} apps at once", "s", at.crowd, crowd + fetched / _A_SECOND, crowded),
            ("requests", "requests of a cycle", "", 3, 3, f"{once} twice"),
            ("lost", "requests lost", "", 0, 0, "every request is answered"),
            ("memory", "memory after these releases", "MiB", None, None, ""),
            ("cpu", "CPU of a cycle", "ms", at.cpu_of_writes, fetches, "these three requests; with Git three fetches"),
        )
        return [Row(*line) for line in lines]

    def header(self) -> list[str]:
        """The names of the columns."""
        return ["Median", *self.columns, *_LIMITS, "The limit is"]

    def cells(self) -> Iterable[list[str]]:
        """The rows as texts."""
        for row in self.rows():
            figures = (_cell(figures.get(row.key), row.unit) for figures in self.columns.values())
            limits = ("–" if each is None else _amount(each, row.unit) for each in (row.limit, row.limit_with_git))
            yield [row.work, *figures, *limits, row.limit_is]

    def notes(self) -> list[str]:
        """What belongs to the table: what the limits are made of, and what is missing."""
        at = self.limits
        return [
            f"Alone: a write to a Service {_number(at.request)} ms, {_number(at.switch)} ms until a watch shows it; a "
            f"new ReplicaSet {_number(at.creation)} ms; a git push {_number(at.push)} ms; ls-remote and fetch "
            f"{_number(at.question)} ms. A limit without Git is the user's write and the agent's; with Git a push, a "
            "fetch and the agent's.",
            *self.missing,
        ]


def print_table(comparison: Comparison, console: Console) -> None:
    """For people."""
    table = Table(title="Beside Argo Rollouts and Flagger", caption="\n".join(comparison.notes()), title_justify="left")
    for column in comparison.header():
        table.add_column(column)
    for cells in comparison.cells():
        table.add_row(*cells)
    console.print(table)


def as_json(comparison: Comparison) -> str:
    """For programs."""
    rows = [
        {
            **asdict(row),
            "figures": {name: asdict(each[row.key]) for name, each in comparison.columns.items() if row.key in each},
        }
        for row in comparison.rows()
    ]
    told = {"machine": machine(), "load": os.getloadavg()[0], "rows": rows, "limits": asdict(comparison.limits)}
    return json.dumps({**told, "missing": comparison.missing}, indent=2, ensure_ascii=False)


def write_page(comparison: Comparison, page: Path = PAGE) -> None:
    """Put the table between the marks of the page. Raises ``ValueError`` where it has none."""
    table = markdown_table(comparison.header(), list(comparison.cells()))
    notes = [line for note in comparison.notes() for line in ("", note)]
    write_block(page, "peers", [machine(), "", *table, *notes])


def _cell(figure: Figure | None, unit: str) -> str:
    if figure is None:
        return "not given"
    note = f" ({figure.note})" if figure.note else ""
    return f"{_amount(figure.value, unit)}{note}"


def _amount(value: float, unit: str) -> str:
    if unit == "ms" and value >= _A_SECOND:
        return _amount(value / _A_SECOND, "s")
    return f"{_number(value)} {unit}".strip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
