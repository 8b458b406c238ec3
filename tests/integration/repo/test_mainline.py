"""The order in which main took changes in: real Git, merges both ways round, dates that lie, history that moves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitops_bg.core.model.version import Source
from gitops_bg.repo.repository import Repository
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, WEB, Opener
from tests.support.git.remote import GitRemote

TARGET, PRIMARY = "apps/shop/web/target.yaml", "apps/shop/web/primary.yaml"
PULLED = "Merge branch 'main' of https://example.com/shop/config"
LONG_AGO, LATER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2037, 1, 1, tzinfo=UTC)


def change(remote: GitRemote, path: str, tag: str, message: str = "", date: datetime | None = None) -> str:
    text = texts.target("shop", "web", tag) if path == TARGET else texts.primary("shop", "web", tag, 2)
    remote.write(path, text.decode())
    return remote.commit(message or f"{path} {tag}", date=date)


def both(repository: Repository) -> tuple[Source, Source]:
    """The landings of the target and of the primary, in the order of the arguments."""
    repository.poll()
    found = repository.landings([(WEB, "target.yaml"), (WEB, "primary.yaml")])
    return found[WEB, "target.yaml"], found[WEB, "primary.yaml"]


def test_dates_say_nothing_of_the_order(repository: Repository, remote: GitRemote) -> None:
    change(remote, PRIMARY, "2.0.0", date=LATER)
    change(remote, TARGET, "3.0.0", date=LONG_AGO)
    remote.push()
    target, primary = both(repository)
    assert target.landed_after(primary) is True
    assert primary.landed_after(target) is False


def test_a_branch_counts_from_its_merge(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("undo", new=True)
    change(remote, TARGET, "3.0.0", date=LONG_AGO)
    remote.push()
    remote.checkout("main")
    change(remote, PRIMARY, "2.0.0", date=LATER)
    remote.push()
    remote.merge("undo")
    target, primary = both(repository)
    assert target.landed_after(primary) is True


def test_what_one_commit_let_in_came_together(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("both", new=True)
    change(remote, PRIMARY, "2.0.0")
    change(remote, TARGET, "3.0.0")
    remote.push()
    remote.merge("both")
    target, primary = both(repository)
    assert (target.landed_after(primary), primary.landed_after(target)) == (False, False)


def test_a_pull_that_merges_main_into_what_is_pushed_changes_no_order(
    repository: Repository, remote: GitRemote
) -> None:
    """The parents are swapped then: by first parents alone, the promotion of others came in with the pull."""
    change(remote, TARGET, "3.0.0")
    mine = remote.tip
    remote.run("reset", "--hard", "--quiet", "HEAD~1")
    promotion = change(remote, PRIMARY, "2.0.0")
    remote.push()
    seen_before = both(repository)[1]
    remote.run("reset", "--hard", "--quiet", mine)
    remote.run("pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    remote.push()
    assert remote.message().startswith("Merge branch 'main' of ")
    target, primary = both(repository)
    assert target.landed_after(primary) is True
    assert (primary.commit, primary.landed) == (promotion, seen_before.landed)


def test_the_line_follows_a_head_that_moves_on_and_one_that_moved_back(
    repository: Repository, remote: GitRemote
) -> None:
    first = change(remote, PRIMARY, "2.0.0")
    remote.push()
    before = both(repository)[1].landed
    change(remote, TARGET, "3.0.0")
    remote.push()
    target, primary = both(repository)
    assert (primary.landed, target.landed) == (before, (before or 0) + 1)
    remote.run("reset", "--hard", "--quiet", f"{first}~1")
    change(remote, "apps/shop/web/target.yaml", "4.0.0")
    change(remote, PRIMARY, "5.0.0")
    remote.force_push()
    target, primary = both(repository)
    assert primary.landed_after(target) is True
    assert primary.landed == (before or 0) + 1


def test_the_commit_that_made_a_file_is_placed_where_it_was_let_in(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("feature", new=True)
    made = change(remote, TARGET, "3.0.0")
    remote.push()
    remote.merge("feature")
    repository.poll()
    source = repository.source(WEB, "target.yaml")
    landing = repository.landings([(WEB, "target.yaml"), (API, "target.yaml")])[WEB, "target.yaml"]
    assert source is not None
    assert (source.commit, source.landed) == (made, landing.landed)


def merge(remote: GitRemote, first: str, second: str, subject: str) -> str:
    """Push a merge of these parents, in this order."""
    remote.run("reset", "--hard", "--quiet", first)
    remote.run("merge", "--quiet", "--no-ff", "-m", subject, second)
    remote.push()
    return remote.tip


def before(repository: Repository, commit: str) -> str:
    repository.poll()
    return repository.around(commit, ()).parent


def beside(remote: GitRemote, start: str) -> str:
    """A commit of somebody's clone, on top of an earlier main."""
    remote.run("reset", "--hard", "--quiet", start)
    remote.write("docs/README.md", "theirs\n")
    return remote.commit("Docs")


