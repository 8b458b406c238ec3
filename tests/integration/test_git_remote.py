"""The Git remote that other tests lean on keeps its promises; most of all, that protection refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.git.remote import GitRefused, GitRemote


@pytest.fixture
def remote(tmp_path: Path) -> GitRemote:
    remote = GitRemote(tmp_path / "git")
    remote.publish("First", {"a/b.yaml": "x: 1\r\n\n"})
    return remote


def test_a_published_file_is_read_back_byte_for_byte(remote: GitRemote) -> None:
    assert remote.show("main", "a/b.yaml") == "x: 1\r\n\n"
    assert remote.show("main", "a/c.yaml") is None
    assert remote.show("nowhere", "a/b.yaml") is None


def test_a_revert_is_a_commit_that_restores_the_file(remote: GitRemote) -> None:
    second = remote.publish("Second", {"a/b.yaml": "x: 2\n"})
    reverted = remote.revert(second)
    remote.push()
    assert remote.head() == reverted
    assert remote.show("main", "a/b.yaml") == "x: 1\r\n\n"
    assert [commit.subject for commit in remote.log()] == ['Revert "Second"', "Second", "First"]


def test_a_protected_branch_takes_merges_only(remote: GitRemote) -> None:
    remote.protect()
    remote.commit("Straight to main")
    with pytest.raises(GitRefused, match="protected branch hook declined"):
        remote.push()
    with pytest.raises(GitRefused, match="protected branch hook declined"):
        remote.force_push()
    remote.run("reset", "--quiet", "--hard", "origin/main")
    remote.checkout("feature", new=True)
    remote.write("a/b.yaml", "x: 3\n")
    remote.commit("Third")
    remote.push()
    merge = remote.merge("feature", "Merge the feature")
    assert remote.head() == merge
    assert remote.show("main", "a/b.yaml") == "x: 3\n"


def test_a_merge_can_be_reverted(remote: GitRemote) -> None:
    remote.checkout("feature", new=True)
    remote.write("a/b.yaml", "x: 3\n")
    remote.commit("Third")
    remote.push()
    remote.revert(remote.merge("feature"))
    remote.push()
    assert remote.show("main", "a/b.yaml") == "x: 1\r\n\n"


def test_a_force_push_rewrites_history(remote: GitRemote) -> None:
    first = remote.head()
    remote.publish("Second", {"a/b.yaml": "x: 2\n"})
    assert first is not None
    remote.force_push(to=first)
    assert remote.head() == first


def test_dates_and_authors_are_the_tests_to_choose(remote: GitRemote) -> None:
    remote.commit("Dated", author="Bo <bo@example.com>", date=datetime(2024, 2, 29, tzinfo=UTC))
    remote.push()
    assert remote.log()[0].author == "Bo"
    assert remote.run("log", "-1", "--format=%aI %cI") == "2024-02-29T00:00:00+00:00 2024-02-29T00:00:00+00:00"


def test_a_remote_that_is_down_refuses_and_comes_back(remote: GitRemote) -> None:
    remote.go_down()
    with pytest.raises(GitRefused):
        remote.run("ls-remote", "origin")
    remote.come_back()
    assert remote.head() is not None


def test_a_push_loses_nothing_that_somebody_else_pushed(remote: GitRemote) -> None:
    mine = remote.commit("Mine")
    remote.push()
    remote.run("reset", "--quiet", "--hard", f"{mine}~1")
    remote.commit("On an old main")
    with pytest.raises(GitRefused, match="merge-base"):
        remote.push()
    assert remote.head() == mine


def test_a_branch_that_somebody_is_moving_is_left_to_them(remote: GitRemote) -> None:
    lock = remote.bare / "refs" / "heads" / "main.lock"
    lock.touch()
    remote.commit("Mine")
    with pytest.raises(GitRefused, match=r"main\.lock"):
        remote.push()
    lock.unlink()
    remote.push()
    assert remote.head() == remote.tip
