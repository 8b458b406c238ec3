"""A real Git remote for tests, and the user who pushes to it.

Everything runs the real `git`, shut off from the configuration of the machine. What a user does (`write`,
`commit`, `push`, `revert`, `merge`) happens in a work clone; what a test looks at (`head`, `log`, `show`) is
read from the bare remote, which is all the agent can see. Knows nothing of gitops-bg.

Clone and remote have one object store, so a push or a fetch that no hook watches is the move of a ref: a transport
between the two would be five processes each, and the agent's is the one under test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tests.support.growing_files import GrowingFile
from tests.support.waiting import HANGS

# Set by the people who may write to a protected branch; the agent never sets it.
MERGE_PERMIT = "TEST_MAY_MERGE"

_UPDATE_HOOK = """#!/bin/sh
# A protected branch: only what is merged by a person comes in.
if [ "$1" = "refs/heads/{branch}" ] && [ -z "${{{permit}:-}}" ]; then
  echo "protected branch hook declined: changes of {branch} must be made through a pull request" >&2
  exit 1
fi
"""

_REFUSING_HOOK = """#!/bin/sh
case "$1" in refs/heads/{pattern})
  echo "$1" >> "{log}"
  echo "rule 7: robots may not write $1" >&2
  exit 1;;
esac
"""

_PRE_RECEIVE_HOOK = """#!/bin/sh
while read -r _ _ ref; do
  case "$ref" in refs/heads/{pattern})
    echo "$ref" >> "{log}"
    echo "rule 7: robots may not write $ref" >&2
    exit 1;;
  esac
done
"""


_CORE = """[core]
	repositoryformatversion = 0
	filemode = true
	bare = {bare}
"""
# Nothing tidies up behind a test's back, and nothing waits for a disk that no test outlives.
_NOTHING_BY_ITSELF = """
[gc]
	auto = 0
[maintenance]
	auto = false
[core]
	fsync = none
"""
_AS_FORGES_SERVE_IT = f"""{_NOTHING_BY_ITSELF}
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[receive]
	autogc = false
"""
_ORIGIN = """
[remote "origin"]
	url = {url}
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "{branch}"]
	remote = origin
	merge = refs/heads/{branch}
"""


class Commit(NamedTuple):
    """One line of a log."""

    sha: str
    author: str
    subject: str


class GitRefused(AssertionError):
    """A git command of the test's user failed; the message holds what git said."""


