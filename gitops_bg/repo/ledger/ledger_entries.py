"""What the files of the ledger are on the state branch: where each is, and how it takes entries, each once, in order.
Pure data; no I/O.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from gitops_bg.core.model.record import LedgerEntry
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, Subject, SubjectKind
from gitops_bg.repo.layout import is_app

# --- entries, whoever they are about ---

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
class MergedEntries:
    """A file with new entries. ``history`` is oldest first, ``fresh`` are those that were not there."""

    position: Position
    history: tuple[PublishedEntry, ...]
    fresh: tuple[LedgerEntry, ...]


def merge_entries(
    history: tuple[PublishedEntry, ...], position: Position, epoch: str, entries: Iterable[LedgerEntry]
) -> MergedEntries:
    """Return what a file is with the entries of one epoch: each is taken once.

    One that is there word for word under another number was renumbered (``core.transitions.record``).
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
    return MergedEntries(reached, published[-max(KEPT_ENTRIES, len(fresh)) :], fresh)


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


# --- places ---

README, POLICIES, GROUPS = "README.md", "policies.json", "groups"
"""The overview; the file of policies; and the folder of the files of groups, beside those of namespaces: no file
of an app is below it, they are one level higher.
"""
_JSON = ".json"


def subject_at(path: str) -> AppOrGroup | None:
    """The app or the release group whose file this is; None for any other path.

    >>> subject_at("shop/web.json"), subject_at("groups/shop/store.json"), subject_at("groups/shop/v1/store.json")
    (AppKey(namespace='shop', name='web'), GroupKey(namespace='shop', name='store'), None)
    """
    is_group = path.startswith(f"{GROUPS}/") and path.count("/") > 1
    namespace, _, file = path.removeprefix(f"{GROUPS}/" if is_group else "").partition("/")
    name = file.removesuffix(_JSON)
    if name == file or not is_app(namespace, name):
        return None
    return GroupKey(namespace, name) if is_group else AppKey(namespace, name)


def path_of(subject: Subject) -> str:
    """Where the file of an app, or of a release group, is."""
    above = f"{GROUPS}/" if subject.kind is SubjectKind.GROUP else ""
    return f"{above}{subject.namespace}/{subject.name}{_JSON}"


def in_order(subject: Subject) -> tuple[str, str, str]:
    """By what they are sorted: apps first."""
    return subject.kind, subject.namespace, subject.name
