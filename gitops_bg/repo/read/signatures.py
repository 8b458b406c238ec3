"""Who signed a commit, by the SSH keys in a file of allowed signers (policies.md §4). Decides nothing.

Git checks with ``ssh-keygen``; the result for a commit and a file never changes, so it is cached by both. The machine's
key rings are not used: a signature by GPG or X.509 does not count.
"""

import base64
import binascii
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cachetools import LRUCache

from gitops_bg.core.errors import Transient
from gitops_bg.core.model.git.verification import Doubt
from gitops_bg.core.text.lines import lines_of
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text

_REMEMBERED = 10_000
_LONGEST = 4096
_FIELDS = 5
_FORMAT = "--format=%H%x00%G?%x00%GS%x00%GF%x00"
_PROGRAM = "ssh-keygen"
LARGEST = 64 * 1024
"""The maximum size, in bytes, of a commit whose signature is checked."""
HEADERS = {40: b"gpgsig ", 64: b"gpgsig-sha256 "}
"""The header of a commit with its signature, by length of ids."""
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


class Signatures:
    """The signatures of commits of the mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._known: LRUCache[tuple[str, str], Signature] = LRUCache(_REMEMBERED)

    def of(self, commits: Iterable[str], signers: bytes) -> dict[str, Signature]:
        """Return the signature of each of these commits, which the mirror has.

        ``signers`` is a file of allowed signers.

        Raises `NoSshKeygen`.
        """
        wanted, file = list(dict.fromkeys(commits)), hashlib.sha256(signers).hexdigest()
        found = {commit: self._known[commit, file] for commit in wanted if (commit, file) in self._known}
        unknown = [commit for commit in wanted if commit not in found and self._mirror.has(commit)]
        if unknown:
            read = dict(self._read(unknown, signers))
            self._known.update({(commit, file): signature for commit, signature in read.items()})
            found |= read
        missing = Signature(why_not="nobody can read it", doubt=Doubt.NOT_CHECKABLE)
        return {commit: found.get(commit, missing) for commit in wanted}

    def _read(self, commits: list[str], signers: bytes) -> Iterator[tuple[str, Signature]]:
        if len(signers) > LARGEST_SIGNERS:
            too_large = Signature(why_not="policies/allowed_signers is too large", doubt=Doubt.NOT_CHECKABLE)
            yield from ((commit, too_large) for commit in commits)
            return
        if shutil.which(_PROGRAM) is None:
            raise NoSshKeygen(
                f"{_PROGRAM} is not on this machine, so that nobody can check signatures; install OpenSSH"
            )
        why_not = dict(self._not_to_check(commits))
        yield from ((commit, _refused(verdict)) for commit, verdict in why_not.items())
        if checked := [commit for commit in commits if commit not in why_not]:
            yield from self._checked(checked, signers)

    def _not_to_check(self, commits: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the commits without an SSH signature, and git's letter for them.

        Git dies at a signature in an unknown form, and tells nothing about all others: whoever may push a branch could
        have one there.
        """
        headers = dict(zip(commits, self._mirror.headers(commits), strict=True))
        small = [commit for commit, header in headers.items() if header and header.size <= LARGEST]
        yield from ((commit, "E") for commit in headers.keys() - set(small))
        for commit, (_, content) in zip(small, self._mirror.contents(small), strict=True):
            header = HEADERS[len(commit)]
            signature = _written_in(content, header)
            if not signature.startswith(header + _SSH):
                yield commit, "E" if signature else "N"

    def _checked(self, commits: list[str], signers: bytes) -> Iterator[tuple[str, Signature]]:
        expiries = _expiries(text(signers))
        with tempfile.NamedTemporaryFile(prefix="gitops-bg-signers-") as file:
            file.write(signers)
            file.flush()
            asked = "".join(f"{commit}\n" for commit in commits).encode()
            walk = ("log", "-z", "--encoding=UTF-8", "--no-walk=unsorted", _FORMAT, "--stdin")
            told = list(map(text, self._mirror.stream(*_ssh_only(file.name), *walk, stdin=asked, longest=_LONGEST)))
        for at in range(0, len(told) - _FIELDS + 1, _FIELDS):
            commit, verdict, principal, fingerprint = told[at : at + _FIELDS - 1]
            yield commit.strip(), _signature(verdict, principal, fingerprint, expiries)


def _written_in(content: bytes, header: bytes) -> bytes:
    """Return the first line of a commit's signature, as git finds it; empty without one.

    >>> _written_in(b"tree 4b82\\ngpgsig -----BEGIN\\n more\\n\\ngpgsig no", b"gpgsig ")
    b'gpgsig -----BEGIN'
    """
    written = lines(content.partition(b"\n\n")[0])
    return next((line for line in written if line.startswith(header)), b"")


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
    return "SHA256:" + text(base64.b64encode(hashlib.sha256(blob).digest())).rstrip("=")


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
