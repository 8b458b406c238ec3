"""Since when app.yaml says what it says: real Git, merges both ways round, files that nobody can read in between."""

from __future__ import annotations

from gitops_bg.core.model.version import Source
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import WEB
from tests.support.git.remote import GitRemote

APP = "apps/shop/web/app.yaml"


def change(remote: GitRemote, old: str, new: str) -> str:
    remote.write(APP, remote.read(APP).replace(old, new) if old else remote.read(APP) + new)
    return remote.commit(f"app.yaml: {new.strip()}")


def since(repository: Repository, word: bytes) -> Source | None:
    """Since when app.yaml has the word; nobody can tell where it has `???`."""
    repository.poll()
    return repository.said_since(WEB, "app.yaml", lambda data: None if b"???" in data else word in data)


def test_a_later_change_of_the_file_makes_what_it_said_before_no_newer(
    repository: Repository, remote: GitRemote
) -> None:
    asked = change(remote, "", "# retry\n")
    change(remote, "", "# suspended\n")
    change(remote, "# suspended\n", "")
    head = change(remote, "", "# comment\n")
    remote.push()
    found, newest = since(repository, b"retry"), since(repository, b"comment")
    assert found is not None
    assert newest is not None
    assert (found.commit, newest.commit) == (asked, head)
    assert newest.landed_after(found) is True
    assert since(repository, b"suspended") is None, "it does not say so now"


def test_said_again_it_counts_from_then_and_what_cannot_be_read_ends_nothing(
    repository: Repository, remote: GitRemote
) -> None:
    change(remote, "", "# retry\n")
    change(remote, "# retry\n", "")
    asked = change(remote, "", "# retry\n")
    change(remote, "# retry\n", "# ???\n")
    change(remote, "# ???\n", "# retry again\n")
    remote.push()
    found = since(repository, b"retry")
    assert found is not None
    assert found.commit == asked


def test_what_a_branch_says_counts_from_its_merge_and_is_by_who_made_it(
    repository: Repository, remote: GitRemote
) -> None:
    remote.checkout("ask", new=True)
    asked = change(remote, "", "# retry\n")
    remote.push()
    remote.checkout("main")
    remote.write("apps/shop/web/README", "between")
    between = remote.commit("between")
    remote.push()
    remote.merge("ask")
    change(remote, "", "# comment\n")
    remote.push()
    found = since(repository, b"retry")
    assert found is not None
    assert found.commit == asked
    assert found.landed_after(repository.source_of(between)) is True


def test_a_pull_that_merges_main_into_what_is_pushed_changes_no_order(
    repository: Repository, remote: GitRemote
) -> None:
    """The parents are swapped then: by first parents alone, the retry of somebody else came in with the pull."""
    remote.write("apps/shop/web/README", "mine")
    mine = remote.commit("mine")
    remote.run("reset", "--hard", "--quiet", "HEAD~1")
    asked = change(remote, "", "# retry\n")
    remote.push()
    remote.run("reset", "--hard", "--quiet", mine)
    remote.run("pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    remote.push()
    found = since(repository, b"retry")
    assert found is not None
    assert found.commit == asked
    assert repository.source_of(mine).landed_after(found) is True


def test_of_a_file_that_main_began_with(repository: Repository, remote: GitRemote) -> None:
    found = since(repository, b"BlueGreenDeployment")
    assert found is not None
    assert found.landed == 1


def test_what_it_said_before_newest_first_and_by_whom(repository: Repository, remote: GitRemote) -> None:
    first = change(remote, "", "# 1\n")
    second = change(remote, "# 1\n", "# 2\n")
    third = change(remote, "# 2\n", "# 3\n")
    remote.push()
    repository.poll()
    said = repository.said_before(WEB, "app.yaml", lambda data: b"# 1" in data)
    assert [(source.commit, data[-4:]) for source, data in said] == [(third, b"# 3\n"), (second, b"# 2\n")]
    everything = repository.said_before(WEB, "app.yaml", lambda _: False)
    assert [source.commit for source, _ in everything][:3] == [third, second, first]
    assert everything[0][0].landed_after(everything[1][0]) is True
