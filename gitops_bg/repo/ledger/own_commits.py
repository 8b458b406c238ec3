"""Whose commits the state branch has, and how that is known. Believes a name only where nothing better is to be had.

Writes nothing but a commit of no branch, to try the signing key.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Transient
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.main import VerificationFailure
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.main_verifier import MainVerifier
from gitops_bg.repo.read.signatures import NoSshKeygen, Signature, SignatureAnswers
from gitops_bg.repo.write.commits import MARK, Committer, KeyNotTried, OwnKey


class LedgerNotChecked(Transient):
    """It is not known which commits of the state branch are the agent's own: nothing new of it counts."""

    reason = "LedgerNotChecked"

    def __init__(self, why: str, *, later: bool = False) -> None:
        self.later = later
        """Whether nothing failed: there are only too many."""
        said = "nobody can tell yet which commits of the ledger are the agent's own"
        super().__init__(f"{said}: {why}; it is tried again")


_FORMAT = f"--format=%H%x00%P%x00%an <%ae>%x00%cn <%ce>%x00%(trailers:key={MARK},valueonly,separator=%x2C)%x00"
_PARTS = 6  # of one commit: what the format names, and an empty one, for -z ends a commit, too
_LONGEST = 16 * 1024
MOST = 200_000
"""How many commits are looked through for one of the agent's: some seconds' work."""
_REMEMBERED = 20_000
"""How many bad signatures are cached."""
NAMED = 20
"""How many of the newest commits of others are remembered, to say whose a file is."""
_AT_ONCE = 25
_SECONDS = 2.0
"""How long the checks of one look may take until the rest waits for the next."""
_CRUD = " .,:;<>\"\\'"
"""What git leaves out at both ends of a name that it writes itself: https://git-scm.com/docs/git-commit-tree."""


class OwnershipProof(IntEnum):
    """How it is known that a commit is the agent's own; only the best proof that a branch has counts."""

    NONE = 0
    NAME = 1
    """By its name alone: nobody checks signatures, or nothing was ever signed."""
    EXPIRED = 2
    """Signed by a key of the agent that has expired since."""
    SIGNED = 3
    """Signed by a key of the agent, for this branch; or made by this process."""


@dataclass(frozen=True, slots=True)
class CommitSummary:
    """A commit, as git tells of it."""

    commit: str
    parents: tuple[str, ...]
    author: str
    committer: str


@dataclass(frozen=True, slots=True)
class OwnCommit:
    """What a walk found: the newest commit with the best proof, and the others that it met before, newest first."""

    own: str
    proof: OwnershipProof
    others: tuple[CommitSummary, ...]
    settled: bool = True
    """Whether no answer of a program decided, which may have failed."""


_WHY = {
    VerificationFailure.NOT_SIGNED: "not signed",
    VerificationFailure.UNKNOWN_KEY: "signed by another key",
    VerificationFailure.KEY_NOT_VALID: "signed by a key that no longer counts",
    VerificationFailure.INVALID: "with a signature that does not hold",
}


