"""README.md of the state branch: the overview of a cluster that a forge shows; its size is limited.

Apps and groups are written by two threads, each of which keeps what the other wrote last.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.text.lines import lines_of
from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.git.output import text
from gitops_bg.repo.ledger.group_ledger_file import GroupDocument
from gitops_bg.repo.ledger.ledger_file import Document, VersionState
from gitops_bg.repo.ledger.places import path_of_app, path_of_group

_MOST_ROWS = 200
_GROUPS = "## Release groups\n\n"
_GROUP_ROW = re.compile(r"\| \[([a-z0-9-]+)/([a-z0-9-]+)\]\(groups/\1/\2\.json\) \| .*\|")


@dataclass(frozen=True, slots=True)
class Row:
    """One app in the table."""

    active: str
    candidate: str
    holds: int
    last: str


def row_of(document: Document) -> Row:
    """The row of an app."""
    state = document.state
    last = document.history[-1].entry if document.history else None
    return Row(
        _version(state.active),
        _version(state.candidate),
        len(state.holds),
        f"{last.event} {last.at:%Y-%m-%d %H:%M} UTC" if last else "",
    )


def render(rows: Mapping[AppKey, Row], cluster: str, before: bytes = b"") -> bytes:
    """The page: a row for each app, or, where there are many, for each namespace; and the groups of the page
    ``before``.
    """
    table = _apps(rows) if len(rows) <= _MOST_ROWS else _namespaces(rows)
    return f"{_head(cluster)}{table}{_groups(_group_rows(before))}".encode(errors="replace")


def with_groups(before: bytes, documents: Mapping[GroupKey, GroupDocument], cluster: str) -> bytes:
    """The page ``before`` with the present rows of some groups; those of other groups stay."""
    rows = {**_group_rows(before), **{group: _group_row(group, each) for group, each in documents.items()}}
    apps = text(before).partition(f"\n{_GROUPS}")[0] or _head(cluster)
    return f"{apps}{_groups(rows)}".encode(errors="replace")


def _head(cluster: str) -> str:
    return f"# {one_line(cluster)}\n\nWritten by gitops-bg; what happened is the log of this branch.\n\n"


def _groups(rows: Mapping[GroupKey, str]) -> str:
    """The table of groups; nothing without any."""
    if not rows:
        return ""
    head = "| Group | Active | Legacy | Last event |\n|---|---|---|---|\n"
    return f"\n{_GROUPS}{head}" + "".join(f"{rows[group]}\n" for group in sorted(rows)[:_MOST_ROWS])


def _group_row(group: GroupKey, document: GroupDocument) -> str:
    last = document.history[-1].entry if document.history else None
    said = f"{last.event} {last.at:%Y-%m-%d %H:%M} UTC" if last else ""
    cells = (f"[{group}]({path_of_group(group)})", document.active, document.legacy, said)
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _group_rows(page: bytes) -> dict[GroupKey, str]:
    """The rows of groups in a page. Others may write the branch: what is no such row is left out."""
    return dict(_rows_in(text(page).partition(f"\n{_GROUPS}")[2]))


def _rows_in(table: str) -> Iterator[tuple[GroupKey, str]]:
    for line in lines_of(table):
        found = _GROUP_ROW.fullmatch(line)
        if found is not None:
            yield GroupKey(found[1], found[2]), line


def _apps(rows: Mapping[AppKey, Row]) -> str:
    lines = ["| App | Active | Candidate | Holds | Last event |", "|---|---|---|---|---|"]
    for app in sorted(rows):
        row = rows[app]
        link = f"[{app}]({path_of_app(app)})"
        cells = (link, row.active, row.candidate, str(row.holds or ""), row.last)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _namespaces(rows: Mapping[AppKey, Row]) -> str:
    counts = Counter(app.namespace for app in rows)
    lines = ["| Namespace | Apps |", "|---|---|"]
    lines += [f"| [{namespace}]({namespace}) | {counts[namespace]} |" for namespace in sorted(counts)[:_MOST_ROWS]]
    return "\n".join(lines) + "\n"


def _version(version: VersionState | None) -> str:
    return f"v{version.version} ({short(version.digest)})" if version else ""


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
