"""Git objects that no porcelain writes: commits, trees and refs byte by byte, pushed to a test's remote.

A remote takes them (``receive.fsckObjects`` is off nearly everywhere), so an agent has to read them.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from tests.support.git.remote import GitRemote, locked_down_env
from tests.support.waiting import HANGS

ADA = b"Ada Pusher <ada@example.com>"
WHEN = b"1770000000 +0000"


@dataclass(frozen=True)
class RawGit:
    """Writes into the clone of a remote, and pushes from there."""

    remote: GitRemote

    def run(self, *arguments: str | bytes, stdin: bytes = b"") -> bytes:
        """Run git in the clone, with bytes in and out."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.remote.clone,
            env=locked_down_env(self.remote.folder),
            input=stdin,
            capture_output=True,
            timeout=HANGS,
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout.strip()

    def commit(
        self,
        message: bytes,
        *,
        author: bytes = ADA,
        when: bytes = WHEN,
        headers: bytes = b"",
        tree: bytes = b"",
        parents: tuple[bytes, ...] | None = None,
    ) -> bytes:
        """A commit of these bytes on top of the clone's HEAD, with the tree of its index; returns its id."""
        tree = tree or self.run("write-tree")
        above = (self.run("rev-parse", "HEAD"),) if parents is None else parents
        lines = [b"tree " + tree, *(b"parent " + parent for parent in above)]
        lines += [b"author " + author + b" " + when, b"committer " + ADA + b" " + WHEN]
        content = b"\n".join(lines) + b"\n" + headers + b"\n" + message
        return self.run("hash-object", "-w", "-t", "commit", "--literally", "--stdin", stdin=content)

    def tree(self, *entries: tuple[bytes, bytes, bytes]) -> bytes:
        """A tree of mode, name and object id each, in the order given."""
        content = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(blob.decode()) for mode, name, blob in entries)
        return self.run("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=content)

    def blob(self, content: bytes) -> bytes:
        """A blob; returns its id."""
        return self.run("hash-object", "-w", "--stdin", stdin=content)

    def stage(self, path: bytes, blob: bytes, mode: bytes = b"100644") -> None:
        """Put an object into the index under any path, without touching the work tree."""
        self.run("update-index", "-z", "--index-info", stdin=mode + b" " + blob + b"\t" + path + b"\0")

    def push(self, commit: bytes, *refs: bytes) -> None:
        """Make refs of the remote point to a commit; without any, main, and the clone's main follows."""
        self.run(
            "push", "--quiet", "--force", "origin", *(commit + b":" + ref for ref in refs or (b"refs/heads/main",))
        )
        if not refs:
            self.run("reset", "--quiet", "--hard", commit)
