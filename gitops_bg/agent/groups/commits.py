"""Tells Git that a group went back by itself: one commit of group.yaml, by a thread of its own.

Traffic never waits for Git. What main says by now wins: where it names another version than the one that failed,
somebody has decided, and nothing is committed.
"""

import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.agent.runtime.due_thread import DueThread
from gitops_bg.core.errors import GitopsBgError, InternalError, InvalidInput, Refused, guarded
from gitops_bg.core.groups.decision import CommitActive
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder
from gitops_bg.spec.yaml.edit import set_field
from gitops_bg.spec.yaml.reader import read_one

LOGGER = logging.getLogger(__name__)

REFUSALS = (Refused, InvalidInput)
"""Errors that somebody has to mend: they are shown with the group."""
_WAIT = timedelta(seconds=1)
"""How soon it asks again whether this agent leads."""
_UNTIL_READ = timedelta(minutes=1)
"""How soon it writes again where the group still wants it: main was broken, or names what failed again."""


class GroupCommits(DueThread[GroupKey]):
    """``pushed`` is told of each commit, ``changed`` of each group whose trouble changed; ``clock`` gives UTC."""

    def __init__(
        self,
        repository: Repository,
        *,
        pushed: Callable[[], None],
        changed: Callable[[GroupKey], None],
        may_write: Callable[[], bool],
        clock: Callable[[], datetime],
        backoff: Backoff[GroupKey],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("group-commits", crashed, clock)
        self._repository = repository
        self._pushed = pushed
        self._tell = changed
        self._may_write = may_write
        self._backoff = backoff
        self._wanted: dict[GroupKey, CommitActive] = {}
        """What main is to say, also once it does: until the group does not want it any more."""
        self._troubles: dict[GroupKey, str] = {}

    def submit(self, group: GroupKey, commit: CommitActive | None) -> None:
        """Take what main is to say of a group from now on; None: nothing. Returns at once; the same is no news."""
        with self._changed:
            if self._wanted.get(group) == commit:
                return
            self._due.pop(group, None)
            self._troubles.pop(group, None)
            self._wanted.pop(group, None)
            if commit is not None:
                self._wanted[group] = commit
                self._work_at([group], self._clock())

    def keep(self, groups: Collection[GroupKey]) -> None:
        """Forget what main was to say of groups that it does not have any more."""
        with self._changed:
            for group in [each for each in self._wanted if each not in groups]:
                self.submit(group, None)

    def trouble(self, group: GroupKey) -> str:
        """Why main does not take the commit of a group; empty where nothing is in its way."""
        with self._changed:
            return self._troubles.get(group, "")

    def _work(self, group: GroupKey) -> None:
        with self._changed:
            commit = self._wanted.get(group)
        if commit is not None:
            self._write(group, commit)

    def _write(self, group: GroupKey, commit: CommitActive) -> None:
        if not self._may_write():
            self._again(group, commit, _WAIT, self.trouble(group))
            return
        path = f"{group_folder(group)}/{GROUP_FILE}"
        message = f"{group.name}: roll back to {commit.version}\n\n{commit.named} was left: {commit.reason}\n"
        try:
            with guarded(f"committing that {group} went back"):
                edited = self._repository.commit_files({path: partial(_naming, commit, path)}, message)
        except GitopsBgError as error:
            if isinstance(error, InternalError):
                log_bug(error)
            wait = timedelta(seconds=self._backoff.failed(group))
            LOGGER.warning("%s: %s; again in %.1f s", group, error, wait.total_seconds())
            self._again(group, commit, wait, str(error) if isinstance(error, REFUSALS) else "")
            return
        self._backoff.succeeded(group)
        if edited.changed:
            LOGGER.info("%s: commit %s names %s", group, edited.commit, commit.version)
        self._again(group, commit, _UNTIL_READ, "")
        self._pushed()

    def _again(self, group: GroupKey, commit: CommitActive, wait: timedelta, trouble: str) -> None:
        with self._changed:
            if self._wanted.get(group) != commit:
                return
            self._work_at([group], self._clock() + wait)
        self._set_trouble(group, trouble)

    def _set_trouble(self, group: GroupKey, trouble: str) -> None:
        with self._changed:
            before = self._troubles.pop(group, "")
            if trouble:
                self._troubles[group] = trouble
        if trouble != before:
            self._tell(group)


def _naming(commit: CommitActive, path: str, data: bytes) -> bytes:
    """Name the version that serves in group.yaml, unless it names another one than that which failed, or is broken."""
    document, _ = read_one(path, data)
    spec: Any = document.value.get("spec") if document and isinstance(document.value, dict) else None
    names = spec.get("active") if isinstance(spec, dict) else None
    return set_field(data, ("spec", "active"), commit.version, path) if names == commit.named else data
