"""The forge as a person with an account there: opens, merges and approves pull requests by their own token, so that the
forge's protection and its audit hold for them. Their token is in memory alone, and in no text that is made here.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import CommandFailed, GitopsBgError, Refused, WorldChanged
from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.port import Pull, PullRequestDraft, StillChecking, TokenRefused

_CHECKS = 40
_BETWEEN_CHECKS_SECONDS = 0.25
"""A forge takes a moment to find out whether what is new can be merged."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MergedPull:
    """A pull request that was merged."""

    url: str
    commit: str
    """The commit of main that has it; empty where the forge does not say."""


class PersonalForge:
    """One person's forge. ``connect`` makes a connection with their token, for one thread; ``base`` is the branch that
    pull requests are for.
    """

    def __init__(self, connect: Callable[[], RestForge], base: str) -> None:
        self._connect = connect
        self._base = base
        self._never = threading.Event()

    def why_unusable(self) -> str:
        """Return why nobody's token gets there, whoever they are; empty where it does. May ask the server which forge
        it is.
        """
        try:
            with self._connected():
                return ""
        except GitopsBgError as error:
            return str(error)

    def merge(self, branch: str, head: str, title: str, body: str) -> MergedPull:
        """Merge a branch whose head is ``head``; open its pull request where there is none. Raises `MergeRefused` with
        the words of the forge, and its other errors, where it is not merged as far as anybody knows.
        """
        with self._connected() as forge:
            pull = self._pull_of(forge, branch) or forge.open(PullRequestDraft(branch, self._base, title, body))
            try:
                self._patiently(lambda: forge.merge(pull, head))
            except GitopsBgError:
                done = self._read_again(forge, pull)
                if done.state is not PullState.MERGED or done.head != head:
                    raise
            else:
                done = self._read_again(forge, pull)
            return MergedPull(done.url, done.merge_commit)

    @staticmethod
    def _read_again(forge: RestForge, pull: Pull) -> Pull:
        """Return a pull request as it is now; as it was where nobody can tell: it only names what was done."""
        try:
            return forge.pull(pull.number)
        except GitopsBgError:
            return pull

    def open_pull(self, branch: str) -> str:
        """Return the address of the open pull request of a branch; empty where there is none."""
        with self._connected() as forge:
            pull = self._pull_of(forge, branch)
            return pull.url if pull is not None else ""

    def approve(self, branch: str, head: str) -> str:
        """Approve the pull request of a branch at ``head``; return its address. Raises `CommandFailed` where none is
        open, `WorldChanged` where it has another head.
        """
        with self._connected() as forge:
            pull = self._demand(forge, branch)
            if pull.head != head:
                raise WorldChanged(f"{branch} has another commit than {head[:10]} by now; look at it again")
            forge.approve(pull, head)
            return pull.url

    def withdraw_approval(self, branch: str) -> str:
        """Take the person's own approval back; return the address. Raises `CommandFailed` where there is none."""
        with self._connected() as forge:
            pull = self._demand(forge, branch)
            if not forge.withdraw_approval(pull):
                raise CommandFailed(f"you have not approved pull request {pull.number}")
            return pull.url

    def _demand(self, forge: RestForge, branch: str) -> Pull:
        pull = self._pull_of(forge, branch)
        if pull is None:
            raise CommandFailed(f"{branch} has no open pull request that could be approved")
        return pull

    def _pull_of(self, forge: RestForge, branch: str) -> Pull | None:
        fitting = (each for each in forge.open_pulls(branch) if (each.branch, each.base) == (branch, self._base))
        return next(fitting, None)

    def _patiently(self, act: Callable[[], T]) -> T:
        for _ in range(_CHECKS):
            try:
                return act()
            except StillChecking:
                self._never.wait(_BETWEEN_CHECKS_SECONDS)
        return act()

    @contextmanager
    def _connected(self) -> Iterator[RestForge]:
        forge = self._connect()
        try:
            yield forge
        except TokenRefused as error:
            message = "the forge does not take the token of your login any more: log out, and log in again"
            raise Refused(message) from error
        finally:
            forge.close_connections()
