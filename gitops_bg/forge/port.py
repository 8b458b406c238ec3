"""What the agent asks of a forge, in our terms, and the errors of that; each adapter translates it to one forge's REST
API (forges.md §3, §4).

Every call may raise the errors of this module, and no others; none waits longer than its timeout, none repeats a write.
The caller controls the pace: an adapter delays nothing.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused, Transient, WorldChanged
from gitops_bg.core.model.journal import PullState

# --- errors, each with who must do what ---
# The agent distinguishes them by `Refused` and `Transient` (`core.errors`): it repeats refused requests slowly, passing
# errors with backoff, and `RateLimited` not before its ``until``. None of them stops a promotion: Git carries it
# (decision 31).


class TokenRefused(Refused):
    """401: the token is wrong, has expired or was revoked."""

    reason = "ForgeTokenRefused"

    def __init__(self, place: str, words: str = "") -> None:
        super().__init__(
            f"{place} refused the token{_detail(words)}. Put a valid one into the token file (of a GitHub App: check "
            "its id and key); the file is read again with the next request"
        )


class NoRight(Refused):
    """403: the token is valid, but lacks a right."""

    reason = "ForgeNoRight"

    def __init__(self, place: str, doing: str, words: str = "") -> None:
        super().__init__(
            f"{place}: the token may not {doing}{_detail(words)}. "
            "Give its user the right; docs/features/pull-requests.md lists what each forge needs"
        )


class NotOnForge(Refused):
    """404: no such repository or pull request, or (forges answer the same then) no right to see it."""

    reason = "ForgeNotFound"

    def __init__(self, place: str, doing: str, words: str = "") -> None:
        super().__init__(
            f"{place}: not found, while trying to {doing}{_detail(words)}. "
            "Check the repository in forge.url, and that the token's user may see it"
        )


class NotAccepted(Refused):
    """400, 409, 422 and similar: the forge understood the request and refuses it."""

    reason = "ForgeNotAccepted"

    def __init__(self, place: str, doing: str, words: str) -> None:
        super().__init__(f"{place} did not {doing}{_detail(words)}")


class MergeRefused(Refused):
    """It must not be merged now: protection, checks, approvals, a merge queue. ``words`` is the forge's message."""

    reason = "ForgeMergeRefused"

    def __init__(self, place: str, number: int, words: str) -> None:
        super().__init__(f"{place} does not merge pull request {number}{_detail(words)}")
        self.words = words


class HeadMoved(WorldChanged):
    """The pull request changed before the merge: it has another head, or another base."""

    reason = "ForgeHeadMoved"

    def __init__(self, place: str, number: int, head: str, words: str = "") -> None:
        super().__init__(
            f"{place}: pull request {number} moved on from {head[:10]}{_detail(words)}. It is looked at again, at once"
        )


class StillChecking(Transient):
    """The forge does not know yet whether it can be merged, because head or base is new."""

    reason = "ForgeStillChecking"

    def __init__(self, place: str, number: int) -> None:
        super().__init__(f"{place} is still checking whether pull request {number} can be merged; it is asked again")


class RateLimited(Transient):
    """403 or 429 because of a limit. Nothing is requested before ``until``, which is always a time."""

    reason = "ForgeRateLimited"

    def __init__(self, place: str, until: datetime, retry_after: float) -> None:
        super().__init__(
            f"{place} limits our requests; the next one goes out at {until:%Y-%m-%d %H:%M:%S} UTC. Promotions go on",
            retry_after,
        )
        self.until = until


class ForgeDown(Transient):
    """No connection, no answer in time, or 5xx. It is unknown whether a write succeeded."""

    reason = "ForgeDown"


class Nonsense(Transient):
    """An answer that forges do not give: a page of a proxy, or an undocumented shape."""

    reason = "ForgeNonsense"

    def __init__(self, place: str, what: str) -> None:
        super().__init__(f"{place} answered what makes no sense: {what}. Check forge.url, and what stands in between")


def _detail(words: str) -> str:
    return f": {words}" if words else ""


# --- what is asked ---

Prefix = str | tuple[str, ...]
"""How the names of branches begin: as ``str.startswith`` takes it."""


