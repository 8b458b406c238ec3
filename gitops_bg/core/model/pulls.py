"""The pull request of a promotion branch, as the core knows it: plain data from a forge, which decorates what Git says.

A merge is none of it: that is known by what main's ``primary.yaml`` names (decision 32).
"""

from dataclasses import dataclass
from enum import StrEnum

from gitops_bg.core.model.looks import Awaited
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import Version


class PullState(StrEnum):
    """Where a pull request stands."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """Closed without a merge."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The last one of an app's promotion branch."""

    number: int
    url: str = ""
    state: PullState = PullState.OPEN
    offer: str = ""
    """What it offers (`offer_of`), as its text says; empty where it does not say, or was withdrawn by the agent."""
    closed_by: str = ""
    """Who closed it without a merge; empty where nobody did, or the forge does not say."""
    seen_at: Awaited | None = None
    """The last look at main that had begun when the forge said so. None: it was so once, and nobody has asked since."""


@dataclass(frozen=True, slots=True)
class PullView:
    """What a forge shows of one app."""

    pull: PullRequest | None = None
    queued: str = ""
    """Why there is none yet, though nothing is wrong: others are before it; else empty."""
    trouble: str = ""
    """Why the forge cannot be told or asked, and who must do what; empty where it can."""


def offer_of(version: Version, spec: AppSpec) -> str:
    """What tells one offer of a version from a later one of the same: what brought it to main, and its last retry.

    All of it is from main, so every cluster that follows it says the same. A closing of one offer is no answer to
    another.
    """
    retry = spec.retry.number if spec.retry and spec.retry.digest == version.digest else 0
    return f"{version.digest}@{version.source.commit or '-'}#{retry}"
