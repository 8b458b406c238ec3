"""What is found of histories without a process is what git itself finds, over random histories."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.changes import Trees
from gitops_bg.repo.read.mainline import BranchPoints
from gitops_bg.repo.read.reverts import NearChanges
from gitops_bg.repo.settings import RepositorySettings
from tests.support.git.remote import GitRemote

TARGET, PRIMARY = "apps/shop/web/target.yaml", "apps/shop/web/primary.yaml"
Files = Mapping[str, str]


class Past:
    """A mirror of a remote, and commits that are written one by one, each with all its files and parents."""

    def __init__(self, remote: GitRemote, mirror: Mirror) -> None:
        self.mirror = mirror
        self.near = NearChanges(mirror, Trees(mirror))
        self._remote = remote
        self._stream: list[str] = []

    def commit(self, files: Files, *parents: int, subject: str = "") -> int:
        """Add a commit; its number. Parents are numbers of earlier ones."""
        number = len(self._stream) + 1
        said = f"commit refs/heads/c{number}\nmark :{number}\ncommitter Ada <ada@example.com> {number} +0000\n"
        message = subject or str(number % 10)
        said += f"data {len(message)}\n{message}\n"
        said += "".join(f"{word} :{one}\n" for word, one in zip(("from", *["merge"] * 9), parents, strict=False))
        said += "deleteall\n" + "".join(
            f"M 100644 inline {path}\ndata {len(content)}\n{content}\n" for path, content in files.items()
        )
        self._stream.append(said)
        return number

    def mirrored(self) -> list[str]:
        """Write what was added, fetch it, and return the ids of the commits by number."""
        marks = self._remote.bare / "marks"
        command = ["git", "--git-dir", str(self._remote.bare), "fast-import", "--quiet", f"--export-marks={marks}"]
        subprocess.run(command, input="".join(self._stream).encode(), check=True)
        self.mirror.fetch([f"c{number}" for number in range(1, len(self._stream) + 1)])
        named = dict(line.split(" ") for line in marks.read_text().strip().split("\n"))
        return ["", *(named[f":{number}"] for number in range(1, len(self._stream) + 1))]

    def leaves(self, head: str, main: str) -> str:
        """The first commit of a head's line that git finds in main; empty for none."""
        line = text(self.mirror.local("rev-list", "--first-parent", head)).split()
        own = set(text(self.mirror.local("rev-list", head, f"^{main}")).split())
        return next((commit for commit in line if commit not in own), "")

    def logged(self, *arguments: str) -> str:
        """The newest commit that git's own walk names; empty for none."""
        return text(self.mirror.local("log", "-1", "--format=%H", *arguments)).strip()


@pytest.fixture
def past(git_remote: GitRemote, tmp_path: Path) -> Iterator[Past]:
    settings = RepositorySettings(url=git_remote.url, cluster="test", directory=tmp_path / "agent")
    with Mirror(settings) as mirror:
        yield Past(git_remote, mirror)


def _random_history(past: Past, chance: random.Random) -> list[str]:
    """Forks, merges of two and three, evil merges, contents that come back, files that go."""
    numbers: list[int] = []
    files: dict[int, dict[str, str]] = {}
    for _ in range(24):
        parents = chance.sample(numbers[-4:], k=min(len(numbers), chance.choice((1, 1, 1, 2, 2, 3))))
        mine = dict(files[chance.choice(parents)]) if parents else {}
        for path in (TARGET, PRIMARY, "README.md"):
            if chance.random() < 0.3:
                mine[path] = chance.choice(("one", "two", "three"))
            elif chance.random() < 0.05:
                mine.pop(path, None)
        numbers.append(past.commit(mine, *parents))
        files[numbers[-1]] = mine
    return past.mirrored()[1:]


@pytest.mark.parametrize("seed", range(2))
def test_the_last_change_is_the_one_that_git_finds_or_none(past: Past, seed: int) -> None:
    commits, found = _random_history(past, random.Random(seed)), 0
    for head in commits:
        for paths in ((TARGET,), (PRIMARY,), (TARGET, PRIMARY)):
            for how in ((), ("--first-parent",)):
                near = past.near.last(paths, head, first_parents=bool(how))
                if near is None:
                    continue
                found += 1
                assert near[0] == past.logged(*how, *(("-m",) if how else ()), head, "--", *paths)
                assert near[1].parents == past.mirror.commits([near[0]])[near[0]].parents
    assert found > len(commits) * 3, "most are near"


def test_a_file_that_never_was_has_no_last_change(past: Past) -> None:
    past.commit({"README.md": "one"}, past.commit({"README.md": "zero"}))
    _, root, head = past.mirrored()
    assert past.near.last([TARGET], head) is None
    assert past.logged(head, "--", TARGET) == ""
    assert past.near.last(["README.md"], root) is not None


def test_what_is_further_away_is_left_to_git(past: Past) -> None:
    line = [past.commit({TARGET: "one"})]
    line += [past.commit({TARGET: "one", "README.md": str(number)}, number + 1) for number in range(6)]
    ids = past.mirrored()
    assert past.near.last([TARGET], ids[4]) is not None
    assert past.near.last([TARGET], ids[7]) is None


def test_a_large_folder_is_left_to_git(past: Past) -> None:
    many = {f"apps/shop/{number:04}-{'x' * 60}/target.yaml": "one" for number in range(1800)}
    past.commit({**many, TARGET: "one"}, past.commit(many))
    *_, head = past.mirrored()
    assert past.near.last([TARGET], head) is None


@pytest.mark.parametrize("seed", range(2))
def test_where_branches_leave_main_is_where_git_says_while_main_moves_and_they_do(past: Past, seed: int) -> None:
    chance = random.Random(seed)
    commits = _random_history(past, chance)
    kept, main, heads = BranchPoints(past.mirror), commits[0], chance.sample(commits, k=4)
    for _ in range(16):
        onward = [one for one in commits if past.mirror.is_ancestor(main, one)]
        main, before = chance.choice(onward if chance.random() < 0.7 else commits), main
        if main in onward:
            past.mirror.main_went(before, main)
        heads[chance.randrange(4)] = chance.choice([main, *commits])
        left = {head: line[-1] for head, line in kept.of(heads, main).items()}
        assert left == {head: past.leaves(head, main) for head in heads}


def test_a_branch_that_never_was_on_main_leaves_it_nowhere(past: Past) -> None:
    past.commit({TARGET: "one"})
    past.commit({TARGET: "two"})
    _, main, other = past.mirrored()
    lines = BranchPoints(past.mirror).of([main, other], main)
    assert (lines[main], lines[other][-1]) == ((main,), "")
