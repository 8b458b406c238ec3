"""A poll reports what moved, costs one ls-remote without changes, and never forgets a rewritten history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.errors import BranchMissing, HistoryNotAccepted, RemoteMoved, RemoteUnreachable
from gitops_bg.repo.repository import Repository
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, WEB, Opener, change, git_calls
from tests.support.git.remote import GitRemote

PROMOTION = "gitops-bg/promote/shop/web"


def push_target(remote: GitRemote, tag: str, name: str = "web") -> str:
    text = texts.target("shop", name, tag).decode()
    return remote.publish(f"{name} {tag}", {f"apps/shop/{name}/target.yaml": text})


def test_the_first_poll_reports_every_app_and_the_settings(opened: Opener, remote: GitRemote) -> None:
    poll = opened().poll()
    assert poll.commit == remote.head()
    assert poll.changed == {WEB, API}
    assert (poll.apps, poll.settings_changed, poll.rewritten) == (2, True, "")


def test_a_poll_of_an_unmoved_remote_runs_one_ls_remote_and_nothing_else(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = git_calls(repository, monkeypatch)
    for _ in range(100):
        poll = repository.poll()
        assert not poll.moved
        assert not poll.changed
    assert calls == ["ls-remote"] * 100


def test_a_push_changes_the_app_it_touches_and_no_other(repository: Repository, remote: GitRemote) -> None:
    pushed = push_target(remote, "1.1.0")
    poll = repository.poll()
    assert (poll.commit, poll.changed, poll.removed) == (pushed, {WEB}, frozenset())
    assert not poll.settings_changed
    assert not poll.others_changed


def test_added_and_removed_apps_are_told_apart(repository: Repository, remote: GitRemote) -> None:
    remote.remove("apps/shop/api")
    files = texts.folder("shop", "new")
    remote.publish("Swap", {path: text.decode() for path, text in files.items()})
    poll = repository.poll()
    assert (poll.changed, poll.removed, poll.apps) == ({AppKey("shop", "new")}, {API}, 2)
    assert set(repository.apps()) == {WEB, AppKey("shop", "new")}


def test_an_app_that_becomes_a_link_is_changed_and_not_removed(repository: Repository, remote: GitRemote) -> None:
    remote.remove("apps/shop/api")
    (remote.clone / "apps/shop/api").symlink_to("web")
    remote.run("add", "apps/shop/api")
    remote.commit("Link")
    remote.push()
    poll = repository.poll()
    assert (poll.changed, poll.removed) == ({API}, frozenset())
    remote.remove("apps/shop/api")
    remote.commit("No link")
    remote.push()
    assert repository.poll().removed == {API}


def test_settings_and_other_folders_are_reported_by_themselves(repository: Repository, remote: GitRemote) -> None:
    remote.publish("Settings", {"gitops-bg.yaml": "kind: Settings\n", "policies/freeze.yaml": "kind: Windows\n"})
    poll = repository.poll()
    assert poll.settings_changed
    assert poll.others_changed == {"policies"}
    assert not poll.changed
    assert repository.settings_file() == b"kind: Settings\n"
    assert [file.content for file in repository.files_below("policies").values()] == [b"kind: Windows\n"]


def test_our_own_commit_is_reported_like_anybody_elses(repository: Repository) -> None:
    repository.promotions.commit([change(repository)])
    poll = repository.poll()
    assert poll.changed == {WEB}
    assert not repository.poll().moved


def test_a_moved_promotion_branch_is_reported(opened: Opener, repository: Repository) -> None:
    other = opened(mirror="other")
    other.poll()
    other.promotions.offer([change(other)])
    poll = repository.poll()
    assert (poll.moved, poll.changed, repository.offers.promotions().keys()) == (True, frozenset(), {WEB})
    other.branches.withdraw({WEB: None})
    assert repository.poll().moved
    assert not repository.offers.promotions()


def test_a_branch_outside_our_names_is_not_looked_at(repository: Repository, remote: GitRemote) -> None:
    for name in ("feature", "gitops-bg/state/other", "gitops-bg/promote/only-one-part", "x/refs/heads/main"):
        remote.run("push", "--quiet", "origin", f"main:refs/heads/{name}")
    poll = repository.poll()
    assert not poll.changed
    assert not repository.offers.promotions()


class TestBranchesDeletedAfterTheyWereListed:
    """A promotion branch is deleted when its promotion is merged, at any moment of somebody else's poll."""

    @pytest.fixture
    def after_listing(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        """Does something each time the remote has listed its branches, and before anything is fetched."""
        advertised = repository.mirror.advertised

        def arrange(then: Callable[[], object]) -> None:
            def listed() -> bytes:
                answer = advertised()
                then()
                return answer

            monkeypatch.setattr(repository.mirror, "advertised", listed)

        return arrange

    def test_the_others_are_fetched_and_the_deleted_one_is_no_promotion(
        self, repository: Repository, remote: GitRemote, after_listing: Callable[..., None]
    ) -> None:
        remote.run("push", "--quiet", "origin", f"main:refs/heads/{PROMOTION}")
        head = push_target(remote, "1.1.0")
        after_listing(lambda: remote.delete_branch(PROMOTION) if PROMOTION in remote.branches() else None)
        poll = repository.poll()
        assert (poll.commit, poll.changed) == (head, {WEB})
        assert not repository.offers.promotions()
        assert not repository.poll().moved

    def test_main_that_was_deleted_is_missing(
        self, repository: Repository, remote: GitRemote, after_listing: Callable[..., None]
    ) -> None:
        remote.run("config", "receive.denyDeleteCurrent", "ignore", cwd=remote.bare)
        push_target(remote, "1.1.0")
        after_listing(lambda: remote.delete_branch("main") if "main" in remote.branches() else None)
        with pytest.raises(BranchMissing):
            repository.poll()

    def test_branches_that_come_and_go_end_no_poll(
        self, repository: Repository, remote: GitRemote, after_listing: Callable[..., None]
    ) -> None:
        """Each listing names a branch that is gone before it is fetched, and another one comes in its place."""
        remote.run("push", "--quiet", "origin", f"main:refs/heads/{PROMOTION}-0")
        numbers = iter(range(1, 100))

        def one_goes_and_another_comes() -> None:
            for gone in remote.branches().keys() - {"main"}:
                remote.delete_branch(gone)
            remote.run("push", "--quiet", "origin", f"main:refs/heads/{PROMOTION}-{next(numbers)}")

        after_listing(one_goes_and_another_comes)
        head = push_target(remote, "1.1.0")
        poll = repository.poll()
        assert (poll.commit, poll.changed) == (head, {WEB})

    def test_a_branch_that_is_listed_and_not_served_is_no_promotion_and_main_goes_on(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        head = push_target(remote, "1.1.0")
        listed = repository.mirror.advertised() + b"f" * 40 + f"\trefs/heads/{PROMOTION}\n".encode()
        monkeypatch.setattr(repository.mirror, "advertised", lambda: listed)
        assert repository.poll().commit == head
        assert not repository.offers.promotions()
        assert "couldn't find remote ref" in repository.mirror.unread(PROMOTION)

    def test_a_main_that_is_listed_and_not_served_is_unreachable(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listed = repository.mirror.advertised()
        push_target(remote, "1.1.0")
        missing = listed.replace(listed[:40], b"f" * 40)
        monkeypatch.setattr(repository.mirror, "advertised", lambda: missing)
        remote.run("update-ref", "-d", "refs/heads/main", cwd=remote.bare)
        with pytest.raises(RemoteUnreachable, match="couldn't find remote ref"):
            repository.poll()


class TestRewrittenHistory:
    def test_it_is_reported_until_it_is_accepted(self, repository: Repository, remote: GitRemote) -> None:
        lost = push_target(remote, "1.1.0")
        repository.poll()
        remote.force_push(to="HEAD~1")
        assert repository.poll().rewritten == lost
        assert repository.poll().rewritten == lost
        assert not repository.contains(lost)
        remote.run("reset", "--hard", "--quiet", "HEAD~1")
        later = push_target(remote, "1.2.0")
        poll = repository.poll()
        assert (poll.commit, poll.rewritten) == (later, lost)
        repository.poller.accept(later)
        assert repository.poll().rewritten == ""

    def test_only_a_commit_of_the_new_history_accepts_it(self, repository: Repository, remote: GitRemote) -> None:
        lost = push_target(remote, "1.1.0")
        repository.poll()
        remote.force_push(to="HEAD~1")
        repository.poll()
        for name in (lost, "f" * 40, "main", "--help"):
            with pytest.raises(HistoryNotAccepted):
                repository.poller.accept(name)
        assert repository.poll().rewritten == lost

    def test_it_is_still_known_after_a_restart(self, opened: Opener, remote: GitRemote) -> None:
        lost = push_target(remote, "1.1.0")
        first = opened()
        first.poll()
        first.close()
        remote.force_push(to="HEAD~1")
        assert opened().poll().rewritten == lost

    def test_every_app_is_reported_and_where_its_files_come_from_is_asked_anew(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        before = repository.source(WEB, "target.yaml")
        remote.run("commit", "--quiet", "--amend", "-m", "The same files in another commit")
        remote.force_push()
        assert repository.poll().changed == {WEB, API}
        after = repository.source(WEB, "target.yaml")
        assert (before is not None, after and after.commit) == (True, remote.tip)
        assert after != before

    def test_a_main_that_only_went_back_reports_what_differs(self, repository: Repository, remote: GitRemote) -> None:
        push_target(remote, "1.1.0")
        repository.poll()
        remote.force_push(to="HEAD~1")
        assert repository.poll().changed == {WEB}

    def test_a_main_that_went_back_reports_also_what_came_from_commits_that_are_gone(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        before = repository.source(WEB, "target.yaml")
        push_target(remote, "1.1.0")
        repository.poll()
        remote.run("revert", "--no-edit", "HEAD")
        remote.push()
        repository.poll()
        between = repository.source(WEB, "target.yaml")
        remote.force_push(to="HEAD~2")
        assert repository.poll().changed == {WEB}
        assert between != before
        assert repository.source(WEB, "target.yaml") == before

    def test_it_ends_when_the_old_history_comes_back(self, repository: Repository, remote: GitRemote) -> None:
        lost = push_target(remote, "1.1.0")
        repository.poll()
        remote.force_push(to="HEAD~1")
        repository.poll()
        remote.force_push(to=lost)
        poll = repository.poll()
        assert (poll.commit, poll.rewritten) == (lost, "")

    def test_lost_commits_are_found_for_many_apps_at_once(self, repository: Repository, remote: GitRemote) -> None:
        kept = repository.head
        lost = push_target(remote, "1.1.0")
        repository.poll()
        remote.force_push(to="HEAD~1")
        repository.poll()
        assert repository.lost([kept, lost, "e" * 40, kept]) == {lost, "e" * 40}
        assert repository.contains(kept)
        assert not repository.contains("e" * 40)
        assert not repository.mirror.is_ancestor(lost, kept)
        assert repository.mirror.is_ancestor(kept, lost)


def test_before_the_first_poll_there_is_no_head(opened: Opener) -> None:
    with pytest.raises(RemoteMoved, match="not polled yet"):
        _ = opened().head


def test_a_remote_that_knows_no_filters_works_as_well(opened: Opener, remote: GitRemote) -> None:
    remote.run("config", "uploadpack.allowFilter", "false", cwd=remote.bare)
    repository = opened()
    repository.poll()
    assert set(repository.files(WEB)) == {"app.yaml", "primary.yaml", "target.yaml"}


def test_tidying_keeps_a_partial_mirror_usable(repository: Repository, remote: GitRemote) -> None:
    repository.mirror.tidy()
    push_target(remote, "1.1.0")
    assert repository.poll().changed == {WEB}
    repository.mirror.tidy()
    assert b"1.1.0" in bytes(repository.files(WEB)["target.yaml"])  # type: ignore[arg-type]
