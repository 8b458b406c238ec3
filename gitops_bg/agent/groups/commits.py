"""Tells Git that a group went back by itself: one commit of group.yaml, by a thread of its own.

Traffic never waits for Git. What main says by now wins: where it names another version than the one that failed,
somebody has decided, and nothing is committed. Where main takes no commit from the agent, it is on the branch of the
group, for people to merge; a branch that main has is deleted, whoever asked for it. What somebody else has put on the
branch stays there: only the head that the agent itself pushed is replaced or withdrawn.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.agent.runtime.backoff import Backoff
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.agent.runtime.due_thread import DueThread
from gitops_bg.core.errors import GitopsBgError, InternalError, InvalidInput, Refused, guarded
from gitops_bg.core.groups.decision import CommitActive
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import BranchMoved, PushRefused
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.edits import EditOrNew
from gitops_bg.spec.groups.content import active_in
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder
from gitops_bg.spec.yaml.edit import set_field

LOGGER = logging.getLogger(__name__)

REFUSALS = (Refused, InvalidInput)
"""Errors that somebody has to mend: they are shown with the group."""


@dataclass(frozen=True, slots=True)
class CommitTrouble:
    """Why main does not take a commit."""

    reason: str = ""
    """Empty where nothing is in its way."""
    branch: str = ""
    """The branch that has the commit; empty where none has."""


_WAIT = timedelta(seconds=1)
"""How soon it asks again whether this agent leads."""
_UNTIL_READ = timedelta(minutes=1)
"""How soon it writes again where the group still wants it: main was broken, or names what failed again."""


_NONE = CommitTrouble()


@dataclass(frozen=True, slots=True)
class CommitWiring:
    """Who is asked, and who is told."""

    metrics: Metrics
    pushed: Callable[[], None]
    """Told of each commit."""
    changed: Callable[[GroupKey], None]
    """Told of each group whose trouble changed."""
    may_write: Callable[[], bool]
    """Whether this agent leads, and main counts."""


class GroupCommits(DueThread[GroupKey]):
    """``clock`` gives UTC."""

    def __init__(
        self,
        repository: Repository,
        wiring: CommitWiring,
        *,
        clock: Callable[[], datetime],
        backoff: Backoff[GroupKey],
        crashed: Callable[[BaseException], None],
    ) -> None:
        super().__init__("group-commits", crashed, clock)
        self._repository = repository
        self._wiring, self._metrics = wiring, wiring.metrics
        self._backoff = backoff
        self._own: dict[GroupKey, str] = {}
        """The heads that the agent itself has put on branches: no other is replaced, nor deleted before main has it."""
        self._wanted: dict[GroupKey, CommitActive] = {}
        """What main is to say, also once it does: until the group does not want it any more."""
        self._troubles: dict[GroupKey, CommitTrouble] = {}

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

    def main_was_read(self, groups: Collection[GroupKey]) -> None:
        """Forget what main was to say of groups that it does not have any more, and look whether it has branches."""
        with self._changed:
            for group in [each for each in self._wanted if each not in groups]:
                self.submit(group, None)
            self._work_at([each for each in groups if each not in self._wanted], self._clock())

    def trouble(self, group: GroupKey) -> CommitTrouble:
        """Why main does not take the commit of a group."""
        with self._changed:
            return self._troubles.get(group, _NONE)

    def _work(self, group: GroupKey) -> None:
        with self._changed:
            commit = self._wanted.get(group)
        if commit is not None:
            self._write(group, commit)
        elif self._wiring.may_write():
            self._withdraw(group)

    def _withdraw(self, group: GroupKey) -> None:
        """Delete what the agent itself has put on the branch of a group, or else a branch that main has."""
        own = self._own.get(group)
        if own is not None and self._deleted(group, own):
            del self._own[group]
        self._tidy(group)

    def _tidy(self, group: GroupKey) -> None:
        """Delete the branch of a group where main says the same."""
        self._deleted(group, None)

    def _deleted(self, group: GroupKey, seen: str | None) -> bool:
        """Delete the branch of a group at this head, or, None, where main says the same; return whether nothing was in
        the way.
        """
        try:
            with guarded(f"deleting the branch of {group}"):
                if seen is None:
                    self._repository.withdraw_merged(group)
                else:
                    self._repository.withdraw({group: seen})
        except BranchMoved as error:
            LOGGER.debug("%s: its branch stays: %s", group, error)
        except GitopsBgError as error:
            if isinstance(error, InternalError):
                log_bug(error)
            LOGGER.warning("%s: its branch cannot be deleted: %s", group, error)
            return False
        return True

    def _write(self, group: GroupKey, commit: CommitActive) -> None:
        if not self._wiring.may_write():
            self._again(group, commit, _WAIT, self.trouble(group))
            return
        path = f"{group_folder(group)}/{GROUP_FILE}"
        edit = partial(_naming, commit, path)
        message = f"{group.name}: roll back to {commit.version}\n\n{commit.named} was left: {commit.reason}\n"
        began = self._clock()
        try:
            with guarded(f"committing that {group} went back"):
                edited = self._repository.commit_files({path: edit}, message)
        except GitopsBgError as error:
            if isinstance(error, InternalError):
                log_bug(error)
            self._metrics.push_failed("main", error.reason)
            wait = timedelta(seconds=self._backoff.failed(group))
            LOGGER.warning("%s: %s; again in %.1f s", group, error, wait.total_seconds())
            is_shown = isinstance(error, REFUSALS)
            trouble = CommitTrouble(str(error)) if is_shown else _NONE
            if isinstance(error, PushRefused):
                trouble = self._offered(group, {path: edit}, message, trouble)
            self._again(group, commit, wait, trouble)
            return
        self._backoff.succeeded(group)
        if edited.changed:
            self._count("main", began)
            LOGGER.info("%s: commit %s names %s", group, edited.commit, commit.version)
        self._again(group, commit, _UNTIL_READ, _NONE)
        self._tidy(group)
        self._wiring.pushed()

    def _offered(
        self, group: GroupKey, edits: Mapping[str, EditOrNew], message: str, trouble: CommitTrouble
    ) -> CommitTrouble:
        """Put what main refuses on the branch of the group, unless somebody else's wish is there; return the trouble
        with its name, or with what is in its way, too.
        """
        name, began = promotion_branch(group), self._clock()
        try:
            with guarded(f"offering that {group} went back"):
                head = self._repository.group_branch_head(group)
                seen = head if head == self._own.get(group) else ""
                edited = self._repository.offer_group(group, edits, message, seen=seen)
                if edited.changed or self._says(edited.commit, message):
                    self._own[group] = edited.commit
        except BranchMoved as error:
            self._metrics.push_failed("offer", error.reason)
            reason = f"{trouble.reason}; and {name} has what somebody else asked for: merge it, or delete it"
            return CommitTrouble(reason)
        except GitopsBgError as error:
            if isinstance(error, InternalError):
                log_bug(error)
            self._metrics.push_failed("offer", error.reason)
            LOGGER.warning("%s: %s", group, error)
            return trouble
        if edited.changed:
            self._count("offer", began)
            LOGGER.info("%s: %s has the commit that main refuses", group, name)
        return CommitTrouble(trouble.reason, name) if edited.paths else trouble

    def _count(self, kind: str, began: datetime) -> None:
        """Count a commit, as one of an app's."""
        self._metrics.git_wrote(kind, 1, (self._clock() - began).total_seconds())

    def _says(self, commit: str, message: str) -> bool:
        """Whether a commit is one that an agent made for this very way back, before it was started anew."""
        found = self._repository.commit_facts([commit]).get(commit)
        return found is not None and found.message.strip() == message.strip()

    def _again(self, group: GroupKey, commit: CommitActive, wait: timedelta, trouble: CommitTrouble) -> None:
        with self._changed:
            if self._wanted.get(group) != commit:
                return
            self._work_at([group], self._clock() + wait)
        self._set_trouble(group, trouble)

    def _set_trouble(self, group: GroupKey, trouble: CommitTrouble) -> None:
        with self._changed:
            before = self._troubles.pop(group, _NONE)
            if trouble != _NONE:
                self._troubles[group] = trouble
        if trouble != before:
            self._wiring.changed(group)


def _naming(commit: CommitActive, path: str, data: bytes) -> bytes:
    """Name the version that serves in group.yaml, unless it names another one than that which failed, or is broken."""
    return set_field(data, ("spec", "active"), commit.version, path) if active_in(data) == commit.named else data
