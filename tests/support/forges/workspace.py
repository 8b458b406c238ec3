"""A person's clone of a repository on a forge, and what a forge does to its bare one. Real git; knows no forge."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.git.remote import GitRefused, locked_down_env
from tests.support.waiting import HANGS


def run(*arguments: str, cwd: Path, who: str = "agent") -> str:
    """Run git as this person; what it printed, without the last newline."""
    person = {}
    for role in ("AUTHOR", "COMMITTER"):
        person |= {f"GIT_{role}_NAME": who, f"GIT_{role}_EMAIL": f"{who}@example.com"}
    environment = locked_down_env(cwd, **person)
    done = subprocess.run(["git", *arguments], cwd=cwd, env=environment, capture_output=True, timeout=HANGS)
    if done.returncode != 0:
        raise GitRefused(f"git {' '.join(arguments)}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode().removesuffix("\n")


class Workspace:
    """A clone that pushes to ``url``."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        folder.mkdir(parents=True)
        run("init", "-q", "-b", "main", cwd=folder)

    def commit(self, files: Mapping[str, str], message: str, who: str = "agent", amend: bool = False) -> str:
        """Write files and commit them where we are; the commit."""
        for name, text in files.items():
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_text(text)
        run("add", "-A", cwd=self._folder)
        options = ["--amend", "--reset-author"] if amend else []
        run("commit", "-q", "--allow-empty", *options, "-m", message, cwd=self._folder, who=who)
        return run("rev-parse", "HEAD", cwd=self._folder)

    def switch(self, branch: str, new: bool = False) -> None:
        run("checkout", "-q", *(["-B"] if new else []), branch, cwd=self._folder)

    def push(self, branch: str) -> None:
        run("push", "-q", "-f", self._url, f"{branch}:{branch}", cwd=self._folder)

    def push_all(self, branches: list[str]) -> None:
        """What we are at, under all these names."""
        run("push", "-q", self._url, *(f"HEAD:refs/heads/{branch}" for branch in branches), cwd=self._folder)

    def delete(self, branch: str) -> None:
        run("push", "-q", self._url, f":refs/heads/{branch}", cwd=self._folder)

    def fetch_main(self) -> str:
        """Take over what the forge's main is; its commit."""
        run("checkout", "-q", "--detach", cwd=self._folder)
        run("fetch", "-q", self._url, "+main:main", cwd=self._folder)
        run("checkout", "-q", "main", cwd=self._folder)
        return run("rev-parse", "main", cwd=self._folder)

    def merge(self, branch: str, who: str) -> str:
        """By hand, with a merge commit; not pushed yet."""
        run("merge", "-q", "--no-ff", "-m", f"Merge {branch} by hand", branch, cwd=self._folder, who=who)
        return run("rev-parse", "HEAD", cwd=self._folder)

    def show(self, revision: str, path: str) -> str:
        return run("show", f"{revision}:{path}", cwd=self._folder)


class Bare:
    """The repository of a stand-in: what a forge itself does in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        run("init", "-q", "--bare", "-b", "main", cwd=folder)
        run("config", "gc.auto", "0", cwd=folder)
        run("config", "receive.autogc", "false", cwd=folder)

    def heads(self) -> dict[str, str]:
        """Every branch and its commit."""
        lines = run("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads", cwd=self.folder)
        return {name: commit for commit, _, name in (line.partition(" ") for line in lines.splitlines())}

    def head(self, branch: str) -> str:
        """Its commit, or nothing."""
        return run("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}", cwd=self.folder)

    def knows(self, commit: str) -> bool:
        try:
            return run("cat-file", "-t", commit, cwd=self.folder) == "commit"
        except GitRefused:
            return False

    def contains(self, branch: str, commit: str) -> bool:
        return self.head(branch) != "" and run("rev-list", "-1", commit, f"^{branch}", cwd=self.folder) == ""

    def delete(self, branch: str) -> None:
        run("update-ref", "-d", f"refs/heads/{branch}", cwd=self.folder)

    def merge(self, base: str, head: str, how: str, title: str, who: str) -> str:
        """Move ``base`` to hold ``head``: by merge, squash, rebase (of one commit) or ff; the new head of base."""
        if how == "ff":
            made = head
        else:
            tree = run("merge-tree", "--write-tree", base, head, cwd=self.folder)
            parents = [base, head] if how == "merge" else [base]
            message = run("log", "-1", "--format=%B", head, cwd=self.folder) if how == "rebase" else title
            options = [option for parent in parents for option in ("-p", parent)]
            made = run("commit-tree", tree, *options, "-m", message, cwd=self.folder, who=who)
        run("update-ref", f"refs/heads/{base}", made, cwd=self.folder)
        return made
