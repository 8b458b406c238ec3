"""Real OpenPGP keys for tests, each in a key ring of its own."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.git.remote import GitRemote
from tests.support.waiting import HANGS


@dataclass(frozen=True)
class GpgKey:
    """A key without a passphrase, the only one in its ring."""

    home: Path

    def gpg(self, *arguments: str, stdin: str = "") -> str:
        """Run gpg with this key ring."""
        command = ["gpg", "--homedir", str(self.home), "--batch", "--no-tty", "--quiet", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"gpg {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    @property
    def fingerprint(self) -> str:
        """The name of the key."""
        listed = self.gpg("--list-keys", "--with-colons")
        return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))

    @property
    def public(self) -> str:
        """The armored public key."""
        return self.gpg("--armor", "--export")

    def revoke(self) -> None:
        """Revoke the key, by the certificate that gpg made with it."""
        file = self.home / "openpgp-revocs.d" / f"{self.fingerprint}.rev"
        self.gpg("--import", stdin=file.read_text().replace(":-----BEGIN", "-----BEGIN"))

    def stop(self) -> None:
        """End the helper that gpg leaves behind."""
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "all"], timeout=HANGS, capture_output=True)


def make_gpg_key(home: Path, name: str = "Grace <grace@example.com>") -> GpgKey:
    """A new key; the test is skipped where the machine has no gpg. The caller stops it at the end."""
    if shutil.which("gpg") is None or shutil.which("gpg-agent") is None:
        pytest.skip("gpg is not on this machine: install GnuPG")
    home.mkdir(mode=0o700, parents=True)
    key = GpgKey(home)
    key.gpg("--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "0")
    return key


def signing_by_gpg(remote: GitRemote, key: GpgKey) -> None:
    """From now on the user of a remote signs every commit, merge and revert with this key."""
    program = key.home / "gpg.sh"
    program.write_text(f'#!/bin/sh\nexec gpg --homedir "{key.home}" "$@"\n')
    program.chmod(0o755)
    settings = {"commit.gpgSign": "true", "gpg.format": "openpgp", "gpg.program": str(program)}
    for name, value in (settings | {"user.signingKey": key.fingerprint}).items():
        remote.run("config", name, value)
