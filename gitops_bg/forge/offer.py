"""What passes between an app, or a group, and the worker of its forge: what a finished look knows of the promotion
branch, to make the texts from, and what the app learns of its pull request, with the reviews that approve its digest.

Plain data. It has nothing secret: of ConfigMaps and Secrets only the lines in commits, which name keys and never
values.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.forecast import Proposal
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.journal import NO_LOOKS, AwaitsPoll, PollCount, PullRequest, PullState, PullView
from gitops_bg.core.model.version import AppKey, EntryKey, GroupKey, PullSubject, Source
from gitops_bg.forge.asking import NO_ASKS, Asks
from gitops_bg.forge.known import ForgeKnowledge, marker_in
from gitops_bg.forge.port import Review, ReviewVerdict, User


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
    address: str = ""
    """Where the version is reached while it is the candidate; empty: nowhere."""
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


@dataclass(frozen=True, slots=True)
class ReleaseSide:
    """One of the two releases."""

    name: str
    """Its tag and its name: 2.5.0 (r12)."""
    source: Source
    template: str
    """Canonical JSON of its pod template."""


@dataclass(frozen=True, slots=True)
class ReleaseAt:
    """What one cluster of an environment says of the release on its way."""

    environment: str
    cluster: str
    serves: str
    """The name of the release that serves there; empty where none does, or nobody can tell."""
    said: str
    """Since when it serves, and for how long it is proven there."""


@dataclass(frozen=True, slots=True)
class EntryOffer:
    """What the branch offers that asks for a release in an environment. Its fields are as in `Offer`."""

    entry: EntryKey
    cluster: str
    id: str
    """``core.model.journal.offer_of_release``."""
    branch: str
    base: str
    head: str
    since: datetime
    """When the release was made: nobody refused it before."""
    to: ReleaseSide
    before: ReleaseSide | None = None
    """The release that is here."""
    gates: tuple[GateResult, ...] = ()
    refused: str = ""
    asked_by: str = ""
    """Who asks for it, where no agent does."""
    skipped: tuple[str, ...] = ()
    """The environments that have not proven it, and that it passes by as that person says."""
    where: tuple[ReleaseAt, ...] = ()
    """Where it serves on its way, in the order of the environments."""
    changes: tuple[str, ...] = ()
    """The differences of the releases, one line each."""
    result: tuple[str, ...] = ()
    """And of what they make in this environment, with its overlay."""
    merge: bool = False
    """The agent merges none: people are to let it in."""
    only_status: bool = False

    @property
    def subject(self) -> EntryKey:
        """Whose it is."""
        return self.entry


AnyOffer = Offer | GroupOffer | EntryOffer


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
    dashboard: str = ""
    """The address of the dashboard: statuses lead to the page of their app there. Empty: nowhere."""


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


@dataclass(frozen=True, slots=True)
class Approved:
    """An approval of a digest. ``user.id`` identifies the person: somebody else may take over a login."""

    user: User
    digest: str
    at: datetime
    commit: str
    """The head that they reviewed."""


@dataclass(frozen=True, slots=True)
class Void:
    """A review that does not count."""

    user: User
    why: str
    at: datetime
    objection: bool = False
    """Whether they ask for changes."""


@dataclass(frozen=True, slots=True)
class JudgedReviews:
    """All reviews of one pull request, judged for one digest."""

    counted: tuple[Approved, ...] = ()
    """One per person, oldest first."""
    void: tuple[Void, ...] = ()
    """In the order of the reviews."""


def approvals_of(
    reviews: Iterable[Review], digest: str, digest_at: Mapping[str, str], authors: Collection[str]
) -> JudgedReviews:
    """Judge the reviews for ``digest``.

    ``digest_at`` has for each reviewed commit the digest in its ``primary.yaml``. A commit that is not in it can no
    longer be read: its content is unknown, and a review of it does not count. ``authors`` are the ids of users who may
    not approve: who opened the pull request, and who wrote the change.

    It counts the last verdict of each person, on exactly the content that they saw. The forge's own judgement (`stale`,
    dismissed on push) is ignored: the same content on a newer main keeps its approvals, other content has none,
    whatever the commits are (forges.md §4).
    """
    last = sorted(_last(reviews), key=lambda review: review.at)
    judged = [(review, _why_not(review, digest, digest_at, authors)) for review in last]
    return JudgedReviews(
        tuple(Approved(review.user, digest, review.at, review.commit) for review, why in judged if not why),
        tuple(_void(review, why) for review, why in judged if why),
    )


def _void(review: Review, why: str) -> Void:
    return Void(review.user, why, review.at, objection=review.verdict is ReviewVerdict.CHANGES_REQUESTED)


def _last(reviews: Iterable[Review]) -> Iterable[Review]:
    """Return each person's newest review; of several at one moment, the last."""
    last: dict[str, Review] = {}
    for review in reviews:
        before = last.get(review.user.id)
        if before is None or review.at >= before.at:
            last[review.user.id] = review
    return last.values()


