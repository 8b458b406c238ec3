"""The Git remote of a measurement: a bare repository that commits are put into by fast-import, as pushes would."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.bench.apps import FIRST, BenchApp
from tests.fixtures.repos import texts
from tests.support.git.remote import locked_down_env

_ADA = "Ada Pusher <ada@example.com>"


class BenchRemote:
    """A bare repository in ``folder``; no work tree, so that a push costs the same at any size."""

    def __init__(self, folder: Path) -> None:
        self._bare = folder / "remote.git"
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

    def commit(
        self,
        message: str,
        files: Mapping[str, bytes],
        branch: str = "main",
        author: str = "Ada Pusher <ada@example.com>",
    ) -> str:
        """Push one commit on top of a branch; returns its id."""
        parent = self.head(branch)
        body = message.encode()
        head = f"commit refs/heads/{branch}\ncommitter {author} now\ndata {len(body)}\n".encode() + body + b"\n"
        if parent:
            head += f"from {parent}\n".encode()
        parts = (f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n" for path, text in files.items())
        self._git("fast-import", "--quiet", "--date-format=now", stdin=head + b"".join(parts))
        return self.head(branch)

    def packed_kib(self) -> float:
        """What its history needs, well packed."""
        self._git("repack", "-a", "-d", "-q")
        return sum(file.stat().st_size for file in self._bare.rglob("*.pack")) / 1024

    def head(self, branch: str = "main") -> str:
        """The commit of a branch; empty where there is none."""
        return self._git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}").decode().strip()

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

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", *arguments], cwd=self._bare, env=locked_down_env(self._bare), input=stdin, capture_output=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"git {arguments[0]}: {done.stderr.decode()}")
        return done.stdout