def locked_down_env(home: Path, **extra: str) -> dict[str, str]:
    """The whole environment of a git command: nothing of the machine but PATH."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_AUTHOR_NAME": "Ada Pusher",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada Pusher",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        **extra,
    }


class GitRemote:
    """A bare remote at `url`, and one user's work clone of it in `clone`."""

    def __init__(self, folder: Path, branch: str = "main") -> None:
        self.folder = folder
        self.bare = folder / "remote.git"
        self.clone = folder / "clone"
        self.branch = branch
        folder.mkdir(parents=True, exist_ok=True)
        _initialise(self.bare, branch, _AS_FORGES_SERVE_IT, bare=True)
        ours = _ORIGIN.format(url=self.url, branch=branch) + _NOTHING_BY_ITSELF
        _initialise(self.clone / ".git", branch, ours, bare=False)
        _share_objects(self.clone / ".git" / "objects", self.bare / "objects")

    @property
    def url(self) -> str:
        """Where the agent finds it."""
        return self.bare.as_uri()

    def run(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run git in the clone (or `cwd`) and return what it printed, without the last newline."""
        return self._output(*arguments, cwd=cwd, env=env).removesuffix("\n")

    def _output(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.clone,
            env=locked_down_env(self.folder, **(env or {})),
            capture_output=True,
            timeout=HANGS,
        )
        if done.returncode != 0:
            raise GitRefused(f"git {' '.join(arguments)}: exit {done.returncode}\n{done.stderr.decode()}")
        return done.stdout.decode()

    # What the clone is at. Read from its files: a test asks often, and a process of git costs more than all else.

    @property
    def checked_out(self) -> str:
        """The branch of the clone that is checked out."""
        return (self.clone / ".git" / "HEAD").read_text().strip().removeprefix("ref: refs/heads/")

    @property
    def tip(self) -> str:
        """The commit that the clone has checked out."""
        head = self.checked_out
        return _loose(self.clone / ".git", head) or self.run("rev-parse", "HEAD")

    # What the user does in the clone.

    def write(self, path: str, text: str) -> None:
        """Put a file into the work tree, staged."""
        self.stage({path: text})

    def stage(self, files: Mapping[str, str | None]) -> None:
        """Put files into the work tree, or delete them (None), all of it staged."""
        written = {path: text for path, text in files.items() if text is not None}
        for path, text in written.items():
            file = self.clone / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")
        if written:
            self.run("add", "--", *written)
        if gone := files.keys() - written.keys():
            self.remove(*sorted(gone))

    def read(self, path: str) -> str:
        """A file of the work tree."""
        return (self.clone / path).read_text(encoding="utf-8")

    def files(self) -> dict[Path, bytes]:
        """Return all files of the clone with their content; what git keeps for itself, which it may tidy, is none."""
        found = (path for path in self.clone.rglob("*") if ".git" not in path.parts)
        return {path: path.read_bytes() for path in found if path.is_file()}

    def remove(self, *paths: str) -> None:
        """Delete files or folders, staged."""
        self.run("rm", "-r", "--quiet", "--", *paths)

    def commit(self, message: str, *, author: str | None = None, date: datetime | None = None) -> str:
        """Commit what is staged (also nothing) and return its sha.

        `author` is `Name <mail>`; `date` sets both dates of the commit.
        """
        env: dict[str, str] = {}
        if date is not None:
            env = {"GIT_AUTHOR_DATE": date.isoformat(), "GIT_COMMITTER_DATE": date.isoformat()}
        by = ["--author", author] if author else []
        self.run("commit", "--quiet", "--allow-empty", "-m", message, *by, env=env)
        return self.tip

    def push(self, branch: str | None = None, *, permit: bool = False) -> None:
        """Push a branch (default: the checked-out one). `permit` passes the protection of `protect`."""
        name = branch or self.checked_out
        if self._is_watched:
            self.run("push", "--quiet", "origin", f"{name}:{name}", env=self._permit(permit))
        else:
            self._move(name, _loose(self.clone / ".git", name) or self.run("rev-parse", f"refs/heads/{name}"))

    def force_push(self, branch: str | None = None, to: str = "HEAD", *, permit: bool = False) -> None:
        """Rewrite a branch of the remote (default: the tracked one) to point at `to`."""
        target = f"+{to}:refs/heads/{branch or self.branch}"
        self.run("push", "--quiet", "origin", target, env=self._permit(permit))

    def pull(self) -> str:
        """Bring in what others pushed to the checked-out branch, own commits on top. Returns the new head."""
        theirs = self._fetched(self.checked_out)
        if theirs == self.tip:
            return theirs
        try:
            self.run("merge", "--quiet", "--ff-only", theirs)
        except GitRefused:
            self.run("rebase", "--quiet", theirs)
        return self.tip

    def revert(self, sha: str) -> str:
        """`git revert`; of a merge commit, against its first parent. Returns the new commit."""
        parents = self.run("rev-list", "--parents", "-n", "1", sha).split()[1:]
        mainline = ["-m", "1"] if len(parents) > 1 else []
        self.run("revert", "--no-edit", *mainline, sha)
        return self.tip

    def checkout(self, branch: str, *, new: bool = False) -> None:
        """Switch to a branch; `new` makes it from here. A branch that only the remote has is tracked."""
        if not new:
            self.run("fetch", "--quiet", "origin")
        self.run("checkout", "--quiet", *(["-b"] if new else []), branch)

    def merge(self, branch: str, message: str | None = None) -> str:
        """Merge a branch of the remote into the tracked one and push it, as a forge does on a click.

        Passes the protection of `protect`. Leaves the clone on the tracked branch; returns the merge commit.
        """
        self._fetched(branch)
        self.run("checkout", "--quiet", "-B", self.branch, self._fetched(self.branch))
        text = message or f"Merge branch '{branch}'"
        self.run("merge", "--quiet", "--no-ff", "-m", text, f"origin/{branch}")
        self.push(permit=True)
        return self.tip

    def delete_branch(self, branch: str) -> None:
        """Delete a branch of the remote."""
        self.run("push", "--quiet", "origin", "--delete", branch)

    def publish(self, message: str, files: dict[str, str]) -> str:
        """Write, commit and push in one step; returns the commit."""
        self.stage(files)
        sha = self.commit(message)
        self.push(permit=True)
        return sha

    @property
    def _is_watched(self) -> bool:
        """Whether the remote has a say in what is pushed: by a hook, or because it is another's."""
        hooks = self.bare / "hooks"
        return not self._shares_objects or (hooks.exists() and any(hooks.iterdir()))

    @property
    def _shares_objects(self) -> bool:
        """Whether what the one of the two has the other has, too; a real forge keeps its own."""
        return (self.bare / "objects").is_symlink()

    def _move(self, branch: str, commit: str) -> None:
        """Move a branch of the remote to a commit that contains what it is at."""
        before = self.head(branch)
        if before is not None and not _is_near(self.bare / "objects", before, commit):
            self.run("merge-base", "--is-ancestor", before, commit)
        if not _set_loose(self.bare, branch, commit, before):
            self.run("update-ref", f"refs/heads/{branch}", commit, before or "0" * 40, cwd=self.bare)
        self._track(branch, commit)

    def _fetched(self, branch: str) -> str:
        """The commit of a branch of the remote, which the clone has, and tracks, from now on."""
        if not self._shares_objects:
            self.run("fetch", "--quiet", "origin", branch)
            return self.run("rev-parse", "FETCH_HEAD")
        commit = self.head(branch)
        if commit is None:
            raise GitRefused(f"the remote has no branch {branch}")
        self._track(branch, commit)
        return commit

    def _track(self, branch: str, commit: str) -> None:
        tracking = self.clone / ".git" / "refs" / "remotes" / "origin" / branch
        tracking.parent.mkdir(parents=True, exist_ok=True)
        tracking.write_text(f"{commit}\n")

    # What the remote looks like.

    def head(self, ref: str | None = None) -> str | None:
        """The commit a ref of the remote points to; None where there is none."""
        if found := _loose(self.bare, ref or self.branch):
            return found
        name = ref or self.branch
        is_branch = name == self.branch or name.startswith("gitops-bg/")
        if is_branch and not (self.bare / "packed-refs").exists():
            return None  # Asked for in loops until it is there: no process for each of these.
        try:
            return self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", cwd=self.bare)
        except GitRefused:
            return None

    def branches(self) -> dict[str, str]:
        """Every branch of the remote, with its commit."""
        lines = self.run("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads", cwd=self.bare)
        pairs = (line.partition(" ") for line in lines.splitlines())
        return {name: sha for name, _, sha in pairs}

    def log(self, ref: str | None = None) -> list[Commit]:
        """The commits of a ref of the remote, newest first; empty where there is no such ref."""
        if self.head(ref) is None:
            return []
        lines = self.run("log", "--format=%H%x09%an%x09%s", ref or self.branch, "--", cwd=self.bare)
        return [Commit(*line.split("\t", 2)) for line in lines.splitlines()]

    def message(self, ref: str | None = None) -> str:
        """The whole message of the newest commit of a ref, trailers included."""
        return self.run("log", "-1", "--format=%B", ref or self.branch, "--", cwd=self.bare)

    def show(self, ref: str, path: str) -> str | None:
        """A file at a ref of the remote, byte for byte; None where it is not there."""
        try:
            return self._output("show", f"{ref}:{path}", cwd=self.bare)
        except GitRefused:
            return None

    # What the remote refuses.

    def protect(self, branch: str | None = None) -> None:
        """Refuse every push to the branch but a person's merge: the agent's is refused by a real hook."""
        hook = self.bare / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_UPDATE_HOOK.format(branch=branch or self.branch, permit=MERGE_PERMIT))
        hook.chmod(0o755)

    def refuse(self, pattern: str, *, whole: bool = False) -> None:
        """Refuse every push to branches of a shell pattern; ``whole``: all of a push that has one of them."""
        hook = self.bare / "hooks" / ("pre-receive" if whole else "update")
        hook.parent.mkdir(exist_ok=True)
        hook.write_text((_PRE_RECEIVE_HOOK if whole else _REFUSING_HOOK).format(pattern=pattern, log=self._refusals))
        hook.chmod(0o755)

    def refusals(self) -> list[str]:
        """The branches that `refuse` refused, one for each time."""
        return GrowingFile(self._refusals).lines()

    @property
    def _refusals(self) -> Path:
        return self.folder / "refusals"

    def unprotect(self) -> None:
        """Let every push in again."""
        for name in ("update", "pre-receive"):
            (self.bare / "hooks" / name).unlink(missing_ok=True)

    def go_down(self) -> None:
        """The remote stops answering: from now on every fetch and push fails."""
        self.bare.rename(self.bare.with_suffix(".down"))

    def come_back(self) -> None:
        """The remote answers again, as it was."""
        self.bare.with_suffix(".down").rename(self.bare)

    @staticmethod
    def _permit(given: bool) -> dict[str, str]:
        return {MERGE_PERMIT: "yes"} if given else {}


