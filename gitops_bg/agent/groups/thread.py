"""The thread that looks at groups: woken by main, by members, and by time. One for all: groups are few, and slow."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from gitops_bg.agent.groups.reconciler import GroupReconciler
from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.agent.runtime.due_thread import DueThread
from gitops_bg.core.errors import PASSING, GitopsBgError, InternalError, guarded
from gitops_bg.core.groups.record import MemberState
from gitops_bg.core.model.version import AppKey, GroupKey

LOGGER = logging.getLogger(__name__)

_EVERYWHERE = GroupKey("", "")
"""Stands for all groups of the cluster that nobody knows of yet."""


class GroupThread(DueThread[GroupKey]):
    """``wake`` queues apps for a look; ``may_write`` says whether this agent leads."""

    def __init__(
        self,
        reconciler: GroupReconciler,
        *,
        wake: Callable[[Iterable[AppKey]], None],
        may_write: Callable[[], bool],
        clock: Callable[[], datetime],
        backoff: Backoff[GroupKey],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("groups", crashed, clock)
        self._reconciler = reconciler
        self._wake = wake
        self._may_write = may_write
        self._backoff = backoff
        self._has_looked_everywhere = False

    def main_was_read(self) -> None:
        """Look at every group: main, or the leadership, may have changed."""
        first = () if self._has_looked_everywhere else (_EVERYWHERE,)
        self.look_at((*self._reconciler.groups(), *first))

    def app_changed(self, app: AppKey) -> None:
        """Look at the group of a member soon; nothing for any other app."""
        member = self._reconciler.member(app)
        if member is not None:
            self.look_at([member.group])

    def member_state(self, app: AppKey) -> MemberState | None:
        """Whether a member runs; None for an app that is none."""
        return self._reconciler.member_state(app)

    def look_at(self, groups: Iterable[GroupKey], moment: datetime | None = None) -> None:
        """Look at groups soon, or at a moment."""
        self._work_at(groups, moment or self._clock())

    def _look_everywhere(self) -> None:
        """Find the groups that main does not have, until they were found in a main that counts."""
        try:
            with guarded("looking for groups that main does not have"):
                left = self._reconciler.left_in_cluster()
            self._has_looked_everywhere = left is not None and self._reconciler.knows_main
            self.look_at(left or ())
        except GitopsBgError as error:
            LOGGER.warning("groups that main does not have cannot be found: %s", error)

    def _work(self, group: GroupKey) -> None:
        if not self._may_write():
            return
        if group == _EVERYWHERE:
            self._look_everywhere()
            return
        try:
            with guarded(f"a look at the group {group}"):
                result = self._reconciler.reconcile(group)
        except GitopsBgError as error:
            if isinstance(error, InternalError):
                log_bug(error)
            seconds = self._backoff.failed(group)
            log = LOGGER.debug if isinstance(error, PASSING) else LOGGER.warning
            log("%s: %s; again in %.1f s", group, error, seconds)
            self._work_at([group], self._clock() + timedelta(seconds=seconds))
            self._wake(self._reconciler.failed(group, error))
            return
        self._backoff.succeeded(group)
        self._wake(result.members)
        if result.again_at is not None:
            self._work_at([group], result.again_at)
