"""The branch of a group: what main refuses, for people to merge; updated in place, gone once main says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import BranchMoved
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import Opener
from tests.integration.repo.test_promotions import before_each_push
from tests.support.git.remote import GitRemote

STORE = GroupKey("shop", "store")
BRANCH = promotion_branch(STORE)
PATH = "groups/shop/store/group.yaml"


@pytest.fixture
def repository(remote: GitRemote, opened: Opener) -> Repository:
    """A Repository whose main has the group, and takes no commit of an agent."""
    remote.publish("The store", {PATH: "active: v1\n", "groups/shop/store/v1/cart/target.yaml": "{}\n"})
    remote.protect()
    repository = opened()
    repository.poll()
    return repository


def naming(version: str) -> object:
    return lambda before: f"active: {version}\n".encode()


def offer(repository: Repository, version: str = "v2") -> str:
    edited = repository.group_branches.offer(STORE, {PATH: naming(version)}, f"store: {version}\n")  # type: ignore[dict-item]
    return edited.commit if edited.paths else ""


def test_it_is_one_commit_on_top_of_main(repository: Repository, remote: GitRemote) -> None:
    main, commit = remote.head(), offer(repository)
    assert remote.head(BRANCH) == commit
    assert remote.run("rev-parse", f"{BRANCH}~1", cwd=remote.bare).strip() == main
    assert (remote.show(BRANCH, PATH), remote.head()) == ("active: v2\n", main)


def test_what_it_asks_for_is_known_until_main_says_the_same(repository: Repository, remote: GitRemote) -> None:
    assert repository.group_branches.offered(STORE) is None
    main, commit = remote.head(), offer(repository)
    found = repository.group_branches.offered(STORE)
    assert found is not None
    assert (found.commit, found.parent) == (commit, main)
    remote.merge(BRANCH)
    remote.publish("Something else", {"README.md": "hello"})
    assert repository.group_branches.offered(STORE) == found, "as last fetched"
    repository.poll()
    assert is_merged(repository)


def test_the_same_wish_on_a_newer_main_is_the_same_folder(repository: Repository, remote: GitRemote) -> None:
    first = offer(repository)
    before = repository.group_branches.offered(STORE)
    repository.branches.withdraw({STORE: None})
    remote.publish("Something else", {"README.md": "hello"})
    repository.poll()
    again = offer(repository)
    after = repository.group_branches.offered(STORE)
    assert before is not None
    assert after is not None
    assert (before.folder, first) == (after.folder, first) != (after.folder, again)


def test_the_same_again_is_the_same_commit_also_where_main_moved_elsewhere(
    repository: Repository, remote: GitRemote, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = offer(repository)
    remote.unprotect()
    remote.publish("Something else", {"README.md": "hello"})
    remote.protect()
    other = opened(mirror="other")
    other.poll()
    pushes = before_each_push(monkeypatch)
    assert (offer(repository), offer(other), pushes) == (commit, commit, [])


def test_another_wish_takes_its_place(repository: Repository, remote: GitRemote) -> None:
    offer(repository, "v2")
    offer(repository, "v3")
    assert remote.show(BRANCH, PATH) == "active: v3\n"
    assert remote.run("rev-parse", f"{BRANCH}~1", cwd=remote.bare).strip() == remote.head()


def test_what_main_says_needs_no_branch(repository: Repository, remote: GitRemote) -> None:
    assert offer(repository, "v1") == ""
    assert remote.head(BRANCH) is None


def test_a_branch_that_somebody_moved_between_fetch_and_push_stays_until_it_was_seen(
    repository: Repository, opened: Opener, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(mirror="other")
    other.poll()
    before_each_push(monkeypatch, lambda: offer(other, "v9"))
    with pytest.raises(BranchMoved, match=BRANCH):
        offer(repository)
    assert remote.show(BRANCH, PATH) == "active: v9\n"
    offer(repository)
    assert remote.show(BRANCH, PATH) == "active: v2\n"


def test_a_branch_that_somebody_moved_is_not_deleted_with_what_was_seen(
    repository: Repository, opened: Opener, remote: GitRemote
) -> None:
    own, other = offer(repository), opened(mirror="other")
    other.poll()
    theirs = offer(other, "v9")
    for _ in range(2):  # As last fetched, and once it is known.
        with pytest.raises(BranchMoved, match=BRANCH):
            repository.branches.withdraw({STORE: own})
    assert remote.head(BRANCH) == theirs
    repository.branches.withdraw({STORE: theirs})
    assert remote.head(BRANCH) is None


@pytest.mark.parametrize("squashed", [False, True])
def test_it_is_merged_once_main_says_the_same_however_it_was_merged(
    repository: Repository, remote: GitRemote, squashed: bool
) -> None:
    offer(repository)
    assert not is_merged(repository)
    if squashed:
        remote.unprotect()
        remote.publish("Squashed", {PATH: "active: v2\n"})
    else:
        remote.merge(BRANCH)
    repository.poll()
    assert is_merged(repository)


def add_header(remote: GitRemote) -> None:
    """Somebody changes the line beside the one that the branch changes."""
    remote.publish("Beside it", {PATH: "active: v1\narchiveSize: 3\n"})


def rewrite(remote: GitRemote) -> None:
    """Somebody drops the commit that the branch stands on."""
    remote.run("commit", "--amend", "-q", "-m", "Another history")
    remote.run("push", "-q", "--force", "origin", "HEAD:main")


@pytest.mark.parametrize("change", [add_header, rewrite])
def test_what_may_not_merge_any_more_is_outdated_and_is_made_anew_on_the_newest_main(
    repository: Repository, remote: GitRemote, change: Callable[[GitRemote], None]
) -> None:
    first = offer(repository)
    assert is_outdated(repository) is False
    remote.unprotect()
    change(remote)
    remote.protect()
    repository.poll()
    assert is_outdated(repository) is True
    assert offer(repository) != first
    assert remote.run("rev-parse", f"{BRANCH}~1", cwd=remote.bare).strip() == remote.head()
    assert is_outdated(repository) is False


def is_outdated(repository: Repository) -> bool:
    found = repository.group_branches.offered(STORE)
    assert found is not None
    return found.is_outdated


def is_merged(repository: Repository) -> bool:
    found = repository.group_branches.offered(STORE)
    assert found is not None
    return found.is_merged
