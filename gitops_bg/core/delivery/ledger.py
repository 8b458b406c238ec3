"""What a record has for the ledger, of an app or a release group: each entry stays in it until Git has it (I4)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from gitops_bg.core.delivery.world import W, with_record
from gitops_bg.core.model.actions import PublishLedger
from gitops_bg.core.model.record import Delivery, LedgerEntry

Kept = TypeVar("Kept", bound=Delivery)


def noted(record: Kept, entry: LedgerEntry) -> Kept:
    """The record with one more entry, which gets the next number. Raises ``ValueError`` for a record without an epoch:
    the entry would make the ledger's file unreadable.
    """
    if not record.epoch:
        raise ValueError(f"an entry without an epoch: {entry.event.value}")
    number = record.sequence + 1
    return replace(record, sequence=number, ledger=(*record.ledger, replace(entry, sequence=number)))


def news(before: Kept, after: Kept) -> tuple[LedgerEntry, ...]:
    """The entries that the ledger gets of what happened between two records."""
    return tuple(entry for entry in after.ledger if entry.sequence > before.sequence)


def untold(record: Kept) -> Iterator[LedgerEntry]:
    """The entries that those who listen have not been told of."""
    return (entry for entry in record.ledger if entry.sequence > record.outbox.notified_sequence)


def publication(record: Delivery) -> tuple[PublishLedger, ...]:
    """What to have Git write of a saved record; nothing while it began without what the ledger knows: its state would
    take the place of that.
    """
    return (PublishLedger(record.epoch, record.ledger),) if record.ledger and not record.unrecalled else ()


def acknowledge_ledger(world: W) -> W:
    """Forget the entries that have reached the state branch."""
    at = world.ledger_at
    return world if at is None else with_record(world, acknowledged(world.record, *at))


def acknowledged(record: Kept, epoch: str, sequence: int) -> Kept:
    """The record without the entries that Git has: those of its life, up to this number."""
    if epoch != record.epoch:
        return record
    if sequence > record.sequence:
        return _counting_from(record, sequence)
    waiting = tuple(entry for entry in record.ledger if entry.sequence > sequence)
    claimed = record.ledger_claimed if sequence <= record.ledger_claimed else 0
    if (waiting, claimed) == (record.ledger, record.ledger_claimed):
        return record
    return replace(record, ledger=waiting, ledger_claimed=claimed)


def _counting_from(record: Kept, last: int) -> Kept:
    """Number the record's entries after ``last``, including the waiting ones: this record never assigned that number.

    Somebody else wrote it into the ledger, or the record is from an earlier backup. Its number does not say what Git
    contains, so nothing counts as published. Git ignores entries that it has word for word
    (``repo.ledger.ledger_entries``).
    """
    waiting = tuple(replace(entry, sequence=last + place) for place, entry in enumerate(record.ledger, 1))
    told = last + sum(entry.sequence <= record.outbox.notified_sequence for entry in record.ledger)
    outbox = replace(record.outbox, notified_sequence=told)
    return replace(record, sequence=last + len(waiting), ledger=waiting, ledger_claimed=last, outbox=outbox)
