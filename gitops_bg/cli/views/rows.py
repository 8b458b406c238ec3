"""Apps and release groups in one list: what `get` shows of all of them. Decides nothing.

A member of a group stands below its group, which it names: it is an app like any other, and what it lacks is seen here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.text import Text

from gitops_bg.cli.output import said
from gitops_bg.cli.views.app_row import Row, row_of, style_of, tells_branches
from gitops_bg.cli.views.condition_meanings import drawn_together
from gitops_bg.cli.views.groups.group_row import GroupRow, group_row_of
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.core.model.version import AppKey

AnyRow = Row | GroupRow

_COLUMNS = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("KIND"),
    Column("BRANCH"),
    Column("PHASE"),
    Column("ACTIVE"),
    Column("DIGEST", 8, wide=True),
    Column("COLOR", 5),
    Column("IMAGE", 5),
    Column("CANDIDATE", 1),
    Column("CANDIDATE IMAGE", 2),
    Column("PULL REQUEST", 7, wide=True),
    Column("AGE", 4),
    Column("PROMOTION"),
)


def rows_of(apps: Iterable[Mapping[str, Any]], groups: Iterable[Mapping[str, Any]] = ()) -> tuple[AnyRow, ...]:
    """Return the rows of live BlueGreenDeployments and ReleaseGroups, by namespace and name; members below their
    group.
    """
    of_groups = tuple(map(group_row_of, groups))
    of = {AppKey(each.namespace, app): each.name for each in of_groups for app in each.members}
    of_apps = (replace(row, group=of.get(row.key, "")) for row in map(row_of, apps))
    return tuple(sorted((*of_apps, *of_groups), key=_place))


def _place(row: AnyRow) -> tuple[str, str, bool, str]:
    group = row.group if isinstance(row, Row) else ""
    return row.namespace, group or row.name, bool(group), row.name


def json_of_row(row: AnyRow) -> dict[str, Any]:
    """Return a row for programs: what it is says its ``kind``."""
    return row.json()


def line_of(row: AnyRow) -> str:
    """Return a row as a line of text."""
    return row.line


def list_of(rows: Iterable[AnyRow], now: datetime, *, wide: bool = False) -> Group:
    """Return the rows as a table, followed by what somebody has to do; ``wide``: with all that is known of each."""
    shown = tuple(rows)
    together = drawn_together((row.key, row.demands) for row in shown)
    return Group(table_of(shown, now, wide=wide), *(part for group in together for part in ("", group)))


def table_of(rows: Iterable[AnyRow], now: datetime, *, wide: bool = False) -> Listing:
    """Return the rows as a table; kinds and branches have a column where they tell rows apart."""
    shown = tuple(rows)
    silent = {
        "KIND": all(isinstance(row, Row) for row in shown),
        "BRANCH": not tells_branches(row.branch for row in shown),
    }
    columns = [each for each in _COLUMNS if not silent.get(each.title)]
    return Listing(columns, (_line(row, columns, now) for row in shown), wide=wide)


def _line(row: AnyRow, columns: Iterable[Column], now: datetime) -> Line:
    cells = {
        "NAMESPACE": said(row.namespace),
        "NAME": said(row.name, "bold"),
        "KIND": said(row.called),
        "BRANCH": said(row.branch),
        "PHASE": said(row.phase, style_of(row.phase)),
        **row.cells(now),
    }
    return Line(tuple(cells.get(each.title) or Text("-") for each in columns))
