"""Who signed a commit, by the given keys: SSH keys in a file of allowed signers, and OpenPGP keys. Decides nothing.

Git checks with ``ssh-keygen`` and ``gpg``, and only commits in the form that git itself writes: many in one process of
git. A good result for a commit and these keys never changes, so it is cached by both; a bad one may be a failure of
this machine, and is asked for again later, after a time that grows. The machine's key rings, its keyservers and its
agent are not used, and a signature by X.509 does not count.
"""

import base64
import binascii
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Transient
from gitops_bg.core.foreign_text import lines_of, one_line
from gitops_bg.core.model.main import VerificationFailure
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, signature_in, text
from gitops_bg.repo.git.runner import MEBIBYTE, OWN_GROUP, CommandLimits, GitFailed, running

_REMEMBERED = 100_000
"""How many checked commits are cached; what keys say of a good commit never changes."""
_LONGEST = 4096
_FIELDS = 6
_FORMAT = "--format=%H%x00%G?%x00%GS%x00%GF%x00%GK%x00"
_SECONDS = 60.0
"""The deadline of one check of several commits."""
_SSH_KEYGEN = "ssh-keygen"
_SIGNERS = "allowed_signers"
_FINGERPRINT = "SHA256:"
"""How ssh-keygen begins the name of a key."""
LARGEST = 64 * 1024
"""The maximum size, in bytes, of a commit whose signature is checked."""
_SSH = b"-----BEGIN SSH SIGNATURE-----"
_OPENPGP = b"-----BEGIN PGP SIGNATURE-----"
LARGEST_SIGNERS = 256 * 1024
"""The maximum size, in bytes, of a file of allowed signers."""
_KEY = re.compile(r"(?:^|\s)(?:ssh-|ecdsa-|sk-ssh-|sk-ecdsa-)\S+\s+([A-Za-z0-9+/=]+)(?:\s|\Z)", re.ASCII)
_UNTIL = re.compile(r'(?:^|[\s,])valid-before="?(\d{8})(\d{4}(?:\d{2})?)?(Z?)"?(?=[\s,]|\Z)', re.IGNORECASE | re.ASCII)
_WHY = {
    "N": "it is not signed",
    "B": "its signature does not hold, or its key is for another purpose",
    "U": "the key that signed it is not in policies/allowed_signers",
    "E": "its signature cannot be checked",
}
_DOUBTS = {"N": VerificationFailure.NOT_SIGNED, "B": VerificationFailure.INVALID, "U": VerificationFailure.UNKNOWN_KEY}
_BY_GPG = {
    "B": VerificationFailure.INVALID,
    "X": VerificationFailure.KEY_NOT_VALID,
    "Y": VerificationFailure.KEY_NOT_VALID,
    "R": VerificationFailure.KEY_NOT_VALID,
}
"""What gpg says in so many words, by git's letter for it."""


class NoSshKeygen(Transient):
    """This machine cannot check signatures: it lacks ``ssh-keygen``."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a commit."""

    principal: str = ""
    """The name in the file of allowed signers; empty where the signature is invalid."""
    why_not: str = ""
    """Why it is invalid; empty where it is valid."""
    expires: datetime | None = None
    """When the key expires, by ``valid-before``; UTC."""
    doubt: VerificationFailure | None = field(default=None, compare=False)
    """``why_not`` as one word; None where the signature is valid."""
    key: str = field(default="", compare=False)
    """The fingerprint of the key that signed it, as far as that is known."""
    settled: bool = field(default=False, compare=False)
    """Whether an invalid one stays so by the commit and the keys alone: no program that may fail was asked."""

    @property
    def is_ssh(self) -> bool:
        """Whether an SSH key made it."""
        return self.key.startswith(_FINGERPRINT)

    @property
    def lasts(self) -> bool:
        """Whether nobody has to be asked again."""
        return self.doubt is None or self.settled


NO_ANSWER = Signature(why_not="gpg does not answer", doubt=VerificationFailure.NOT_CHECKABLE)
"""Of a commit that gpg did not get to judge, or of which it did not say what is wrong: it is to be asked again."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that count."""

    signers: bytes = b""
    """A file of allowed signers."""
    openpgp: bytes = b""
    """Armored public keys."""

    @property
    def digest(self) -> str:
        """A name for these keys: what they say of a commit never changes."""
        return _digest(self.signers, self.openpgp)


@functools.lru_cache(maxsize=64)
def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class _CommitSignature:
    """What git tells of a commit; without a letter, nobody could judge it."""

    commit: str
    letter: str = ""
    signer: str = ""
    fingerprint: str = ""
    key: str = ""


