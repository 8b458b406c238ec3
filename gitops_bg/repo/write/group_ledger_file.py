"""The file of a group on the state branch: its format, how it takes new entries, and the message of its commits. Pure
data, no Git.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.ledger import VERBS
from gitops_bg.core.groups.model import GroupKey, VersionStage
from gitops_bg.core.groups.record import GroupLedgerEntry, GroupRecord
from gitops_bg.core.text.foreign_json import UNIQUE, NotJson, read_json
from gitops_bg.repo.write.ledger_file import KEPT_ENTRIES, MOST_SEQUENCE, Position
from gitops_bg.repo.write.messages import one_line
from gitops_bg.spec.codec import from_json, to_json

FOLDER = "groups"
"""Beside the folders of namespaces; no file of an app is below it: those are one level higher."""


@dataclass(frozen=True, slots=True)
class GroupLedgerBatch:
    """What one group has for the ledger: entries of this epoch that Git may not have yet, and who serves."""

    epoch: str
    entries: tuple[GroupLedgerEntry, ...]
    active: str = ""
    legacy: str = ""


def ledger_batch(record: GroupRecord) -> GroupLedgerBatch:
    """What a saved record has for the ledger."""
    state = record.state
    active, legacy = state.only(VersionStage.ACTIVE), state.only(VersionStage.LEGACY)
    return GroupLedgerBatch(record.epoch, record.ledger, active, legacy)


@dataclass(frozen=True, slots=True)
class PublishedGroupEntry:
    """An entry with its epoch, which tells it from every other entry of the group."""

    epoch: str
    entry: GroupLedgerEntry

    @property
    def position(self) -> Position:
        """Unique in the ledger of a group."""
        return Position(self.epoch, self.entry.sequence)


@dataclass(frozen=True, slots=True)
class GroupDocument:
    """A whole file. ``history`` is oldest first."""

    epoch: str = ""
    sequence: int = 0
    active: str = ""
    legacy: str = ""
    history: tuple[PublishedGroupEntry, ...] = ()

    @property
    def position(self) -> Position:
        """The last entry."""
        return Position(self.epoch, self.sequence)

    def taking(self, batch: GroupLedgerBatch) -> tuple["GroupDocument", tuple[GroupLedgerEntry, ...]]:
        """The file with the new entries of the batch, and those entries: each is taken once.

        An entry that is there word for word under another number was renumbered (`core.groups.ledger`).
        """
        last = self.sequence if batch.epoch == self.epoch else -1
        own = [each for each in self.history if each.epoch == batch.epoch]
        numbers, said = {each.entry.sequence for each in own}, {replace(each.entry, sequence=0) for each in own}
        fresh = tuple(
            entry
            for entry in batch.entries
            if entry.sequence > last and entry.sequence not in numbers and replace(entry, sequence=0) not in said
        )
        history = (*self.history, *(PublishedGroupEntry(batch.epoch, entry) for entry in fresh))
        sequence = max([0, last, *(entry.sequence for entry in batch.entries)])
        kept = history[-max(KEPT_ENTRIES, len(fresh)) :]
        return GroupDocument(batch.epoch, sequence, batch.active, batch.legacy, kept), fresh


def path_of(group: GroupKey) -> str:
    """Where the state branch has the file of a group."""
    return f"{FOLDER}/{group.namespace}/{group.name}.json"


def render(document: GroupDocument) -> bytes:
    """Return the text of the file."""
    value = to_json(document)
    value["history"] = [{"epoch": each.epoch, **to_json(each.entry)} for each in document.history]
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode(errors="replace")


def parse(text: bytes) -> GroupDocument:
    """Parse the text of the file. Raises ``ValueError`` for one that is not ours: others may write the state branch."""
    try:
        value: Mapping[str, Any] = read_json(text, UNIQUE)
        history = [
            {"epoch": each["epoch"], "entry": {name: said for name, said in each.items() if name != "epoch"}}
            for each in value.get("history", ())
        ]
        document = from_json(GroupDocument, {**value, "history": history})
    except (KeyError, TypeError, AttributeError, NotJson, InvalidInput) as error:
        raise ValueError(f"not a ledger file: {error}") from error
    numbers = (document.sequence, *(each.entry.sequence for each in document.history))
    if not all(0 <= number <= MOST_SEQUENCE for number in numbers):
        raise ValueError(f"not a ledger file: a number is not one that an agent counts to: 0 to {MOST_SEQUENCE}")
    return document


def message(fresh: Sequence[tuple[GroupKey, GroupLedgerEntry]], cluster: str) -> str:
    """Return the message of a commit: a subject for people, a line and a block of trailers for each entry."""
    groups = {group for group, _ in fresh}
    if len(fresh) == 1:
        subject = _sentence(*fresh[0])
    else:
        subject = f"{len(fresh)} events of {len(groups)} group{'s' if len(groups) > 1 else ''}"
    lines = [f"{group.namespace}/{_sentence(group, entry)}: {one_line(entry.message)}" for group, entry in fresh]
    blocks = [line for group, entry in fresh for line in _trailers(group, entry)]
    return "\n\n".join([f"{subject} [{one_line(cluster)}]", "\n".join(lines), "\n".join(blocks)]) + "\n"


def _sentence(group: GroupKey, entry: GroupLedgerEntry) -> str:
    span = f" {entry.source} -> {entry.target}" if entry.source and entry.target else ""
    return f"{group.name}: {VERBS.get(entry.event, entry.event)}{span}"


def _trailers(group: GroupKey, entry: GroupLedgerEntry) -> list[str]:
    values = [
        ("Bg-Group", str(group)),
        ("Bg-Event", entry.event),
        ("Bg-From", entry.source),
        ("Bg-To", entry.target),
        ("Bg-Commit", entry.commit),
        ("Bg-Reason", entry.message),
    ]
    return [f"{name}: {text}" for name, value in values if (text := one_line(value))]
