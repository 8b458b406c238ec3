"""What an agent writes of groups that went back: by the Git thread's writes, with those of apps; somebody else's
decision stays.
"""

from __future__ import annotations

import pytest

from gitops_bg.agent.desired.git_writes import GitChange, GitWriteResult, write
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.record import CommitActive, GroupRecord
from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import BranchMoved
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import Opener
from tests.integration.repo.test_promotions import before_each_push
from tests.support.git.remote import GitRemote

STORE, SHOES = GroupKey("shop", "store"), GroupKey("shop", "shoes")
BRANCH = promotion_branch(STORE)
PATH, OTHER = "groups/shop/store/group.yaml", "groups/shop/shoes/group.yaml"
SAID = "# the store\nspec:\n  active: v2\n"
BACK = CommitActive("v2", "v1", "post-promotion analysis failed: smoke", by="ada")
OFFER = CommitActive("v2", "v1", "post-promotion analysis failed: smoke", by="ada", offered=True)
OLDER = CommitActive("v2", "v0", "v1 is gone", offered=True)
MESSAGE = """store: roll back v2 → v1 [prod]

Reason: post-promotion analysis failed: smoke

Bg-Group: shop/store
Bg-Event: rolled-back
Bg-From: v2
Bg-To: v1
Bg-By: ada
Bg-Reason: post-promotion analysis failed: smoke
"""


@pytest.fixture
def repository(remote: GitRemote, opened: Opener) -> Repository:
    files = {PATH: SAID, OTHER: "spec: {active: v2}\n", "groups/shop/store/v1/cart/target.yaml": "{}\n"}
    remote.publish("The stores", files)
    repository = opened()
    repository.poll()
    return repository


def wants(
    repository: Repository, action: CommitActive | WithdrawPromotion, seen: str = "", group: GroupKey = STORE
) -> dict[GroupKey, GitChange]:
    return {group: GitChange((action,), GroupRecord(), repository.head, seen=seen)}


def done(repository: Repository, action: CommitActive | WithdrawPromotion, seen: str = "") -> GitWriteResult:
    return write(repository, wants(repository, action, seen))


def test_one_commit_names_the_version_that_serves_and_says_why(repository: Repository, remote: GitRemote) -> None:
    found = done(repository, BACK)
    assert remote.show("main", PATH) == SAID.replace("v2", '"v1"')
    assert remote.run("log", "-1", "--format=%B", "main", cwd=remote.bare).strip() == MESSAGE.strip()
    assert (found.touched, found.errors, [(each.kind, each.commits) for each in found.pushed]) == (
        {STORE},
        (),
        [("main", 1)],
    )


def test_two_groups_go_back_in_one_push(
    repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushes = before_each_push(monkeypatch)
    write(repository, wants(repository, BACK) | wants(repository, BACK, group=SHOES))
    assert ["v1" in str(remote.show("main", path)) for path in (PATH, OTHER)] == [True, True]
    assert len(pushes) == 1


def test_what_main_refuses_is_offered_on_the_branch_and_deleted_later(
    repository: Repository, remote: GitRemote
) -> None:
    remote.protect()
    assert "protected" in done(repository, BACK).refused
    assert done(repository, OFFER).taken == {BRANCH}
    assert remote.show(BRANCH, PATH) == SAID.replace("v2", '"v1"')
    head = remote.head(BRANCH)
    assert head
    done(repository, OFFER, head)
    assert remote.head(BRANCH) == head, "it offers it already"
    done(repository, WithdrawPromotion("merged"), head)
    assert remote.head(BRANCH) is None


def test_a_branch_that_nobody_can_delete_is_not_in_the_way_of_main(repository: Repository, remote: GitRemote) -> None:
    repository.group_branches.offer(STORE, {PATH: lambda before: before.replace(b"v2", b"v3")}, "store: promote v3\n")
    remote.run("config", "receive.denyDeletes", "true", cwd=remote.bare)
    both = (WithdrawPromotion("main has it"), BACK)
    found = write(repository, {STORE: GitChange(both, GroupRecord(), repository.head, seen=remote.head(BRANCH))})
    assert (set(found.failed), "v1" in str(remote.show("main", PATH))) == ({BRANCH}, True)


@pytest.mark.parametrize("action", [OLDER, WithdrawPromotion("its version is not wanted any more")])
def test_what_somebody_else_has_put_on_the_branch_since_is_neither_replaced_nor_deleted(
    repository: Repository, remote: GitRemote, opened: Opener, action: CommitActive | WithdrawPromotion
) -> None:
    remote.protect()
    done(repository, OFFER)
    seen, person = remote.head(BRANCH) or "", opened(mirror="person")
    person.poll()
    person.group_branches.offer(STORE, {PATH: lambda before: before.replace(b"v2", b"v3")}, "store: promote v3\n")
    found = done(repository, action, seen)
    assert isinstance(found.failed[BRANCH], BranchMoved)
    assert "v3" in str(remote.show(BRANCH, PATH))


@pytest.mark.parametrize(
    "files",
    [
        {PATH: "spec: {active: v3}\n"},
        {PATH: "spec: {active: v2, retry: {number: 1}}\n"},
        {PATH: "spec: [\n"},
        {"groups/shop/store/v2/cart/target.yaml": "{}\n"},
    ],
)
def test_a_group_whose_folder_somebody_changed_meanwhile_is_decided_again(
    repository: Repository, remote: GitRemote, files: dict[str, str]
) -> None:
    wanted = wants(repository, BACK)
    head = remote.publish("Somebody else", files)
    found = write(repository, wanted)
    assert (found.touched, found.errors, remote.head()) == ({STORE}, (), head)


def test_a_group_that_left_main_meanwhile_is_decided_again(repository: Repository, remote: GitRemote) -> None:
    wanted = wants(repository, BACK)
    remote.run("rm", "-rq", "groups/shop/store")
    head = remote.commit("It ends")
    remote.push()
    found = write(repository, wanted)
    assert (found.touched, found.errors, remote.head()) == ({STORE}, (), head)


def test_a_commit_elsewhere_is_in_nobodys_way(repository: Repository, remote: GitRemote) -> None:
    wanted = wants(repository, BACK)
    remote.publish("Something else", {"README.md": "hello"})
    write(repository, wanted)
    assert "v1" in str(remote.show("main", PATH))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spec: {active: v3}\n", "names v3, and the group has a mistake"),
        ("spec: [\n", "names no version, and the group has a mistake"),
        ("common: &it v2\nspec: {active: *it}\n", "the value is an alias"),
    ],
)
def test_a_file_that_names_another_version_or_cannot_be_edited_is_said_and_in_no_others_way(
    repository: Repository, remote: GitRemote, text: str, why: str
) -> None:
    remote.publish("A mistake", {PATH: text})
    repository.poll()
    found = write(repository, wants(repository, BACK) | wants(repository, BACK, group=SHOES))
    error = found.incomplete[STORE]
    assert isinstance(error, InvalidInput)
    assert why in str(error)
    assert ("v1" in str(remote.show("main", OTHER)), remote.show("main", PATH)) == (True, text)
