"""What a forge is asked about people, and its answers: reviews, and who merged commits into main. Chooses the next
question, and keeps the answers while a forge is down. No I/O; one thread uses it.

Nothing is judged here: only code with access to Git knows who is who and what a commit promotes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.version import PullSubject
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.known import ForgeKnowledge
from gitops_bg.forge.port import Pull, Review


@dataclass(frozen=True, slots=True)
class Asks:
    """What an app asks about people; nothing, unless a policy asks or a promotion was just carried out."""

    reviews: bool = False
    """Whether to read the reviews of the pull request of its promotion branch."""
    promotion: str = ""
    """The commit of main that promotes what traffic waits for: the reviews of its pull request count."""
    mergers: tuple[str, ...] = ()
    """Commits for which to ask who merged them."""
    merges: tuple[str, ...] = ()
    """Commits for which to ask who merged them, and for the reviews of their pull requests."""

    def __bool__(self) -> bool:
        return self.reviews or bool(self.commits)

    @property
    def commits(self) -> tuple[str, ...]:
        """All commits that it asks about."""
        return tuple(dict.fromkeys(filter(None, (self.promotion, *self.mergers, *self.merges))))


NO_ASKS = Asks()


@dataclass(frozen=True, slots=True)
class Merged:
    """How a commit got into main; without a pull request: by none that the forge knows."""

    pull: Pull | None = None
    reviews: tuple[Review, ...] | None = None
    """None: not read."""


@dataclass(frozen=True, slots=True)
class ForgeAnswer:
    """The forge's last answers about one app."""

    kind: str
    """The forge's key of ``forge:`` in people.yaml."""
    at: datetime
    """When it answered, or confirmed that nothing changed since."""
    pull: Pull | None = None
    """The pull request of these reviews; None where there is none."""
    reviews: tuple[Review, ...] | None = None
    """None: not read."""
    merged: Mapping[str, Merged] = field(default_factory=dict)
    """By commit, as far as they were answered."""
    ours: frozenset[str] = frozenset()
    """The ids of the accounts with which this process opened pull requests: the agent's own."""

    def says_the_same(self, other: "ForgeAnswer | None") -> bool:
        """Return whether both have the same answers about people, whenever given, whatever the pull request's text."""
        return other is not None and self._content() == other._content()

    def _content(self) -> tuple[object, ...]:
        pull = (self.pull.number, self.pull.head, self.pull.author) if self.pull else None
        return pull, self.reviews, self.merged, self.ours


AT_LEAST_EVERY = timedelta(minutes=10)
"""Reviews are read again after this time, whatever the list says: it may not show an approval of GitLab."""
SETTLES_AFTER = timedelta(seconds=5)
"""After this time, no later change of a pull request can have the ``updated_at`` with which its reviews were first
read: a second, and what a slow answer takes.
"""
LOOK_AGAIN = timedelta(minutes=1)
"""After this time, a commit without a pull request is asked about once more: forges connect the two with a
short delay.
"""


@dataclass(frozen=True, slots=True)
class ForgeQuestion:
    """One question."""

    app: PullSubject
    pull: Pull | None = None
    """The pull request whose reviews are asked for; None: who merged ``commit``."""
    commit: str = ""
    """The merged commit, if the reviews are those of its pull request, too."""
    urgent: bool = True
    """Whether a promotion may wait for the answer."""

    @property
    def key(self) -> str:
        """The key that identifies it among failures."""
        return f"{'REVIEWS' if self.pull else 'MERGED'} {promotion_branch(self.app)}"


@dataclass(frozen=True, slots=True)
class _Read:
    """The reviews of a pull request at the last reading."""

    pull: Pull
    reviews: tuple[Review, ...]
    at: datetime
    look: int
    """The number of the newest list at that time."""
    since: datetime
    """When they were first read with this ``updated_at``."""

    @property
    def is_settled(self) -> bool:
        """Whether a later review would have moved ``updated_at``."""
        return self.at - self.since >= SETTLES_AFTER

    def shows(self, pull: Pull) -> bool:
        """Return whether it was read at this state of this pull request."""
        return (self.pull.number, self.pull.updated_at) == (pull.number, pull.updated_at)


@dataclass(frozen=True, slots=True)
class _Answered:
    merged: Merged
    at: datetime
    final: bool


