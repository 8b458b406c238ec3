"""Who wrote the commits of a version, and what a commit of any branch promotes: over real Git."""

from __future__ import annotations

from gitops_bg.repo.repository import Repository
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, WEB, change
from tests.support.git.remote import GitRemote

TARGET = "apps/shop/web/target.yaml"


def wrote(remote: GitRemote, text: str, author: str, message: str = "web", path: str = TARGET) -> str:
    remote.write(path, text)
    return remote.commit(message, author=author)


def authors(repository: Repository, before: str, after: str) -> set[str] | None:
    found = repository.changes.between(WEB, before, after)
    return None if found is None else {each.author.name for each in found}


def test_every_author_of_the_folder_counts_side_branches_too_and_who_merged_does_not(
    repository: Repository, remote: GitRemote
) -> None:
    before = remote.tip
    wrote(remote, "a: 1\n", "Ada <ada@example.com>")
    remote.checkout("side", new=True)
    wrote(remote, "b: 1\n", "Bob <bob@example.com>", path="apps/shop/web/more.yaml")
    remote.push("side")
    remote.checkout("main")
    wrote(remote, "x: 1\n", "Cy <cy@example.com>", path="apps/shop/api/more.yaml")
    wrote(remote, texts.primary("shop", "web", "2.0.0", 2).decode(), "Di <d@d>", path="apps/shop/web/primary.yaml")
    remote.merge("side", "Merge branch 'side'")
    wrote(remote, "a: 2\n", "Eve <e@e>", "Fix\n\nCo-authored-by: Flo <flo@example.com>")
    after = wrote(remote, "y: 1\n", "Gus <g@g>", path="README.md")
    remote.push()
    repository.poll()
    assert authors(repository, before, after) == {"Ada", "Bob", "Eve", "Gus"}
    (fix,) = (each for each in repository.changes.between(WEB, before, after) or () if each.author.name == "Eve")
    assert fix.trailer("Co-authored-by") == ("Flo <flo@example.com>",)


def test_only_what_changes_more_than_primary_yaml_is_content(repository: Repository, remote: GitRemote) -> None:
    before, agent = remote.tip, "gitops-bg <gitops-bg@localhost>"
    content = wrote(remote, "a: 1\n", agent)
    primary = texts.primary("shop", "web", "2.0.0", 2).decode()
    promotion = wrote(remote, primary, agent, path="apps/shop/web/primary.yaml")
    remote.push()
    repository.poll()
    said = [repository.changes.wrote_content(WEB, before, promotion, commit) for commit in (content, promotion)]
    assert said == [True, False]
    assert authors(repository, before, promotion) == {"gitops-bg"}


def test_a_merge_that_changes_a_file_itself_is_a_change(repository: Repository, remote: GitRemote) -> None:
    before = remote.tip
    remote.checkout("side", new=True)
    wrote(remote, "a: 1\n", "Ada <ada@example.com>")
    remote.checkout("main")
    wrote(remote, "x: 1\n", "Bob <bob@example.com>", path="apps/shop/api/more.yaml")
    remote.run("merge", "-q", "--no-commit", "--no-ff", "side")
    remote.write(TARGET, "a: evil\n")
    after = remote.commit("Merge branch 'side'", author="Mallory <m@m>")
    remote.push()
    repository.poll()
    assert authors(repository, before, after) == {"Ada", "Mallory"}


def test_the_version_s_own_commit_counts_where_nothing_lies_between(repository: Repository, remote: GitRemote) -> None:
    older = remote.tip
    newer = wrote(remote, "a: 1\n", "Ada <ada@example.com>")
    remote.push()
    repository.poll()
    assert authors(repository, newer, older) == {remote.run("log", "-1", "--format=%an", older).strip()}


def test_a_commit_that_is_not_here_is_unknown(repository: Repository, remote: GitRemote) -> None:
    assert authors(repository, "0" * 40, remote.tip) is None
    assert authors(repository, remote.tip, "0" * 40) is None
    assert authors(repository, "", remote.tip) is None


def test_what_a_commit_of_a_promotion_branch_promotes_is_readable_after_the_branch_is_gone(
    repository: Repository, remote: GitRemote
) -> None:
    offered = repository.promotions.offer([change(repository)])[WEB].commit
    repository.branches.withdraw({WEB: None})
    repository.poll()
    assert repository.primary_at(WEB, offered) == texts.primary("shop", "web", "2.0.0", 2)
    assert repository.primary_at(API, offered) is None
    assert repository.primary_at(WEB, "0" * 40) is None
    assert repository.primary_at(WEB, "") is None
