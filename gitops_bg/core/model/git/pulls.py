"""The pull request of a promotion branch, as the core knows it: plain data from a forge, which decorates what Git says.

It does not tell a merge: main's ``primary.yaml`` does (decision 31).
"""

from dataclasses import dataclass
from enum import StrEnum

from gitops_bg.core.model.git.journal import AwaitsPoll
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import Version


class PullState(StrEnum):
    """The state of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """Closed without a merge."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The last pull request of an app's promotion branch."""

    number: int
    url: str = ""
    state: PullState = PullState.OPEN
    offer: str = ""
    """The offer that its text states (`offer_of`); empty where it states none, or the agent withdrew it."""
    closed_by: str = ""
    """The person who closed it without a merge; empty where nobody did, or the forge does not say."""
    seen_at: AwaitsPoll | None = None
    """The last look at main that had begun when the forge reported it. None: an old report, not asked again since."""
    draft: bool = False
    """Whether people marked it as a draft, so that nobody merges it; not known from an old report."""


@dataclass(frozen=True, slots=True)
class Merge:
    """By which pull request a commit of main got there, and by whom. People are named as policies name them."""

    commit: str
    number: int = 0
    """0: by none that the forge knows."""
    url: str = ""
    by: str = ""
    """Who merged it; empty where the forge does not say."""
    approved_by: tuple[str, ...] = ()
    """Whose approvals of this very content stand, the oldest first."""


@dataclass(frozen=True, slots=True)
class PullView:
    """What a forge shows of one app."""

    pull: PullRequest | None = None
    queued: str = ""
    """Why the pull request does not exist yet although nothing is wrong: others come first. Empty otherwise."""
    trouble: str = ""
    """Why the forge cannot be read or written, and who must do what; empty where it can."""


def offer_of(version: Version, spec: AppSpec) -> str:
    """The id of an offer: it tells two offers of the same version apart by what brought it to main, and by its last
    retry.

    All parts are from main, so every cluster that follows it computes the same id. Closing one offer does not answer
    another.
    """
    retry = spec.retry.number if spec.retry and spec.retry.digest == version.digest else 0
    return f"{version.digest}@{version.source.commit or '-'}#{retry}"


def offer_of_branch(digest: str, commit: str) -> str:
    """The id of what a branch holds without an offer of the agent: closing it answers that commit, and no offer.

    Every cluster reads the same branch, and computes the same id.
    """
    return f"{digest}@{commit}#branch"
