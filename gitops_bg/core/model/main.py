"""How far the main that an agent has read can be acted on: whether its commits are verified, why it cannot be read, and
how it relates to the main that the record was decided from; with one sentence for status, log and errors.

Nobody but the operators of the agent says which keys count, so no remedy here is a change of the repository's files.
"""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from gitops_bg.core.dataclass import dataclass

# --- whether its commits are signed by the keys that the agent was given ---


class VerificationFailure(StrEnum):
    """Why a commit is not verified: what is wrong with it is the reason of the condition SourceVerified."""

    NOT_SIGNED = "NotSigned"
    UNKNOWN_KEY = "UnknownKey"
    INVALID = "InvalidSignature"
    KEY_NOT_VALID = "KeyNotValid"
    """The key is listed, but had expired, or was revoked."""
    NOT_CHECKABLE = "NotCheckable"
    """In a form that nobody can check here: X.509, a certificate, too large, or not as git writes commits."""
    OTHER_HISTORY = "OtherHistory"
    """Its history may be another one: what was verified before is not in it, nor anywhere else."""
    RECORDS_UNKNOWN = "Records"
    """What was verified before is not known yet: the records of live traffic cannot all be read."""
    PENDING = "Pending"
    """So many commits are new that some are left for the next looks."""


@dataclass(frozen=True, slots=True)
class UnverifiedCommit:
    """The oldest commit of main's line that is not verified. It, and all after it, are not read."""

    commit: str
    author: str
    doubt: VerificationFailure
    key: str = ""
    """The fingerprint of the key that signed it, as far as that is known."""
    last: str = ""
    """The commit up to which main is read; empty where nothing of it is."""
    missing: str = ""
    """What was verified before, where the mirror lacks it."""
    said: str = ""
    """The sentence of an agent about it, for others, who know nothing more; empty for the agent itself."""


@dataclass(frozen=True, slots=True)
class SourceVerification:
    """What became of the last look at main, where commits are verified."""

    held: UnverifiedCommit | None = None
    keys_trouble: str = ""
    """Why the present files of keys cannot be used, so that those read before still count; empty where they can."""


# --- why it cannot be read now, and how old what is known of it is ---


class UnreadReason(StrEnum):
    """What keeps main from being read: the reason of the condition GitReachable, by who must act."""

    UNREACHABLE = "Unreachable"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    """The remote does not take the credentials, or its host key is not a known one."""
    BRANCH_MISSING = "BranchMissing"
    """The remote answers, and has no such branch."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A main that cannot be read: the remote's own words, and since when which commit stands for it."""

    words: str
    reason: UnreadReason = UnreadReason.UNREACHABLE
    commit: str = ""
    """The head of main as it was read last; empty where this process never read it."""
    read_at: datetime | None = None
    """When it was read last, in UTC."""

    def __str__(self) -> str:
        """Return the sentence for status, log and errors.

        >>> from datetime import UTC
        >>> str(Unread("no route to host", commit="0123456789abcdef", read_at=datetime(2026, 3, 1, 12, tzinfo=UTC)))
        'no route to host; main was last read at 2026-03-01T12:00:00Z, at 0123456789'
        >>> str(Unread("no route to host"))
        'no route to host; main was not read since the agent started'
        """
        if self.read_at is None:
            return f"{self.words}; main was not read since the agent started"
        return f"{self.words}; main was last read at {self.read_at:%Y-%m-%dT%H:%M:%SZ}, at {self.commit[:10]}"


# --- how it relates to the main of the record ---
# Several agents may look at one app or release group with different knowledge: by mistake, after a freeze, from
# replicas of the remote that lag. The record's lock orders their knowledge: the record says which main it was decided
# from, and an agent with an older main decides nothing (DESIGN §4: the primary.yaml of the newest main that any agent
# has seen). Ancestry belongs to Git: an adapter computes the relation and passes it to the engine as data.


class Knowledge(StrEnum):
    """How the main of `Desired` relates to the one that the record was decided from."""

    SAME = "same"
    """Main is the record's, or the record names none yet."""
    NEWER = "newer"
    """Main contains the record's, or is of a later generation."""
    OLDER = "older"
    """Main does not contain the record's, and another look may fetch one that does: nothing is decided."""
    REWRITTEN = "rewritten"
    """The remote was asked, and its main lacks the record's, or a commit seen before: main does not count."""
    UNKNOWN = "unknown"
    """Main was not read, or is older while the remote does not answer: main does not count."""

    @property
    def counts(self) -> bool:
        """Whether the agent may act on what main says."""
        return self in (Knowledge.SAME, Knowledge.NEWER)


@dataclass(frozen=True, slots=True)
class Main:
    """A main: its head, the generation of its history, and the id of the folder of one app or group in it (equal ids:
    equal files).

    Within a generation a commit is newer than those that it contains; `accept-history` begins the next generation.
    """

    commit: str = ""
    generation: int = 0
    tree: str = ""


NO_MAIN = Main()


