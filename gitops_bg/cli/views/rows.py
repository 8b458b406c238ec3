"""Draws the list of apps and release groups, and what somebody has to do about them: every line fits a terminal of 80
columns. Decides nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from gitops_bg.cli.output import literal
from gitops_bg.cli.views.listing import Column, Line, Listing, facts, paragraph
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.version import AppKey
from gitops_bg.views.conditions import Advised, advice_lines
from gitops_bg.views.rows import AnyRow, Row, tells_branches
from gitops_bg.views.words import style_of, without_repeated_reason

if TYPE_CHECKING:
    from gitops_bg.core.model.version import GroupKey


_COLUMNS = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("KIND"),
    Column("BRANCH"),
    Column("ENVIRONMENT"),
    Column("PHASE"),
    Column("ACTIVE"),
    Column("RELEASE"),
    Column("DIGEST", 8, wide=True),
    Column("COLOR", 5),
    Column("IMAGE", 5, wide=True),
    Column("CANDIDATE", 1),
    Column("CANDIDATE IMAGE", 6, wide=True),
    Column("PULL REQUEST", 7, wide=True),
    Column("AGE", 4),
    Column("PROMOTION"),
)
_MOST_NAMED = 3
"""How many apps a line names; the rest are counted."""


def list_of(rows: Iterable[AnyRow], now: datetime, *, wide: bool = False) -> Group:
    """Return the rows as a table, followed by what somebody has to do; ``wide``: with all that is known of each."""
    shown = tuple(rows)
    together = drawn_together((row.advised, row.demands) for row in shown)
    return Group(table_of(shown, now, wide=wide), *(part for group in together for part in ("", group)))


def table_of(rows: Iterable[AnyRow], now: datetime, *, wide: bool = False) -> Listing:
    """Return the rows as a table; kinds, branches and environments have a column where there are such."""
    shown = tuple(rows)
    has_environments = any(isinstance(row, Row) and row.environment for row in shown)
    silent = {
        "KIND": all(isinstance(row, Row) for row in shown),
        "BRANCH": not tells_branches(row.branch for row in shown),
        "ENVIRONMENT": not has_environments,
        "RELEASE": not has_environments,
    }
    columns = [each for each in _COLUMNS if not silent.get(each.title)]
    return Listing(columns, (_line(row, columns, now) for row in shown), wide=wide)


def drawn(condition: Condition, of: Advised, indent: int = 0, told: str = "", answered: str = "") -> Group:
    """Return a condition with its meaning, for people, so many columns from the margin; without what was ``told`` of
    its message just before, and without the command that is ``answered`` here.
    """
    message = without_repeated_reason(condition.message, (told,))
    return Group(paragraph(_headline(condition, message), indent), _rows(condition, (of,), indent + 2, answered))


def drawn_together(conditions: Iterable[tuple[Advised, tuple[Condition, ...]]]) -> Iterator[Group]:
    """Yield what somebody has to do about many apps and groups: each kind of problem once, with the reason of each."""
    found: dict[tuple[type, str, str], dict[str, list[tuple[Advised, Condition]]]] = {}
    for app, demands_of_app in conditions:
        for one in demands_of_app:
            alike = found.setdefault((type(app.subject), one.type, one.reason), {})
            alike.setdefault(one.message, []).append((app, one))
    for reasons in found.values():
        headlines = (_of_apps(message, troubled) for message, troubled in reasons.items())
        apps = tuple(app for troubled in reasons.values() for app, _ in troubled)
        _, first = next(iter(reasons.values()))[0]
        yield Group(*headlines, _rows(first, apps, 2))


def _line(row: AnyRow, columns: Iterable[Column], now: datetime) -> Line:
    cells = {
        "NAMESPACE": row.namespace,
        "NAME": row.name,
        "KIND": row.called,
        "BRANCH": row.branch,
        "PHASE": row.phase,
        **row.cells(now),
    }
    return Line(tuple(_cell(row, each.title, cells.get(each.title, "")) for each in columns))


def _cell(row: AnyRow, title: str, text: str) -> Text:
    styles = {"NAME": "bold", "PHASE": style_of(row.phase), "COLOR": text if text in ("blue", "green") else ""}
    return literal(text, styles.get(title, "")) if text else Text("-")


def _of_apps(message: str, troubled: list[tuple[Advised, Condition]]) -> RenderableType:
    where = literal(f"{_named([app.subject for app, _ in troubled])}: ", "bold")
    return paragraph(Text.assemble(where, _headline(troubled[0][1], message)))


def _named(apps: "list[AppKey | GroupKey]") -> str:
    more = len(apps) - _MOST_NAMED
    return ", ".join(map(str, apps[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _headline(condition: Condition, message: str) -> Text:
    status = "Unknown" if condition.status is None else condition.status
    return literal(f"{condition.type}={status}" + (f": {message}" if message else ""), "yellow")


def _rows(condition: Condition, apps: Sequence[Advised], indent: int, answered: str = "") -> Listing:
    lines = (each for each in advice_lines(condition, apps) if each[1] != answered)
    return facts(((literal(title, "dim"), literal(text, style)) for title, text, style in lines), indent)