def _share_objects(kept: Path, other: Path) -> None:
    """Have two repositories write to, and read from, the objects of the first."""
    shutil.rmtree(other)
    other.symlink_to(kept)


def _initialise(repository: Path, branch: str, settings: str, *, bare: bool) -> None:
    """What `git init` makes without a template; most tests make two of them, and each would be a process."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (repository / folder).mkdir(parents=True)
    (repository / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    (repository / "config").write_text(_CORE.format(bare=str(bare).lower()) + settings)


def _is_near(objects: Path, before: str, commit: str) -> bool:
    """Whether a commit has another among its next ancestors; False where git has to be asked."""
    generation = {commit}
    for _ in range(4):
        if before in generation:
            return True
        generation = {parent for each in generation for parent in _parents(objects, each)}
    return before in generation


def _parents(objects: Path, commit: str) -> list[str]:
    """The parents of a commit that is no part of a pack; none otherwise."""
    try:
        content = zlib.decompress((objects / commit[:2] / commit[2:]).read_bytes())
    except OSError:
        return []
    headers = content.partition(b"\n\n")[0].split(b"\n")
    return [line[7:].decode() for line in headers if line.startswith(b"parent ")]


def _set_loose(repository: Path, branch: str, commit: str, before: str | None) -> bool:
    """Move a branch that has a file of its own, by git's own protocol; False where git has to try."""
    file = repository / "refs" / "heads" / branch
    lock = file.with_name(f"{file.name}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("x") as new:
            new.write(f"{commit}\n")
    except OSError:
        return False
    moved = False
    try:
        if (_loose(repository, branch) or None) == before and not (repository / "packed-refs").exists():
            lock.rename(file)
            moved = True
    except OSError:
        pass
    finally:
        if not moved:
            lock.unlink()
    return moved


def _loose(repository: Path, branch: str) -> str:
    """The commit of a branch that has a file of its own; empty for every other, also for one that goes meanwhile."""
    try:
        return (repository / "refs" / "heads" / branch).read_text().strip()
    except OSError:
        return ""
