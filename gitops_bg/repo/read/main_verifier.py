"""Up to which commit main may be read: each new commit of its line of first parents is signed by a listed key; and the
files of those keys, read at the start, and again when they change.

What was read before counts as verified. A merge vouches for what it merges, so only the line itself is checked. What is
read ends before a commit that is not verified, until that is no longer in the line. Moves no branch.

Mounted Secrets change under a running agent, at times to something broken: then the last good keys go on counting, and
that is said. At the start there are none, so that a broken file is an error.
"""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import reduce
from pathlib import Path

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.main import SourceVerification, UnverifiedCommit, VerificationFailure
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.read.signatures import GPG, LARGEST_SIGNERS, Keys, Signature, Signatures, make_keyring
from gitops_bg.repo.settings import VerificationSettings
from gitops_bg.spec.policies.people import check_keys

SIGNERS, GPG_KEYS = "--verify-signers", "--verify-gpg-keys"
_LARGEST_GPG = 1024 * 1024
_SSH_KEYGEN = "ssh-keygen"

_Stamp = tuple[int, int, int, int]
"""What a file is as long as nobody changes it; a mounted Secret is another file after each change."""


class KeyFiles:
    """The keys of an agent. Raises ``InvalidInput`` where there are none yet, because the files are broken."""

    def __init__(self, settings: VerificationSettings) -> None:
        self._settings = settings
        self._stamps = self._stamped()
        self.trouble = ""
        """Why the present files cannot be used; empty where they are."""
        self.keys = self._read()

    def refresh(self) -> bool:
        """Read the files again if they have changed; return whether anything else counts, or is to be said, now.

        Files that cannot be used are read at each look: it may be this machine that failed.
        """
        stamps = self._stamped()
        if stamps == self._stamps and not self.trouble:
            return False
        before = (self.keys, self.trouble)
        try:
            self.keys, self.trouble, self._stamps = self._read(), "", stamps
        except InvalidInput as error:
            self.trouble = f"{error}; the keys that were read last still count"
        return before != (self.keys, self.trouble)

    def _stamped(self) -> tuple[_Stamp | None, ...]:
        return tuple(_stamp(file) for file in (self._settings.signers_file, self._settings.gpg_keys_file))

    def _read(self) -> Keys:
        signers, openpgp = self._settings.signers_file, self._settings.gpg_keys_file
        return Keys(
            _signers(signers) if signers is not None else b"", _openpgp(openpgp) if openpgp is not None else b""
        )


def _signers(file: Path) -> bytes:
    if shutil.which(_SSH_KEYGEN) is None:
        raise InvalidInput(Problem(SIGNERS, f"{_SSH_KEYGEN} is not on this machine", remedy="install OpenSSH"))
    content = _content(SIGNERS, file, LARGEST_SIGNERS)
    if problems := check_keys(_named(SIGNERS, file), content):
        raise InvalidInput(*problems)
    return content


def _openpgp(file: Path) -> bytes:
    if shutil.which(GPG) is None:
        raise InvalidInput(Problem(GPG_KEYS, f"{GPG} is not on this machine", remedy="install GnuPG"))
    content = _content(GPG_KEYS, file, _LARGEST_GPG)
    try:
        with tempfile.TemporaryDirectory(prefix="gitops-bg-gpg-") as home:
            wrong = make_keyring(Path(home), content)
    except OSError as error:
        why = f"{GPG} cannot be started: {os.strerror(error.errno or 0)}"
        remedy = "give the agent memory, processes and room for temporary files"
        raise InvalidInput(Problem(_named(GPG_KEYS, file), why, remedy=remedy)) from error
    if wrong:
        remedy = "write what `gpg --armor --export KEY` prints"
        raise InvalidInput(Problem(_named(GPG_KEYS, file), wrong.message, wrong.line, remedy=remedy))
    return content


def _content(option: str, file: Path, largest: int) -> bytes:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise InvalidInput(Problem(_named(option, file), "is no file", remedy="give a file with the public keys"))
        with file.open("rb") as source:
            content = source.read(largest + 1)
    except OSError as error:
        why = f"cannot be read: {os.strerror(error.errno or 0)}"
        raise InvalidInput(Problem(_named(option, file), why, remedy="give a file with the public keys")) from error
    if len(content) > largest:
        why = f"is larger than {largest // 1024} KiB"
        raise InvalidInput(Problem(_named(option, file), why, remedy="list only the keys of people who write to main"))
    return content


def _named(option: str, file: Path) -> str:
    return f"{option} {file}"


def _stamp(file: Path | None) -> _Stamp | None:
    try:
        found = file.stat() if file is not None else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size) if found else None


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
        """Return what is to be said of a belief, and of the keys."""
        return SourceVerification(belief.held, self._files.trouble)

    def belief(self, head: str, known: Iterable[str], *, first: bool) -> Belief:
        """Return up to where main with this head may be read, where the ``known`` commits were read before, newest
        first.

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
        """Return the signature of each of these commits, by the present keys and at the present time."""
        now = self._clock()
        return {commit: _at(signature, now) for commit, signature in self.check_at_date(commits).items()}

    def check_at_date(self, commits: Sequence[str]) -> dict[str, Signature]:
        """Do as `check`, with keys that counted at the date of each commit, which its author wrote."""
        return self._signatures.of(commits, self._files.keys, anew=True)

    @property
    def digest(self) -> str:
        """A name for the present keys."""
        return self._files.keys.digest

    def _has(self, commit: str) -> bool:
        return bool(commit) and self._mirror.has(commit)

    def _line(self, head: str, read: Sequence[str]) -> list[str]:
        """Return the commits of main's line that nobody has read yet, oldest first.

        A head that is part of what was read, but was no head then, has to be verified by itself: it may come from a
        branch whose merge vouched for the result alone.
        """
        if not read:
            return [head]
        printed = self._mirror.local("rev-list", "--first-parent", head, *(f"^{each}" for each in read), "--")
        return list(map(text, lines(printed)))[::-1] or [head]

    def _first_doubtful(self, line: Sequence[str]) -> tuple[UnverifiedCommit | None, list[str]]:
        """Return the oldest commit that is not verified, if any, and those before it, which are."""
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
        """Yield the commits that are checked at once. The first one that is not known to be good is the last of its
        part: it may be the bad one of the last look, and those behind it are not to be asked about.
        """
        doubtful = (at for at, commit in enumerate(line, 1) if not self._signatures.has_verified(commit, keys))
        first = next(doubtful, len(line))
        yield line[:first]
        yield from (line[at : at + _AT_ONCE] for at in range(first, len(line), _AT_ONCE))

    def _last_good(self, head: str, read: Sequence[str], before: Sequence[str]) -> str:
        """Return the newest commit up to which main may be read: one of the line, or what was read last."""
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
    """Return a signature as it counts now: git compares the end of a key with the date that the author wrote."""
    if signature.expires is None or signature.expires > now:
        return signature
    return Signature(why_not="its key has expired", doubt=VerificationFailure.KEY_NOT_VALID, key=signature.key)
