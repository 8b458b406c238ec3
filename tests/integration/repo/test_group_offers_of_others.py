"""The branch of a group holds what somebody asked for: the agent's own older wish neither replaces nor deletes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gitops_bg.agent.groups.commits import GroupCommits
from gitops_bg.core.groups.decision import CommitActive
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import Opener
from tests.integration.repo.test_promotions import before_each_push
from tests.support.agent.group_commits import committing
from tests.support.git.remote import GitRemote
from tests.support.waiting import eventually

STORE = GroupKey("shop", "store")
BRANCH = promotion_branch(STORE)
PATH = "groups/shop/store/group.yaml"
BACK = CommitActive("v2", "v1", "post-promotion analysis failed: smoke")


@pytest.fixture
def repository(remote: GitRemote, opened: Opener) -> Repository:
    remote.publish("The store", {PATH: "spec:\n  active: v2\n", "groups/shop/store/v1/cart/target.yaml": "{}\n"})
    remote.protect()
    repository = opened()
    repository.poll()
    return repository


@pytest.fixture
def commits(repository: Repository) -> Iterator[GroupCommits]:
    with committing(repository) as made:
        yield made


def ask(repository: Repository, version: str) -> None:
    """What a request over HTTP does where main takes no commit: it is answered with 202."""

    def edit(before: bytes) -> bytes:
        return before.replace(b"v2", version.encode())

    seen = repository.group_branch_head(STORE)
    assert repository.offer_group(STORE, {PATH: edit}, f"store: promote {version}\n", seen=seen).changed


def offer_back(commits: GroupCommits) -> None:
    commits.submit(STORE, BACK)
    eventually(lambda: commits.trouble(STORE).branch == BRANCH, what="it is offered")


def test_a_request_that_was_answered_is_not_replaced_by_the_older_way_back(
    repository: Repository, remote: GitRemote, commits: GroupCommits, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_back(commits)
    ask(repository, "v3")
    pushes = before_each_push(monkeypatch)
    eventually(lambda: len(pushes) > 2, what="main is tried again for the way back")
    eventually(lambda: "somebody else asked for" in commits.trouble(STORE).reason, what="it is said")
    assert "v3" in str(remote.show(BRANCH, PATH))


def test_a_request_that_was_answered_is_not_deleted_with_a_way_back_that_is_over(
    repository: Repository, remote: GitRemote, commits: GroupCommits
) -> None:
    offer_back(commits)
    remote.go_down()
    commits.submit(STORE, None)  # Somebody changed the folder of v2: the way back is wanted no more.
    eventually(lambda: commits.idle, what="it could not be deleted")
    remote.come_back()
    repository.poll()
    ask(repository, "v3")
    repository.poll()
    commits.main_was_read({STORE})
    eventually(lambda: commits.idle, what="it rests")
    assert "v3" in str(remote.show(BRANCH, PATH))


def test_a_way_back_that_is_over_is_deleted_once_the_remote_answers_again(
    repository: Repository, remote: GitRemote, commits: GroupCommits
) -> None:
    offer_back(commits)
    remote.go_down()
    commits.submit(STORE, None)
    eventually(lambda: commits.idle, what="it could not be deleted")
    remote.come_back()
    commits.main_was_read({STORE})
    eventually(lambda: commits.idle, what="it rests")
    assert remote.head(BRANCH) is None
