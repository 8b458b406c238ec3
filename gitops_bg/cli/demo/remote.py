"""The Git remote of the demo and one user's clone of it: plain commands, each handed to whoever shows them.

Knows which files a user edits, but not why.
"""

import shutil
from pathlib import Path

from gitops_bg.cli.demo.git import Git, GitFailed
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE, app_file
from gitops_bg.spec.yaml.edit import set_image


class Remote:
    """A bare repository at `url`, empty at first, and the clone that the user works in."""

    def __init__(self, folder: Path, template: Path) -> None:
        """Make both below ``folder``; the clone holds a copy of ``template``, not committed yet."""
        self.bare = folder / "remote.git"
        self.clone = folder / "clone"
        self._git = Git(folder)
        self._git("init", "--bare", str(self.bare))
        self._git("clone", str(self.bare), str(self.clone))
        shutil.copytree(template, self.clone, dirs_exist_ok=True)

    @property
    def url(self) -> str:
        """Where the agent finds it."""
        return self.bare.as_uri()

    def run(self, *arguments: str) -> str:
        """Run git in the clone and return what it printed. Raises ``GitFailed``."""
        return self._git(*arguments, at=self.clone)

    def head(self) -> str:
        """The commit that the clone stands on."""
        return self.run("rev-parse", "HEAD")

    def offered(self, branch: str) -> str:
        """The commit of a branch of the remote; empty where there is none."""
        return self._read("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")

    def text(self, revision: str, path: str) -> str:
        """A file of the remote at a commit or ref; empty where it is not there."""
        return self._read("show", f"{revision}:{path}")

    def log(self, branch: str, form: str) -> str:
        """The log of a branch of the remote, oldest commit first; empty where there is none."""
        return self._read("log", "--reverse", f"--format={form}", f"refs/heads/{branch}")

    def contains(self, branch: str, commit: str) -> bool:
        """Whether a branch of the remote has a commit in its past."""
        try:
            self._git("merge-base", "--is-ancestor", commit, f"refs/heads/{branch}", at=self.bare)
        except GitFailed:
            return False
        return True

    def write_image(self, app: AppKey, image: str) -> str:
        """Put an image into the app's target in the clone; returns the path of the file."""
        path = app_file(app, DEFAULT_TARGET_FILE)
        file = self.clone / path
        file.write_bytes(set_image(file.read_bytes(), app.name, image, path))
        return path

    def _read(self, *arguments: str) -> str:
        try:
            return self._git(*arguments, at=self.bare)
        except GitFailed:
            return ""
