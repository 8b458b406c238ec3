"""A remote whose people sign, and the files of their keys that the agent is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import VerificationSettings
from tests.integration.repo.conftest import Opener
from tests.support.git.remote import GitRemote
from tests.support.signers import Key, signing


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
