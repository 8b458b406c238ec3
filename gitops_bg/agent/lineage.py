"""Whether main goes forward: what was seen of it by this process, its mirror and the records, and what it contains now.

Ancestry is asked of Git by the thread that talks to Git; workers read what it found. Nothing here decides: `relation`
is the `Knowledge` that the engine is given.

Main that lacks what was seen is not followed. Where this process had read main before, it goes on with what that said
(`keeps`); where it had not, main counts for nothing. Either ends when main contains the lost commit again, or is of a
later generation (`gitops-bg accept-history`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gitops_bg.core.knowledge import Knowledge, Main
from gitops_bg.core.model import AppKey
from gitops_bg.core.record import Record
from gitops_bg.repo.polling import Poll
from gitops_bg.repo.repository import Repository

LASTING_POLLS = 3
"""After so many polls in a row a rewritten history is for the ledger; a remote that lags for less is not."""


@dataclass(slots=True)
class _Waiting:
    """Apps whose records name a main that ours does not contain, and how often the remote was asked for it since."""

    main: Main
    apps: set[AppKey] = field(default_factory=set)
    polls: int = 0


def main_of(record: Record) -> Main:
    """The main that a record was decided from; of the code of before, the commit that its live version comes from."""
    active = record.version(record.traffic)
    return record.main if record.main.commit or active is None else Main(active.source.commit)


class Lineage:
    """The head of main that is followed, and what is missing from it. ``remembered``: the mains of live records."""

    def __init__(self, repository: Repository, remembered: Callable[[], Iterable[Main]]) -> None:
        self._repository = repository
        self._remembered = remembered
        self._contained: set[str] = set()
        self._waiting: dict[str, _Waiting] = {}
        self.polls = 0
        """At how many polls in a row something was lost."""
        self.commit = ""
        self.generation = 0
        self.lost = ""
        """The commit that main no longer contains; empty while it goes forward."""
        self.keeps = False
        """Whether what was read before it was lost still holds."""

    @property
    def blind(self) -> bool:
        """Whether nothing that was read of main counts."""
        return bool(self.lost) and not self.keeps

    @property
    def lasts(self) -> bool:
        """Whether the loss has lasted for a while."""
        return self.polls >= LASTING_POLLS

    # --- asked by workers -------------------------------------------------------------------------------------

    def relation(self, app: AppKey, known: Main, *, reachable: bool) -> Knowledge:
        """How the main that is followed stands to the one that an app's record was decided from."""
        if not self.commit:
            return Knowledge.UNKNOWN
        if self.blind:
            return Knowledge.REWRITTEN
        if known.commit in ("", self.commit):
            return Knowledge.SAME
        if known.commit in self._contained or known.generation < self.generation:
            return Knowledge.NEWER
        waiting = self._waiting.setdefault(known.commit, _Waiting(known))
        waiting.apps.add(app)
        if waiting.polls:
            return Knowledge.REWRITTEN
        return Knowledge.OLDER if reachable else Knowledge.UNKNOWN

    # --- refreshed by the Git thread --------------------------------------------------------------------------

    def judge(self, poll: Poll, generation: Callable[[], int]) -> bool:
        """Take in what a poll found; whether main may be followed. ``generation`` reads that of its head."""
        lost = self._missing(poll)
        if lost and generation() > self._generation_lost():
            self._repository.accept(poll.commit)
            lost = ""
        self.polls = self.polls + 1 if lost else 0
        if lost:
            if lost != poll.rewritten:
                self._repository.forget_seen()  # what lacks this is nothing that was seen of main
            self.keeps = bool(self.commit) and lost == poll.rewritten and (self.keeps or not self.lost)
            self.commit = self.commit or poll.commit
        elif poll.commit != self.commit or self.lost:
            self._follow(poll.commit, generation())
        self.lost = lost
        return not lost

    def verify(self) -> frozenset[AppKey]:
        """Ask Git for what records named since; the apps that are to be looked at again."""
        again: set[AppKey] = set()
        for commit, waiting in list(self._waiting.items()):
            if self.commit and self._repository.is_ancestor(commit, self.commit):
                self._contained.add(commit)
                self._waiting.pop(commit, None)
                again |= waiting.apps
        return frozenset(again)

    def awaiting(self) -> frozenset[AppKey]:
        """The apps whose records name a main that is to be asked for."""
        return frozenset(app for waiting in list(self._waiting.values()) for app in waiting.apps)

    def awaited(self) -> frozenset[str]:
        """The commits that records name and that main is to be asked for."""
        return frozenset(self._waiting)

    def asked(self, commits: frozenset[str]) -> frozenset[AppKey]:
        """The remote was asked for them: the apps whose records name what main still lacks, where that is news."""
        still = [waiting for commit, waiting in list(self._waiting.items()) if commit in commits]
        for waiting in still:
            waiting.polls += 1
        return frozenset(app for waiting in still if waiting.polls == 1 for app in waiting.apps)

    def _missing(self, poll: Poll) -> str:
        """A commit that was seen of main and that its head does not contain; empty where there is none."""
        if poll.rewritten:
            return poll.rewritten
        if not self.commit:
            return min(self._lost_of_records(), default="")
        if self.lost and not self._repository.contains(self.lost):
            return self.lost
        late = (commit for commit, waiting in self._waiting.items() if waiting.polls >= LASTING_POLLS)
        return next((commit for commit in late if not self._repository.contains(commit)), "")

    def _lost_of_records(self) -> frozenset[str]:
        commits = {main.commit for main in self._remembered() if main.commit}
        lost = self._repository.lost(commits)
        self._contained |= commits - lost
        return lost

    def _generation_lost(self) -> int:
        """The generation that the next one must exceed: of what is followed, and of the records that main lacks."""
        mains = [*self._remembered(), *(waiting.main for waiting in self._waiting.values())]
        lost = self._repository.lost({main.commit for main in mains if main.commit})
        return max([self.generation, *(main.generation for main in mains if main.commit in lost)])

    def _follow(self, commit: str, generation: int) -> None:
        """What is followed moves on; what it contains stays contained, unless its history is another."""
        if self.generation < generation:
            self._contained.clear()
            self._waiting.clear()
        elif self.commit and not self.blind:
            self._contained.add(self.commit)
        self.commit, self.generation = commit, generation
