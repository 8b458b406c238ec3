"""All ledger entries of an app or a group, as far back as the state branch goes. Reads page by page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitops_bg.core.model.record import LedgerEntry
from gitops_bg.core.model.subject import Subject
from gitops_bg.repo.git.blobs import Blobs
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.ledger.ledger_entries import PublishedEntry, Revision, each_once
from gitops_bg.repo.ledger.ledger_file import parse
from gitops_bg.repo.ledger.places import path_of
from gitops_bg.repo.ledger.state_branch import StateBranch
from gitops_bg.repo.read.provenance import revisions_of

_PAGE = 100


@dataclass(frozen=True, slots=True)
class Committed:
    """A ledger entry with its epoch and the commit of the state branch that brought it."""

    commit: str
    epoch: str
    entry: LedgerEntry


class LedgerHistory:
    """Walks the history of one file at a time."""

    def __init__(self, mirror: Mirror, blobs: Blobs, branch: StateBranch) -> None:
        self._mirror = mirror
        self._blobs = blobs
        self._branch = branch

    def of(self, subject: Subject) -> Iterator[Committed]:
        """Every ledger entry of an app or a group, newest first."""
        own = self._branch.seen().own
        revisions = revisions_of(self._mirror, path_of(subject), own) if own else []
        for commit, published in each_once(self._published(revisions)):
            yield Committed(commit, published.epoch, published.entry)

    def _published(self, revisions: Sequence[tuple[str, str]]) -> Iterator[Revision]:
        """Each revision with its entries, read a page at a time; a damaged one has none."""
        for start in range(0, len(revisions), _PAGE):
            page = revisions[start : start + _PAGE]
            contents = self._blobs.read(blob for _, blob in page)
            for commit, blob in page:
                yield commit, _entries(contents[blob])


def _entries(content: bytes | None) -> tuple[PublishedEntry, ...]:
    try:
        return parse(content or b"").history
    except ValueError:
        return ()
