"""What a finished look at an app, or at a group, knows of its promotion branch: plain data, to make the texts from.

It has nothing secret: of ConfigMaps and Secrets only the lines in commits, which name keys and never values.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.groups.forecast import Proposal
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.journal import NO_LOOKS, PollCount
from gitops_bg.core.model.version import AppKey, GroupKey, Source
from gitops_bg.forge.asking import NO_ASKS, Asks


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two versions."""

    number: int
    digest: str
    source: Source
    template: str = ""
    """Canonical JSON of its pod template; empty where it no longer exists."""


class Content(StrEnum):
    """What the branch of an app holds."""

    OFFERED = "offered"
    """What an agent offers."""
    WAY_BACK = "wayBack"
    """A rollback that a person asks for: main takes no commit."""
    OTHER = "other"
    """Anything else: nobody can say more about it than that no agent offers it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What the branch offers, and its state. Times are UTC."""

    app: AppKey
    cluster: str
    id: str
    """``core.model.journal.offer_of``, and ``offer_of_branch`` for what no agent offers."""
    branch: str
    base: str
    head: str
    """The commit of the branch."""
    since: datetime
    """Since when the version is in progress: the oldest comes first."""
    to: Side
    before: Side | None = None
    """The active version."""
    goes_back: bool = False
    """Whether live traffic is there already, or moving there: main must follow."""
    gates: tuple[GateResult, ...] = ()
    refused: str = ""
    """Why it must not be merged: a hold, or a failed rollout; empty where it may be."""
    bad_before: str = ""
    """Why it was on hold before, if that was lifted and the version has not proven itself since."""
    merge: bool = False
    """Whether the agent merges it once every gate is open."""
    configuration: tuple[str, ...] = ()
    """The differences of ConfigMaps and Secrets, one line each."""
    only_status: bool = False
    """Whether this cluster opens nothing for it: its word is in its status, and in a text that it wrote already."""
    content: Content = Content.OFFERED
    asked_by: str = ""
    """Who asks for it, and why, where a person does and the branch's commit says so."""
    reason: str = ""

    @property
    def subject(self) -> AppKey:
        """Whose it is."""
        return self.app


@dataclass(frozen=True, slots=True)
class GroupOffer:
    """What the branch of a group offers. Its fields are as in `Offer`."""

    group: GroupKey
    cluster: str
    id: str
    """The folder of the group as the branch has it."""
    branch: str
    base: str
    head: str
    since: datetime
    asks: Proposal
    merge: bool = False
    """The agent merges none: whoever asks for it over HTTP asks people."""
    only_status: bool = False
    """No cluster says no to it."""

    @property
    def subject(self) -> GroupKey:
        """Whose it is."""
        return self.group


AnyOffer = Offer | GroupOffer


def context_of(cluster: str) -> str:
    """Return the name of the status: each cluster has its own."""
    return f"gitops-bg/{cluster}"


@dataclass(frozen=True, slots=True)
class PullSettings:
    """The repository's settings for every pull request."""

    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    comment: bool = False
    """Whether it gets one comment, kept up to date, for people who want a notification."""
    max_open: int = 50
    """How many may be open at a time; the others stay branches."""


@dataclass(frozen=True, slots=True)
class DesiredPull:
    """What one app or group wants of the forge, from its last finished look. It does not exist without a look."""

    offer: AnyOffer | None = None
    """None: no pull request is wanted."""
    declined: bool = False
    """Somebody closed it, and the version is on hold for that: its pull request stays as it is."""
    looks: PollCount = NO_LOOKS
    """The look at main that it comes from."""
    asks: Asks = NO_ASKS
    """What it asks about people."""
    settled: bool = True
    """Whether Git's branch is as decided: nothing is concluded while it waits to be pushed or deleted."""

    @property
    def needs_the_forge(self) -> bool:
        """Whether users must learn that the forge cannot be reached."""
        return self.offer is not None or self.asks.reviews or bool(self.asks.promotion)
