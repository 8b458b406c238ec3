"""What a group writes into its ledger in Git: one entry for each event that people want to find later.

As for an app (DESIGN §7): entries are part of the record that the decision saves, and stay there until Git has them, so
that a crash loses none and doubles none (I4).
"""

from collections.abc import Mapping
from dataclasses import replace

from gitops_bg.core.groups.record import GroupLedgerEntry, Transition
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.groups.world import GroupWorld

VERBS: Mapping[GroupEvent, str] = {
    GroupEvent.VERSION_REGISTERED: "has a new version",
    GroupEvent.VERSION_DELETED: "lost a version",
    GroupEvent.SERVICE_REMOVED: "lost a service",
    GroupEvent.PROMOTION_STARTED: "promotes",
    GroupEvent.PROMOTION_FINISHED: "promoted",
    GroupEvent.ROLLBACK_STARTED: "rolls back",
    GroupEvent.ROLLBACK_FINISHED: "rolled back",
    GroupEvent.TAKEN_OVER: "takes over",
    GroupEvent.ROUTES_MOVED: "moved its routes",
    GroupEvent.TRANSITION_WITHDRAWN: "stays",
    GroupEvent.ANALYSIS_SUCCESSFUL: "was analysed",
    GroupEvent.ANALYSIS_INCONCLUSIVE: "waits for somebody to judge it",
    GroupEvent.ANALYSIS_ERROR: "could not be measured",
    GroupEvent.ANALYSIS_FAILED: "failed its analysis",
    GroupEvent.HOOK_REFUSED: "hook refused",
    GroupEvent.HOOK_EXPIRED: "hook expired",
    GroupEvent.ABORTED: "aborted",
    GroupEvent.RETRIED: "retried",
    GroupEvent.GATE_OPENED: "gate opened",
    GroupEvent.GATE_CLOSED: "gate closed",
    GroupEvent.HISTORY_REWRITTEN: "history rewritten",
    GroupEvent.HISTORY_ACCEPTED: "history accepted",
}
"""The events in the ledger, each with the verb of its commit; all others are progress, about messages, or
the end of the group, whose record is gone with it.
"""


def acknowledge_ledger(world: GroupWorld) -> GroupWorld:
    """Forget the entries that Git has.

    Where Git has more than this record ever gave out, it is from an earlier backup, or somebody else wrote: its entries
    are numbered after those (`core.transitions.record.restore`).
    """
    record, position = world.record, world.observed.ledger
    if position is None or position.epoch != record.epoch:
        return world
    if position.sequence > record.sequence:
        numbered = enumerate(record.ledger, position.sequence + 1)
        waiting = tuple(replace(entry, sequence=number) for number, entry in numbered)
        last = position.sequence
        return world.with_record(ledger=waiting, sequence=last + len(waiting), ledger_claimed=last)
    waiting = tuple(entry for entry in record.ledger if entry.sequence > position.sequence)
    claimed = record.ledger_claimed if position.sequence <= record.ledger_claimed else 0
    if (waiting, claimed) == (record.ledger, record.ledger_claimed):
        return world
    return world.with_record(ledger=waiting, ledger_claimed=claimed)


def note_events(before: GroupWorld, world: GroupWorld) -> GroupWorld:
    """Add an entry for each event of a decision, once every step has been taken; ``before`` is the world of before."""
    moving = world.record.transition or before.record.transition
    entries = [
        _entry(world, number, event, message, moving)
        for number, (event, message) in enumerate(
            ((event, message) for event, message in world.events if event in VERBS), world.record.sequence + 1
        )
    ]
    if not entries:
        return world
    epoch = world.record.epoch or world.observed.uid[:8] or "0"
    return world.with_record(epoch=epoch, sequence=entries[-1].sequence, ledger=(*world.record.ledger, *entries))


_OF_MOVES = (
    GroupEvent.PROMOTION_STARTED,
    GroupEvent.PROMOTION_FINISHED,
    GroupEvent.ROLLBACK_STARTED,
    GroupEvent.ROLLBACK_FINISHED,
    GroupEvent.TRANSITION_WITHDRAWN,
)


def _entry(
    world: GroupWorld, number: int, event: GroupEvent, message: str, moving: Transition | None
) -> GroupLedgerEntry:
    """An entry; of a move, with the versions that requests move from and to."""
    of_move = moving if event in _OF_MOVES else None
    return GroupLedgerEntry(
        sequence=number,
        at=world.now,
        event=event,
        message=message,
        source=of_move.source if of_move else "",
        target=of_move.target if of_move else "",
        commit=world.desired.commit,
    )
