"""Since when app.yaml says what it says: real Git, merges both ways round, files that nobody can read in between."""

from __future__ import annotations

from gitops_bg.core.model.version import Source
from gitops_bg.repo.read.history import differs, unchanged_since
from gitops_bg.repo.repository import Repository
from tests.support.git.remote import GitRemote

APP = "apps/shop/web/app.yaml"


def change(remote: GitRemote, old: str, new: str) -> str:
    remote.write(APP, remote.read(APP).replace(old, new) if old else remote.read(APP) + new)
    return remote.commit(f"app.yaml: {new.strip()}")


def since(repository: Repository, word: bytes) -> Source | None:
    """Since when app.yaml has the word; nobody can tell where it has `???`."""
    repository.poll()

    def says(data: bytes) -> bool | None:
        return None if b"???" in data else word in data

    found = unchanged_since(repository.changes_of_file(APP, enough=differs(says)), says)
    return repository.maker_of(APP, found) if found is not None else None


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


def test_what_it_said_before_newest_first_and_up_to_what_is_enough(repository: Repository, remote: GitRemote) -> None:
    first = change(remote, "", "# 1\n")
    second = change(remote, "# 1\n", "# 2\n")
    third = change(remote, "# 2\n", "# 3\n")
    remote.push()
    repository.poll()
    said = repository.changes_of_file(APP, enough=lambda data: data is not None and b"# 1" in data)
    assert [(each.landing.commit, each.content[-4:]) for each in said if each.content] == [
        (third, b"# 3\n"),
        (second, b"# 2\n"),
        (first, b"# 1\n"),
    ]
    everything = repository.changes_of_file(APP)
    assert [each.landing.commit for each in everything][:3] == [third, second, first]
    assert everything[0].landing.landed_after(everything[1].landing) is True
    assert [each.landing.commit for each in repository.changes_of_file(APP, since=first)] == [third, second]
    assert [each.landing.commit for each in repository.changes_of_file(APP, second, since=first)] == [second]
    assert repository.changes_of_file(APP, since="e" * 40) == [], "main does not have it"
    assert [each.landing.commit for each in repository.changes_of_file(APP, most=1)] == [third]


def test_what_a_branch_said_and_took_back_before_its_merge_main_never_said(
    repository: Repository, remote: GitRemote
) -> None:
    before = remote.tip
    remote.checkout("ask", new=True)
    change(remote, "", "# retry\n")
    change(remote, "# retry\n", "# other\n")
    remote.push()
    remote.checkout("main")
    remote.merge("ask")
    merge = remote.tip
    remote.push()
    repository.poll()
    (said,) = repository.changes_of_file(APP, since=before)
    assert said.landing.commit == merge
    assert said.content is not None
    assert said.content.endswith(b"# other\n")


def test_a_merge_that_leaves_out_what_main_had_takes_it_back(repository: Repository, remote: GitRemote) -> None:
    """As no commit since then changed the file, a walk of all commits would not tell."""
    before = remote.tip
    asked = change(remote, "", "# retry\n")
    remote.push()
    repository.poll()
    remote.run("checkout", "--quiet", "-b", "stale", before)
    remote.write("apps/shop/web/README", "stale")
    remote.commit("stale")
    remote.run("checkout", "--quiet", "main")
    remote.run("merge", "--quiet", "--no-ff", "-s", "ort", "-X", "ours", "--no-commit", "stale")
    remote.run("checkout", before, "--", APP)
    merge = remote.commit("Merge stale")
    remote.push()
    repository.poll()
    assert [each.landing.commit for each in repository.changes_of_file(APP, since=before)] == [merge, asked]