class CheckState(StrEnum):
    """The state of a commit status."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


class ReviewVerdict(StrEnum):
    """The verdict of a review."""

    APPROVED = "approved"
    CHANGES_REQUESTED = "changesRequested"
    WITHDRAWN = "withdrawn"
    """Dismissed, or taken back."""


@dataclass(frozen=True, slots=True)
class User:
    """A user of the forge. ``id`` is stable; somebody else may take over a login."""

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
    """Logins (and teams, as ``team:NAME``) that were asked, as far as the list has them."""
    assignees: tuple[str, ...] = ()
    closed_by: User | None = None
    """Who closed it without a merge, if the forge says; only for single reads (`Forge.pull`)."""
    merged_by: User | None = None
    merge_commit: str = ""
    """The commit in the base that merged it; empty if it is not merged or the forge does not say."""
    draft: bool = False
    """Whether the forge itself calls it a draft."""

    @property
    def is_draft(self) -> bool:
        """Whether people marked it as a draft, in the forge's way or in the title: it is not to be merged."""
        return self.draft or _MARK.match(self.title) is not None

    def titled(self, title: str) -> str:
        """Return the title to write in place of the present one: what marks it as a draft stays before it.

        The mark is all that stands before a title of ours, which begins as ``title`` does; else what forges know.

        >>> marked = Pull(7, "", "", "", PullState.OPEN, "Draft: web: 1 → 2", "", "", User("", ""), datetime.min)
        >>> marked.titled("web: 1 → 3")
        'Draft: web: 1 → 3'
        """
        if not self.is_draft:
            return title
        subject, colon, _ = title.partition(": ")
        before, ours, _ = self.title.partition(subject + colon)
        known = _MARK.match(self.title)
        mark = before if ours else known[0] if known else ""
        return f"{mark}{title}"[:_LONGEST_TITLE]


_MARK = re.compile(r"\s*(?:(?:wip|draft):\s*|\[(?:wip|draft)\]\s*|\(draft\)\s*)+", re.IGNORECASE)
"""What Gitea, Forgejo and GitLab know as a mark, now or formerly. Where a forge does not, people still mean it."""
_LONGEST_TITLE = 255
"""What every forge takes."""


@dataclass(frozen=True, slots=True)
class PullRequestDraft:
    """A pull request in its desired state."""

    branch: str
    base: str
    title: str
    body: str
    labels: tuple[str, ...] = ()
    """Our labels: labels that people add stay."""
    reviewers: tuple[str, ...] = ()
    """Logins; ``team:NAME`` is a team of the owner. Reviewers whom others asked stay."""
    assignees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckStatus:
    """One commit status. The adapter cuts ``description`` to the limit of its forge."""

    commit: str
    context: str
    state: CheckState
    description: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """The last verdict of one person on one pull request."""

    user: User
    verdict: ReviewVerdict
    at: datetime
    commit: str
    """The head that was reviewed; if the forge does not say, the newest at that time."""
    stale: bool = False
    """Whether the forge itself says that the head has moved since."""


@dataclass(frozen=True, slots=True)
class ForgeLimits:
    """The forge's limits for texts, in characters."""

    body: int
    description: int


class Forge(Protocol):
    """One repository on one forge."""

    limits: ForgeLimits
    kind: str
    """Its key of ``forge:`` in ``policies/people.yaml``."""

    def open_pulls(self, prefix: Prefix) -> tuple[Pull, ...]:
        """Return all open ones with this prefix of the head branch, from this repository (no forks): every page of
        them.
        """

    def closed_pulls(self, prefix: Prefix, since: datetime) -> tuple[Pull, ...]:
        """Return the closed and merged ones that were updated since then, newest first."""

    def pull(self, number: int) -> Pull:
        """Return one, with who merged or closed it."""

    def open(self, draft: PullRequestDraft) -> Pull:
        """Open one; if the branch has an open one already (409, 422), edit that to the draft and return it.

        If the create itself got no clear answer (502, timeout), look for its result before raising.
        """

    def edit(self, pull: Pull, draft: PullRequestDraft) -> None:
        """Set title, body, labels, reviewers, assignees, as far as they differ: no request if nothing does.

        A mark that it is a draft stays in the title (`Pull.titled`).
        """

    def close(self, pull: Pull) -> None:
        """Close it without a merge; no error if it is not open any more."""

    def report(self, status: CheckStatus) -> None:
        """Write a commit status; no error if it exists already."""

    def reported(self, commit: str, context: str) -> CheckStatus | None:
        """Return the newest status of a context on a commit, with its description on the forge; None if
        there is none.
        """

    def comment(self, pull: Pull, marker: str, body: str) -> None:
        """Keep one comment that begins with ``marker``: edit it if it differs, or create it.

        The adapter writes the marker before ``body``: without it, no later call would find the comment.
        """

    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        """Return the last verdict of each person; none for those who only commented."""

    def merged(self, commit: str) -> Pull | None:
        """Return the pull request that merged a commit into main."""

    def merge(self, pull: Pull, head: str) -> None:
        """Merge it if its head is still ``head``, by a method that the repository allows (preferably a merge commit).

        Raises `HeadMoved` if the head differs, `MergeRefused` with the forge's message if it must not be merged.
        """
