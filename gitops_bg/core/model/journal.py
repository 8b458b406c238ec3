"""What Git said of an app or a release group: main, change after change, which looks at main heard it, and the pull
request of its promotion branch. Pure data.

The order is that of main's own line; a place that is not known is a value (`Source.landed`): it moves nothing (decision
18). The pull request is data from a forge, which decorates what Git says: a merge is told by main's ``primary.yaml``
(decision 31).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.spec import AppSpec, Retry
from gitops_bg.core.model.version import ReleaseId, Snapshot, Source, Version

# --- looks at main, numbered: whether main could have changed in answer to a decision ---
# Dates of commits do not tell that, nor does a difference from the last look. A look that began after a decision of the
# agent or of an operator shows what was in main before anybody could react to it (decision 17).


@dataclass(frozen=True, slots=True)
class PollCount:
    """How often a process has looked at main. Numbers compare within one process only."""

    process: str = ""
    """Empty: a process that does not look at Git."""
    seen: int = 0
    """The look that read the present content of main."""
    begun: int = 0
    """The last look that has begun."""


NO_LOOKS = PollCount()


STAMPS = 8
"""How many processes are remembered for one decision; the last ones that noted it."""


@dataclass(frozen=True, slots=True)
class AwaitsPoll:
    """A decision that no look at main has followed yet."""

    stamps: tuple[tuple[str, int], ...] = ()
    """The process that made it, and the last look of that process which had begun then. Every other process counts from
    its own note of the decision: a stamp each, so that none replaces another's. None of what does not look at Git.
    """

    def is_over(self, looks: PollCount) -> bool:
        """Return whether the present content of main was read after the decision."""
        return any(process == looks.process and looks.seen > number for process, number in self.stamps)

    def stamped(self, looks: PollCount) -> "AwaitsPoll":
        """Return it with a stamp of the process that counts ``looks``.

        >>> AwaitsPoll((("a", 3),)).stamped(PollCount("b", 1, 2)).is_over(PollCount("a", 4, 4))
        True
        """
        if not looks.process or any(process == looks.process for process, _ in self.stamps):
            return self
        return AwaitsPoll((*self.stamps, (looks.process, looks.begun))[-STAMPS:])


def awaited(looks: PollCount) -> AwaitsPoll:
    """Return the wait for the next look after ``looks``.

    >>> wait = awaited(PollCount("a", 3, 4))
    >>> wait.is_over(PollCount("a", 4, 4)), wait.is_over(PollCount("a", 5, 5))
    (False, True)
    """
    return AwaitsPoll().stamped(looks)


# --- what main said ---


@dataclass(frozen=True, slots=True)
class Named:
    """``primary.yaml`` named this version."""

    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Retried:
    """``app.yaml`` asked for a retry, and since then says just that: a later change elsewhere in the file does not
    renew it.
    """

    retry: Retry


@dataclass(frozen=True, slots=True)
class SuspensionChanged:
    """The file suspended its app or group, or ended that."""


@dataclass(frozen=True, slots=True)
class Targeted:
    """The target came to name another version. Facts without a verdict (decision 18)."""

    named: tuple[str, ...] = ()
    """What the commit names as reverted, as people read it: commits, ``#12``, ``!12``. Empty: nothing."""
    missing: tuple[str, ...] = ()
    """Those of ``named`` that main did not contain before."""
    commits: tuple[str, ...] = ()
    """The commits that it reverts, and those that a merge among them brought."""
    taken_back: tuple[Snapshot, ...] = ()
    """The versions that these commits brought."""
    unread: str = ""
    """Why the history of the target cannot be read now; the other fields are empty then."""


@dataclass(frozen=True, slots=True)
class GroupNamed:
    """``group.yaml`` named this version as the active one, and since then names no other: whatever else is edited in it
    later brings no promotion.
    """

    version: str


Saying = Named | Retried | SuspensionChanged | Targeted | GroupNamed
Said = TypeVar("Said", bound=Saying)


@dataclass(frozen=True, slots=True)
class Entry:
    """One change, and who made it: the commit, and where that came into main."""

    source: Source
    """Without a commit where that cannot be told now."""
    says: Saying


@dataclass(frozen=True, slots=True)
class Journal:
    """What main said since the record knows it, as far as the core asked (``core.checks.git.asks_main``)."""

    entries: tuple[Entry, ...] = ()
    """In main's order, the oldest first. The target's: its last change, and the reverts in a row right before it."""
    since: str = ""
    """The commit of main after which all that ``primary.yaml`` named is among the entries. Empty: nobody asked, or
    nobody can tell now.
    """

    def of(self, kind: type[Said]) -> tuple[tuple[Source, Said], ...]:
        """Return what was said of one kind, oldest first, and who said it."""
        return tuple((each.source, each.says) for each in self.entries if isinstance(each.says, kind))

    def by(self, kind: type[Saying]) -> Source | None:
        """Return who said the last of a kind; None where nobody asked."""
        return next((source for source, _ in reversed(self.of(kind))), None)

    @property
    def targeted(self) -> tuple[tuple[Source, Targeted], ...]:
        """The last changes of the target, newest first."""
        return self.of(Targeted)[::-1]


NO_JOURNAL = Journal()


def in_order(*sequences: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries of several sequences, each in main's order already, as one. An entry of unknown place stands
    before the next one of its sequence; at the end where none follows.

    >>> one, two, three = (Entry(Source(str(place), landed=place), SuspensionChanged()) for place in (1, 2, 3))
    >>> unknown = Entry(Source("?"), SuspensionChanged())
    >>> [entry.source.commit for entry in in_order([one, unknown, three], [two], [unknown])]
    ['1', '2', '?', '3', '?']
    """
    placed: list[tuple[float, Entry]] = []
    for entries in sequences:
        place, found = float("inf"), list[tuple[float, Entry]]()
        for entry in reversed(entries):
            landed = entry.source.landed
            place = place if landed is None else min(place, landed)
            found.insert(0, (place, entry))
        placed += found
    return tuple(entry for _, entry in sorted(placed, key=lambda each: each[0]))


class PullState(StrEnum):
    """The state of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """Closed without a merge: somebody refused it."""


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
    """Return the id of an offer: it tells two offers of the same version apart by what brought it to main, and by its
    last retry.

    All parts are from main, so every cluster that follows it computes the same id. Closing one offer does not answer
    another.
    """
    retry = spec.retry.number if spec.retry and spec.retry.digest == version.digest else 0
    return f"{version.digest}@{version.source.commit or '-'}#{retry}"


def offer_of_release(release: ReleaseId) -> str:
    """Return the id of an offer of a release: it tells the same content apart that comes again by another commit."""
    return f"{release.digest}@{release.commit or '-'}#enter"


def offer_of_branch(digest: str, commit: str) -> str:
    """Return the id of what a branch holds without an offer of the agent: closing it answers that commit, and no offer.

    Every cluster reads the same branch, and computes the same id.
    """
    return f"{digest}@{commit}#branch"