class Answers:
    """All questions and answers of one forge. ``kind`` as in `ForgeAnswer`.

    Reviews are read only if a policy asks for them and the pull request has changed: its ``updated_at`` moved. That has
    a resolution of a second, so a changed one is read again after each list until `SETTLES_AFTER` has passed.
    """

    def __init__(self, kind: str, known: ForgeKnowledge) -> None:
        self._kind = kind
        self._known = known
        self._asks: dict[PullSubject, Asks] = {}
        self._reads: dict[PullSubject, _Read] = {}
        self._merged: dict[str, _Answered] = {}
        self._ours: frozenset[str] = frozenset()
        self._look = self._forced = 0
        self.heard: Mapping[PullSubject, ForgeAnswer] = {}
        """By app; replaced as a whole, so that any thread may read it."""

    def set_asks(self, app: PullSubject, asks: Asks) -> None:
        """Set what an app asks from now on."""
        if asks:
            self._asks[app] = asks
            return
        if self._asks.pop(app, None):
            self._reads.pop(app, None)
            self.heard = {each: heard for each, heard in self.heard.items() if each != app}

    def __bool__(self) -> bool:
        return bool(self._asks)

    def listed(self, now: datetime) -> list[PullSubject]:
        """Note that the list of open pull requests was read. Return the apps with news."""
        self._look += 1
        wanted = {commit for asks in self._asks.values() for commit in asks.commits}
        self._merged = {commit: answered for commit, answered in self._merged.items() if commit in wanted}
        before, self.heard = self.heard, {app: self._answer_of(app, now) for app in self._asks}
        return [app for app, heard in self.heard.items() if not heard.says_the_same(before.get(app))]

    def poll_soon(self) -> None:
        """Note a possible change: where the list does not show it, read reviews after the next list."""
        if self._kind == "gitlab":
            self._forced = self._look + 1

    def opened(self, pull: Pull) -> None:
        """Note that the agent opened this one: its author is the agent's account."""
        self._ours |= {pull.author.id}

    def forget(self) -> None:
        """Forget the answers: they may be outdated when they are needed again."""
        self._asks, self._reads, self._merged, self.heard = {}, {}, {}, {}

    # --- questions ---------------------------------------------------------------------------------------------------

    def questions(self, now: datetime) -> Iterator[ForgeQuestion]:
        """Yield the due questions: first those that promotions wait for."""
        if not self._known.listed_once:
            return
        yield from (
            each for app in sorted(self._asks, key=promotion_branch) if (each := self._before_the_switch(app, now))
        )
        for app in sorted(self._asks, key=promotion_branch):
            yield from (each for commit in self._asks[app].merges if (each := self._of_merge(app, commit, now)))

    def _before_the_switch(self, app: PullSubject, now: datetime) -> ForgeQuestion | None:
        asks = self._asks[app]
        for commit in dict.fromkeys(filter(None, (asks.promotion, *asks.mergers))):
            if self._is_to_ask(commit, now):
                return ForgeQuestion(app, commit=commit)
        pull = self._pull(app) if asks.reviews else None
        return ForgeQuestion(app, pull) if pull and self._is_to_read(app, pull, now) else None

    def _of_merge(self, app: PullSubject, commit: str, now: datetime) -> ForgeQuestion | None:
        if self._is_to_ask(commit, now):
            return ForgeQuestion(app, commit=commit, urgent=False)
        merged = self._merged[commit].merged
        if merged.pull is not None and merged.reviews is None:
            return ForgeQuestion(app, merged.pull, commit, urgent=False)
        return None

    def _is_to_ask(self, commit: str, now: datetime) -> bool:
        answered = self._merged.get(commit)
        return answered is None or (not answered.final and now >= answered.at + LOOK_AGAIN)

    def _pull(self, app: PullSubject) -> Pull | None:
        """Return the pull request whose reviews count: that of the promotion, else the open one, else the last ended
        one.
        """
        promoted = self._merged.get(self._asks[app].promotion)
        if promoted is not None and promoted.merged.pull is not None:
            return promoted.merged.pull
        branch = self._known.branch_of(app)
        ended = self._known.ended.get(branch)
        return self._known.open.get(branch) or (ended.pull if ended else None)

    def _is_to_read(self, app: PullSubject, pull: Pull, now: datetime) -> bool:
        read = self._reads.get(app)
        if read is None or read.pull.number != pull.number or read.pull.updated_at < pull.updated_at:
            return True
        if self._look == read.look:
            return False
        is_open = pull.state is PullState.OPEN
        return not (is_open and read.is_settled) or self._forced > read.look or now >= read.at + AT_LEAST_EVERY

    # --- answers -----------------------------------------------------------------------------------------------------

    def reviewed(self, question: ForgeQuestion, reviews: tuple[Review, ...], now: datetime) -> bool:
        """Keep the reviews of a pull request; return whether they are news."""
        pull, app = question.pull, question.app
        assert pull is not None
        if question.commit:
            answered = self._merged[question.commit]
            self._merged[question.commit] = replace(answered, merged=Merged(pull, reviews))
        else:
            before = self._reads.get(app)
            since = before.since if before is not None and before.shows(pull) else now
            self._reads[app] = _Read(pull, reviews, now, self._look, since)
        return self._publish(app, now)

    def merged(self, question: ForgeQuestion, pull: Pull | None, now: datetime) -> bool:
        """Keep the pull request that merged a commit into main, or that there is none; return whether that is news.

        One that merged it into another branch says nothing about main.
        """
        if pull is not None and self._known.base not in ("", pull.base):
            pull = None
        asked_before = question.commit in self._merged
        answered = _Answered(Merged(pull), now, final=pull is not None or asked_before)
        self._merged[question.commit] = answered
        return self._publish(question.app, now)

    def _is_answered(self, commit: str) -> bool:
        answered = self._merged.get(commit)
        return answered is not None and answered.final

    def _publish(self, app: PullSubject, now: datetime) -> bool:
        """Publish what is known of an app; return whether it is news."""
        before, heard = self.heard.get(app), self._answer_of(app, now)
        self.heard = {**self.heard, app: heard}
        return not heard.says_the_same(before)

    def _answer_of(self, app: PullSubject, now: datetime) -> ForgeAnswer:
        read, asks = self._reads.get(app), self._asks[app]
        merged = {
            commit: self._merged[commit].merged for commit in asks.commits if self._commit_is_answered(commit, asks)
        }
        reviews = read.reviews if read else self._nobody_s(app)
        return ForgeAnswer(self._kind, now, read.pull if read else None, reviews, merged, self._ours)

    def _nobody_s(self, app: PullSubject) -> tuple[Review, ...] | None:
        """Return no reviews if there is no pull request; None while that is unknown."""
        promotion = self._asks[app].promotion
        is_known = self._known.listed_once and (not promotion or self._is_answered(promotion))
        return () if is_known and self._pull(app) is None else None

    def _commit_is_answered(self, commit: str, asks: Asks) -> bool:
        """Return whether all questions about a commit were answered."""
        if not self._is_answered(commit):
            return False
        merged = self._merged[commit].merged
        return commit not in asks.merges or merged.pull is None or merged.reviews is not None