class OwnCommits:
    """Asks git, and the verifier where commits are verified. They are those of the agent of a ``cluster``.
    ``monotonic`` gives seconds.
    """

    def __init__(
        self,
        mirror: Mirror,
        committer: Committer,
        verifier: MainVerifier | None,
        key: OwnKey | None,
        cluster: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mirror = mirror
        self.cluster = cluster
        self._committer = committer
        self._verifier = verifier
        self._key = key
        self._monotonic = monotonic
        self._bad: SignatureAnswers[tuple[str, str], Signature] = SignatureAnswers(_REMEMBERED, monotonic)

    @property
    def stamp(self) -> tuple[frozenset[str], str]:
        """What the answers depend on beside the commits: the names that are the agent's, and the keys."""
        return self._committer.names, self._verifier.digest if self._verifier else ""

    @property
    def best(self) -> OwnershipProof:
        """The proof that every commit of the agent has from now on."""
        return OwnershipProof.SIGNED if self._verifier else OwnershipProof.NAME

    def newest(self, tip: str, since: str = "", least: OwnershipProof = OwnershipProof.NAME) -> OwnCommit:
        """Return the agent's newest commit in ``tip`` and not in ``since``, by the best proof of all that are there, if
        it is at least this one.

        Whoever may push can put any number of commits on top of the agent's, with its name, or its own below other
        parents: all are looked through, children first, and only what says that it is of this ledger needs a process
        for its signature. Raises ``LedgerNotChecked`` where that is not known yet.
        """
        search = _Search(self._is_named, self._judged, self.best, self._monotonic)
        walk = ("log", "-z", "--encoding=none", "--topo-order", f"--max-count={MOST}", _FORMAT)
        asked = (*walk, tip, *([f"^{since}"] if since else []), "--")
        told = map(text, self._mirror.stream(*asked, longest=_LONGEST))
        for found, parents, author, committer, mark, _ in zip(*[told] * _PARTS, strict=False):
            is_marked = self._verifier is not None and mark.strip() == self.cluster
            if search.meets(
                CommitSummary(found.strip(), tuple(parents.split()), author, committer), is_marked=is_marked
            ):
                break
        return search.found(least)

    def described(self, told: CommitSummary) -> str:
        """Return who made a commit that is not the agent's, and how that is known."""
        named = f"{one_line(told.commit[:10])}, and not this agent"
        other = next((name for name in (told.author, told.committer) if not self._is_name(name)), "")
        if other or self._verifier is None:
            return f"{one_line(other or told.author)} wrote it in commit {named}"
        return f"somebody wrote it in the agent's name, {self._why_not(told.commit)}, in commit {named}"

    def _is_named(self, told: CommitSummary) -> bool:
        return self._is_name(told.author) and self._is_name(told.committer)

    def _is_name(self, name: str) -> bool:
        return _bare(name) in {_bare(each) for each in self._committer.names}

    def _why_not(self, commit: str) -> str:
        """Return what is wrong with the signature of a commit; not asked where that is for another commit to tell."""
        try:
            [signature] = self._signatures([commit]).values()
        except Transient:
            return "its signature cannot be checked now"
        if signature.doubt is None:
            own = self._is_own(signature)
            return "signed for something else" if own else f"signed as {one_line(signature.principal)}"
        return _WHY.get(signature.doubt, "with a signature that nobody can check")

    def _judged(self, commits: Sequence[str]) -> dict[str, tuple[OwnershipProof, bool]]:
        """Return the proof that each of these commits is the agent's, and whether that lasts. Raises
        ``LedgerNotChecked``.
        """
        assert self._verifier is not None
        found = self._signatures(commits)
        good = [commit for commit in commits if found[commit].doubt is None and self._is_own(found[commit])]
        now = self._verifier.check(good)
        proofs = {
            commit: OwnershipProof.SIGNED if now[commit].doubt is None else OwnershipProof.EXPIRED for commit in good
        }
        return {commit: (proofs.get(commit, OwnershipProof.NONE), found[commit].lasts) for commit in commits}

    def _is_own(self, signature: Signature) -> bool:
        return self._key is not None and signature.principal == self._key.principal() and signature.is_ssh

    def _signatures(self, commits: Sequence[str]) -> dict[str, Signature]:
        """Return the signatures of commits, as of their dates. What a program finds bad may be its failure: that counts
        only where it is said twice, the second time beside a good signature that was made just now.
        """
        assert self._verifier is not None
        digest = self._verifier.digest
        known = {commit: one for commit in commits if (one := self._bad.get((commit, digest))) is not None}
        try:
            found = known | self._verifier.check_at_date([commit for commit in commits if commit not in known])
            doubtful = [commit for commit, one in found.items() if not one.lasts and commit not in known]
            if doubtful and self._key is not None:
                again = self._key.check_together(doubtful)
                for commit, one in again.items():
                    if not one.lasts:
                        self._bad.put((commit, digest), one, lasts=False)
                found |= again
        except (NoSshKeygen, KeyNotTried) as error:
            raise LedgerNotChecked(str(error)) from error
        return found


class _Search:
    """One walk from the newest commit to the oldest, which ends with the first that nothing better can follow."""

    def __init__(
        self,
        is_named: Callable[[CommitSummary], bool],
        judged: Callable[[Sequence[str]], Mapping[str, tuple[OwnershipProof, bool]]],
        enough: OwnershipProof,
        monotonic: Callable[[], float],
    ) -> None:
        self._is_named = is_named
        self._judged = judged
        self._enough = enough
        self._monotonic = monotonic
        self._until = monotonic() + _SECONDS
        self._first: dict[OwnershipProof, tuple[int, str]] = {}
        """The newest commit of each proof, with how many were met before it."""
        self._newest: list[CommitSummary] = []
        self._met = 0
        self._waiting: list[tuple[int, str]] = []
        self._size = 1
        self._settled = True

    def meets(self, told: CommitSummary, *, is_marked: bool) -> bool:
        """Take in the next commit; return whether that is enough."""
        if len(self._newest) < NAMED:
            self._newest.append(told)
        if self._is_named(told):
            self._first.setdefault(OwnershipProof.NAME, (self._met, told.commit))
        if is_marked:
            self._waiting.append((self._met, told.commit))
        self._met += 1
        if len(self._waiting) >= self._size:
            self._check()
        return self._enough in self._first

    def _check(self) -> None:
        """Check the signatures of those that wait: at first of the newest alone, which mostly is enough."""
        if self._size > 1 and self._monotonic() > self._until:
            raise LedgerNotChecked("so many say that they are that some are left for the next looks", later=True)
        self._size = _AT_ONCE
        judged = self._judged([commit for _, commit in self._waiting])
        for at, commit in self._waiting:
            proof, lasts = judged[commit]
            if self._enough not in self._first:
                self._settled = self._settled and lasts
            if proof is not OwnershipProof.NONE:
                self._first.setdefault(proof, (at, commit))
        self._waiting = []

    def found(self, least: OwnershipProof) -> OwnCommit:
        """Return what the walk found, as `OwnCommits.newest`."""
        if self._enough not in self._first and self._waiting:
            self._check()
        proof = max((each for each in self._first if each >= least), default=OwnershipProof.NONE)
        at, own = self._first.get(proof, (self._met, ""))
        return OwnCommit(own, proof, tuple(self._newest[:at]), self._settled)


def _bare(identity: str) -> tuple[str, str]:
    name, _, mail = identity.rpartition(" <")
    return name.strip(_CRUD), mail.strip(_CRUD)
