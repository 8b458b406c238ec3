"""The history of an app or a release group: entries of the ledger, with what traffic got besides another pod template,
and the changes of promotion policies between them; in cells, and for programs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.events import MOVES, goal_of, name_in, origin_of
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey, AppOrGroup, short
from gitops_bg.repo.ledger.ledger import Committed
from gitops_bg.repo.ledger.policy_log import PolicyChange
from gitops_bg.spec.app.primary import ConfigurationChange, configuration_changes, primary_with_configuration
from gitops_bg.spec.codec import to_json
from gitops_bg.spec.manifests.configuration import Configuration

_STYLES = {
    Event.PROMOTED: "green",
    Event.DEPLOYED: "green",
    Event.ROLLED_BACK: "magenta",
    Event.FAILED: "red",
    Event.INVALID: "red",
    Event.DIVERGED: "yellow",
    Event.OVERRIDDEN: "red",
    Event.POLICY_CHANGED: "yellow",
}
Held = Mapping[str, Sequence[Configuration]]
"""The contents of versions, by digest."""


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One shown entry of the ledger, or one shown change of policies."""

    change: Committed | PolicyChange
    about: AppOrGroup | None = None
    held: Held = field(default_factory=dict)

    @property
    def event(self) -> Event:
        """The event."""
        return Event.POLICY_CHANGED if isinstance(self.change, PolicyChange) else self.change.entry.event

    @property
    def style(self) -> str:
        """The style in which the event is printed."""
        return _STYLES.get(self.event, "")

    @property
    def at(self) -> datetime:
        """When it happened; a commit without a date counts as older than all others."""
        at = self.change.at if isinstance(self.change, PolicyChange) else self.change.entry.at
        return at or datetime.min.replace(tzinfo=UTC)

    @property
    def named(self) -> dict[str, str]:
        """Whose entry it is, as JSON: by its kind."""
        return {self.about.kind: str(self.about)} if self.about is not None else {}

    @property
    def json(self) -> dict[str, Any]:
        """The entry as JSON."""
        if isinstance(self.change, PolicyChange):
            encoded = to_json(self.change)
            return {"event": self.event, "at": encoded.get("at"), **encoded}
        return _json_entry(self.change, self.held)

    @property
    def cells(self) -> tuple[str, ...]:
        """The entry as cells of the table."""
        if isinstance(self.change, PolicyChange):
            change = self.change
            origin, to = (short(each) or "-" for each in (change.before, change.after))
            return origin, to, name_in(change.by) or "-", change.commit[:10], ", ".join(change.changed) or "-"
        entry = self.change.entry
        return (
            origin_of(entry) or "-",
            goal_of(entry) or "-",
            name_in(entry.by) or "-",
            entry.commit[:10] or "-",
            "\n".join([entry.reason or "-", *map(str, _configuration_changes(entry, self.held))]),
        )


def with_policies(rows: list[HistoryRow], changes: Iterable[PolicyChange]) -> list[HistoryRow]:
    """Insert the changes of policies since the second of the oldest entry of the ledger between its entries, all
    newest first. Git dates commits in whole seconds, so a commit of that second may be the later one.
    """
    oldest = min(row.at for row in rows).replace(microsecond=0)
    left = [row for row in map(HistoryRow, changes) if row.at >= oldest]
    merged: list[HistoryRow] = []
    for row in rows:
        merged += [each for each in left if each.at > row.at]
        left = [each for each in left if each.at <= row.at]
        merged.append(row)
    return [*merged, *left]


def contents_of(primaries: Iterable[bytes], app: AppKey) -> Held:
    """Return the content of each version with configuration, from former primary.yaml files of main."""
    found = (primary_with_configuration(content, app) for content in primaries)
    return {primary.snapshot.digest: primary.configuration for primary in found if primary}


def _configuration_changes(entry: LedgerEntry, held: Held) -> tuple[ConfigurationChange, ...]:
    """Return what traffic got with another version besides another pod template."""
    if entry.event not in MOVES:
        return ()
    return configuration_changes(held.get(entry.from_digest, ()), held.get(entry.to_digest, ()))


def _json_entry(each: Committed, held: Held) -> dict[str, Any]:
    changes = [to_json(change) for change in _configuration_changes(each.entry, held)]
    return {**to_json(each.entry), "configuration": changes, "epoch": each.epoch, "ledgerCommit": each.commit}
