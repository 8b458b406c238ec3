"""What is known of main's way is not asked of git again, and is what git says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.index import walked_main
from gitops_bg.repo.read.index.touched import promoted_between
from gitops_bg.repo.read.index.walked_main import Step, WalkedMain
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.read.provenance import revisions_of
from gitops_bg.repo.read.trees import Trees
from gitops_bg.repo.settings import RepositorySettings
from tests.integration.repo.test_near_changes import PRIMARY, Past
from tests.support.git.remote import GitRemote

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
AB = Step("a", "b", {WEB: ("a1",)})
BC = Step("b", "c", {API: ("c",)})
CD = Step("c", "d", {WEB: ("d",), API: ("c2", "c1")})
PULLED = "Merge branch 'main' of https://example.com/shop/config"


def walked(*steps: Step) -> WalkedMain:
    made = WalkedMain()
    for step in steps:
        made.add(step)
    return made


@pytest.mark.parametrize(
    ("app", "since", "head", "expected"),
    [
        (WEB, "a", "d", ["d", "a1"]),
        (WEB, "b", "d", ["d"]),
        (WEB, "a1", "d", ["d"]),  # the one that changed it in its step
        (WEB, "a1", "c", []),
        (API, "a", "d", ["c2", "c1", "c"]),
        (API, "c1", "d", None),  # which of two contains the other is not known here
        (WEB, "b", "c", []),
        (API, "a", "b", []),
        (WEB, "d", "d", []),
        (WEB, "0", "d", None),  # before this process looked, or between two looks
        (WEB, "c", "b", None),  # not on the way from one to the other
        (WEB, "a", "e", None),  # not seen yet
    ],
)
def test_the_commits_that_changed_what_an_app_is_promoted_to(
    app: AppKey, since: str, head: str, expected: list[str] | None
) -> None:
    assert walked(AB, BC, CD).changes(app, since, head, lambda *_: True) == expected


def test_a_commit_beside_mains_line_may_lack_what_came_before():
    asked: list[tuple[str, str]] = []
    known = walked(AB, BC, CD)
    assert known.changes(WEB, "a1", "d", lambda *pair: bool(asked.append(pair))) is None
    assert asked == [("a", "a1")]


def test_a_step_that_begins_earlier_replaces_what_its_reader_could_not_use():
    bd = Step("b", "d", {WEB: ("d",)})
    assert walked(AB, BC, bd).changes(WEB, "a", "d") == ["d", "a1"]
    assert walked(AB, BC, bd).changes(WEB, "a", "c") is None


def test_a_step_from_elsewhere_begins_anew():
    xy = Step("x", "y", {})
    assert walked(AB, BC, xy).changes(WEB, "a", "c") is None
    assert walked(AB, BC, xy).changes(WEB, "x", "y") == []


def test_after_main_went_another_way_nothing_is_known():
    made = walked(AB, BC)
    made.forget()
    assert made.changes(WEB, "a", "c") is None


@pytest.mark.parametrize(
    ("steps", "changes", "kept"),
    [(3, 100, ["b", "c", "d"]), (2, 100, ["c", "d"]), (9, 3, ["c", "d"]), (9, 2, ["d"]), (9, 1, ["d"])],
)
def test_so_many_steps_and_changes_are_known_and_the_oldest_go_first(
    monkeypatch: pytest.MonkeyPatch, steps: int, changes: int, kept: list[str]
) -> None:
    monkeypatch.setattr(walked_main, "_MOST_STEPS", steps)
    monkeypatch.setattr(walked_main, "_MOST_CHANGES", changes)
    made = walked(AB, BC, AB, BC, CD)
    assert [head for head in "bcd" if made.changes(WEB, {"b": "a", "c": "b", "d": "c"}[head], "d") is not None] == kept


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
def test_the_changes_of_primary_are_those_that_git_finds(past: Past, seed: int) -> None:
    """Main goes on by pushes of several commits, merges of old branches among them; asked of every commit before."""
    chance, trees = random.Random(seed), Trees(past.mirror)
    line, branches, heads = [past.commit({PRIMARY: "0"})], [], []
    for number in range(24):
        branches.append(past.commit({PRIMARY: str(chance.randrange(4))}, chance.choice(line[-5:])))
        merged = [chance.choice(branches[-4:])] if chance.random() < 0.4 else []
        line.append(past.commit({PRIMARY: str(chance.randrange(4)), "n": str(number)}, line[-1], *merged))
        if chance.random() < 0.4:
            heads.append(line[-1])
    ids, known, main, found = past.mirrored(), WalkedMain(), Mainline(past.mirror), 0
    for before, head in pairwise(heads):
        past.mirror.main_went(ids[before], ids[head])
        known.add(Step(ids[before], ids[head], promoted_between(past.mirror, trees, ids[before], ids[head])))
    main.line(ids[heads[-1]])
    for since in line[: line.index(heads[-1])]:
        changes = known.changes(WEB, ids[since], ids[heads[-1]], main.follows)
        if changes is not None:
            found += 1
            told = revisions_of(past.mirror, PRIMARY, "--full-history", f"^{ids[since]}", ids[heads[-1]])
            assert set(changes) == {commit for commit, _ in told}
    assert found > 3, "or nothing was compared"


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
        told = main.line(ids[head])
        assert [each for each in told if each in {ids[one] for one in heads}][:2] == [ids[head], ids[before]]
        parents_of = _parents(past.mirror, ids[head])
        assert all(earlier in parents_of[later] for later, earlier in pairwise(told))
        assert all(main.before(later, ids[head]) == earlier for later, earlier in pairwise(told))


def _parents(mirror: Mirror, head: str) -> dict[str, list[str]]:
    printed = text(mirror.local("rev-list", "--parents", head)).split("\n")
    return {commit: parents for commit, *parents in map(str.split, filter(None, printed))}
