"""The files of the keys that main's commits must be signed by: read at the start, and again when they change.

Mounted Secrets change under a running agent, at times to something broken: then the last good keys go on counting, and
that is said. At the start there are none, so that a broken file is an error.
"""

import os
import shutil
import stat
import tempfile
from pathlib import Path

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.settings import VerificationSettings
from gitops_bg.repo.verification.openpgp import PROGRAM, make_keyring
from gitops_bg.repo.verification.signatures import LARGEST_SIGNERS, Keys
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
    if shutil.which(PROGRAM) is None:
        raise InvalidInput(Problem(GPG_KEYS, f"{PROGRAM} is not on this machine", remedy="install GnuPG"))
    content = _content(GPG_KEYS, file, _LARGEST_GPG)
    try:
        with tempfile.TemporaryDirectory(prefix="gitops-bg-gpg-") as home:
            wrong = make_keyring(Path(home), content)
    except OSError as error:
        why = f"{PROGRAM} cannot be started: {os.strerror(error.errno or 0)}"
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
