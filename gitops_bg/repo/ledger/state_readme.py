"""README.md of the state branch: the overview of a cluster that a forge shows; its size is limited."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_bg.core.model.actions import label
from gitops_bg.core.model.subject import SubjectKind
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.ledger.ledger_file import Document, VersionState
from gitops_bg.repo.ledger.places import in_order, path_of

_MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One app, or one release group, in its table."""

    active: str
    candidate: str
    holds: int
    last: str


def row_of(document: Document) -> Row:
    """The row of an app or a group."""
    state = document.state
    last = document.history[-1].entry if document.history else None
    return Row(
        _version(state.active),
        _version(state.candidate),
        len(state.holds),
        f"{last.event} {last.at:%Y-%m-%d %H:%M} UTC" if last else "",
    )


def render(rows: Mapping[AppOrGroup, Row], cluster: str) -> bytes:
    """The page: a row for each app, or, where there are many, for each namespace; and below them those of groups."""
    apps, groups = ([each for each in sorted(rows, key=in_order) if each.kind is kind] for kind in SubjectKind)
    parts = [
        f"# {one_line(cluster)}\n\nWritten by gitops-bg; what happened is the log of this branch.\n",
        _table("App", apps, rows) if len(apps) <= _MOST_ROWS else _namespaces(apps),
        f"## Release groups\n\n{_table('Group', groups[:_MOST_ROWS], rows)}" if groups else "",
    ]
    return "\n".join(filter(None, parts)).encode(errors="replace")


def _table(what: str, subjects: Iterable[AppOrGroup], rows: Mapping[AppOrGroup, Row]) -> str:
    lines = [f"| {what} | Active | Candidate | Holds | Last event |", "|---|---|---|---|---|"]
    for subject in subjects:
        row = rows[subject]
        link = f"[{subject}]({path_of(subject)})"
        cells = (link, row.active, row.candidate, str(row.holds or ""), row.last)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _namespaces(apps: Iterable[AppOrGroup]) -> str:
    counts = Counter(app.namespace for app in apps)
    lines = ["| Namespace | Apps |", "|---|---|"]
    lines += [f"| [{namespace}]({namespace}) | {counts[namespace]} |" for namespace in sorted(counts)[:_MOST_ROWS]]
    return "\n".join(lines) + "\n"


def _version(version: VersionState | None) -> str:
    return label(version.version, version.digest) if version else ""


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
