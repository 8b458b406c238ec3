"""`history`: everything that ever happened to an app, from the ledger. Reads the state branch; asks no cluster."""

from typing import Annotated, Any

import typer
from rich.table import Table

from gitops_bg.cli.errors import NoSuch
from gitops_bg.cli.options import App, FileOptions
from gitops_bg.cli.output import Output, said
from gitops_bg.cli.session import Session
from gitops_bg.core.actions import label
from gitops_bg.core.record import Event
from gitops_bg.repo.history import Committed
from gitops_bg.spec.codec import to_json

_STYLES = {
    Event.PROMOTED: "green",
    Event.DEPLOYED: "green",
    Event.ROLLED_BACK: "magenta",
    Event.FAILED: "red",
    Event.INVALID: "red",
    Event.DIVERGED: "yellow",
}


def history(
    app: App,
    at: FileOptions,
    limit: Annotated[int, typer.Option("--limit", "-l", min=1, help="Only so many, newest first.")] = 1_000_000,
) -> None:
    """Show the history of an app: what, when, from which version to which, by whom, why.

    Example: gitops-bg history shop/web
    """
    output = Output(at.out)
    with Session(at.git, place=at.place, with_ledger=True) as session:
        key = session.app(app)
        entries = list(session.repository.history(key, limit))
        branch = session.repository.settings.state_branch
    if not entries:
        raise NoSuch(f"the ledger {branch} knows nothing of {key}; which cluster? See --cluster")
    if output.json:
        output.data({"app": str(key), "ledger": branch, "entries": [_json(each) for each in entries]})
    else:
        output.show(_table(entries))


def _json(each: Committed) -> dict[str, Any]:
    return {**to_json(each.entry), "epoch": each.epoch, "ledgerCommit": each.commit}


def _table(entries: list[Committed]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("WHEN", "EVENT", "FROM", "TO", "BY", "COMMIT", "REASON"):
        table.add_column(title, no_wrap=title in ("WHEN", "EVENT", "COMMIT"), overflow="fold")
    for each in entries:
        entry = each.entry
        table.add_row(
            said(entry.at.strftime("%Y-%m-%d %H:%M:%SZ")),
            said(entry.event, _STYLES.get(entry.event, "")),
            said(label(entry.from_version, entry.from_digest) if entry.from_digest else "-"),
            said(label(entry.to_version, entry.to_digest) if entry.to_digest else "-"),
            said(entry.by or "-"),
            said(entry.commit[:10] or "-"),
            said(entry.reason or "-"),
        )
    return table
