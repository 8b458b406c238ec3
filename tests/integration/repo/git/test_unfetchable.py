"""What cannot be fetched concerns only what it belongs to. The remote is reached by ssh: our limits are not its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppOrGroup, GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git import mirror as mirror_module
from gitops_bg.repo.git import remote as remote_module
from gitops_bg.repo.git.errors import RemoteUnreachable, TooLarge
from gitops_bg.repo.git.runner import MEBIBYTE, Finished
from gitops_bg.repo.repository import Repository
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, WEB, Opener, change, git_calls
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.support.git.bombs import delta_pack, loose
from tests.support.git.raw_git import RawGit
from tests.support.git.remote import GitRemote

SSH = """#!/bin/sh
ulimit -S -d unlimited; ulimit -S -t unlimited; ulimit -S -f unlimited
for last; do :; done
exec sh -c "$last"
"""
MEMORY = 32 * MEBIBYTE
TOO_MUCH = 64
"""MiB of a commit; a remote has that much memory."""
PROMOTION = "gitops-bg/promote/shop/web"
HEADERS = "tree {tree}\nparent {parent}\nauthor A <a@b> 1770000000 +0000\ncommitter A <a@b> 1770000000 +0000\n\n"


@pytest.fixture
def far(opened: Opener, remote: GitRemote, tmp_path: Path) -> Callable[..., Repository]:
    """Opens a repository whose git has little memory, on a remote that has more."""
    program = tmp_path / "ssh"
    program.write_text(SSH)
    program.chmod(0o755)

    def open_one(**settings: object) -> Repository:
        return opened(f"git@localhost:{remote.bare}", ssh_program=str(program), git_memory=MEMORY, **settings)

    return open_one


def huge_commit(remote: GitRemote) -> str:
    """A commit on top of main whose message unpacks to more than git may have."""
    headers = HEADERS.format(tree=remote.run("rev-parse", "HEAD^{tree}"), parent=remote.head())
    return loose(remote.bare / "objects", "commit", headers.encode(), TOO_MUCH).decode()


def place(remote: GitRemote, branch: str, commit: str) -> None:
    """Move a branch by hand: git would look at the commit."""
    file = remote.bare / "refs" / "heads" / branch
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{commit}\n")


def partial_packs(folder: Path) -> list[Path]:
    return list(folder.rglob("tmp_*"))


class TestBranches:
    def test_main_comes_in_beside_a_promotion_branch_that_cannot_and_the_agent_makes_that_again(
        self, far: Callable[..., Repository], remote: GitRemote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository = far()
        repository.poll()
        place(remote, PROMOTION, huge_commit(remote))
        head = remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        poll = repository.poll()
        assert (poll.commit, poll.changed) == (head, {WEB})
        assert not repository.offers.promotions()
        assert "cannot be read: it needs more than 32 MiB of memory; delete it" in repository.mirror.unread(PROMOTION)
        assert not repository.mirror.unread("gitops-bg/promote/shop/api")
        assert partial_packs(tmp_path / "mirror") == []
        calls = git_calls(repository, monkeypatch)
        assert not repository.poll().moved
        assert calls == ["ls-remote"], "what cannot be fetched is not tried again until it moves"
        assert repository.promotions.offer([change(repository)])[WEB].result == "committed"
        assert repository.mirror.unread(PROMOTION) == ""
        assert set(repository.offers.promotions()) == {WEB}

    @pytest.mark.parametrize("who", [WEB, GroupKey("shop", "store")], ids=["app", "group"])
    def test_one_that_cannot_be_fetched_is_withdrawn_as_any_other(
        self, far: Callable[..., Repository], remote: GitRemote, who: AppOrGroup
    ) -> None:
        branch = promotion_branch(who)
        remote.publish("A group", {"groups/shop/store/group.yaml": "kind: ReleaseGroup"})
        place(remote, branch, huge_commit(remote))
        repository = far()
        repository.poll()
        repository.branches.withdraw({who: None})
        assert not (remote.bare / "refs" / "heads" / branch).exists()

    def test_main_comes_in_beside_a_ledger_that_cannot(
        self, far: Callable[..., Repository], remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever may push to any branch may push to that one."""
        repository, state = far(), "gitops-bg/state/prod"
        repository.ledger.publish({WEB: batch(entry(1))})
        repository.poll()
        known = remote.head(state)
        place(remote, state, huge_commit(remote))
        head = remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        poll = repository.poll()
        assert (poll.commit, poll.changed) == (head, {WEB})
        assert "needs more than 32 MiB of memory" in repository.mirror.unread(state)
        assert [each.entry.sequence for each in repository.history.of(WEB)] == [1], "what was read goes on"
        calls = git_calls(repository, monkeypatch)
        assert not repository.poll().moved
        assert calls == ["ls-remote"]
        place(remote, state, str(known))
        repository.poll()
        assert repository.mirror.unread(state) == ""
        repository.ledger.publish({WEB: batch(entry(1), entry(2))})
        assert len(repository.history.of(WEB)) == 2

    @pytest.mark.parametrize("branch", ["gitops-bg/state/prod", PROMOTION])
    def test_one_that_a_broken_connection_kept_away_is_fetched_again(
        self, branch: str, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Found: it counted as unreadable until it moved, and only the agent moves its ledger, which it had read."""
        monkeypatch.setattr(mirror_module, "_ASK_AGAIN", 0.0)
        repository.ledger.publish({WEB: batch(entry(1))})
        repository.promotions.offer([change(repository)])
        repository.poll()
        commit = remote.run("commit-tree", f"{remote.head(branch)}^{{tree}}", "-p", str(remote.head(branch)), "-m", "x")
        place(remote, branch, commit)
        wire, fetch = repository.mirror._remote, repository.mirror._remote.fetch

        def broken(wanted: str, *options: str, **limits: Any) -> Finished:
            if f"refs/heads/{branch}:" in wanted:
                return replace(fetch("refs/heads/nowhere\n"), status=128)
            return fetch(wanted, *options, **limits)

        monkeypatch.setattr(wire, "fetch", broken)
        repository.poll()
        assert "cannot be read" in repository.mirror.unread(branch)
        assert "is tried again" in repository.mirror.unread(branch)
        monkeypatch.setattr(wire, "fetch", fetch)
        repository.poll()
        assert repository.mirror.unread(branch) == ""
        assert repository.mirror.tracked()[branch] == commit

    @pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
    def test_one_that_is_no_commit_is_not_read(self, kind: str, repository: Repository, remote: GitRemote) -> None:
        """Found: the mirror counted as damaged, and was cloned again at every poll. Only a remote itself does that."""
        git = RawGit(remote)
        tag = b"object %s\ntype commit\ntag x\ntagger A <a@b> 1 +0000\n\nx\n" % str(remote.head()).encode()
        made = {
            "blob": lambda: git.blob(b"no commit"),
            "tree": lambda: git.run("write-tree"),
            "tag": lambda: git.run("hash-object", "-w", "-t", "tag", "--stdin", stdin=tag),
        }[kind]()
        place(remote, PROMOTION, made.decode())
        head = remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        assert repository.poll().commit == head
        assert not repository.offers.promotions()
        assert "it is no commit" in repository.mirror.unread(PROMOTION)
        assert repository.promotions.offer([change(repository)])[WEB].result == "committed"
        assert set(repository.offers.promotions()) == {WEB}

    def test_main_itself_is_told_and_followed_again_once_its_history_is_mended(
        self, far: Callable[..., Repository], remote: GitRemote
    ) -> None:
        repository, head = far(), str(remote.head())
        repository.poll()
        place(remote, "main", huge_commit(remote))
        for _ in range(2):
            with pytest.raises(TooLarge, match="needs more than 32 MiB of memory"):
                repository.poll()
        assert repository.files(WEB), "what was read goes on"
        place(remote, "main", head)
        later = remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        assert repository.poll().commit == later

    def test_many_that_the_remote_cannot_read_cost_a_bounded_number_of_exchanges(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They are of apps that main has; all others of these are followed at once, or by later polls."""
        names = [f"app-{number}" for number in range(24)]
        files = {path: text.decode() for name in names for path, text in texts.folder("shop", name).items()}
        head = remote.publish("Many", files)
        for number, name in enumerate(names):
            place(remote, f"gitops-bg/promote/shop/{name}", head if number % 2 else f"{number:040x}"[:39] + "e")
        calls = git_calls(repository, monkeypatch)
        assert repository.poll().commit == head
        assert calls.count("fetch") <= 1 + remote_module._MOST_FAILURES * (1 + remote_module._PARTS)
        for _ in range(5):
            repository.poll()
        assert len(repository.offers.promotions()) == 12
        calls.clear()
        repository.poll()
        assert "fetch" not in calls, "what the remote cannot read is asked for again after half a minute"

    def test_those_of_nobody_are_not_fetched_and_those_that_main_begins_to_have_are(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        new, group = "gitops-bg/promote/shop/new", "gitops-bg/promote-groups/shop/store"
        for name in (new, group, PROMOTION):
            place(remote, name, str(remote.head()))
        repository.poll()
        assert set(repository.mirror.tracked()) == {"main", PROMOTION}
        files = {path: text.decode() for path, text in texts.folder("shop", "new").items()}
        remote.publish("New", {**files, "groups/shop/store/group.yaml": "kind: ReleaseGroup"})
        repository.poll()
        assert set(repository.mirror.tracked()) == {"main", PROMOTION, new, group}
        assert repository.group_branches.head(GroupKey("shop", "store"))
        remote.publish("Gone", dict.fromkeys(files))  # type: ignore[arg-type]
        repository.poll()
        assert new in repository.mirror.tracked(), "it is still to be deleted"

    def test_more_than_can_be_listed_leave_main_and_the_ledger(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository.promotions.offer([change(repository)])
        repository.poll()
        monkeypatch.setattr(mirror_module, "_LARGEST_ADVERTISED", 2000)
        for number in range(30):
            place(remote, f"gitops-bg/promote/shop/nobody-{number}", str(remote.head()))
        head = remote.publish("Second", {"apps/shop/api/x.yaml": "a: 1"})
        poll = repository.poll()
        assert (poll.commit, poll.changed) == (head, {API})
        assert "has more branches like gitops-bg/promote/shop/web than can be read" in repository.mirror.unread(
            PROMOTION
        )
        assert repository.mirror.unread(repository.settings.state_branch) == ""
        assert set(repository.offers.promotions()) == {WEB}, "unknown is not absent"
        for number in range(30):
            (remote.bare / "refs" / "heads" / f"gitops-bg/promote/shop/nobody-{number}").unlink()
        repository.poll()
        assert repository.mirror.unread(PROMOTION) == ""


class TestFiles:
    def test_delta_that_unpacks_to_gigabytes_is_its_folders_problem(
        self, far: Callable[..., Repository], remote: GitRemote, tmp_path: Path
    ) -> None:
        git = RawGit(remote)
        pack = delta_pack(b"#" * (16 * MEBIBYTE), TOO_MUCH)
        kept = remote.bare / "objects" / "pack" / "bomb.pack"
        kept.write_bytes(pack)
        git.run("index-pack", str(kept))
        listed = git.run("verify-pack", "-v", str(kept)).split(b"\n")
        base, bomb = (line.split(b" ")[0] for line in listed if b" blob " in line)
        for name, blob in ((b"base.yaml", base), (b"bomb.yaml", bomb)):
            git.run("update-index", "--add", "--cacheinfo", b"100644,%s,apps/shop/web/%s" % (blob, name))
        remote.run("update-ref", "refs/heads/main", git.commit(b"bomb").decode(), cwd=remote.bare)
        repository = far()
        repository.poll()
        found = repository.files_of([WEB, API])
        problems = {name: str(file.content) for name, file in found[WEB].items() if isinstance(file.content, Problem)}
        assert problems
        assert all("larger than" in said for said in problems.values()), problems
        assert all(isinstance(file.content, bytes) for file in found[API].values())
        assert partial_packs(tmp_path / "mirror") == []

    def test_one_that_the_remote_cannot_read_is_asked_for_again_and_keeps_no_other_back(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blob = RawGit(remote).blob(b"kind: Deployment")
        remote.publish("Second", {"apps/shop/web/x.yaml": "kind: Deployment", "apps/shop/web/y.yaml": "a: 1"})
        file = remote.bare / "objects" / blob[:2].decode() / blob[2:].decode()
        sound = file.read_bytes()
        file.unlink()
        repository.poll()
        for _ in range(2):
            found = repository.files_of([WEB, API])
            assert found[WEB]["x.yaml"].lacking
            assert "x.yaml: the remote does not hand it out" in str(found[WEB]["x.yaml"].content)
            assert found[WEB]["y.yaml"].content == b"a: 1"
            assert not any(each.lacking for each in found[API].values())
        calls = git_calls(repository, monkeypatch)
        repository.files_of([WEB])
        assert "fsck" not in calls, "that the mirror is sound was found out before"
        with pytest.raises(RemoteUnreachable, match="did not hand out 1 of 1 files"):
            repository._blobs.read([blob.decode()])
        file.write_bytes(sound)
        assert repository.files_of([WEB])[WEB]["x.yaml"].content == b"kind: Deployment"


def test_push_is_made_again_where_main_moved_to_what_was_never_fetched(
    repository: Repository, remote: GitRemote
) -> None:
    """Found: git has to send the files of a main that the remote does not show any more, and nobody read these."""
    remote.publish("Second", {"notes/read.txt": "by nobody"})
    repository.poll()
    remote.publish("Third", {"notes/read.txt": "by nobody, either"})
    assert repository.promotions.offer([change(repository)])[WEB].result == "committed"


def test_modes_with_zeros_in_front_are_read_as_git_reads_them(repository: Repository, remote: GitRemote) -> None:
    """Found: the mirror counted as damaged, and was cloned again at every poll."""
    git = RawGit(remote)
    entries = [line.split(b" ", 2) for line in git.run("ls-tree", "HEAD:apps/shop/web").split(b"\n")]
    named = [(b"0000" + mode, *reversed(rest.split(b"\t"))) for mode, _, rest in entries]
    web = git.tree(*((mode, name, blob) for mode, name, blob in named))
    shop = git.tree((b"40000", b"api", git.run("rev-parse", "HEAD:apps/shop/api")), (b"000040000", b"web", web))
    settings = git.run("rev-parse", "HEAD:gitops-bg.yaml")
    root = git.tree((b"40000", b"apps", git.tree((b"40000", b"shop", shop))), (b"100644", b"gitops-bg.yaml", settings))
    remote.run("update-ref", "refs/heads/main", git.commit(b"odd", tree=root).decode(), cwd=remote.bare)
    assert repository.poll().changed == {WEB}
    assert set(repository.files(WEB)) == {"app.yaml", "primary.yaml", "target.yaml"}