@pytest.mark.parametrize("subject", [PULLED, "Merge branch 'docs'"])
@pytest.mark.parametrize("is_swapped", [True, False])
def test_main_before_a_merge_is_the_parent_that_was_main(
    repository: Repository, remote: GitRemote, subject: str, is_swapped: bool
) -> None:
    """Nobody asked for the line before: the look that saw the head is enough."""
    stale = remote.tip
    main = change(remote, PRIMARY, "2.0.0")
    remote.push()
    repository.poll()
    theirs = beside(remote, stale)
    merged = merge(remote, *((theirs, main) if is_swapped else (main, theirs)), subject)
    assert before(repository, merged) == main
    assert before(repository, main) == stale


@pytest.mark.parametrize(("subject", "is_swapped"), [(PULLED, True), ("Merge branch 'docs'", False)])
def test_the_subject_decides_where_nobody_looked_in_between(
    opened: Opener, remote: GitRemote, subject: str, is_swapped: bool
) -> None:
    stale = remote.tip
    main = change(remote, PRIMARY, "2.0.0")
    theirs = beside(remote, stale)
    merged = merge(remote, *((theirs, main) if is_swapped else (main, theirs)), subject)
    assert before(opened(), merged) == main


def test_of_two_that_are_of_the_line_the_later_was_main(repository: Repository, remote: GitRemote) -> None:
    """`git merge --no-ff origin/main` in a clone that is behind, under whatever subject."""
    stale = remote.tip
    main = change(remote, PRIMARY, "2.0.0")
    remote.push()
    assert before(repository, main) == stale
    assert before(repository, merge(remote, stale, main, "Sync")) == main


def test_a_head_that_nobody_looked_at_was_main_where_it_contains_the_last_that_was(
    repository: Repository, remote: GitRemote
) -> None:
    """The other parent begins at an earlier commit of the line, which is not taken for its end."""
    stale = remote.tip
    seen = change(remote, PRIMARY, "2.0.0")
    remote.push()
    assert before(repository, seen) == stale
    unseen = change(remote, TARGET, "3.0.0")
    remote.push()
    merged = merge(remote, beside(remote, stale), unseen, "Sync")
    assert before(repository, merged) == unseen
    assert before(repository, unseen) == seen


def test_a_restart_forgets_no_head_that_main_had(opened: Opener, remote: GitRemote) -> None:
    stale = remote.tip
    main = change(remote, PRIMARY, "2.0.0")
    remote.push()
    first = opened()
    first.poll()
    first.close()
    merged = merge(remote, main, beside(remote, stale), PULLED)
    assert before(opened(), merged) == main


def test_before_a_commit_that_was_merged_is_its_first_parent(repository: Repository, remote: GitRemote) -> None:
    stale = remote.tip
    main = change(remote, PRIMARY, "2.0.0")
    remote.push()
    theirs = beside(remote, stale)
    merge(remote, main, theirs, "Merge branch 'docs'")
    assert before(repository, theirs) == stale
    first = remote.run("rev-list", "--max-parents=0", "HEAD").strip()
    assert before(repository, first) == ""


def test_a_fork_s_main_gives_what_came_into_ours_no_other_place(repository: Repository, remote: GitRemote) -> None:
    stale = remote.tip
    main = change(remote, PRIMARY, "2.0.0")
    remote.push()
    placed = both(repository)[1].landed
    remote.run("reset", "--hard", "--quiet", main)
    mine = change(remote, TARGET, "3.0.0")
    merge(remote, mine, beside(remote, stale), PULLED)
    target, primary = both(repository)
    assert (primary.landed, target.landed) == (placed, (placed or 0) + 1)
