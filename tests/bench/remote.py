"""The Git remote of a measurement, and a clone of it; commits are made by fast-import."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.bench.apps import FIRST, BenchApp
from tests.fixtures.repos import texts
from tests.support.git.remote import locked_down_env

_NAME, _MAIL = "Ada Pusher", "ada@example.com"


class _Bare:
    """A repository without a work tree, so that a commit costs the same at any size."""

    def __init__(self, folder: Path) -> None:
        self._bare = folder

    def commit(
        self,
        message: str,
        files: Mapping[str, bytes],
        branch: str = "main",
        author: str = f"{_NAME} <{_MAIL}>",
    ) -> str:
        """Put one commit on top of a branch, once more where somebody pushed meanwhile; returns its id."""
        parent = self.head(branch)
        body = message.encode()
        head = f"commit refs/heads/{branch}\ncommitter {author} now\ndata {len(body)}\n".encode() + body + b"\n"
        if parent:
            head += f"from {parent}\n".encode()
        parts = (f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n" for path, text in files.items())
        try:
            self._git("fast-import", "--quiet", "--date-format=now", stdin=head + b"".join(parts))
        except RuntimeError:
            if self.head(branch) == parent:
                raise
            return self.commit(message, files, branch, author)
        return self.head(branch)

    def head(self, branch: str = "main") -> str:
        """The commit of a branch; empty where there is none."""
        return self._git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").decode().strip()

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", *arguments], cwd=self._bare, env=locked_down_env(self._bare), input=stdin, capture_output=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"git {arguments[0]}: {done.stderr.decode()}")
        return done.stdout


class BenchClone(_Bare):
    """A user's clone: commits, merges and reverts are made here, and pushed."""

    def push(self) -> float:
        """Push main; returns how many seconds that took."""
        began = time.monotonic()
        self._git("push", "--quiet", "origin", "main")
        return time.monotonic() - began

    def question(self) -> float:
        """Ask the remote for its branches, and fetch main from it; how many seconds that took."""
        began = time.monotonic()
        self._git("ls-remote", "--heads", "origin", "main")
        self._git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin", "main")
        return time.monotonic() - began

    def pull(self) -> None:
        """Take what others have pushed to main; nothing of one's own is waiting to be pushed."""
        self._git("fetch", "--quiet", "--no-tags", "origin", "+refs/heads/main:refs/heads/main")

    def merge(self, branch: str) -> str:
        """Merge a branch of the remote, which is on top of main; returns the merge commit."""
        self._git("fetch", "--quiet", "origin", f"+refs/heads/{branch}:refs/offers/{branch}")
        message = f"Merge branch '{branch}'"
        made = self._git(
            *("-c", f"user.name={_NAME}", "-c", f"user.email={_MAIL}", "commit-tree", "-m", message),
            *("-p", "refs/heads/main", "-p", f"refs/offers/{branch}", f"refs/offers/{branch}^{{tree}}"),
        )
        self._git("update-ref", "refs/heads/main", made.decode().strip())
        return made.decode().strip()


class BenchRemote(_Bare):
    """The remote in ``folder``; commits are put into it as pushes would."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "remote.git")
        self._bare.mkdir(parents=True)
        self.first = ""  # the commit that brought all targets
        self._git("init", "--quiet", "--bare", "-b", "main", ".")
        for key, value in (
            ("uploadpack.allowFilter", "true"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("gc.auto", "0"),
            ("receive.autogc", "false"),
        ):
            self._git("config", key, value)

    @property
    def url(self) -> str:
        """Where the agent finds it."""
        return self._bare.as_uri()

    def fill(self, apps: Iterable[BenchApp]) -> None:
        """Two commits: all apps, and the first version of each as its primary."""
        apps = list(apps)
        folders = {path: text for app in apps for path, text in app.folder().items()}
        self.first = self.commit("Add everything", {"gitops-bg.yaml": texts.SETTINGS, **folders})
        primaries = {path: text for app in apps for path, text in app.primary(FIRST, 1, self.first).items()}
        self.commit("Deploy everything", primaries)

    def clone(self, folder: Path) -> BenchClone:
        """A user's clone, to push from."""
        self._git("clone", "--quiet", "--bare", str(self._bare), str(folder))
        return BenchClone(folder)

    def packed_kib(self) -> float:
        """What its history needs, well packed."""
        self._git("repack", "-a", "-d", "-q")
        return sum(file.stat().st_size for file in self._bare.rglob("*.pack")) / 1024

    def folders(self) -> dict[str, str]:
        """The id of every folder of main, by its path with a slash at the end."""
        lines = self._git("ls-tree", "-r", "-d", "-z", "refs/heads/main").decode().split("\0")
        found = (line.partition("\t") for line in lines if line)
        return {f"{path}/": about.split()[2] for about, _, path in found}

    def heads(self) -> dict[str, str]:
        """Every branch with its commit."""
        lines = self._git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads").decode().splitlines()
        return dict(line.split() for line in lines)

    def files(self, branch: str) -> dict[str, bytes]:
        """All files of a branch, by path."""
        paths = self._git("ls-tree", "-r", "--name-only", branch).decode().splitlines()
        return {path: self._git("show", f"{branch}:{path}") for path in paths}
