"""Who signed a commit, by the SSH keys in a file of allowed signers (policies.md §4). Decides nothing.

Git checks with ``ssh-keygen``, and only commits in the form that git itself writes. A good result for a commit and a
file never changes, so it is cached by both; a bad one may be a failure of this machine, and is asked for again later.
The machine's key rings are not used: a signature by GPG or X.509 does not count.
"""

import base64
import binascii
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gitops_bg.core.errors import Transient
from gitops_bg.core.model.git.verification import Doubt
from gitops_bg.core.text.lines import lines_of
from gitops_bg.repo.git.commit_form import signature_in
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.git.runner import GitFailed
from gitops_bg.repo.verification.answers import Answers

_REMEMBERED = 10_000
_LONGEST = 4096
_FIELDS = 5
_FORMAT = "--format=%H%x00%G?%x00%GS%x00%GF%x00"
_PROGRAM = "ssh-keygen"
_FINGERPRINT = "SHA256:"
"""How ssh-keygen begins the name of a key."""
LARGEST = 64 * 1024
"""The maximum size, in bytes, of a commit whose signature is checked."""
_SSH = b"-----BEGIN SSH SIGNATURE-----"
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
_DOUBTS = {"N": Doubt.NOT_SIGNED, "B": Doubt.INVALID, "U": Doubt.UNKNOWN_KEY}


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
    doubt: Doubt | None = field(default=None, compare=False)
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


class Signatures:
    """The signatures of commits of the mirror. ``monotonic`` gives seconds."""

    def __init__(self, mirror: Mirror, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._mirror = mirror
        self._known: Answers[tuple[str, str], Signature] = Answers(_REMEMBERED, monotonic)

    def of(self, commits: Iterable[str], signers: bytes, *, anew: bool = False) -> dict[str, Signature]:
        """Return the signature of each of these commits, which the mirror has.

        ``signers`` is a file of allowed signers. A bad answer of a program is asked for again after some minutes, and
        then ever more rarely, because anybody can push what is bad; or ``anew``, at once.

        Raises `NoSshKeygen`.
        """
        wanted, file = list(dict.fromkeys(commits)), hashlib.sha256(signers).hexdigest()
        known = ((commit, self._known.get((commit, file))) for commit in wanted)
        found = {commit: one for commit, one in known if one is not None and (one.lasts or not anew)}
        unknown = [commit for commit in wanted if commit not in found and self._mirror.has(commit)]
        if unknown:
            read = dict(self._read(unknown, signers))
            for commit, signature in read.items():
                self._known.put((commit, file), signature, lasts=signature.lasts)
            found |= read
        missing = Signature(why_not="nobody can read it", doubt=Doubt.NOT_CHECKABLE)
        return {commit: found.get(commit, missing) for commit in wanted}

    def _read(self, commits: list[str], signers: bytes) -> Iterator[tuple[str, Signature]]:
        if len(signers) > LARGEST_SIGNERS:
            why_not = "policies/allowed_signers is too large"
            too_large = Signature(why_not=why_not, doubt=Doubt.NOT_CHECKABLE, settled=True)
            yield from ((commit, too_large) for commit in commits)
            return
        if shutil.which(_PROGRAM) is None:
            raise NoSshKeygen(
                f"{_PROGRAM} is not on this machine, so that nobody can check signatures; install OpenSSH"
            )
        why_not_by_form = dict(self._not_to_check(commits))
        yield from ((commit, replace(_refused(letter), settled=True)) for commit, letter in why_not_by_form.items())
        if checked := [commit for commit in commits if commit not in why_not_by_form]:
            yield from self._checked(checked, signers)

    def _not_to_check(self, commits: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the commits that have no SSH signature, or not the form that git writes, and git's letter for them.

        Git dies at some, and tells nothing about all others: whoever may push a branch could have one there.
        """
        headers = dict(zip(commits, self._mirror.headers(commits), strict=True))
        small = [commit for commit, header in headers.items() if header and header.size <= LARGEST]
        yield from ((commit, "E") for commit in headers.keys() - set(small))
        for commit, (_, content) in zip(small, self._mirror.contents(small), strict=True):
            signature = signature_in(content, len(commit))
            if signature is None or not signature.startswith(_SSH):
                yield commit, "N" if signature == b"" else "E"

    def _checked(self, commits: list[str], signers: bytes) -> Iterator[tuple[str, Signature]]:
        expiries = _expiries(text(signers))
        try:
            with tempfile.NamedTemporaryFile(prefix="gitops-bg-signers-") as file:
                file.write(signers)
                file.flush()
                told = list(self._told(commits, file.name))
        except OSError:  # no room for the file: nobody has judged anything
            told = []
        answered = {commit: _signature(verdict, who, key, expiries) for commit, verdict, who, key in told}
        yield from ((commit, answered.get(commit, _refused("E"))) for commit in commits)

    def _told(self, commits: list[str], signers: str) -> list[tuple[str, str, str, str]]:
        """What git tells of each commit. Where it fails, of each by itself, and nothing of one at which it does.

        What makes it fail is in a commit or on this machine, and says nothing about the mirror, which is cloned anew
        where it is damaged: everything else that reads it finds that out.
        """
        asked = "".join(f"{commit}\n" for commit in commits).encode()
        walk = ("log", "-z", "--encoding=UTF-8", "--no-walk=unsorted", _FORMAT, "--stdin")
        try:
            with self._mirror.git.parts(*_ssh_only(signers), *walk, stdin=asked, longest=_LONGEST) as parts:
                told = list(map(text, parts))
        except GitFailed as error:
            if len(commits) == 1 or error.finished.timed_out:
                return []
            return [one for commit in commits for one in self._told([commit], signers)]
        starts = range(0, len(told) - _FIELDS + 1, _FIELDS)
        return [(told[at].strip(), told[at + 1], told[at + 2], told[at + 3]) for at in starts]


def _ssh_only(signers: str) -> tuple[str, ...]:
    """Return the options that make git check only SSH signatures, against this file."""
    settings = {
        "gpg.ssh.program": _PROGRAM,
        "gpg.ssh.allowedSignersFile": signers,
        "gpg.ssh.revocationFile": "",
        "gpg.program": "false",
        "gpg.openpgp.program": "false",
        "gpg.x509.program": "false",
    }
    return tuple(part for name, value in settings.items() if value for part in ("-c", f"{name}={value}"))


def _signature(verdict: str, principal: str, fingerprint: str, expiries: dict[str, datetime | None]) -> Signature:
    if verdict != "G" or not principal:
        not_valid = verdict == "U" and fingerprint in expiries  # git says of such a key that it is not there
        return _refused(verdict, fingerprint, Doubt.KEY_NOT_VALID if not_valid else None)
    if fingerprint not in expiries:
        why = "it is signed by a certificate; policies/allowed_signers must name the key itself"
        return Signature(why_not=why, doubt=Doubt.NOT_CHECKABLE, key=fingerprint)
    return Signature(principal, expires=expiries[fingerprint], key=fingerprint)


def _refused(verdict: str, key: str = "", doubt: Doubt | None = None) -> Signature:
    why = _WHY.get(verdict, _WHY["E"])
    return Signature(why_not=why, doubt=doubt or _DOUBTS.get(verdict, Doubt.NOT_CHECKABLE), key=key)


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
