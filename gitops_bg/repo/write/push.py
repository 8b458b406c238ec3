"""Moves branches of the remote, each by compare-and-swap on the fetched commit.

The result of a push is read from the remote's refs afterwards, never from the words of the rejection, which differ
between GitHub, GitLab and Gitea (gitops.md §1.1).
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from gitops_bg.core.backoff import delay
from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.git.errors import PushRefused, RemoteMoved, RemoteTimedOut
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.git.runner import Finished

_AT_ONCE = 400
"""The most branches in one push: their names are arguments."""
_MOST_SPLITS = 6
"""How often a push is halved: that finds one bad branch among 64; a remote that refuses all is asked 13 times."""


@dataclass(frozen=True, slots=True)
class Update:
    """Move a branch from the commit it was fetched at (None: it does not exist) to another (None: delete it)."""

    branch: str
    expected: str | None
    commit: str | None


class PushVerdict(StrEnum):
    """The result of an update."""

    TAKEN = "taken"
    MOVED = "moved"
    """The branch has moved since the fetch: fetch, and derive the commit again."""
    REFUSED = "refused"
    """The branch has not moved, and the remote refuses the update."""
    UNANSWERED = "unanswered"
    """The connection broke before the remote answered for this branch, and the branch has not moved."""


_DOUBTFUL = {PushVerdict.REFUSED: PushVerdict.MOVED, PushVerdict.UNANSWERED: PushVerdict.MOVED}
"""What an answer means while main has moved: it is asked for once more, on the new main."""


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """A verdict for each branch, and the server's words about it."""

    verdicts: Mapping[str, PushVerdict]
    words: Mapping[str, str] = field(default_factory=dict)
    """By branch; none for accepted branches."""

    @property
    def message(self) -> str:
        """Everything that the server said, once."""
        return "; ".join(dict.fromkeys(filter(None, self.words.values())))


class Attempts:
    """Counts attempts, waits between them with full jitter, and knows when another is useless."""

    def __init__(self, sleep: Callable[[float], None], most: int) -> None:
        self._sleep = sleep
        self._most = most
        self._unanswered = 0
        self._random = random.Random()  # noqa: S311 - spreads retries; nothing secret

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers of the attempts."""
        for attempt in range(self._most):
            if attempt:
                self._sleep(self._random.uniform(0, delay(attempt, first=0.2, longest=5.0)))
            yield attempt

    def judge(self, answer: PushAnswer) -> None:
        """Raise ``PushRefused`` for a push that will never be accepted; return where another attempt may succeed.

        A remote that can be read and twice breaks off a push accepts none (a read-only token).
        """
        left = {name: verdict for name, verdict in answer.verdicts.items() if verdict is not PushVerdict.TAKEN}
        self._unanswered += PushVerdict.UNANSWERED in left.values()
        if set(left.values()) == {PushVerdict.REFUSED} or self._unanswered > 1:
            words = {name: answer.words.get(name, "") for name in left}
            raise PushRefused(f"the remote refuses the push to {', '.join(left)}: {answer.message}", words)

    @staticmethod
    def given_up() -> RemoteMoved:
        """Return the error after the last attempt."""
        return RemoteMoved("the branch moved on the remote under every attempt to push to it")


class Pusher:
    """Pushes, and waits between attempts."""

    def __init__(self, mirror: Mirror, sleep: Callable[[float], None], attempts: int = 6) -> None:
        self._mirror = mirror
        self._sleep = sleep
        self._attempts = attempts
        self.pushed: Callable[[], None] = lambda: None
        """Called after each push, whatever became of it: branches of the mirror may have moved."""

    def attempts(self) -> "Attempts":
        """Return a bounded number of attempts, with pauses between them."""
        return Attempts(self._sleep, self._attempts)

    def push(self, updates: Sequence[Update]) -> PushAnswer:
        """Push all updates, each on its own. Raises the errors of a remote that cannot even be read.

        A remote may judge a push as a whole (a pre-receive hook does): a push refused as a whole is retried in halves,
        so that one refused branch does not block the others.
        """
        try:
            return self._push(updates)
        finally:
            self.pushed()

    def _push(self, updates: Sequence[Update]) -> PushAnswer:
        answers: list[PushAnswer] = []
        splits = 0
        parts = deque(updates[start : start + _AT_ONCE] for start in range(0, len(updates), _AT_ONCE))
        while parts:
            part = parts.popleft()
            answer = self._pushed(part)
            if len(part) > 1 and splits < _MOST_SPLITS and set(answer.verdicts.values()) == {PushVerdict.REFUSED}:
                splits += 1
                parts += (part[: len(part) // 2], part[len(part) // 2 :])
            else:
                answers.append(answer)
        verdicts = {name: verdict for answer in answers for name, verdict in answer.verdicts.items()}
        return PushAnswer(verdicts, {name: words for answer in answers for name, words in answer.words.items()})

    def _pushed(self, updates: Sequence[Update]) -> PushAnswer:
        leases = [f"--force-with-lease=refs/heads/{update.branch}:{update.expected or ''}" for update in updates]
        refspecs = [f"{update.commit or ''}:refs/heads/{update.branch}" for update in updates]
        finished = self._mirror.push(leases, refspecs, [update.branch for update in updates])
        if finished.status == 0:
            return PushAnswer({update.branch: PushVerdict.TAKEN for update in updates})
        if finished.timed_out:
            raise RemoteTimedOut(
                f"git push: no answer within {finished.deadline_seconds:g} s; the next poll shows whether it arrived"
            )
        return self._classified(updates, finished)

    def _classified(self, updates: Sequence[Update], finished: Finished) -> PushAnswer:
        remote = self._mirror.remote_branches()
        answered = _answered(finished.output)
        verdicts = {update.branch: _verdict(update, remote.get(update.branch), answered) for update in updates}
        if self._main_moved(remote):
            verdicts = {name: _DOUBTFUL.get(verdict, verdict) for name, verdict in verdicts.items()}
        said = server_message(finished.complaint)
        return PushAnswer(
            verdicts, {name: said for name, verdict in verdicts.items() if verdict is not PushVerdict.TAKEN}
        )

    def _main_moved(self, remote: Mapping[str, str]) -> bool:
        """Return whether the remote has another main than the one fetched.

        Then it does not tell git that it has the one that commits are made on: git would send all of that, too, and has
        no contents of files that nobody read.
        """
        main = self._mirror.settings.branch
        return remote.get(main) != self._mirror.tracked().get(main)


def server_message(complaint: str) -> str:
    """Return the server's words, on one line: its ``remote:`` lines, or else git's own words."""
    told = [text(line.strip()) for line in lines(complaint.encode(errors="replace")) if line.strip()]
    said = [line.removeprefix("remote:").strip() for line in told if line.startswith("remote:")]
    return " ".join(line for line in (said or told) if line)


def _answered(porcelain: bytes) -> set[str]:
    """Return the branches that the remote (or the lease) answered for."""
    rows = [line.split(b"\t") for line in lines(porcelain)]
    return {text(row[1].rpartition(b":refs/heads/")[2]) for row in rows if len(row) >= 3}


def _verdict(update: Update, now: str | None, answered: set[str]) -> PushVerdict:
    if now == update.commit:
        return PushVerdict.TAKEN
    if now != update.expected:
        return PushVerdict.MOVED
    return PushVerdict.REFUSED if update.branch in answered else PushVerdict.UNANSWERED