def _why_not(review: Review, digest: str, digest_at: Mapping[str, str], authors: Collection[str]) -> str:
    """Return why a review is no approval; empty where it is one."""
    user = review.user
    if review.verdict is ReviewVerdict.CHANGES_REQUESTED:
        return f"{user.login} asks for changes"
    if review.verdict is ReviewVerdict.WITHDRAWN:
        return f"the approval of {user.login} was withdrawn"
    if not user.id:
        return "the account that approved is gone"
    if user.bot:
        return f"{user.login} is a bot, and approvals are people's"
    if user.id in authors:
        return f"{user.login} is an author, and approves nothing of their own"
    return _other_content(review, digest, digest_at.get(review.commit))


def _other_content(review: Review, digest: str, seen: str | None) -> str:
    if seen is None:
        return f"nobody can tell what {review.user.login} approved: commit {review.commit[:10] or '(unknown)'} is gone"
    if seen != digest:
        return f"{review.user.login} approved other content, before the offer changed"
    return ""


NOTHING = PullView()
_EXACT = 5
_ROUNDED = (1000, 500, 200, 100, 50, 20, 10)


def views(
    all_desired: Mapping[PullSubject, DesiredPull],
    known: ForgeKnowledge,
    queued: Mapping[PullSubject, int],
    troubles: Mapping[str, str],
    most: int,
) -> Iterator[tuple[PullSubject, PullView]]:
    """Yield the view of each app of which something is known; other apps keep theirs. ``troubles``: by branch."""
    for app, desired in all_desired.items():
        branch = known.branch_of(app)
        trouble = troubles.get(branch, troubles.get("", "")) if desired.needs_the_forge else ""
        if known.listed_once and _is_asked(known, branch, desired):
            place = queue_place(queued[app], most) if app in queued else ""
            yield app, PullView(_pull(known, branch), place, trouble)
        elif trouble:
            yield app, PullView(None, "", trouble)


def _is_asked(known: ForgeKnowledge, branch: str, desired: DesiredPull) -> bool:
    return branch in known.asked or (desired.offer is None and not desired.declined)


def _pull(known: ForgeKnowledge, branch: str) -> PullRequest | None:
    opened = known.open.get(branch)
    if opened is not None:
        marker = marker_in(opened.body)
        offer = marker.offer if marker else ""
        return PullRequest(
            opened.number, opened.url, PullState.OPEN, offer, seen_at=AwaitsPoll(), draft=opened.is_draft
        )
    ended = known.ended.get(branch)
    if ended is None or ended.pull.state is not PullState.CLOSED or not known.is_no(branch, ended.offer):
        return None
    pull, by = ended.pull, ended.pull.closed_by
    return PullRequest(pull.number, pull.url, PullState.CLOSED, ended.offer, by.login if by else "", ended.seen_at)


def queue_place(place: int, most: int) -> str:
    """Return its place in the queue: exact near the head, else rounded, so that not every merge changes every text.

    >>> queue_place(2, 50)
    'place 2 in the queue: 50 pull requests are open already (forge.maxOpenPullRequests); its branch can be merged'
    >>> queue_place(173, 50)[:28]
    'more than 100 are before it '
    """
    rough = next((each for each in _ROUNDED if place > each), _EXACT)
    where = f"place {place} in the queue" if place <= _EXACT else f"more than {rough} are before it in the queue"
    return f"{where}: {most} pull requests are open already (forge.maxOpenPullRequests); its branch can be merged"
