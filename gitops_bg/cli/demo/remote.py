"""The Git remote of the demo and one user's clone of it, used with plain git commands.

Knows which files a user edits, but not why.
"""

import shutil
from pathlib import Path

from gitops_bg.cli.demo.git import Git, GitFailed
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE, PRIMARY_FILE, app_file
from gitops_bg.spec.manifests.edit import set_image


class Remote:
    """A repository, empty at first, and the clone that the user works in."""

    def __init__(self, git: Git, bare: Path, url: str, template: Path) -> None:
        """Clone ``url``, which lies at ``bare``, into git's home; the clone holds ``template``, not committed yet."""
        self.bare, self.url = bare, url
        self.clone = git.home / "clone"
        self._git = git
        self._git("clone", url, str(self.clone))
        shutil.copytree(template, self.clone, dirs_exist_ok=True)

    def run(self, *arguments: str) -> str:
        """Run git in the clone and return what it printed. Raises ``GitFailed``."""
        return self._git(*arguments, at=self.clone)

    def gitops_bg(self, *arguments: str, kubeconfig: Path) -> str:
        """Run a verb of ours in the clone and return what it printed. Raises ``GitFailed``."""
        return self._git.gitops_bg(*arguments, at=self.clone, kubeconfig=kubeconfig)

    def head(self) -> str:
        """Return the commit that the clone is at."""
        return self.run("rev-parse", "HEAD")

    def offered(self, branch: str) -> str:
        """Return the commit of a branch of the remote; empty where there is none."""
        return self._read("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")

    def text(self, revision: str, path: str) -> str:
        """Return a file of the remote at a commit or ref; empty where it does not exist."""
        return self._read("show", f"{revision}:{path}")

    def log(self, branch: str, form: str) -> str:
        """Return the log of a branch of the remote, oldest commit first; empty where there is none."""
        return self._read("log", "--reverse", f"--format={form}", f"refs/heads/{branch}")

    def contains(self, branch: str, commit: str) -> bool:
        """Return whether a branch of the remote contains a commit."""
        try:
            self._git("merge-base", "--is-ancestor", commit, f"refs/heads/{branch}", at=self.bare)
        except GitFailed:
            return False
        return True

    def append(self, path: str, text: str) -> None:
        """Add lines to a file of the clone; create the file if necessary."""
        (self.clone / path).parent.mkdir(exist_ok=True)
        with (self.clone / path).open("a", encoding="utf-8") as file:
            file.write(text)

    def write_image(self, app: AppKey, image: str) -> str:
        """Write an image into the app's target in the clone; return the path of the file."""
        path = app_file(app, DEFAULT_TARGET_FILE)
        self.write_image_of(app.name, path, image)
        return path

    def write_image_of(self, container: str, path: str, image: str) -> None:
        """Write the image of a container into a file of the clone."""
        file = self.clone / path
        file.write_bytes(set_image(file.read_bytes(), container, image, path))

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace a piece of a file of the clone, which has it once."""
        file = self.clone / path
        before, _, after = file.read_text(encoding="utf-8").partition(old)
        file.write_text(f"{before}{new}{after}", encoding="utf-8")

    def copy(self, folder: str, to: str) -> None:
        """Copy a folder of the clone, without what the agent wrote there."""
        shutil.copytree(self.clone / folder, self.clone / to, ignore=shutil.ignore_patterns(PRIMARY_FILE))

    def move(self, folder: str, to: str) -> None:
        """Move a folder of the clone."""
        shutil.move(self.clone / folder, self.clone / to)

    def remove(self, folder: str) -> None:
        """Delete a folder of the clone."""
        shutil.rmtree(self.clone / folder)

    def _read(self, *arguments: str) -> str:
        try:
            return self._git(*arguments, at=self.bare)
        except GitFailed:
            return ""
