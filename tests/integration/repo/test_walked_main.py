"""What is known of main's way is not asked of git again, and is what git says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pytest

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read import changes as walks
from gitops_bg.repo.read.changes import Step, Trees, WalkedMain
from gitops_bg.repo.read.changes import walked as way
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.history import Details, MainJournal
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.settings import RepositorySettings
from tests.integration.repo.test_near_changes import PRIMARY, Past
from tests.support.git.remote import GitRemote

WEB, API = PRIMARY, "apps/shop/api/primary.yaml"
AB = Step("a", "b", {WEB: ("a1",)})
BC = Step("b", "c", {API: ("c",)})
CD = Step("c", "d", {WEB: ("d",), API: ("c2", "c1")})
CROWDED = Step("c", "d", {}, crowded=True)
PULLED = "Merge branch 'main' of https://example.com/shop/config"


def walked(*steps: Step) -> WalkedMain:
    made = WalkedMain()
    for step in steps:
        made.add(step)
    return made


@pytest.mark.parametrize(
    ("path", "head", "expected"),
    [
        (WEB, "d", (["d", "a1"], "a")),
        (WEB, "c", (["a1"], "a")),
        (API, "d", (["c2", "c1", "c"], "a")),
        (API, "b", ([], "a")),
        (WEB, "e", ([], "e")),  # not seen yet
        (WEB, "d1", ([], "d1")),  # between two looks
    ],
)
def test_the_commits_that_changed_a_file_and_since_when_they_are_known(
    path: str, head: str, expected: tuple[list[str], str]
) -> None:
    assert walked(AB, BC, CD).changes(path, head) == expected


def test_below_a_folder_with_too_many_places_nothing_is_known() -> None:
    known = walked(AB, BC, CROWDED)
    assert known.changes("groups/shop/store/v1/cart/app.yaml", "d") == ([], "d")
    assert known.changes(WEB, "d") == (["a1"], "a")


def test_a_step_that_begins_earlier_replaces_what_its_reader_could_not_use() -> None:
    bd = Step("b", "d", {WEB: ("d",)})
    assert walked(AB, BC, bd).changes(WEB, "d") == (["d", "a1"], "a")
    assert walked(AB, BC, bd).changes(WEB, "c") == ([], "c")


def test_a_step_from_elsewhere_begins_anew() -> None:
    xy = Step("x", "y", {})
    assert walked(AB, BC, xy).changes(WEB, "c") == ([], "c")
    assert walked(AB, BC, xy).changes(WEB, "y") == ([], "x")


def test_after_main_went_another_way_nothing_is_known() -> None:
    made = walked(AB, BC)
    made.forget()
    assert made.changes(WEB, "c") == ([], "c")


@pytest.mark.parametrize(
    ("steps", "changes", "since"), [(3, 100, "a"), (2, 100, "b"), (9, 3, "b"), (9, 2, "c"), (9, 1, "c")]
)
def test_so_many_steps_and_changes_are_known_and_the_oldest_go_first(
    monkeypatch: pytest.MonkeyPatch, steps: int, changes: int, since: str
) -> None:
    monkeypatch.setattr(walks, "_MOST_STEPS", steps)
    monkeypatch.setattr(walks, "_MOST_CHANGES", changes)
    assert walked(AB, BC, AB, BC, CD).changes(WEB, "d")[1] == since


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    remote = GitRemote(tmp_path / "remote")
    remote.stage({"README.md": "\n"})
    remote.commit("Begin")
    remote.push()
    with Mirror(RepositorySettings(url=remote.url, directory=tmp_path / "mirror", cluster="test")) as mirror:
        yield Past(remote, mirror)


def test_who_contains_whom_is_what_git_says_wherever_main_went(past: Past) -> None:
    """Branches leave main at any of its heads, and join it or do not: none that began early contains a later head."""
    chance, line, others = random.Random(3), [past.commit({PRIMARY: "0"})], []
    for number in range(40):
        branch = past.commit({PRIMARY: f"b{number}"}, chance.choice(line + others[-3:]))
        others.append(branch)
        line.append(past.commit({PRIMARY: str(number)}, line[-1], *([branch] if chance.random() < 0.5 else [])))
    ids = past.mirrored()
    for before, head in pairwise(line):
        past.mirror.main_went(ids[before], ids[head])
    for _ in range(120):
        one, other = (ids[each] for each in chance.sample(line + others, k=2))
        said = past.mirror.git.attempt("merge-base", "--is-ancestor", one, other).status == 0
        assert past.mirror.is_ancestor(one, other) is said
        printed = text(past.mirror.local("rev-list", f"^{one}", other)).split()
        assert set(past.mirror.between(one, other)) == set(printed)


@pytest.mark.parametrize("seed", range(3))
def test_the_changes_of_a_file_are_those_of_mains_own_line_whatever_is_known_of_it(past: Past, seed: int) -> None:
    """Main goes on by pushes of several commits, merges of old branches among them; asked since each one."""
    chance, trees = random.Random(seed), Trees(past.mirror)
    line, branches, heads, content = [past.commit({PRIMARY: "0"})], [], [], ["0"]
    for number in range(24):
        branches.append(past.commit({PRIMARY: str(chance.randrange(4))}, chance.choice(line[-5:])))
        merged = [chance.choice(branches[-4:])] if chance.random() < 0.4 else []
        content.append(str(chance.randrange(4)))
        line.append(past.commit({PRIMARY: content[-1], "n": str(number)}, line[-1], *merged))
        if chance.random() < 0.4:
            heads.append(line[-1])
    ids, known, main = past.mirrored(), WalkedMain(), Mainline(past.mirror)
    for before, head in pairwise(heads):
        steps = main.steps(ids[head], after=main.place(ids[before], ids[head]) or 0)
        known.add(way(trees, ids[before], ids[head], steps))
    blank = Mock(spec=Files), Mock(spec=Details)
    head = line.index(heads[-1])
    for told in (known, WalkedMain()):
        journal = MainJournal(past.mirror, trees, *blank, main, told)
        for since in range(head):
            changed = [at for at in range(head, since, -1) if content[at] != content[at - 1]]
            found = journal.changes(PRIMARY, ids[heads[-1]], ids[heads[-1]], since=ids[line[since]])
            assert list(found) == [ids[line[at]] for at in changed]
        everything = list(journal.changes(PRIMARY, ids[heads[-1]], ids[heads[-1]]))
        assert everything[-1] == ids[line[0]], "the first commit brought it"
        assert list(journal.changes(PRIMARY, ids[line[3]], ids[heads[-1]]))[-1] == ids[line[0]]


@pytest.mark.parametrize("seed", range(3))
def test_what_main_was_once_stays_in_its_line_whatever_merges_are_called(past: Past, seed: int) -> None:
    """Stale clones, forks and pulls, with the parents either way round; some heads were never looked at."""
    chance, line, others, heads = random.Random(seed), [past.commit({"n": "0"})], list[int](), []
    for number in range(1, 60):
        others.append(past.commit({"n": f"o{number}"}, chance.choice([*line[-6:], *others[-3:]])))
        parents = [line[-1], *([chance.choice(others[-4:])] if chance.random() < 0.6 else [])]
        chance.shuffle(parents)
        line.append(past.commit({"n": str(number)}, *parents, subject=chance.choice(["", PULLED])))
        if chance.random() < 0.6:
            heads.append(line[-1])
    ids, main = past.mirrored(), Mainline(past.mirror)
    main.was_at(ids[heads[0]])
    for before, head in pairwise(heads):
        past.mirror.main_went(ids[before], ids[head])
        told = [commit for commit, _ in main.steps(ids[head])]
        assert [each for each in told if each in {ids[one] for one in heads}][:2] == [ids[head], ids[before]]
        parents_of = _parents(past.mirror, ids[head])
        assert all(earlier in parents_of[later] for later, earlier in pairwise(told))
        assert all(main.before(later, ids[head]) == earlier for later, earlier in pairwise(told))


def _parents(mirror: Mirror, head: str) -> dict[str, list[str]]:
    printed = text(mirror.local("rev-list", "--parents", head)).split("\n")
    return {commit: parents for commit, *parents in map(str.split, filter(None, printed))}
