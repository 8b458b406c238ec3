"""What the record of an app or a release group has for the ledger, and what a new record has from it.

Each entry stays in the record until Git has it (I4). Main alone is enough to serve (DESIGN §4.7); the ledger adds
history and holds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from gitops_bg.core.delivery.world import W, with_record
from gitops_bg.core.model.actions import PublishLedger
from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Delivery, Event, LedgerEntry
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.statements import preceded
from gitops_bg.core.model.version import Source

# --- the beginning of a record: what was answered in a former life, and what the ledger still knows of that ---

D = TypeVar("D", bound=Delivery)


def begun(record: D, uid: str, retry: Retry | None, requests: Iterable[Request]) -> D:
    """Return a record that begins now; ``uid`` is that of the live object that keeps it.

    Requests made before it began were answered in its former life, or have nothing left to act on; so was a retry.
    """
    operator = replace(record.operator, retry=retry.number if retry is not None else 0)
    for request in requests:
        operator = operator.answering(request.id)
    return replace(record, epoch=uid[:8] or "0", operator=operator, unrecalled=True)


def recalled(record: D, memory: LedgerMemory) -> D:
    """Return the record with what the ledger knows, which may be nothing; what the record knows itself takes
    precedence.
    """
    if not record.unrecalled:
        return record
    before = (replace(each, sequence=0) for each in memory.statements)  # Of a former life: any retry is newer.
    return replace(
        record,
        unrecalled=False,
        rollout=max(record.rollout, memory.rollout),
        statements=preceded(record.statements, before),
    )


# --- steps: one entry where it begins or ceases to be suspended, invalid or rewritten, or its folder is back ---

# Enough for a person to find the line; the condition and `gitops-bg check` show all of it.
LONGEST_REASON = 500


def record_suspension(world: W) -> W:
    """Remember whether it is suspended, and when that ended: who is asked after it has the whole time that a hook
    gives.
    """
    record, suspended = world.record, world.suspended
    if suspended is record.operator.suspended:
        return world
    suspend, asked = world.spec.suspend, world.suspended_by
    operator = replace(record.operator, suspended=suspended, resumed_at=world.resumed_at)
    event, by, reason = _suspension_entry(suspend, asked, suspended=suspended)
    has_ended_by_itself = not suspended and suspend is not None
    commit = "" if has_ended_by_itself else asked.commit
    return with_record(world, record.with_part(operator)).with_ledger_entry_of(
        event, by=by, reason=reason, commit=commit
    )


def _suspension_entry(suspend: Suspension | None, asked: Source, *, suspended: bool) -> tuple[Event, str, str]:
    """Return what the ledger is told where a suspension begins or ends: the event, who, and why.

    ``suspend`` is what the file says now, ``asked`` the commit since which it does.
    """
    if suspended and suspend is not None:
        return Event.SUSPENDED, suspend.by or asked.author, suspend.reason
    if suspend is not None and suspend.until is not None:
        return Event.RESUMED, "", f"it was suspended until {suspend.until:%Y-%m-%dT%H:%M:%SZ}"
    return Event.RESUMED, asked.author, asked.subject


def record_state_changes(world: W) -> W:
    """Note one ledger entry for each change of its state."""
    for step in (record_suspension, _validity, _return, _history):
        world = step(world)
    return world


def _validity(world: W) -> W:
    problems = _problems_text(world.desired.problems)
    if not world.desired.main.counts or problems == world.record.invalid:
        return world
    event = Event.INVALID if problems else Event.VALID
    world = with_record(world, replace(world.record, invalid=problems))
    return world.with_ledger_entry_of(event, reason=problems, commit=world.desired.commit)


def _problems_text(problems: Iterable[Problem]) -> str:
    return "; ".join(map(str, problems))[:LONGEST_REASON]


def _return(world: W) -> W:
    """Note that its folder is back in main."""
    if not (world.record.orphaned and world.is_in_main and world.desired.main.counts):
        return world
    world = with_record(world, replace(world.record, orphaned=False))
    reason = f"the {world.kind.value}'s folder is back in main"
    return world.with_ledger_entry_of(Event.ADOPTED, reason=reason, commit=world.desired.commit)


def _history(world: W) -> W:
    """Record what main lost, and have the ledger told where that lasts, or is over."""
    (before, known), main = world.history, world.desired.main
    lost = main.lost_after(before)
    told = main.loss_to_report(known, lost)
    world = world.with_history(lost, told)
    if told == known:
        return world
    if not told:
        return world.with_ledger_entry_of(Event.HISTORY_ACCEPTED, commit=world.desired.commit)
    reason = f"main no longer contains {told[:10]}; it moves nothing until that is back or accepted"
    return world.with_ledger_entry_of(Event.HISTORY_REWRITTEN, reason=reason, commit=world.desired.commit)


# --- entries on their way ---

Kept = TypeVar("Kept", bound=Delivery)


def with_entry(record: Kept, entry: LedgerEntry) -> Kept:
    """Return the record with one more entry, which gets the next number. Raises ``ValueError`` for a record without an
    epoch: the entry would make the ledger's file unreadable.
    """
    if not record.epoch:
        raise ValueError(f"an entry without an epoch: {entry.event.value}")
    number = record.sequence + 1
    return replace(record, sequence=number, ledger=(*record.ledger, replace(entry, sequence=number)))


def new_entries(before: Kept, after: Kept) -> tuple[LedgerEntry, ...]:
    """Return the entries that the ledger gets of what happened between two records; not those that waited, and only got
    other numbers (`acknowledged`).
    """
    if after.ledger_claimed > before.sequence:
        return after.ledger[len(before.ledger) :]
    return tuple(entry for entry in after.ledger if entry.sequence > before.sequence)


def undelivered_entries(record: Kept) -> Iterator[LedgerEntry]:
    """Return the entries that those who listen have not been told of."""
    return (entry for entry in record.ledger if entry.sequence > record.outbox.notified_sequence)


def publication(record: Delivery) -> tuple[PublishLedger, ...]:
    """Return what to have Git write of a saved record; nothing while it began without what the ledger knows: its state
    would take the place of that.
    """
    return (PublishLedger(record.epoch, record.ledger),) if record.ledger and not record.unrecalled else ()


def acknowledge_ledger(world: W) -> W:
    """Forget the entries that have reached the state branch."""
    at = world.ledger_at
    return world if at is None else with_record(world, acknowledged(world.record, *at))


def acknowledged(record: Kept, epoch: str, sequence: int) -> Kept:
    """Return the record without the entries that Git has: those of its life, up to this number."""
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
    """Count the record's entries from after ``last``, also the waiting ones: this record never assigned that number.

    Somebody else wrote it into the ledger, or the record is from an earlier backup. Its number does not say what Git
    contains, so nothing counts as published. Git ignores entries that it has word for word
    (``repo.ledger.ledger_file``).
    """
    waiting = tuple(replace(entry, sequence=last + place) for place, entry in enumerate(record.ledger, 1))
    told = last + sum(entry.sequence <= record.outbox.notified_sequence for entry in record.ledger)
    outbox = replace(record.outbox, notified_sequence=told)
    return replace(record, sequence=last + len(waiting), ledger=waiting, ledger_claimed=last, outbox=outbox)
