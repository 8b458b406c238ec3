"""How files of the state branch take entries, whoever they are about: each once, in order. Pure data, no Git."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from gitops_bg.core.model.record import LedgerEntry

KEPT_ENTRIES = 20
MOST_SEQUENCE = 2**53
"""No agent counts further; and the API server keeps no number beyond 2**63."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The last entry of an app, or of a group, in the ledger, with its epoch."""

    epoch: str
    sequence: int


NOWHERE = Position("", 0)
"""Before the first entry."""


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """An entry with its epoch, which tells it from every other entry of its file."""

    epoch: str
    entry: LedgerEntry

    @property
    def position(self) -> Position:
        """Unique in a file."""
        return Position(self.epoch, self.entry.sequence)


Revision = tuple[str, tuple[PublishedEntry, ...]]
"""A commit of a file, with what the file had then, oldest first."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A file with new entries. ``history`` is oldest first, ``fresh`` are those that were not there."""

    position: Position
    history: tuple[PublishedEntry, ...]
    fresh: tuple[LedgerEntry, ...]


def take(history: tuple[PublishedEntry, ...], position: Position, epoch: str, entries: Iterable[LedgerEntry]) -> Taken:
    """Return what a file is with the entries of one epoch: each is taken once.

    One that is there word for word under another number was renumbered (``core.transitions.record.restore``).
    """
    offered = sorted(entries, key=lambda entry: entry.sequence)
    last = position.sequence if epoch == position.epoch else -1
    known = {published.position for published in history}
    said = {_unnumbered(published.entry) for published in history if published.epoch == epoch}
    fresh = tuple(
        entry
        for entry in offered
        if entry.sequence > last and Position(epoch, entry.sequence) not in known and _unnumbered(entry) not in said
    )
    published = (*history, *(PublishedEntry(epoch, entry) for entry in fresh))
    reached = Position(epoch, max([0, last, *(entry.sequence for entry in offered)]))
    return Taken(reached, published[-max(KEPT_ENTRIES, len(fresh)) :], fresh)


def each_once(revisions: Iterable[Revision]) -> Iterator[tuple[str, PublishedEntry]]:
    """Yield every entry of a file's revisions, newest first, with the commit that brought it.

    An entry belongs to the oldest commit that has it: a file keeps the last entries from commit to commit.
    """
    yielded: set[Position] = set()
    for (commit, newer), (_, older) in pairwise(chain(revisions, [("", ())])):
        before = {published.position for published in older}
        for published in reversed(newer):
            if published.position not in before and published.position not in yielded:
                yielded.add(published.position)
                yield commit, published


def _unnumbered(entry: LedgerEntry) -> LedgerEntry:
    """The entry without its number, which differs in a record of an earlier backup, and without image tags, which no
    file keeps.
    """
    return replace(entry, sequence=0, from_tag="", to_tag="")
