"""`history`: everything that ever happened to an app, from the ledger. Reads the state branch; asks no cluster."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.options.options import App, FileOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output, said
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.events import MOVES
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.read.history import Committed
from gitops_bg.spec.codec import to_json
from gitops_bg.spec.manifests.configuration import Configuration
from gitops_bg.spec.manifests.configuration_changes import (
    ConfigurationChange,
    configuration_changes,
    primary_with_configuration,
)

_STYLES = {
    Event.PROMOTED: "green",
    Event.DEPLOYED: "green",
    Event.ROLLED_BACK: "magenta",
    Event.FAILED: "red",
    Event.INVALID: "red",
    Event.DIVERGED: "yellow",
}

Held = Mapping[str, Sequence[Configuration]]
"""What versions hold, by digest."""


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
        held = _held(session.repository.primaries(key), key) if entries else {}
        branch = session.repository.settings.state_branch
    if not entries:
        raise ObjectNotFound(f"the ledger {branch} knows nothing of {key}; which cluster? See --cluster")
    if output.json:
        output.data({"app": str(key), "ledger": branch, "entries": [_json(each, held) for each in entries]})
    else:
        output.show(_table(entries, held))


def _held(primaries: Iterable[bytes], app: AppKey) -> Held:
    """What each version with configuration held, as main's primary.yaml once had it."""
    found = (primary_with_configuration(content, app) for content in primaries)
    return {primary.snapshot.digest: primary.configuration for primary in found if primary}


def _changes(entry: LedgerEntry, held: Held) -> tuple[ConfigurationChange, ...]:
    """What traffic got with another version beside another pod template."""
    if entry.event not in MOVES:
        return ()
    return configuration_changes(held.get(entry.from_digest, ()), held.get(entry.to_digest, ()))


def _json(each: Committed, held: Held) -> dict[str, Any]:
    changes = [to_json(change) for change in _changes(each.entry, held)]
    return {**to_json(each.entry), "configuration": changes, "epoch": each.epoch, "ledgerCommit": each.commit}


def _table(entries: list[Committed], held: Held) -> Table:
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
            said("\n".join([entry.reason or "-", *map(str, _changes(entry, held))])),
        )
    return table
