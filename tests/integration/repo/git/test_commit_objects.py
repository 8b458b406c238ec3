"""Commits read without a process equal git's own reading, and shortest paths between two equal git's."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitops_bg.repo.git.objects import CommitObjects, Objects
from gitops_bg.repo.git.output import Commit, subject_of
from gitops_bg.repo.git.runner import CommandLimits, Git, initialise, memory_for_git
from gitops_bg.repo.git.transport import transport_for
from gitops_bg.repo.settings import RepositorySettings

TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
ADA = "Ada Löv <ada@example.com>"

MESSAGES = {
    "one line": b"Push v2\n",
    "a body": b"Push v2\n\nBecause.\n\nBg-Event: promoted\n",
    "a subject of two lines": b"Push\nv2  \n\nBecause.\n",
    "blank lines first": b"\n  \nPush v2\n",
    "nothing": b"",
    "words of many languages": "Ausrollen für Zoë ✓ \u2028 次\n".encode(),
    "bytes that are no UTF-8": b"caf\xe9\n",
    "tabs and carriage returns": b"Push\tv2\r\nand v3\r\n\r\nmore\r\n",
    "no line feed at the end": b"Push v2",
    "control characters": b"a\x01b\x0bc\x0cd\n\x0b\nbody\n",
}
AUTHORS = {
    "ordinary": ADA,
    "without a name": "<ada@example.com>",
    "without an address": "Ada <>",
    "a name with an apostrophe": "Ada O'Neil (ops) <ada@example.com>",
    "spaces around": "  Ada   <ada@example.com>",
    "an address with spaces": "Ada < ada@example.com >",
}


class History:
    """A bare repository into which commits are written byte by byte."""

    def __init__(self, folder: Path) -> None:
        settings = RepositorySettings(url=str(folder), cluster="test", directory=folder)
        self.folder = folder / "mirror.git"
        limits = CommandLimits(memory_for_git())
        initialise(self.folder, 30, limits)
        git = Git(self.folder, transport_for(settings, folder / "askpass"), 30, limits)
        self.objects = Objects(git)
        self.commits = CommitObjects(self.objects)
        self._git("mktree", stdin=b"")

    def commit(self, *parents: str, author: str = ADA, message: bytes = b"one\n", headers: bytes = b"") -> str:
        """Write a commit; its id."""
        head = "".join([f"tree {TREE}\n", *(f"parent {one}\n" for one in parents)])
        head += f"author {author} 1700000000 +0100\ncommitter {ADA} 1700000001 +0100\n"
        raw = head.encode() + headers + b"\n" + message
        return self._git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw).decode().strip()

    def said(self, commit: str) -> Commit:
        """What git itself prints of a commit."""
        form = "--format=%P%x00%an%x00%ae%x00%at%x00%s%x00%B%x00"
        parts = (
            self._git("log", "-1", "-z", "--encoding=UTF-8", form, commit).decode(errors="backslashreplace").split("\0")
        )
        self.subject = parts[4]
        return Commit(tuple(parts[0].split()), parts[1], parts[2], parts[3], parts[5])

    def between(self, before: str, head: str) -> dict[str, tuple[str, ...]]:
        """What `git rev-list` says."""
        printed = self._git("rev-list", "--parents", f"^{before}", head).decode().splitlines()
        return {commit: tuple(parents) for commit, *parents in (line.split() for line in printed)}

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        command = ["git", "--git-dir", str(self.folder), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    history = History(tmp_path)
    with closing(history.objects):
        yield history


def test_what_is_read_of_a_commit_is_what_git_says_of_it(history: History) -> None:
    read = set()
    for (_, author), (kind, message) in [(a, m) for a in AUTHORS.items() for m in MESSAGES.items()]:
        commit = history.commit(author=author, message=message)
        found, said = history.commits.read([commit]).get(commit), history.said(commit)
        if found is not None:
            read.add(kind)
            # `log` ends a message with a line feed of its own where it has one; what reads it does not care.
            assert (found.author, found.mail, found.seconds) == (said.author, said.mail, said.seconds), (author, kind)
            assert subject_of(found.message) == history.subject, (author, kind)
            assert found.message.rstrip("\n") == said.message.rstrip("\n"), (author, kind)
    assert read == MESSAGES.keys() - {"bytes that are no UTF-8"}


@pytest.mark.parametrize(
    "headers",
    [b"encoding latin1\n", b"mergetag object 1f\n type commit\n", b"\0\n"],
    ids=["another encoding", "another header", "a NUL"],
)
def test_what_git_writes_in_another_way_is_left_to_it(history: History, headers: bytes) -> None:
    commit = history.commit(headers=headers)
    assert history.commits.read([commit]) == {}


def test_a_signed_commit_is_an_ordinary_one(history: History) -> None:
    commit = history.commit(headers=b"gpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lH\n -----END SSH SIGNATURE-----\n")
    assert history.commits.read([commit])[commit] == history.said(commit)


def test_what_is_long_or_missing_or_no_commit_is_left_to_git(history: History) -> None:
    long = history.commit(message=b"x" * 20_000)
    assert history.commits.read([long, "1" * 40, TREE]) == {}


def test_a_way_is_the_one_that_git_finds_or_none(history: History) -> None:
    """Over random histories with forks and merges; a wrong way would tell of changes that were none, or of none."""
    chance, found, far = random.Random(7), 0, 0
    for _ in range(12):
        commits = [history.commit(message=str(chance.random()).encode())]
        for _ in range(14):
            parents = chance.sample(commits[-4:], k=min(len(commits), chance.choice((1, 1, 2))))
            commits.append(history.commit(*parents, message=str(chance.random()).encode()))
        for _ in range(12):
            before, head = chance.sample(commits, k=2)
            near = history.commits.between(before, head)
            if near is None:
                far += 1
            else:
                found += 1
                assert near == history.between(before, head)
    assert found > 20
    assert far > 20, "or nothing is left to git"


def test_a_way_that_ends_at_what_is_known_to_be_contained_is_the_one_that_git_finds(history: History) -> None:
    """Branches begin long before the head that they join: their lines pass by it. Over random histories."""
    chance, more = random.Random(11), 0
    for _ in range(12):
        commits = [history.commit(message=str(chance.random()).encode())]
        contains = {commits[0]: {commits[0]}}
        for _ in range(14):
            parents = chance.sample(commits[-6:], k=min(len(commits), chance.choice((1, 1, 2))))
            commits.append(history.commit(*parents, message=str(chance.random()).encode()))
            contains[commits[-1]] = {commits[-1]}.union(*(contains[parent] for parent in parents))
        for _ in range(12):
            before, head = chance.sample(commits, k=2)
            first = chance.choice([one for one in commits if one in contains[before]])
            contained = {first, *(contains[before] - contains[first])}
            near = history.commits.between(before, head, contained.__contains__)
            more += near is not None and history.commits.between(before, head) is None
            assert near is None or near == history.between(before, head)
    assert more > 20, "or it is worth nothing"


def test_a_long_way_is_left_to_git(history: History) -> None:
    line = [history.commit()]
    for number in range(20):
        line.append(history.commit(line[-1], message=str(number).encode()))
    assert history.commits.between(line[4], line[20]) is not None
    assert history.commits.between(line[3], line[20]) is None
    assert history.commits.between(line[20], line[4]) is None
    assert [one for one, _ in history.commits.first_parents(line[20], {line[18]}) or ()] == [line[20], line[19]]
    assert history.commits.first_parents(line[20], {line[3]}) is None
