"""The file of a group on the state branch: its format, how it takes new entries, and the message of its commits. Pure
data, no Git.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupLedgerEntry, GroupRecord
from gitops_bg.core.groups.reporting.ledger import VERBS
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.text.foreign_json import UNIQUE, NotJson, read_json
from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.ledger.ledger_entries import MOST_SEQUENCE, NOWHERE, Position, PublishedEntry, take
from gitops_bg.repo.write.messages import mark, title_of_batch
from gitops_bg.spec.codec import from_json, to_json


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
class GroupDocument:
    """A whole file. ``history`` is oldest first."""

    position: Position = NOWHERE
    active: str = ""
    legacy: str = ""
    history: tuple[PublishedEntry[GroupLedgerEntry], ...] = ()

    def taking(self, batch: GroupLedgerBatch) -> tuple["GroupDocument", tuple[GroupLedgerEntry, ...]]:
        """The file with the new entries of the batch, and those entries: each is taken once."""
        taken = take(self.history, self.position, batch.epoch, batch.entries)
        return GroupDocument(taken.position, batch.active, batch.legacy, taken.history), taken.fresh


def render(document: GroupDocument) -> bytes:
    """Return the text of the file."""
    value = {
        "epoch": document.position.epoch,
        "sequence": document.position.sequence,
        "active": document.active,
        "legacy": document.legacy,
        "history": [{"epoch": each.epoch, **to_json(each.entry)} for each in document.history],
    }
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode(errors="replace")


def parse(text: bytes) -> GroupDocument:
    """Parse the text of the file. Raises ``ValueError`` for one that is not ours: others may write the state branch."""
    try:
        value: Mapping[str, Any] = read_json(text, UNIQUE)
        history = tuple(_published(each) for each in value["history"])
        position = Position(_text(value["epoch"]), value["sequence"])
        document = GroupDocument(position, _text(value["active"]), _text(value["legacy"]), history)
    except (KeyError, TypeError, AttributeError, NotJson, InvalidInput) as error:
        raise ValueError(f"not a ledger file: {error}") from error
    numbers = (position.sequence, *(each.entry.sequence for each in history))
    if not all(type(number) is int and 0 <= number <= MOST_SEQUENCE for number in numbers):
        raise ValueError(f"not a ledger file: a number is not one that an agent counts to: 0 to {MOST_SEQUENCE}")
    return document


def _published(value: Mapping[str, Any]) -> PublishedEntry[GroupLedgerEntry]:
    return PublishedEntry(_text(value["epoch"]), from_json(GroupLedgerEntry, value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected where there is none")
    return value


def message(fresh: Sequence[tuple[GroupKey, GroupLedgerEntry]], cluster: str) -> str:
    """Return the message of a commit: a subject for people, a line and a block of trailers for each entry."""
    groups = list(dict.fromkeys(group for group, _ in fresh))
    subject = _sentence(*fresh[0]) if len(fresh) == 1 else title_of_batch(len(fresh), groups)
    lines = [f"{group.namespace}/{_sentence(group, entry)}: {one_line(entry.message)}" for group, entry in fresh]
    blocks = [line for group, entry in fresh for line in _trailers(group, entry)]
    return "\n\n".join([f"{subject} [{one_line(cluster)}]", "\n".join(lines), "\n".join(blocks)]) + "\n" + mark(cluster)


def _sentence(group: GroupKey, entry: GroupLedgerEntry) -> str:
    span = f" {entry.source} → {entry.target}" if entry.source and entry.target else ""
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
