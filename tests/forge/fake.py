"""A forge of plain values that counts what it is asked, has a clock of its own, and can fail."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.journal import AwaitsPoll, PullState, PullView
from gitops_bg.core.model.version import AppKey
from gitops_bg.forge.offer import PullSettings
from gitops_bg.forge.port import (
    CheckStatus,
    Forge,
    ForgeLimits,
    Prefix,
    Pull,
    PullRequestDraft,
    Review,
    User,
)
from gitops_bg.forge.worker import PullRequests, Surroundings
from tests.forge.offers import BOT, LIMITS, NOW, pull_of

ADA = User("2", "ada")


@dataclass
class FakeForge(Forge):
    """``fails`` is asked before each call, and raises what the forge answers."""

    limits: ForgeLimits = LIMITS
    kind: str = "gitea"
    now: datetime = NOW
    pulls: dict[int, Pull] = field(default_factory=dict)
    statuses: dict[tuple[str, str], list[CheckStatus]] = field(default_factory=dict)
    comments: dict[int, list[str]] = field(default_factory=dict)
    """The texts below each pull request: only what they begin with tells whose they are, as on a real forge."""
    given: dict[int, list[Review]] = field(default_factory=dict)
    """The reviews of each pull request."""
    calls: list[tuple[datetime, str]] = field(default_factory=list)
    fails: Callable[[str], GitopsBgError | None] = lambda call: None
    loses: set[str] = field(default_factory=set)
    """Calls that come through, and whose answer is lost."""

    def _called(self, call: str) -> None:
        self.calls.append((self.now, call))
        error = self.fails(call)
        if error is not None:
            raise error

    def open_pulls(self, prefix: Prefix) -> tuple[Pull, ...]:
        self._called("open_pulls")
        return tuple(each for each in self.pulls.values() if each.state is PullState.OPEN)

    def closed_pulls(self, prefix: Prefix, since: datetime) -> tuple[Pull, ...]:
        self._called("closed_pulls")
        ended = (each for each in self.pulls.values() if each.state is not PullState.OPEN and each.updated_at >= since)
        return tuple(replace(each, closed_by=None) for each in sorted(ended, key=lambda each: -each.number))

    def pull(self, number: int) -> Pull:
        self._called("pull")
        return self.pulls[number]

    def open(self, draft: PullRequestDraft) -> Pull:
        self._called("open")
        assert not any(each.branch == draft.branch for each in self.opened), "a second one for a branch"
        made = pull_of(draft, len(self.pulls) + 1, updated_at=self.now)
        self.pulls[made.number] = made
        return made

    def edit(self, pull: Pull, draft: PullRequestDraft) -> None:
        self._called("edit")
        known = self.pulls[pull.number]
        title = known.titled(draft.title)
        self.pulls[pull.number] = replace(known, title=title, body=draft.body, updated_at=self.now)

    def close(self, pull: Pull) -> None:
        self._called("close")
        self.closes(pull.number, BOT)

    def report(self, status: CheckStatus) -> None:
        self._called("report")
        self.statuses.setdefault((status.commit, status.context), []).append(status)

    def reported(self, commit: str, context: str) -> CheckStatus | None:
        self._called("reported")
        return (self.statuses.get((commit, context)) or [None])[-1]

    def comment(self, pull: Pull, marker: str, body: str) -> None:
        self._called("comment")
        texts = self.comments.setdefault(pull.number, [])
        place = next((place for place, text in enumerate(texts) if text.startswith(marker)), len(texts))
        texts[place : place + 1] = [f"{marker}\n{body}"]

    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        self._called("reviews")
        return tuple(self.given.get(pull.number, ()))

    def merged(self, commit: str) -> Pull | None:
        self._called("merged")
        return next((each for each in self.pulls.values() if each.merge_commit == commit), None)

    def merge(self, pull: Pull, head: str) -> None:
        self._called("merge")
        assert self.pulls[pull.number].head == head
        assert not self.pulls[pull.number].is_draft
        self.ends(pull.number, PullState.MERGED, BOT)

    # --- what people do there -----------------------------------------------------------------------------------

    @property
    def opened(self) -> list[Pull]:
        return [each for each in self.pulls.values() if each.state is PullState.OPEN]

    def reviewed(self, number: int, *reviews: Review) -> None:
        self.given[number] = list(reviews)
        self.pulls[number] = replace(self.pulls[number], updated_at=self.now)

    def ends(self, number: int, state: PullState, by: User = ADA) -> None:
        who = {"closed_by": by} if state is PullState.CLOSED else {"merged_by": by}
        self.pulls[number] = replace(self.pulls[number], state=state, updated_at=self.now, **who)

    def closes(self, number: int, by: User = ADA) -> None:
        self.ends(number, PullState.CLOSED, by)

    def reopens(self, number: int) -> None:
        self.pulls[number] = replace(self.pulls[number], state=PullState.OPEN, updated_at=self.now, closed_by=None)

    def writes(self) -> list[str]:
        return [call for _, call in self.calls if call in ("open", "edit", "close", "report", "comment", "merge")]


@dataclass
class Scene:
    """A worker, its forge, and a clock that jumps to whatever is due next."""

    forge: FakeForge = field(default_factory=FakeForge)
    settings: PullSettings = field(default_factory=PullSettings)
    cluster: str = "prod-eu"
    leads: bool = True
    interval: float = 30.0
    told: dict[AppKey, PullView] = field(default_factory=dict)
    news: int = 0
    counted: Counter[tuple[str, str]] = field(default_factory=Counter)
    waits: tuple[int, float] = (0, 0.0)
    looks: int = 0

    def __post_init__(self) -> None:
        self.worker = self.started()

    def started(self) -> PullRequests:
        """A new process."""
        around = Surroundings(
            self.cluster, lambda _: AwaitsPoll((("process", self.looks),)), self._told, lambda: self.leads, "main"
        )
        return PullRequests(self.forge, self.settings, around, self, self.interval)

    def _told(self, news: dict[AppKey, PullView]) -> None:
        self.told.update(news)
        self.news += len(news)

    def forge_asked(self, call: str, outcome: str) -> None:
        self.counted[call, outcome] += 1

    def forge_waits(self, count: int, oldest_seconds: float) -> None:
        self.waits = (count, oldest_seconds)

    def pulls_open(self, count: int) -> None:
        self.open_count = count

    def run(self, seconds: float = 60.0) -> None:
        """Turns until so many seconds have passed, each when it is due."""
        until = self.forge.now + timedelta(seconds=seconds)
        while self.forge.now < until:
            due = self.worker.turn(self.forge.now)
            assert due >= self.forge.now
            self.forge.now = min(until, max(due, self.forge.now + timedelta(milliseconds=1)))

    def restart(self) -> None:
        all_desired = dict(self.worker._all_desired)
        self.worker = self.started()
        for app, desired in all_desired.items():
            self.worker.set_desired(app, desired)
