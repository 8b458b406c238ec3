"""What is known of main: whether it goes forward, by what this process, its mirror and the records saw of it, and the
looks at it: their count and who waits for the next one, what became of the last, and who asked for one by a command.

The Git thread asks Git; workers read the result. Nothing here decides: `relation` is the `Knowledge` that the engine
gets.

A main that lacks a commit seen before is not followed. Where this process had read main before, it goes on with that
content (`keeps`); where it had not, main counts for nothing. Both end when main contains the lost commit again, or is
of a later generation (`gitops-bg accept-history`).
"""

import threading
import uuid
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import TypedDict

from gitops_bg.cluster.observation.states import AppState
from gitops_bg.cluster.status import load
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.decision import HandledPoll
from gitops_bg.core.model.journal import PollCount
from gitops_bg.core.model.main import Knowledge, Main, Unread, UnreadReason
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.repo.git.errors import MainNotVerified
from gitops_bg.repo.read.polling import Poll
from gitops_bg.repo.repository import Repository

LASTING_POLLS = 3
"""After how many polls in a row a rewritten history is noted in the ledger; a remote may lag for less."""
LEAST_BETWEEN = timedelta(seconds=1)
"""How far apart two polls are that both count: webhooks bring many at once, and a remote lags for a time."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The head of main that is followed, and what is missing from it. Replaced, never changed."""

    commit: str = ""
    """Empty until this process has read main."""
    generation: int = 0
    lost: str = ""
    """The commit that main no longer contains although it was seen; empty while main goes forward."""
    keeps: bool = False
    """Whether the content read before the loss still holds."""
    polls: int = 0
    """For how many polls in a row a commit was missing, of those that count (`LEAST_BETWEEN`)."""
    contained: frozenset[str] = frozenset()
    """Commits known to be in the history of ``commit``."""

    @property
    def blind(self) -> bool:
        """Whether nothing read from main counts."""
        return bool(self.lost) and not self.keeps

    @property
    def lasts(self) -> bool:
        """Whether the loss has lasted for a while."""
        return self.polls >= LASTING_POLLS

    @property
    def standing(self) -> tuple[bool, str, bool]:
        """The state of main whose change makes every app be looked at again."""
        return bool(self.commit), self.lost, self.lasts

    def then(self, commit: str, generation: int) -> "Followed":
        """Return the state after a move to ``commit``; contained commits stay contained, unless the
        generation changes.
        """
        if self.commit and self.generation < generation:
            return Followed(commit, generation)
        seen = frozenset([self.commit]) if self.commit and not self.blind else frozenset()
        return Followed(commit, generation, contained=self.contained | seen)


@dataclass(slots=True)
class _Waiting:
    """Apps whose records name a main that ours does not contain, and how often the remote was asked for it since.

    Groups are not among them: each poll has all of them looked at.
    """

    main: Main
    apps: set[AppKey] = field(default_factory=set)
    polls: int = 0
    """Of those that count."""


