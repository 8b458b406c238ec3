"""A remote whose people sign, and the agent's Repository on it, which was given their keys."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import VerificationSettings
from tests.integration.repo.conftest import Opener
from tests.support.git.remote import GitRemote
from tests.support.signers import Key, make_key, signing


@dataclass
class Signed:
    """The keys, the file that lists them, and how to open the agent's Repository."""

    remote: GitRemote
    opened: Opener
    folder: Path
    agent: Key
    ada: Key
    mallory: Key

    @property
    def file(self) -> Path:
        """The file of signers: the agent and Ada; not Mallory."""
        return self.folder / "allowed_signers"

    def write(self, *lines: str) -> None:
        """Replace the file, as a mounted Secret is replaced: by another file."""
        new = self.folder / "new"
        new.write_text("".join(lines or (self.agent.line("agent"), self.ada.line("ada"))))
        new.rename(self.file)

    def open(self, mirror: str = "mirror", gpg_keys: Path | None = None, **settings: object) -> Repository:
        """The agent's Repository; one with another mirror has never seen the remote."""
        verification = VerificationSettings(signers_file=self.file, gpg_keys_file=gpg_keys)
        given: dict[str, object] = {"verification": verification, "signing_key": self.agent.private, **settings}
        return self.opened(mirror=mirror, **given)

    def push(self, by: Key | None, text: str = "", **how: str) -> str:
        """Commit something, signed or not, and push it. Returns the commit."""
        signing(self.remote, by)
        self.remote.pull()
        self.remote.write("notes.txt", f"{text or self.remote.tip}\n")
        commit = self.remote.commit(text or "Note something", **how)
        self.remote.push()
        return commit


@pytest.fixture
def signed(remote: GitRemote, opened: Opener, tmp_path: Path) -> Signed:
    keys = (make_key(tmp_path, name) for name in ("agent", "ada", "mallory"))
    made = Signed(remote, opened, tmp_path, *keys)
    made.write()
    return made


@pytest.fixture
def fails(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As long as this file exists, `ssh-keygen` fails, as without room for its files; it has each call as a line. As
    long as one with `-at-checks` behind its name exists, it signs, and fails where it is to check.
    """
    real, folder = shutil.which("ssh-keygen"), signed.folder / "bin"
    folder.mkdir()
    flag = folder / "fails"
    checks = f'[ -e "{flag}-at-checks" ] && [ "$2" != sign ] && exit 255'
    script = f'#!/bin/sh\n[ -e "{flag}" ] && echo "$2" >> "{flag}" && exit 255\n{checks}\nexec "{real}" "$@"\n'
    (folder / "ssh-keygen").write_text(script)
    (folder / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return flag
