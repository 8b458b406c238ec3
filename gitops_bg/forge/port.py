"""What the agent asks of a forge, in our words; each adapter turns it into one forge's REST API (forges.md §3, §4).

Every call may raise the errors of `forge.errors`, and no others; none waits longer than its timeout, none repeats a
write. Whoever calls decides on the pace: an adapter holds nothing back.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class PullState(StrEnum):
    """Where a pull request stands."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """Closed without a merge: somebody said no."""


class CheckState(StrEnum):
    """What a commit status says."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


class Verdict(StrEnum):
    """What a review says."""

    APPROVED = "approved"
    CHANGES_REQUESTED = "changesRequested"
    WITHDRAWN = "withdrawn"
    """Dismissed, or taken back."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody of the forge. ``id`` is stable; a login may be taken over by somebody else."""

    id: str
    login: str
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request (GitLab: merge request) as the forge has it."""

    number: int
    branch: str
    """Its head branch, without the owner."""
    head: str
    """The commit of the head that the forge knows."""
    base: str
    state: PullState
    title: str
    body: str
    url: str
    author: User
    updated_at: datetime
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    """Logins (and teams, as ``team:NAME``) that were asked, as far as the list says."""
    assignees: tuple[str, ...] = ()
    closed_by: User | None = None
    """Who closed it without a merge, where the forge says; asked for one by one (`Forge.pull`)."""
    merged_by: User | None = None
    merge_commit: str = ""
    """The commit of the base by which it got there; empty where it is not merged or the forge does not say."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A pull request as it should be."""

    branch: str
    base: str
    title: str
    body: str
    labels: tuple[str, ...] = ()
    """Labels of ours: others that people put on it stay."""
    reviewers: tuple[str, ...] = ()
    """Logins; ``team:NAME`` is a team of the owner. Who was asked by others stays asked."""
    assignees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckStatus:
    """One commit status. ``description`` is cut by the adapter to what its forge takes."""

    commit: str
    context: str
    state: CheckState
    description: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """The last word of one person on one pull request."""

    user: User
    verdict: Verdict
    at: datetime
    commit: str
    """The head that was looked at; where the forge does not say it, the newest one at that time."""
    stale: bool = False
    """The forge itself says that the head has moved on since."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What largest texts the forge takes, in characters."""

    body: int
    description: int


class Forge(Protocol):
    """One repository on one forge."""

    limits: Limits

    def open_pulls(self, prefix: str) -> tuple[Pull, ...]:
        """All open ones whose head branch begins so, of this repository (no forks): every page of them."""

    def closed_pulls(self, prefix: str, since: datetime) -> tuple[Pull, ...]:
        """Those closed or merged that were updated since then, newest first."""

    def pull(self, number: int) -> Pull:
        """One, with who merged or closed it."""

    def open(self, draft: Draft) -> Pull:
        """Open one; where the branch has an open one already (409, 422), that one, edited to the draft.

        Where the create itself got no clear answer (502, time over), it is looked for before anything is raised.
        """

    def edit(self, pull: Pull, draft: Draft) -> None:
        """Title, body, labels, reviewers, assignees, as far as they differ: no request where nothing does."""

    def close(self, pull: Pull) -> None:
        """Close it without a merge; one that is not open any more is no error."""

    def report(self, status: CheckStatus) -> None:
        """Write a commit status; one that is there already is no error."""

    def reported(self, commit: str, context: str) -> CheckStatus | None:
        """The newest status of a context on a commit, with its description as the forge has it; None where none is."""

    def comment(self, pull: Pull, marker: str, body: str) -> None:
        """The one comment that holds ``marker``: edited where it differs, or made."""

    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        """The last word of each person; one who only commented has none."""

    def merged(self, commit: str) -> Pull | None:
        """The pull request by which a commit of main got there."""

    def merge(self, pull: Pull, head: str) -> None:
        """Merge it if its head is still ``head``, by a method that the repository allows (a merge commit, if it may).

        Raises `HeadMoved` where the head is another, `MergeRefused` with the forge's words where it may not be merged.
        """
