"""What a promotion changes besides primary.yaml: on a branch, and after its merge into main."""

from __future__ import annotations

import pytest

from gitops_bg.repo.git.output import text
from gitops_bg.repo.read import commits
from gitops_bg.repo.repository import Repository
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, WEB, change
from tests.support.git.remote import GitRemote

BRANCH = "gitops-bg/promote/shop/web"
PRIMARY = "apps/shop/web/primary.yaml"
SECOND = texts.primary("shop", "web", "2.0.0", 2).decode()
MORE = {"apps/shop/api/primary.yaml": "x: 1\n", "README.md": "hello\n", ".github/workflows/w.yml": "on: push\n"}
MORE_THAN_PRIMARIES = {"README.md", ".github/workflows/w.yml"}


@pytest.fixture
def offered(repository: Repository, remote: GitRemote) -> str:
    """The branch with the agent's commit; the user's clone is on it."""
    commit = repository.promotions.offer([change(repository)])[WEB].commit
    remote.run("fetch", "origin")
    remote.checkout(BRANCH)
    return commit


def carry(remote: GitRemote, files: dict[str, str] = MORE) -> str:
    """Somebody pushes more to the branch."""
    for path, content in files.items():
        remote.write(path, content)
    remote.commit("And this")
    remote.push(BRANCH)
    return remote.tip


def on_main(remote: GitRemote, *merge: str, message: str = "") -> str:
    """Bring the branch to main as `git merge` does with these options."""
    remote.checkout("main")
    remote.pull()
    remote.run("merge", *merge, BRANCH)
    if message:
        remote.commit(message)
    remote.push(permit=True)
    return remote.tip


def found(repository: Repository, commit: str) -> tuple[str, ...]:
    repository.poll()
    return repository.extra_files_of_promotion(WEB, commit)


def test_the_agent_s_own_branch_carries_nothing_else(repository: Repository, offered: str) -> None:
    assert repository.extra_files_of_offer(WEB, offered) == ()
    assert repository.extra_files_of_offer(API, offered) == (PRIMARY,)


def test_a_branch_that_carries_more_names_the_first_of_it(
    repository: Repository, remote: GitRemote, offered: str
) -> None:
    head = carry(remote)
    repository.poll()
    assert set(repository.extra_files_of_offer(WEB, head)) == set(MORE)
    many = carry(remote, {f"docs/{number}.md": "x" for number in range(9)})
    repository.poll()
    assert len(repository.extra_files_of_offer(WEB, many)) == commits.MOST_NAMED


def test_a_branch_that_main_was_merged_into_carries_nothing_of_main(
    repository: Repository, remote: GitRemote, offered: str
) -> None:
    """The button that brings a branch up to date."""
    remote.checkout("main")
    remote.publish("Elsewhere", {"README.md": "new"})
    remote.checkout(BRANCH)
    remote.run("merge", "--no-ff", "-m", "Merge branch 'main' into gitops-bg/promote/shop/web", "main")
    remote.push(BRANCH)
    repository.poll()
    assert repository.extra_files_of_offer(WEB, remote.tip) == ()


@pytest.mark.parametrize("how", [("--no-ff", "-m", "Merge pull request #3"), ("--squash",)])
def test_a_merge_or_a_squash_of_it_brought_them_along(
    repository: Repository, remote: GitRemote, offered: str, how: tuple[str, ...]
) -> None:
    carry(remote)
    said = remote.message(BRANCH + "^")
    commit = on_main(remote, *how, message=f"Promote (#3)\n\n* {said}\n\n* And this" if "--squash" in how else "")
    assert set(found(repository, commit)) == MORE_THAN_PRIMARIES


@pytest.mark.parametrize("how", [("--no-ff", "-m", "Merge pull request #3"), ("--ff-only",)])
def test_a_merge_of_the_agent_s_own_commit_brought_nothing_along(
    repository: Repository, remote: GitRemote, offered: str, how: tuple[str, ...]
) -> None:
    assert found(repository, on_main(remote, *how)) == ()


def test_of_more_commits_than_are_read_one_may_be_the_offer(
    repository: Repository, remote: GitRemote, offered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found: fifty commits on top of the agent's hid it, and with it what they brought along."""
    monkeypatch.setattr(commits, "_MOST_COMMITS", 3)
    monkeypatch.setattr(commits, "_MESSAGES", (*commits._MESSAGES[:3], "--max-count=3", *commits._MESSAGES[4:]))
    for _ in range(4):
        carry(remote)
    assert set(found(repository, on_main(remote, "--no-ff", "-m", "Merge"))) == MORE_THAN_PRIMARIES


def test_what_somebody_commits_to_main_by_hand_is_theirs(
    repository: Repository, remote: GitRemote, offered: str
) -> None:
    """Several apps in one commit, a README beside them: no promotion branch was merged."""
    remote.checkout("main")
    remote.publish("Release 7", {PRIMARY: SECOND, **MORE})
    assert found(repository, remote.tip) == ()


def test_one_merge_of_several_promotion_branches_is_as_many_promotions(
    repository: Repository, remote: GitRemote, offered: str
) -> None:
    repository.promotions.offer([change(repository, app=API, version=1)])
    remote.checkout("main")
    remote.run("fetch", "origin")
    remote.run("merge", "-m", "Both", f"origin/{BRANCH}", "origin/gitops-bg/promote/shop/api")
    remote.push(permit=True)
    assert found(repository, remote.tip) == ()


def test_folders_in_one_another_without_end_are_named_and_not_looked_into(
    repository: Repository, remote: GitRemote, offered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "_DEEPEST", 5)
    head = carry(remote, {"a/b/c/d/e/f/g.txt": "deep"})
    repository.poll()
    assert repository.extra_files_of_offer(WEB, head) == ("a/b/c/d/e/",)
    monkeypatch.setattr(commits, "_MOST_FOLDERS", 1)
    wide = carry(remote, {f"w{number}/x": "wide" for number in range(3)})
    repository.poll()
    assert repository.extra_files_of_offer(WEB, wide) == ("a/", "apps/")


def test_the_trailers_are_of_this_app_and_of_a_promotion() -> None:
    said = "Promote (#3)\n\n* web: promote v1 -> v2\n  Bg-App: shop/web\n  Bg-Event: promoted\n"
    assert commits._promotes(WEB, text(said.encode()))
    assert not commits._promotes(API, said)
    assert not commits._promotes(WEB, said.replace("promoted", "rolled-back"))


def test_what_main_has_by_now_is_no_more_beside_it(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("feature", new=True)
    remote.publish("Docs", {"README.md": "docs\n"})
    remote.checkout(BRANCH, new=True)
    remote.publish("web: promoted", {PRIMARY: SECOND})
    head = remote.tip
    repository.poll()
    assert repository.extra_files_of_offer(WEB, head) == ("README.md",)
    remote.merge("feature")
    repository.poll()
    assert repository.extra_files_of_offer(WEB, head) == ()


def test_what_main_lost_is_beside_it(repository: Repository, remote: GitRemote) -> None:
    before = remote.tip
    remote.publish("Docs", {"README.md": "docs\n"})
    remote.checkout(BRANCH, new=True)
    remote.publish("web: promoted", {PRIMARY: SECOND})
    head = remote.tip
    repository.poll()
    assert repository.extra_files_of_offer(WEB, head) == ()
    remote.force_push("main", before)
    repository.poll()
    repository.poller.accept(before)
    repository.poll()
    assert repository.extra_files_of_offer(WEB, head) == ("README.md",)
