"""What `check` says of a promotion that comes in company, in a clone of the repository: real git, no agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.cli.repository.user_git import promotions_with_company
from tests.fixtures.repos.texts import policy
from tests.support.git.remote import GitRemote

PRIMARY = "apps/shop/web/primary.yaml"
SAYS = "web: promote v1 -> v2 [prod]\n\nBg-App: shop/web\nBg-Event: promoted"


@pytest.fixture
def clone(tmp_path: Path) -> GitRemote:
    """A clone with a policy and a promotion on main; what follows is proposed on a branch."""
    remote = GitRemote(tmp_path)
    calm = policy("calm", "- soak: {for: 1h}")
    remote.publish("Begin", {PRIMARY: "version: 1\n", "policies/calm.yaml": calm, "policies/people.yaml": ""})
    remote.checkout("proposed", new=True)
    return remote


def said(clone: GitRemote) -> list[tuple[str, str]]:
    return [(each.file, each.message) for each in promotions_with_company(clone.clone, "main")]


def commit(clone: GitRemote, message: str, files: dict[str, str]) -> None:
    for path, text in files.items():
        clone.write(path, text)
    clone.commit(message)


def test_a_promotion_alone_is_no_problem(clone: GitRemote) -> None:
    assert said(clone) == []
    commit(clone, SAYS, {PRIMARY: "version: 2\n"})
    assert said(clone) == []


def test_a_promotion_that_changes_its_own_policy(clone: GitRemote) -> None:
    commit(clone, "Loosen and promote", {PRIMARY: "version: 2\n", "policies/calm.yaml": "x: 1\n"})
    (found,) = said(clone)
    assert found == (
        PRIMARY,
        "is promoted together with policies/calm.yaml: it would be its own judge, so traffic waits",
    )


def test_a_promotion_branch_with_other_files(clone: GitRemote) -> None:
    commit(clone, SAYS, {PRIMARY: "version: 2\n"})
    commit(clone, "And this", {"README.md": "x"})
    (found,) = said(clone)
    assert found == (PRIMARY, "is promoted by its promotion branch together with README.md, so traffic waits")


def test_a_commit_by_hand_may_hold_what_it_will(clone: GitRemote) -> None:
    commit(clone, "Release 7", {PRIMARY: "version: 2\n", "README.md": "x"})
    assert said(clone) == []


def test_without_policies_nothing_is_said(clone: GitRemote) -> None:
    clone.checkout("main")
    clone.remove("policies/calm.yaml")
    clone.commit("No policies")
    clone.push()
    clone.checkout("later", new=True)
    commit(clone, SAYS, {PRIMARY: "version: 2\n", "README.md": "x"})
    assert said(clone) == []


def test_a_folder_that_is_no_clone_is_not_compared(tmp_path: Path) -> None:
    assert list(promotions_with_company(tmp_path, "main")) == []
