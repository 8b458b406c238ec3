"""The thread that looks at groups: woken by main, by members, and by time. One for all: groups are few, and slow."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from gitops_bg.agent.groups.reconciler import GroupReconciler
from gitops_bg.agent.runtime.background_thread import BackgroundThread
from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.groups.members import MemberState
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.model.version import AppKey

LOGGER = logging.getLogger(__name__)


class GroupThread(BackgroundThread):
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
        super().__init__("groups", crashed)
        self._reconciler = reconciler
        self._wake = wake
        self._may_write = may_write
        self._clock = clock
        self._backoff = backoff
        self._due: dict[GroupKey, datetime] = {}
        self._busy = False

    @property
    def idle(self) -> bool:
        """Whether no look is under way or due."""
        with self._changed:
            now = self._clock()
            return not self._busy and not any(moment <= now for moment in self._due.values())

    def main_was_read(self) -> None:
        """Look at every group: main, or the leadership, may have changed."""
        self.look_at(self._reconciler.groups())

    def app_changed(self, app: AppKey) -> None:
        """Look at the group of a member soon; nothing for any other app."""
        member = self._reconciler.member(app)
        if member is not None:
            self.look_at([member.group])

    def member_state(self, app: AppKey) -> MemberState | None:
        """Whether a member runs; None for an app that is none."""
        return self._reconciler.member_state(app)

    def look_at(self, groups: Iterable[GroupKey]) -> None:
        """Look at groups soon."""
        now = self._clock()
        with self._changed:
            self._due |= dict.fromkeys(groups, now)
            self._changed.notify_all()

    def _run(self) -> None:
        while (group := self._next()) is not None:
            self._reconcile(group)

    def _next(self) -> GroupKey | None:
        """Wait for a group that is due; None once the thread shall end."""
        with self._changed:
            self._busy = False
            while not self._stopping:
                group = min(self._due, key=lambda each: self._due[each], default=None)
                if group is not None and self._due[group] <= self._clock():
                    del self._due[group]
                    self._busy = True
                    return group
                left = (self._due[group] - self._clock()).total_seconds() if group is not None else None
                self._changed.wait(left)
            return None

    def _reconcile(self, group: GroupKey) -> None:
        if not self._may_write():
            return
        try:
            with guarded(f"a look at the group {group}"):
                result = self._reconciler.reconcile(group)
        except GitopsBgError as error:
            if isinstance(error, InternalError):
                log_bug(error)
            seconds = self._backoff.failed(group)
            LOGGER.warning("%s: %s; again in %.1f s", group, error, seconds)
            self._again(group, self._clock() + timedelta(seconds=seconds))
            self._wake(self._reconciler.failed(group, error))
            return
        self._backoff.succeeded(group)
        self._wake(result.members)
        if result.again_at is not None:
            self._again(group, result.again_at)

    def _again(self, group: GroupKey, moment: datetime) -> None:
        with self._changed:
            self._due[group] = min(moment, self._due.get(group, moment))
