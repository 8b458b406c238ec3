"""Signatures by OpenPGP keys, checked by ``gpg`` in a home of its own that has the given keys and nothing else.

The machine's key rings, its keyservers and its agent are not used, and only what gpg says in its own status lines
counts: one signature, good, by a key that neither has expired nor was revoked.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitops_bg.core.model.git.verification import Doubt
from gitops_bg.core.text.lines import lines_of
from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.git.limits import MEBIBYTE, Limits
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.git.process import running
from gitops_bg.repo.verification.armor import packet_in
from gitops_bg.repo.verification.signatures import Signature

PROGRAM = "gpg"
_PUBLIC = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
_PRIVATE = b"-----BEGIN PGP PRIVATE KEY BLOCK-----"
_SECONDS = 10.0
"""The deadline of one call of gpg."""
_LIMITS = Limits(256 * MEBIBYTE, cpu_seconds=10)
"""What one call of gpg may use: keys and signatures are others' to write."""
_NOT_STARTED = (126, 127)
"""The status of a shell that cannot become gpg."""
_LONGEST_OUTPUT = 1024 * 1024
_OPTIONS = (
    "--batch", "--no-tty", "--no-options", "--no-autostart", "--disable-dirmngr", "--no-auto-key-retrieve",
    "--no-auto-key-locate", "--trust-model", "always", "--status-fd", "1", "--logger-fd", "2",
)  # fmt: skip
_STATUS = re.compile(r"\[GNUPG:\] ([A-Z_]+)(?: (.*))?")
_EXPIRED = frozenset(("EXPSIG", "EXPKEYSIG", "REVKEYSIG"))
_WHY_NO_KEY = "9"
"""The reason in gpg's ERRSIG that says that it does not have the key."""


NO_ANSWER = Signature(why_not="gpg does not answer", doubt=Doubt.NOT_CHECKABLE)
"""Of a commit that gpg did not get to judge, or of which it did not say what is wrong: it is to be asked again."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a file of keys."""

    message: str
    line: int | None = None


class OpenPgp:
    """Gpg with the keys that it took. ``home`` is an empty folder that nobody else can read; the caller removes it."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def take(self, keys: bytes) -> Wrong | None:
        """Take armored public keys; return what is wrong with them, if anything."""
        for number, line in enumerate(lines(keys), 1):
            if line.strip() == _PRIVATE:
                return Wrong("has a private key: only the public ones belong here", number)
        if _PUBLIC not in keys:
            return Wrong("has no armored OpenPGP public key", 1)
        file = self._home / "keys.asc"
        file.write_bytes(keys)
        said = self._said("--import", str(file))
        if said is None:
            return Wrong(f"is not read by {PROGRAM} within {_SECONDS:.0f} s")
        # Not by its exit status: it fails, too, where it has all keys, and only its agent would have too long a path.
        imported = sum(keyword == "IMPORT_OK" for keyword, _ in said.statuses)
        if imported < keys.count(_PUBLIC):
            return Wrong(f"has a key that {PROGRAM} refuses: {said.complaint or f'exit {said.status}'}")
        return None

    def signature(self, commit: bytes, header: bytes) -> Signature:
        """Check the signature of a raw commit, which is in this header; `NO_ANSWER` where gpg does not judge it."""
        payload, signature = split(commit, header)
        packet = packet_in(signature)
        if packet is None or commit.count(b"\n" + header, 0, _end(commit)) != 1:
            return _doubtful(Doubt.NOT_CHECKABLE)
        try:
            # Without its armor, which gpg may read in another way than we do.
            (self._home / "signature").write_bytes(packet)
            (self._home / "payload").write_bytes(payload)
        except OSError:
            return NO_ANSWER
        said = self._said("--verify", str(self._home / "signature"), str(self._home / "payload"))
        return _judged(said) if said is not None else NO_ANSWER

    def _said(self, *command: str) -> "_Said | None":
        """What gpg said; None where it took too long or too much, said too much, or is no longer there."""
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(self._home)}
        limited = ("sh", "-c", f'{_LIMITS.script}exec "$@"', "sh")
        try:
            process = subprocess.Popen(
                [*limited, PROGRAM, "--homedir", str(self._home), *_OPTIONS, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # as `running` needs it
            )
        except OSError:
            return None
        output = bytearray()
        with running(process, _SECONDS) as one:
            for chunk in one.chunks():
                output += chunk
                if len(output) > _LONGEST_OUTPUT:
                    return None
            status = one.end()
        if one.timed_out or status < 0 or status in _NOT_STARTED:
            return None
        return _Said(status, tuple(_statuses(text(bytes(output)))), one_line(text(one.complaint)))


@dataclass(frozen=True, slots=True)
class _Said:
    status: int
    statuses: tuple[tuple[str, str], ...]
    complaint: str


def _statuses(output: str) -> Iterator[tuple[str, str]]:
    for line in lines_of(output):
        if found := _STATUS.fullmatch(line):
            yield found[1], found[2] or ""


def _judged(said: _Said) -> Signature:
    """What gpg's status lines mean; a combination that is not exactly that of one good signature is none."""
    told: dict[str, list[str]] = {}
    for keyword, rest in said.statuses:
        told.setdefault(keyword, []).append(rest)
    signer = (told.get("GOODSIG") or [""])[0]
    once = all(len(told.get(keyword, ())) == 1 for keyword in ("NEWSIG", "GOODSIG", "VALIDSIG"))
    if said.status == 0 and once and not told.keys() & {"BADSIG", "ERRSIG", *_EXPIRED}:
        return Signature(one_line(signer.partition(" ")[2]) or signer, key=told["VALIDSIG"][0].partition(" ")[0])
    if "BADSIG" in told:
        return _doubtful(Doubt.INVALID, told["BADSIG"][0])
    for keyword in _EXPIRED & told.keys():
        return _doubtful(Doubt.KEY_NOT_VALID, told[keyword][0])
    if "ERRSIG" in told and _WHY_NO_KEY in told["ERRSIG"][0].split()[5:6]:
        return _doubtful(Doubt.UNKNOWN_KEY, told["ERRSIG"][0])
    return NO_ANSWER


def _doubtful(doubt: Doubt, signer: str = "") -> Signature:
    """What gpg says in so many words, or the form shows, lasts: nothing failed."""
    return Signature(why_not=doubt.value, doubt=doubt, key=signer.partition(" ")[0], settled=True)


def split(commit: bytes, header: bytes) -> tuple[bytes, bytes]:
    """What a raw commit says without its signatures, as git has it signed, and the signature in this header.

    >>> split(b"tree 4b\\ngpgsig A\\n B\\nauthor Ada\\n\\nWhy\\n", b"gpgsig ")
    (b'tree 4b\\nauthor Ada\\n\\nWhy\\n', b'A\\nB\\n')
    """
    end = _end(commit)
    kept: list[bytes] = []
    signature: list[bytes] = []
    inside: list[bytes] | None = None
    for line in (part + b"\n" for part in lines(commit[:end])):
        if inside is not None and line.startswith(b" "):
            inside.append(line[1:])
            continue
        inside = None
        if line.startswith(header):
            inside = signature
            signature.append(line.removeprefix(header))
        elif line.startswith(b"gpgsig"):  # of the other hash algorithm: git signs neither of the two
            inside = []
        else:
            kept.append(line)
    return b"".join(kept) + commit[end:], b"".join(signature)


def _end(commit: bytes) -> int:
    """Where the headers of a raw commit end."""
    return commit.index(b"\n\n") + 1 if b"\n\n" in commit else len(commit)