class Signatures:
    """The signatures of commits of the mirror. ``monotonic`` gives seconds."""

    def __init__(self, mirror: Mirror, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._known: SignatureAnswers[tuple[str, str], Signature] = SignatureAnswers(_REMEMBERED, monotonic)

    def knows(self, commit: str, keys: Keys) -> bool:
        """Return whether nothing has to be asked `anew` for a commit."""
        return self._answer(commit, keys.digest, anew=True) is not None

    def has_verified(self, commit: str, keys: Keys) -> bool:
        """Return whether a commit is known to be good."""
        known = self._answer(commit, keys.digest, anew=True)
        return known is not None and known.doubt is None

    @locked
    def of(self, commits: Iterable[str], keys: Keys, *, anew: bool = False) -> dict[str, Signature]:
        """Return the signature of each of these commits, which the mirror has.

        A bad answer of a program is asked for again after some minutes, and then ever more rarely, because anybody can
        push what is bad; or ``anew``, at once, but for one that gpg did not judge: it may have cost much.

        Raises `NoSshKeygen`.
        """
        wanted, digest = list(dict.fromkeys(commits)), keys.digest
        known = ((commit, self._answer(commit, digest, anew=anew)) for commit in wanted)
        found = {commit: one for commit, one in known if one is not None}
        unknown = [commit for commit in wanted if commit not in found and self._mirror.has(commit)]
        if unknown:
            read = dict(self._read(unknown, keys))
            for commit, signature in read.items():
                self._known.put((commit, digest), signature, lasts=signature.lasts)
            found |= dict.fromkeys(unknown, NO_ANSWER) | read
        missing = Signature(why_not="nobody can read it", doubt=VerificationFailure.NOT_CHECKABLE)
        return {commit: found.get(commit, missing) for commit in wanted}

    def _answer(self, commit: str, digest: str, *, anew: bool) -> Signature | None:
        known = self._known.get((commit, digest))
        return known if known is None or not anew or known.lasts or known is NO_ANSWER else None

    def _read(self, commits: list[str], keys: Keys) -> Iterator[tuple[str, Signature]]:
        if len(keys.signers) > LARGEST_SIGNERS:
            why_not = "policies/allowed_signers is too large"
            too_large = Signature(why_not=why_not, doubt=VerificationFailure.NOT_CHECKABLE, settled=True)
            yield from ((commit, too_large) for commit in commits)
            return
        if shutil.which(_SSH_KEYGEN) is None:
            raise NoSshKeygen(
                f"{_SSH_KEYGEN} is not on this machine, so that nobody can check signatures; install OpenSSH"
            )
        by_gpg: dict[str, bool] = {}
        for commit, signature in self._written(commits):
            if (refused := _refused_by_form(signature, keys)) is not None:
                yield commit, replace(refused, settled=True)
            else:
                by_gpg[commit] = (signature or b"").startswith(_OPENPGP)
        if by_gpg:
            yield from self._checked(by_gpg, keys)

    def _written(self, commits: list[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield what each commit has as its signature; None where it is large, or has not the form that git writes.

        Git dies at some, and tells nothing about all others: whoever may push a branch could have one there.
        """
        headers = dict(zip(commits, self._mirror.headers(commits), strict=True))
        small = [commit for commit, header in headers.items() if header and header.size <= LARGEST]
        yield from ((commit, None) for commit in headers.keys() - set(small))
        for commit, (_, content) in zip(small, self._mirror.contents(small), strict=True):
            yield commit, signature_in(content, len(commit))

    def _checked(self, by_gpg: Mapping[str, bool], keys: Keys) -> Iterator[tuple[str, Signature]]:
        """Check commits; ``by_gpg`` says whether they have an OpenPGP signature. Nothing of those git never came to."""
        expiries, told = _expiries(text(keys.signers)), list[_CommitSignature]()
        try:
            with tempfile.TemporaryDirectory(prefix="gitops-bg-keys-") as folder:
                home = Path(folder)
                (home / _SIGNERS).write_bytes(keys.signers)
                # As when the file of keys was read, unless gpg fails.
                usable = not any(by_gpg.values()) or make_keyring(home, keys.openpgp) is None
                told = [_CommitSignature(commit) for commit, is_gpg in by_gpg.items() if is_gpg and not usable]
                told += self._signatures_of([commit for commit, is_gpg in by_gpg.items() if usable or not is_gpg], home)
        except OSError:  # no room for the files: nobody has judged anything
            told = list(map(_CommitSignature, by_gpg))
        for one in told:
            if (is_gpg := by_gpg.get(one.commit)) is not None:
                yield one.commit, _signature_by_gpg(one) if is_gpg else _signature(one, expiries)

    def _signatures_of(self, commits: list[str], home: Path) -> list[_CommitSignature]:
        """Return what git tells of each commit. Where it fails, of each by itself; where its time is over, of those
        before. The one at which it was then has no letter.

        What makes it fail is in a commit or on this machine, and says nothing about the mirror, which is cloned anew
        where it is damaged: everything else that reads it finds that out.
        """
        asked = "".join(f"{commit}\n" for commit in commits).encode()
        walk = ("log", "-z", "--encoding=UTF-8", "--no-walk=unsorted", _FORMAT, "--stdin")
        told: list[str] = []
        if not commits:
            return []
        try:
            with self._mirror.git.parts(
                *_only(home),
                *walk,
                stdin=asked,
                longest=_LONGEST,
                environment={"GNUPGHOME": str(home), "TMPDIR": str(home)},  # where a git that is killed leaves files
                limits=GPG_LIMITS,
                seconds=_SECONDS,
            ) as parts:
                told = list(map(text, parts))
        except GitFailed as error:
            if len(commits) == 1 or error.finished.timed_out:
                before = _read_signatures(told)
                return [*before, *map(_CommitSignature, commits[len(before) :][:1])]
            return [one for commit in commits for one in self._signatures_of([commit], home)]
        return _read_signatures(told)


def _read_signatures(parts: Sequence[str]) -> list[_CommitSignature]:
    starts = range(0, len(parts) - _FIELDS + 1, _FIELDS)
    return [_CommitSignature(parts[at].strip(), *parts[at + 1 : at + _FIELDS - 1]) for at in starts]


def _only(home: Path) -> tuple[str, ...]:
    """Return the options that make git check only by the keys in this folder."""
    settings = {
        "gpg.ssh.program": _SSH_KEYGEN,
        "gpg.ssh.allowedSignersFile": str(home / _SIGNERS),
        "gpg.program": GPG,
        "gpg.x509.program": "false",
    }
    return tuple(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))


def _refused_by_form(signature: bytes | None, keys: Keys) -> Signature | None:
    """Return why nobody is asked about a signature; None where somebody is."""
    if not signature:
        return _refused("E" if signature is None else "N")
    if signature.startswith(_OPENPGP):
        unknown = Signature(why_not="OpenPGP keys do not count", doubt=VerificationFailure.UNKNOWN_KEY)
        return None if keys.openpgp else unknown
    return None if signature.startswith(_SSH) else _refused("E")


def _signature_by_gpg(told: _CommitSignature) -> Signature:
    """Return what git makes of gpg's status lines; a combination that is not that of exactly one signature is none to
    it.
    """
    if told.letter == "G" and told.signer:
        return Signature(one_line(told.signer), key=told.fingerprint)
    if (doubt := _BY_GPG.get(told.letter)) is not None:
        return Signature(why_not=doubt.value, doubt=doubt, key=told.key, settled=True)
    if told.letter == "E" and told.key:
        return Signature(
            why_not=VerificationFailure.UNKNOWN_KEY.value,
            doubt=VerificationFailure.UNKNOWN_KEY,
            key=told.key,
            settled=True,
        )
    return NO_ANSWER


def _signature(told: _CommitSignature, expiries: dict[str, datetime | None]) -> Signature:
    fingerprint = told.fingerprint
    if told.letter != "G" or not told.signer:
        not_valid = told.letter == "U" and fingerprint in expiries  # git says of such a key that it is not there
        return _refused(told.letter, fingerprint, VerificationFailure.KEY_NOT_VALID if not_valid else None)
    if fingerprint not in expiries:
        why = "it is signed by a certificate; policies/allowed_signers must name the key itself"
        return Signature(why_not=why, doubt=VerificationFailure.NOT_CHECKABLE, key=fingerprint)
    return Signature(told.signer, expires=expiries[fingerprint], key=fingerprint)


def _refused(verdict: str, key: str = "", doubt: VerificationFailure | None = None) -> Signature:
    why = _WHY.get(verdict, _WHY["E"])
    return Signature(why_not=why, doubt=doubt or _DOUBTS.get(verdict, VerificationFailure.NOT_CHECKABLE), key=key)


def _expiries(signers: str) -> dict[str, datetime | None]:
    """Return when each key expires, by its fingerprint; None: never. Of several lines for a key the first
    end counts.
    """
    found: dict[str, datetime | None] = {}
    for line in lines_of(signers):
        key = _KEY.search(line)
        if key is None or line.lstrip().startswith("#"):
            continue
        fingerprint, end = _fingerprint(key[1]), _end(line[: key.start()])
        known = found.get(fingerprint)
        found[fingerprint] = min((each for each in (known, end) if each), default=None)
    return found


def _fingerprint(key: str) -> str:
    """Return ssh-keygen's name of a public key.

    >>> _fingerprint("AAAA")
    'SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw'
    """
    try:
        blob = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return _FINGERPRINT + text(base64.b64encode(hashlib.sha256(blob).digest())).rstrip("=")


def _end(options: str) -> datetime | None:
    """Return the time of ``valid-before``; an unreadable time counts as long past.

    >>> _end('ada@example.com namespaces="git",valid-before="20260301"')
    datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if "valid-before" not in options.lower():
        return None
    written = _UNTIL.search(options)
    digits = (written[1] + (written[2] or "0000")).ljust(14, "0") if written else ""
    try:
        return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)


GPG = "gpg"
_PUBLIC = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
_PRIVATE = b"-----BEGIN PGP PRIVATE KEY BLOCK-----"
_SECONDS_OF_GPG = 10.0
"""The deadline of one call of gpg."""
GPG_LIMITS = CommandLimits(256 * MEBIBYTE, cpu_seconds=10)
"""What each process of a check may use: keys and signatures are others' to write, and gpg unpacks what it is given."""
_LONGEST_OUTPUT = 1024 * 1024
_SETTINGS = """\
batch
no-tty
no-autostart
disable-dirmngr
no-auto-key-retrieve
no-auto-key-locate
trust-model always
"""
_TAKEN = re.compile(r"\[GNUPG:\] IMPORT_OK ")


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a file of keys."""

    message: str
    line: int | None = None


def make_keyring(home: Path, keys: bytes) -> Wrong | None:
    """Make a home of gpg with these armored public keys; return what is wrong with them, if anything.

    ``home`` is an empty folder that nobody else can read; the caller removes it. Raises ``OSError`` without room.
    """
    for number, line in enumerate(lines(keys), 1):
        if line.strip() == _PRIVATE:
            return Wrong("has a private key: only the public ones belong here", number)
    if _PUBLIC not in keys:
        return Wrong("has no armored OpenPGP public key", 1)
    (home / "gpg.conf").write_text(_SETTINGS, encoding="ascii")
    (home / "keys.asc").write_bytes(keys)
    said = _import(home)
    if said is None:
        return Wrong(f"is not read by {GPG} within {_SECONDS_OF_GPG:.0f} s")
    # Not by its exit status: it fails, too, where it has all keys, and only its agent would have too long a path.
    statuses, complaint = said
    if sum(_TAKEN.match(line) is not None for line in lines_of(statuses)) < keys.count(_PUBLIC):
        return Wrong(f"has a key that {GPG} refuses: {complaint or 'it does not say why'}")
    return None


def _import(home: Path) -> tuple[str, str] | None:
    """Return the status lines and the complaints of gpg; None where it took too long or said too much."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(home)}
    gpg = (GPG, "--homedir", str(home), "--status-fd", "1", "--import", str(home / "keys.asc"))
    process = subprocess.Popen(
        ["sh", "-c", f'{GPG_LIMITS.script}exec "$@"', "sh", *gpg],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=OWN_GROUP["start_new_session"],
    )
    output = bytearray()
    with running(process, _SECONDS_OF_GPG) as one:
        for chunk in one.chunks():
            output += chunk
            if len(output) > _LONGEST_OUTPUT:
                return None
        one.end()
    return None if one.timed_out else (text(bytes(output)), one_line(text(one.complaint)))


FIRST_SECONDS = 180.0
"""How long an answer that does not last is remembered at first; twice as long each time that it comes again."""
_LONGEST_SECONDS = 24 * 3600.0

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Answer(Generic[Value]):
    value: Value
    lasts: bool
    until: float = 0.0
    seconds: float = 0.0


class SignatureAnswers(Generic[Key, Value]):
    """The answers to the questions that were asked last. ``monotonic`` gives seconds."""

    def __init__(self, most: int, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: LRUCache[Key, _Answer[Value]] = LRUCache(most)

    def get(self, key: Key) -> Value | None:
        """Return the answer, if it still counts."""
        known = self._known.get(key)
        return known.value if known is not None and (known.lasts or self._monotonic() < known.until) else None

    def put(self, key: Key, value: Value, *, lasts: bool) -> None:
        """Remember an answer: for good, or for a time that grows while the question has none that lasts."""
        before = self._known.get(key)
        seconds = min(2 * before.seconds, _LONGEST_SECONDS) if before and not before.lasts else FIRST_SECONDS
        self._known[key] = _Answer(value, lasts, self._monotonic() + seconds, seconds)
