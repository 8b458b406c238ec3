"""Writes the ledger of groups: what has gathered, in one commit, by a thread of its own. Traffic never waits for it.

How far Git got is read before anything is written: a record from an earlier backup numbers its entries after that.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.agent.runtime.due_thread import DueThread
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.groups.observed import LedgerPosition
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.ledger.group_ledger_file import GroupDocument, GroupLedgerBatch
from gitops_bg.repo.repository import Repository

LOGGER = logging.getLogger(__name__)

_WAIT = timedelta(seconds=1)
"""How soon it asks again whether this agent leads."""


class GroupLedgerThread(DueThread[GroupKey]):
    """``changed`` is told of each group whose position moved; ``clock`` gives UTC."""

    def __init__(
        self,
        repository: Repository,
        *,
        changed: Callable[[GroupKey], None],
        may_write: Callable[[], bool],
        clock: Callable[[], datetime],
        backoff: Backoff[str],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("group-ledger", crashed, clock)
        self._repository = repository
        self._tell = changed
        self._may_write = may_write
        self._backoff = backoff
        self._waiting: dict[GroupKey, GroupLedgerBatch] = {}
        self._positions: dict[GroupKey, LedgerPosition] = {}
        self._doubts: Mapping[GroupKey, str] = {}
        self._stale: set[GroupKey] = set()
        """The groups whose position is to be read again: the branch has moved."""
        self._at: object = None

    def submit(self, group: GroupKey, batch: GroupLedgerBatch) -> None:
        """Take what Git may not have yet of a group. Returns at once."""
        with self._changed:
            position = self._positions.get(group)
            if position is None:
                self._work_at([group], self._clock())
            elif not batch.entries or position.is_at(batch.epoch, batch.entries[-1].sequence):
                self._waiting.pop(group, None)
            elif self._waiting.get(group) != batch:
                self._waiting[group] = batch
                self._work_at([group], self._clock())

    def keep(self, groups: Collection[GroupKey]) -> None:
        """Forget groups that main does not have any more, once Git has what they said."""
        with self._changed:
            gone = [each for each in self._positions if each not in groups and each not in self._waiting]
            for group in gone:
                del self._positions[group]

    def moved(self, at: object) -> None:
        """Read again how far the ledger of each group got, if the branch is not as it was: others can push it, too."""
        with self._changed:
            if at == self._at:
                return
            self._at = at
            self._stale |= self._positions.keys()
            self._work_at(list(self._stale), self._clock())

    def position(self, group: GroupKey) -> LedgerPosition | None:
        """How far the ledger of a group got; None while nobody has looked."""
        with self._changed:
            return self._positions.get(group)

    def doubt(self, group: GroupKey) -> str:
        """Why the file of a group, as it stands, is not believed; empty where it is."""
        with self._changed:
            return self._doubts.get(group, "")

    def _work(self, group: GroupKey) -> None:
        with self._changed:
            known, batch = group in self._positions and group not in self._stale, dict(self._waiting)
        if known and not batch:
            return
        if known and not self._may_write():
            self._work_at([group], self._clock() + _WAIT)
            return
        try:
            with guarded("writing the ledger of groups"):
                found = self._published(group, batch) if known else self._read(group)
                doubts = self._repository.group_ledger_doubts()
        except GitopsBgError as error:
            if isinstance(error, InternalError):
                log_bug(error)
            wait = timedelta(seconds=self._backoff.failed("ledger"))
            LOGGER.warning("the ledger of groups cannot be written: %s; again in %.1f s", error, wait.total_seconds())
            self._work_at([group], self._clock() + wait)
            return
        self._backoff.succeeded("ledger")
        self._take(found, batch if known else {}, doubts)

    def _published(self, group: GroupKey, batch: dict[GroupKey, GroupLedgerBatch]) -> dict[GroupKey, GroupDocument]:
        """Publish all that waits; where that hits a bug, this group alone: no other one waits for it."""
        try:
            with guarded("writing the ledger of groups"):
                return self._repository.publish_groups(batch)
        except InternalError:
            if batch.keys() <= {group}:
                raise
            return self._repository.publish_groups({group: batch[group]}) if group in batch else {}

    def _read(self, group: GroupKey) -> dict[GroupKey, GroupDocument]:
        return {group: self._repository.group_document(group)}

    def _take(
        self,
        found: dict[GroupKey, GroupDocument],
        batch: dict[GroupKey, GroupLedgerBatch],
        doubts: Mapping[GroupKey, str],
    ) -> None:
        """Note how far the ledger got, and what of it is doubted; what was submitted meanwhile waits on."""
        with self._changed:
            before, self._doubts = self._doubts, doubts
            moved = {group for group in self._positions if before.get(group) != doubts.get(group)}
            for group, document in found.items():
                now = _position(document)
                if self._positions.get(group) != now:
                    moved.add(group)
                self._positions[group] = now
                self._stale.discard(group)
                if self._waiting.get(group) == batch.get(group):
                    self._waiting.pop(group, None)
            self._work_at(found.keys() & self._waiting.keys(), self._clock())
        for group in moved:
            self._tell(group)


def _position(document: GroupDocument) -> LedgerPosition:
    return LedgerPosition(document.position.epoch, document.position.sequence, document.active, document.legacy)
