"""`group history`: all that happened to a group, from the ledger. Reads the state branch; asks no cluster."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.options.app_names import app_name
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.session.group_session import group_in_git
from gitops_bg.cli.session.ledger_doubts import demanded, tell_doubts
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.cli.views.output import Output, said
from gitops_bg.core.groups.record import GroupLedgerEntry
from gitops_bg.core.groups.reporting.events import WARNINGS, GroupEvent
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.ledger.ledger_entries import PublishedEntry
from gitops_bg.spec.codec import to_json

_STYLES = {
    GroupEvent.PROMOTION_FINISHED: "green",
    GroupEvent.ROLLBACK_FINISHED: "magenta",
    **dict.fromkeys(WARNINGS, "yellow"),
}

Row = tuple[str, PublishedEntry[GroupLedgerEntry]]


def history(
    at: AppOptions,
    group: Group,
    limit: Annotated[int, typer.Option("--limit", "-l", min=1, help="Show at most so many, newest first.")] = 1_000_000,
) -> None:
    """Show the history of a group, the newest first: what, when, from which version to which, why.

    COMMIT is the head of main that the agent followed.

    Example: gitops-bg group history shop/store
    """
    output = Output(at.out)
    kube = None if at.git.cluster else at.kube  # a ledger that is named is that of another cluster, or of none any more
    with Session(at.git, kube, at.place, about=group_named(group), with_ledger=True, note=output.note) as session:
        key, branch = _meant(session, group, at.place.namespace), session.repository.settings.state_branch
        rows = demanded(session.repository, key, session.repository.group_history(key, limit))
        tell_doubts(session.repository, output, key)
    if output.json:
        output.data({"group": str(key), "ledger": branch, "entries": list(map(_json, rows))})
    else:
        output.show(table_of(rows))


def _meant(session: Session, name: str, namespace: str) -> GroupKey:
    """The group that a person means; one whose folder left main has a history, too."""
    written, bare = app_name(name)
    namespace = written or namespace
    return GroupKey(namespace, bare) if namespace else group_in_git(session, name)


def _json(row: Row) -> dict[str, Any]:
    commit, each = row
    return {**to_json(each.entry), "epoch": each.epoch, "ledgerCommit": commit}


_COLUMNS = (
    Column("WHEN", 1),
    Column("EVENT"),
    Column("FROM", 2),
    Column("TO"),
    Column("COMMIT", 3),
    Column("WHAT"),
)


def table_of(rows: Iterable[Row]) -> Listing:
    """Return the entries as a table."""
    return Listing(_COLUMNS, (_line(each.entry) for _, each in rows))


def _line(entry: GroupLedgerEntry) -> Line:
    when, style = f"{entry.at:%Y-%m-%d %H:%M:%SZ}", _STYLES.get(entry.event, "")
    cells = (entry.source or "-", entry.target or "-", entry.commit[:10] or "-", entry.message)
    return Line((said(when), said(entry.event, style), *map(said, cells)))
