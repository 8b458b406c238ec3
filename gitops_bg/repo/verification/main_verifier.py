"""Up to which commit main may be read: each new commit of its line of first parents is signed by a listed key.

What was read before counts as verified. A merge vouches for what it merges, so only the line itself is checked. What is
read ends before a commit that is not verified, until that is no longer in the line. Moves no branch.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from gitops_bg.core.model.main import SourceVerification, UnverifiedCommit, VerificationFailure
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.verification.key_files import KeyFiles
from gitops_bg.repo.verification.signatures import Keys, Signature, Signatures

MOST = 250
"""How many commits are checked at one look, at most."""
_AT_ONCE = 25
_ASKED_FOR = 3
"""How many commits that were verified before, and are not in the mirror, the remote is asked for at one look."""
_SECONDS = 10.0
"""How long the checks of one look may take until the rest waits for the next."""


@dataclass(frozen=True, slots=True)
class Belief:
    """The commit up to which main may be read; empty: none. ``held`` is the first that is not verified, if any."""

    commit: str
    held: UnverifiedCommit | None = None


@dataclass(frozen=True, slots=True)
class VerifiedBefore:
    """The mains that live traffic was decided from: they count as verified once."""

    commits: frozenset[str] = frozenset()
    is_complete: bool = True
    """Whether there are no others, which cannot be read at present."""


class MainVerifier:
    """Answers for one mirror and one set of files with keys.

    ``author_of`` knows who made a commit; ``clock`` gives UTC.
    """

    def __init__(
        self,
        mirror: Mirror,
        keys: KeyFiles,
        author_of: Callable[[str], str],
        signatures: Signatures,
        clock: Callable[[], datetime],
    ) -> None:
        self._mirror = mirror
        self._files = keys
        self._author_of = author_of
        self._signatures = signatures
        self._clock = clock
        self.verified_before: Callable[[], VerifiedBefore] = VerifiedBefore

    def refresh(self) -> bool:
        """Read the keys again if their files have changed; return whether anything else counts, or is to be said."""
        return self._files.refresh()

    def verification_of(self, belief: Belief) -> SourceVerification:
        """What is to be said of a belief, and of the keys."""
        return SourceVerification(belief.held, self._files.trouble)

    def belief(self, head: str, known: Iterable[str], *, first: bool) -> Belief:
        """Up to where main with this head may be read, where the ``known`` commits were read before, newest first.

        At the ``first`` look of a process those that live traffic was decided from count, too. Where nothing was ever
        read, the head alone has to be verified: it vouches for all before it. Where something was, and it is not in the
        mirror, nothing is believed: who may push could put any history below a commit that somebody has signed.
        """
        named = [*filter(None, known)]
        read = list(filter(self._has, named))
        if first or not read:
            before = self.verified_before()
            named = list(dict.fromkeys([*named, *sorted(before.commits)]))
            read = list(filter(self._has, named)) or list(filter(self._mirror.fetch_commit, named[:_ASKED_FOR]))
            if not read and not before.is_complete:
                return Belief("", self._doubted(head, Signature(doubt=VerificationFailure.RECORDS_UNKNOWN)))
        if named and not read:
            doubted = self._doubted(head, Signature(doubt=VerificationFailure.OTHER_HISTORY))
            return Belief("", replace(doubted, missing=named[0]))
        if head in read:
            return Belief(head)
        doubtful, good = self._first_doubtful(self._line(head, read))
        if doubtful is None:
            return Belief(head)
        last = self._last_good(head, read, good if doubtful.doubt is not VerificationFailure.PENDING else ())
        return Belief(last, replace(doubtful, last=last))

    def check(self, commits: Sequence[str]) -> dict[str, Signature]:
        """The signature of each of these commits, by the present keys and at the present time."""
        now = self._clock()
        return {commit: _at(signature, now) for commit, signature in self.check_at_date(commits).items()}

    def check_at_date(self, commits: Sequence[str]) -> dict[str, Signature]:
        """As `check`, with keys that counted at the date of each commit, which its author wrote."""
        return self._signatures.of(commits, self._files.keys, anew=True)

    @property
    def digest(self) -> str:
        """A name for the present keys."""
        return self._files.keys.digest

    def _has(self, commit: str) -> bool:
        return bool(commit) and self._mirror.has(commit)

    def _line(self, head: str, read: Sequence[str]) -> list[str]:
        """The commits of main's line that nobody has read yet, oldest first.

        A head that is part of what was read, but was no head then, has to be verified by itself: it may come from a
        branch whose merge vouched for the result alone.
        """
        if not read:
            return [head]
        printed = self._mirror.local("rev-list", "--first-parent", head, *(f"^{each}" for each in read), "--")
        return list(map(text, lines(printed)))[::-1] or [head]

    def _first_doubtful(self, line: Sequence[str]) -> tuple[UnverifiedCommit | None, list[str]]:
        """The oldest commit that is not verified, if any, and those before it, which are."""
        good: list[str] = []
        left, until = MOST, time.monotonic() + _SECONDS
        keys = self._files.keys
        for part in self._parts(line, keys):
            unknown = sum(not self._signatures.knows(commit, keys) for commit in part)
            if unknown and (unknown > left or time.monotonic() > until):
                return self._doubted(part[0], Signature(doubt=VerificationFailure.PENDING)), good
            left -= unknown
            for commit, signature in self.check_at_date(part).items():
                if (now := _at(signature, self._clock())).doubt is not None:
                    return self._doubted(commit, now), good
                good.append(commit)
        return None, good

    def _parts(self, line: Sequence[str], keys: Keys) -> Iterator[Sequence[str]]:
        """The commits that are checked at once. The first one that is not known to be good is the last of its part: it
        may be the bad one of the last look, and those behind it are not to be asked about.
        """
        doubtful = (at for at, commit in enumerate(line, 1) if not self._signatures.has_verified(commit, keys))
        first = next(doubtful, len(line))
        yield line[:first]
        yield from (line[at : at + _AT_ONCE] for at in range(first, len(line), _AT_ONCE))

    def _last_good(self, head: str, read: Sequence[str], before: Sequence[str]) -> str:
        """The newest commit up to which main may be read: one of the line, or what was read last."""
        in_main = [each for each in read if self._mirror.is_ancestor(each, head)]
        if not in_main:
            return read[0] if read else ""
        newest = reduce(lambda one, other: other if self._mirror.is_ancestor(one, other) else one, in_main)
        # A pull with a merge swaps the parents: then the line leaves out what was read, and is not main alone.
        whole = (commit for commit in reversed(before) if self._mirror.is_ancestor(newest, commit))
        return next(whole, newest)

    def _doubted(self, commit: str, signature: Signature) -> UnverifiedCommit:
        author = self._author_of(commit).partition(" <")[0]
        return UnverifiedCommit(commit, author, signature.doubt or VerificationFailure.NOT_CHECKABLE, signature.key)


def _at(signature: Signature, now: datetime) -> Signature:
    """A signature as it counts now: git compares the end of a key with the date that the author wrote."""
    if signature.expires is None or signature.expires > now:
        return signature
    return Signature(why_not="its key has expired", doubt=VerificationFailure.KEY_NOT_VALID, key=signature.key)
