"""The long-lived `git cat-file`: it answers as a process per question would, and its death costs one question."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitops_bg.repo.git.errors import MirrorClosed
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.objects import ObjectHeader, Objects
from gitops_bg.repo.git.output import entries_of
from gitops_bg.repo.git.runner import Git, GitFailed
from gitops_bg.repo.read import changes
from gitops_bg.repo.read.changes import NOTHING, TreeChange, TreeNode, Trees
from gitops_bg.repo.settings import RepositorySettings
from tests.support.git.raw_git import RawGit
from tests.support.git.remote import GitRemote


@pytest.fixture
def mirror(remote: GitRemote, tmp_path: Path) -> Iterator[Mirror]:
    """A mirror of the remote, fetched once."""
    with Mirror(RepositorySettings(url=remote.url, directory=tmp_path / "mirror", cluster="test")) as made:
        made.follow(made.remote_branches())
        yield made


@pytest.fixture
def objects(mirror: Mirror) -> Objects:
    return mirror._objects


def process_of(objects: Objects) -> int:
    """The process that answers."""
    process = objects._process
    assert process is not None
    return process.pid


class TestAnswers:
    def test_headers_come_in_the_order_of_the_question(self, objects: Objects, remote: GitRemote) -> None:
        head = remote.head()
        tree = remote.run("rev-parse", "HEAD^{tree}")
        commit, folder, missing = objects.headers([str(head), f"{head}^{{tree}}", "f" * 40])
        assert commit is not None
        assert (commit.id, commit.kind) == (head, "commit")
        assert folder == ObjectHeader(tree, "tree", int(remote.run("cat-file", "-s", tree)))
        assert missing is None

    @pytest.mark.slow
    def test_contents_come_whole_however_many_and_however_large(self, mirror: Mirror, remote: GitRemote) -> None:
        """More names than one portion, and more bytes than a pipe holds."""
        git = RawGit(remote)
        texts = [b"x" * size for size in (0, 1, 70_000, 1_000_000)] + [b"\n%d" % number for number in range(600)]
        blobs = [git.blob(text) for text in texts]
        for number, blob in enumerate(blobs):
            git.stage(b"many/%d" % number, blob)
        git.push(git.commit(b"many"))
        mirror.follow(mirror.remote_branches())
        names = [blob.decode() for blob in blobs]
        mirror.fetch_blobs({name: (name,) for name in names})
        assert [content for _, content in mirror.contents([*names, "f" * 40])] == [*texts, b""]
        assert [header and header.size for header in mirror.headers(names)] == [len(text) for text in texts]

    def test_one_process_answers_about_headers_and_contents_by_turns(self, objects: Objects, remote: GitRemote) -> None:
        head = str(remote.head())
        (header,) = objects.headers([head])
        pid = process_of(objects)
        ((again, content),) = objects.contents([head])
        assert again == header
        assert content.decode() == remote.run("cat-file", "commit", head) + "\n"
        assert objects.headers([head]) == [header]
        assert process_of(objects) == pid

    def test_names_of_any_length_are_answered_at_once(self, objects: Objects, remote: GitRemote) -> None:
        """More bytes of questions and answers than two pipes hold: git and who asks it would wait for each other."""
        head = remote.head()
        names = [f"{head}:{'/'.join(['x' * 250] * 15)}/{number}" for number in range(200)]
        assert objects.headers([*names, str(head)])[-1] is not None

    @pytest.mark.parametrize("name", ["", "HEAD:a\nb"])
    def test_what_cannot_be_asked_in_a_line_names_nothing(self, objects: Objects, remote: GitRemote, name: str) -> None:
        head = str(remote.head())
        before, nothing, after = objects.headers([head, name, head])
        assert nothing is None
        assert before is not None
        assert before == after

    def test_what_is_fetched_later_is_seen(self, mirror: Mirror, remote: GitRemote) -> None:
        later = remote.commit("later")
        assert not mirror.has(later)
        remote.push(permit=True)
        mirror.follow(mirror.remote_branches())
        assert mirror.has(later)

    def test_packing_the_mirror_loses_nothing(self, mirror: Mirror, remote: GitRemote) -> None:
        head = str(remote.head())
        before = mirror.headers([head])
        mirror.tidy()
        assert mirror.headers([head]) == before


class TestTrouble:
    def test_one_that_was_killed_between_two_questions_is_started_again(
        self, objects: Objects, remote: GitRemote
    ) -> None:
        head = str(remote.head())
        before = objects.headers([head])
        pid = process_of(objects)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert objects.headers([head]) == before

    def test_one_that_does_not_answer_is_killed_at_the_deadline(
        self, objects: Objects, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        head = str(remote.head())
        before = objects.headers([head])
        os.kill(process_of(objects), signal.SIGSTOP)
        with monkeypatch.context() as impatient:
            impatient.setattr(Git, "patience_seconds", 0.1)
            with pytest.raises(GitFailed) as failed:
                objects.headers([head])
        assert failed.value.finished.timed_out
        assert objects.headers([head]) == before

    def test_an_answer_that_is_not_read_to_its_end_does_not_answer_the_next_question(
        self, objects: Objects, remote: GitRemote
    ) -> None:
        head = str(remote.head())
        with suppress(KeyboardInterrupt), objects._answering([f"info {head}\n".encode()] * 2) as answer:
            answer.readline()
            raise KeyboardInterrupt
        assert objects.headers(["f" * 40]) == [None]

    def test_nothing_is_left_of_a_closed_one(self, objects: Objects, mirror: Mirror, remote: GitRemote) -> None:
        objects.headers([str(remote.head())])
        pid = process_of(objects)
        mirror.close()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    def test_a_closed_mirror_starts_no_process_for_a_thread_that_comes_late(
        self, objects: Objects, mirror: Mirror, remote: GitRemote
    ) -> None:
        """Found so: a look that outlived the stop of its agent left a git behind, in a directory that was released."""
        head = str(remote.head())
        mirror.close()
        late: list[Callable[[], object]] = [
            lambda: objects.headers([head]),
            lambda: mirror.git.run("rev-parse", head),
            mirror.remote_branches,
        ]
        for ask in late:
            with pytest.raises(MirrorClosed):
                ask()
        assert objects._process is None


class TestFolders:
    """Small folders are read, large ones are compared by git: both ways say the same."""

    @pytest.fixture(params=[0, 1_000_000], ids=["by git", "here"])
    def folders(self, request: pytest.FixtureRequest, mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> Trees:
        monkeypatch.setattr(changes, "_SMALL_BYTES", request.param)
        return Trees(mirror)

    def test_every_kind_of_change_is_told(self, folders: Trees, mirror: Mirror, remote: GitRemote) -> None:
        git = RawGit(remote)
        one, two = git.blob(b"1"), git.blob(b"2")
        inner = git.tree((b"100644", b"x", one))
        submodule = b"1" * 40
        before = git.tree(
            (b"100644", b"edited", one), (b"100644", b"gone", one), (b"100644", b"link", one),
            (b"100644", b"same", one), (b"40000", b"turned", inner),
        )  # fmt: skip
        after = git.tree(
            (b"100755", b"edited", two), (b"120000", b"link", one), (b"160000", b"module", submodule),
            (b"100664", b"same", one), (b"100644", b"turned", one),
        )  # fmt: skip
        commits = [git.commit(b"before", tree=before), git.commit(b"after", tree=after)]
        for commit in commits:
            git.push(commit, b"refs/heads/main")
            mirror.follow(mirror.remote_branches())
        pair = (folders.root(commits[0].decode()), folders.root(commits[1].decode()))
        told = {change.name: change for change in folders.differences([pair])[pair]}

        def node(mode: str, blob: bytes) -> TreeNode:
            return TreeNode(mode, blob.decode())

        assert told == {
            "edited": TreeChange("edited", node("100644", one), node("100755", two)),
            "gone": TreeChange("gone", node("100644", one), NOTHING),
            "link": TreeChange("link", node("100644", one), node("120000", one)),
            "module": TreeChange("module", NOTHING, node("160000", submodule)),
            "turned": TreeChange("turned", node("040000", inner), node("100644", one)),
        }
        listed = {(name, each.mode) for _, name, each in folders.listed([pair[0]])}
        assert ("turned", "040000") in listed
        assert len(listed) == 5
        there = folders.at(commits[0].decode(), ["turned/x", "gone", "nowhere", "same/x"])
        assert there == {"turned/x": node("100644", one), "gone": node("100644", one)}

    def test_nothing_differs_from_itself(self, folders: Trees, remote: GitRemote) -> None:
        root = folders.root(str(remote.head()))
        assert folders.differences([(root, root)]) == {(root, root): []}


@pytest.mark.parametrize(
    ("written", "read"),
    [(b"100644", "100644"), (b"100664", "100644"), (b"100700", "100755"), (b"040000", "040000"), (b"40000", "040000"),
     (b"120777", "120000"), (b"160000", "160000"), (b"0", "160000")],
)  # fmt: skip
def test_a_mode_is_one_of_those_that_git_knows(written: bytes, read: str) -> None:
    assert [mode for mode, _, _ in entries_of(written + b" name\0" + bytes(20), 20)] == [read]


def test_what_is_no_tree_is_an_error() -> None:
    with pytest.raises(ValueError, match="subsection not found"):
        list(entries_of(b"garbage", 20))
