"""README.md of the state branch: the overview of a cluster that a forge shows; its size is limited."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.write.ledger_file import Document, VersionState
from gitops_bg.repo.write.messages import one_line

PATH = "README.md"
_MOST_ROWS = 200


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


def render(rows: Mapping[AppKey, Row], cluster: str) -> bytes:
    """The page: a row for each app, or, where there are many, for each namespace."""
    head = f"# {one_line(cluster)}\n\nWritten by gitops-bg; what happened is the log of this branch.\n\n"
    table = _apps(rows) if len(rows) <= _MOST_ROWS else _namespaces(rows)
    return (head + table).encode(errors="replace")


def _apps(rows: Mapping[AppKey, Row]) -> str:
    lines = ["| App | Active | Candidate | Holds | Last event |", "|---|---|---|---|---|"]
    for app in sorted(rows):
        row = rows[app]
        link = f"[{app}]({app.namespace}/{app.name}.json)"
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
