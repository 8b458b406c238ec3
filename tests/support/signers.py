"""Real SSH keys for tests, and the file of allowed signers that lists them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.git.remote import GitRemote
from tests.support.waiting import HANGS

PEOPLE = """apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: grace, emails: [grace@example.com], signers: [grace], groups: [leads, incident]}
- {name: bob, emails: [bob@example.com], signers: [bob], groups: [leads]}
"""


@dataclass(frozen=True)
class Key:
    """An SSH key without a passphrase."""

    private: Path

    @property
    def public(self) -> str:
        """The public key as files of signers have it."""
        return self.private.with_name(f"{self.private.name}.pub").read_text().strip()

    def line(self, principal: str, options: str = "") -> str:
        """The line of a file of signers that lets this key sign as somebody."""
        return " ".join(filter(None, [principal, options, self.public])) + "\n"


def signing(remote: GitRemote, key: Key | None) -> None:
    """From now on the user of a remote signs every commit, merge and revert with this key; None: signs nothing."""
    remote.run("config", "commit.gpgSign", "true" if key else "false")
    if key is not None:
        remote.run("config", "gpg.format", "ssh")
        remote.run("config", "user.signingKey", str(key.private))


def make_key(folder: Path, name: str) -> Key:
    """A new key; the test is skipped where the machine has no `ssh-keygen`."""
    try:
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)]
        subprocess.run(command, check=True, timeout=HANGS, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        pytest.skip("ssh-keygen is not on this machine: install OpenSSH's client")
    return Key(folder / name)