@dataclass(frozen=True, slots=True)
class MainRead:
    """Main as one agent has read it, for one app or group, and what a record is to remember of it."""

    at: Main = NO_MAIN
    knowledge: Knowledge = Knowledge.SAME
    lost: str = ""
    """The commit seen before that it lacks, where this agent may say so; empty: none."""
    lasts: bool = True
    """Whether that has lasted for a while; the ledger does not note a remote that lags for a moment."""

    @property
    def counts(self) -> bool:
        """Whether the agent may act on what main says."""
        return self.knowledge.counts

    @property
    def is_older(self) -> bool:
        """Whether another look may fetch a main that the record knows already: nothing is decided before."""
        return self.knowledge is Knowledge.OLDER

    @property
    def moves(self) -> bool:
        """Whether main may move traffic, and be written to: it counts, and went forward."""
        return self.counts and not self.lost

    def learnt(self, known: Main, *, saved: bool) -> Main:
        """Return the main to remember after a decision, instead of ``known``: where the record is ``saved`` anyway, or
        where the folder itself changed.

        Not where main moved for others only: a commit must not cost a write for every app.
        """
        if not self.counts or not self.at.commit:
            return known
        now = replace(self.at, generation=max(self.at.generation, known.generation))
        differs = (now.tree, now.generation) != (known.tree, known.generation)
        return now if saved or differs else known

    def lost_after(self, lost: str) -> str:
        """Return what is to be remembered as lost instead of ``lost``: the first agent that notices notes it, and a
        main that counts clears it. So agents of different knowledge do not overwrite each other's status in turns.
        """
        if self.lost:
            return lost or self.lost
        return "" if self.counts else lost

    def loss_to_report(self, told: str, lost: str) -> str:
        """Return what the ledger is to know as lost instead of ``told``, where the record remembers ``lost``."""
        is_early = not (self.lasts if lost else self.counts)
        return told if is_early else lost

    def is_silent(self, *, changed: bool) -> bool:
        """Return whether nothing may be written of a decision, because another agent knows more and writes the status.

        A decision that follows from the record itself (an emergency) has ``changed`` the record, and is carried out and
        shown by any agent.
        """
        is_behind = self.knowledge is Knowledge.REWRITTEN and not self.lost
        return self.is_older or (is_behind and not changed)


class SeesMain(Protocol):
    """What was seen of main, for an app or a release group."""

    @property
    def unreachable(self) -> str:
        """Why it cannot be read; empty where it can."""
        ...

    @property
    def verification(self) -> SourceVerification | None:
        """What became of its commits, where they are verified."""
        ...


_WHY = {
    VerificationFailure.NOT_SIGNED: "is not signed",
    VerificationFailure.UNKNOWN_KEY: "is signed by a key that is not listed",
    VerificationFailure.INVALID: "has a signature that does not hold, or by a key for another purpose",
    VerificationFailure.KEY_NOT_VALID: (
        "is signed by a listed key that is not valid: it has expired, was revoked, or begins later"
    ),
    VerificationFailure.OTHER_HISTORY: "has a history without what was verified before",
    VerificationFailure.NOT_CHECKABLE: (
        "has a signature that is not checked: neither SSH nor OpenPGP, by a certificate, or too large"
    ),
}
_WAITS = {
    VerificationFailure.PENDING: "and others wait to be checked",
    VerificationFailure.RECORDS_UNKNOWN: (
        "waits until the record of every app can be read, which says what was verified before"
    ),
}
_LISTED = "--verify-signers or --verify-gpg-keys"


def held_since(git: SeesMain) -> str:
    """Return why the newest main is not read although the remote answers; empty where it is."""
    held = git.verification.held if git.verification else None
    return describe(held) if held else ""


def away(git: SeesMain) -> str:
    """Return why nobody can change anything by Git now: the remote does not answer, or the newest main is not read."""
    return git.unreachable or held_since(git)


def describe(held: UnverifiedCommit) -> str:
    """Return what is not verified, what counts instead, and what would be right."""
    if held.said:
        return held.said
    if held.doubt in _WAITS:
        return f"commit {_named(held)} {_WAITS[held.doubt]}: {_read(held)}; it goes on by itself"
    key = f" ({held.key})" if held.key else ""
    return f"commit {_named(held)} {_WHY[held.doubt]}{key}: {_read(held)}; {_remedy(held)}"


def _named(held: UnverifiedCommit) -> str:
    return f"{held.commit[:10]} by {held.author}" if held.author else held.commit[:10]


def _read(held: UnverifiedCommit) -> str:
    return f"main is read up to {held.last[:10]}" if held.last else "nothing of main is read"


def _remedy(held: UnverifiedCommit) -> str:
    if held.missing:
        return f"push main as it was, or merge it onto {held.missing[:10]} by a signed merge (git merge --no-ff -S)"
    add = f"add the key to the agent's {_LISTED}, or " if held.doubt is VerificationFailure.UNKNOWN_KEY else ""
    if not held.last:
        return f"{add}push a commit on top that is signed with a listed key (git commit -S)"
    vouch = f"merge it onto {held.last[:10]} by a signed merge (git merge --no-ff -S)"
    return f"{add}sign it with a listed key (git commit --amend -S) and push main again, or {vouch}"