class _PollsThatCount:
    """Whether a poll is far enough from the last one that counted."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._last: datetime | None = None
        self.counts = True
        """Whether the poll under way does."""

    def begin(self) -> None:
        now = self._clock()
        self.counts = self._last is None or abs(now - self._last) >= LEAST_BETWEEN
        if self.counts:
            self._last = now


def main_of_live(state: AppState) -> Main:
    """Return the main that a live app's record was decided from; only where that is not known the record is read.

    Raises `RecordUnreadable`.
    """
    return state.main if state.main.commit else load(state).git.main


class Lineage:
    """Keeps track of main. ``remembered`` gives the mains of live records, ``clock`` UTC."""

    def __init__(
        self, repository: Repository, remembered: Callable[[], Iterable[Main]], clock: Callable[[], datetime]
    ) -> None:
        self._polls = _PollsThatCount(clock)
        self._repository = repository
        self._remembered = remembered
        self._waiting: dict[str, _Waiting] = {}
        self.followed = Followed()

    # --- asked by workers -------------------------------------------------------------------------------------

    def relation(self, followed: Followed, who: AppOrGroup, known: Main, *, reachable: bool) -> Knowledge:
        """Return how a followed main relates to the one that the record of an app or a group was decided from."""
        if not followed.commit:
            return Knowledge.UNKNOWN
        if followed.blind:
            return Knowledge.REWRITTEN
        if known.commit in ("", followed.commit):
            return Knowledge.SAME
        if known.commit in followed.contained or known.generation < followed.generation:
            return Knowledge.NEWER
        waiting = self._waiting.setdefault(known.commit, _Waiting(known))
        if isinstance(who, AppKey):
            waiting.apps.add(who)
        if waiting.polls:
            return Knowledge.REWRITTEN
        return Knowledge.OLDER if reachable else Knowledge.UNKNOWN

    # --- refreshed by the Git thread --------------------------------------------------------------------------

    def judge(self, poll: Poll, generation: Callable[[], int]) -> Followed:
        """Return the state to follow after a poll; ``generation`` reads that of main's head. `follow` adopts the
        state.
        """
        self._polls.begin()
        now = self.followed
        lost, contained = self._missing(poll)
        now = replace(now, contained=now.contained | contained)
        if lost and generation() > self._generation_lost():
            self._repository.poller.accept(poll.commit)
            lost = ""
        if not lost:
            moved = poll.commit != now.commit or now.lost
            return now.then(poll.commit, generation()) if moved else replace(now, polls=0)
        if lost != poll.rewritten:
            self._repository.mirror.forget_seen()  # a main that lacks this commit was never seen by it
        keeps = bool(now.commit) and lost == poll.rewritten and (now.keeps or not now.lost)
        polls = now.polls + (self._polls.counts or not now.polls)
        return replace(now, commit=now.commit or poll.commit, lost=lost, keeps=keeps, polls=polls)

    def contains(self, followed: Followed) -> Followed:
        """Return the state with the commits named by waiting records that it contains: Git is asked."""
        if not followed.commit:
            return followed
        found = {each for each in list(self._waiting) if self._repository.mirror.is_ancestor(each, followed.commit)}
        return replace(followed, contained=followed.contained | found) if found else followed

    def follow(self, followed: Followed) -> frozenset[AppKey]:
        """Follow this state from now on; return the apps whose records name commits that it now contains."""
        again: set[AppKey] = set()
        for commit, waiting in list(self._waiting.items()):
            if commit in followed.contained or followed.generation > self.followed.generation:
                self._waiting.pop(commit, None)
                again |= waiting.apps
        self.followed = followed
        return frozenset(again)

    def awaiting(self) -> frozenset[AppKey]:
        """Return the apps whose records name a main that the remote is to be asked for."""
        return frozenset(app for waiting in list(self._waiting.values()) for app in waiting.apps)

    def awaited(self) -> frozenset[str]:
        """Return the commits that records name and that the remote is to be asked for."""
        return frozenset(self._waiting)

    def asked(self, commits: frozenset[str]) -> frozenset[AppKey]:
        """Note that the remote was asked for them; return the apps whose commits main still lacks, where
        that is new.
        """
        still = [waiting for commit, waiting in list(self._waiting.items()) if commit in commits]
        first = [waiting for waiting in still if not waiting.polls]
        for waiting in still:
            waiting.polls += self._polls.counts or not waiting.polls
        return frozenset(app for waiting in first for app in waiting.apps)

    def _missing(self, poll: Poll) -> tuple[str, frozenset[str]]:
        """Return a commit that was seen in main and that its head lacks, or empty; and the commits that it was seen to
        contain.
        """
        if poll.rewritten:
            return poll.rewritten, frozenset()
        if not self.followed.commit:
            return self._missing_of_records()
        if self.followed.lost and not self._repository.contains(self.followed.lost):
            return self.followed.lost, frozenset()
        late = (commit for commit, waiting in list(self._waiting.items()) if waiting.polls >= LASTING_POLLS)
        return next((commit for commit in late if not self._repository.contains(commit)), ""), frozenset()

    def _missing_of_records(self) -> tuple[str, frozenset[str]]:
        commits = {main.commit for main in self._remembered() if main.commit}
        lost = self._repository.lost(commits)
        return min(lost, default=""), frozenset(commits - lost)

    def _generation_lost(self) -> int:
        """Return the generation that the next one must exceed: of the followed main, and of the records that main
        lacks.
        """
        mains = [*self._remembered(), *(waiting.main for waiting in list(self._waiting.values()))]
        lost = self._repository.lost({main.commit for main in mains if main.commit})
        return max([self.followed.generation, *(main.generation for main in mains if main.commit in lost)])


LONGEST = 200
"""The most characters of a request that is answered: the answer repeats it, and an annotation may be enormous."""


class RequestedPolls:
    """The last request for each app, by the look that had begun when it was noticed. Thread-safe."""

    def __init__(self, looks: Callable[[], PollCount], contains: Callable[[str, str], bool]) -> None:
        self._looks = looks
        self._contains = contains
        self._lock = threading.Lock()
        self._asked: dict[AppKey, tuple[str, int]] = {}

    def add(self, app: AppKey, request: str) -> bool:
        """Note a request, if it is one; return whether it is new."""
        with self._lock:
            if not request or self._asked.get(app, ("", 0))[0] == request:
                return False
            self._asked[app] = (request, self._looks().begun)
            return True

    def waits(self, app: AppKey, looks: PollCount) -> bool:
        """Return whether a request for an app waits for a look that begins after it."""
        with self._lock:
            request, begun = self._asked.get(app, ("", 0))
        return bool(request) and looks.seen <= begun

    def handled(self, app: AppKey, commit: str, looks: PollCount) -> HandledPoll | None:
        """Return the answer to the request for an app, decided from the main at ``commit`` that ``looks`` has read;
        None where there is no request, or no look yet that began after it.
        """
        with self._lock:
            request, begun = self._asked.get(app, ("", 0))
        if not request or not commit or looks.seen <= begun or len(request) > LONGEST:
            return None
        wanted = commit_in(request)
        return HandledPoll(request, commit, self._contains(wanted, commit) if wanted else None)


def commit_in(request: str) -> str:
    """Return the commit that a request is about; empty where it names none.

    >>> commit_in("2026-03-01T12:00:00+00:00 0123"), commit_in("2026-03-01T12:00:00+00:00")
    ('0123', '')
    """
    return "".join(request.split(" ")[1:2])


class UnreadMain(TypedDict):
    """What the status of apps and groups says of it."""

    unreachable: str
    unread_reason: UnreadReason


class LastPoll:
    """Written by the Git thread, read by all others; ``clock`` gives UTC."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._read_at: datetime | None = None
        self._is_told_apart = False
        self.unread: Unread | None = None
        """Why main cannot be read; None where the last look was answered."""

    @property
    def age(self) -> timedelta:
        """How old what is known of main is; none where nothing is known yet."""
        return self._clock() - self._read_at if self._read_at else timedelta()

    @property
    def for_status(self) -> UnreadMain:
        """Why main cannot be read; that its commits are not verified has a condition of its own."""
        unread = None if self._is_told_apart else self.unread
        reason = unread.reason if unread else UnreadReason.UNREACHABLE
        return {"unreachable": str(unread) if unread else "", "unread_reason": reason}

    def was_read(self) -> None:
        """Note that main was read just now."""
        self._read_at = self._clock()

    def was_in_vain(self, error: GitopsBgError, commit: str) -> bool:
        """Note why the last look was in vain, and at which commit main was read last; return whether that is new."""
        is_new = self.unread is None or self.unread.words != str(error)
        reason = next((each for each in UnreadReason if each.value == error.reason), UnreadReason.UNREACHABLE)
        self.unread, self._is_told_apart = (
            Unread(str(error), reason, commit, self._read_at),
            isinstance(error, MainNotVerified),
        )
        return is_new

    def was_answered(self) -> bool:
        """Note that a look was answered; return whether that is new."""
        before, self.unread = self.unread, None
        return before is not None


class PollCounter:
    """Used by the Git thread, which looks, and by workers, which wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = uuid.uuid4().hex[:8]
        self._begun = 0
        self._waiting: set[AppKey] = set()

    def count(self, seen: int) -> PollCount:
        """Return the present count, for a decision from look number ``seen``."""
        return PollCount(self._process, seen, self._begun)

    def begin(self) -> int:
        """Begin a look; return its number."""
        self._begun += 1
        return self._begun

    def end(self) -> frozenset[AppKey]:
        """End a look; return the apps that waited for it."""
        with self._lock:
            waiting, self._waiting = frozenset(self._waiting), set()
            return waiting

    def wait(self, app: AppKey) -> bool:
        """Let an app wait for the next look; return whether it did not wait already."""
        with self._lock:
            is_new = app not in self._waiting
            self._waiting.add(app)
            return is_new
