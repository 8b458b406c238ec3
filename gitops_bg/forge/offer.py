"""What a finished look at an app knows of what its promotion branch offers: plain data, from which the texts are made.

Nothing secret is in it: of ConfigMaps and Secrets the lines that commits have, which name keys and never values.
"""

from dataclasses import dataclass
from datetime import datetime

from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.looks import NO_LOOKS, Looks
from gitops_bg.core.model.version import AppKey, Source


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two versions."""

    number: int
    digest: str
    source: Source
    template: str = ""
    """Canonical JSON of its pod template; empty where nobody has it any more."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What the branch offers, and how it stands. Times are UTC."""

    app: AppKey
    cluster: str
    id: str
    """``core.model.pulls.offer_of``."""
    branch: str
    base: str
    head: str
    """The commit of the branch."""
    since: datetime
    """Since when it is on its way: the oldest is served first."""
    to: Side
    before: Side | None = None
    """What serves now."""
    goes_back: bool = False
    """Live traffic is there already, or on its way: main is to follow."""
    gates: tuple[GateResult, ...] = ()
    refused: str = ""
    """Why it is not to be merged: a hold, or a rollout that failed; empty where nothing speaks against it."""
    bad_before: str = ""
    """Why it was on hold before, where that was lifted and not disproven since."""
    merge: bool = False
    """The agent is to merge it once nothing is in the way."""
    configuration: tuple[str, ...] = ()
    """What differs in ConfigMaps and Secrets, a line each."""


@dataclass(frozen=True, slots=True)
class PullSettings:
    """What the repository's settings want every pull request to have."""

    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    comment: bool = False
    """Whether it is to have one comment, edited, for those who want a notification."""
    max_open: int = 50
    """How many may be open at a time; the rest stays a branch."""


@dataclass(frozen=True, slots=True)
class DesiredPull:
    """What one app wants of the forge, from its last finished look. Never said of an app that was not looked at."""

    offer: Offer | None = None
    """None: nothing is to be offered."""
    declined: bool = False
    """Somebody closed it, and it is on hold for that: its pull request stays as it is."""
    looks: Looks = NO_LOOKS
    """Which look at main it comes from."""
    settled: bool = True
    """Whether Git's branch is as decided: while it is about to be pushed or deleted, nothing is concluded."""
