"""What main's history says a target takes back: real Git, every way in which people revert (decision 18)."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitops_bg.agent.desired.provenance import Journals
from gitops_bg.core.checks.git import Asked
from gitops_bg.core.groups.inputs import GroupSpec
from gitops_bg.core.model.journal import Entry, Named, Retried, Targeted
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from tests.fixtures.repos import texts
from tests.support.git.remote import GitRemote

WEB = AppKey("shop", "web")
TARGET = "apps/shop/web/target.yaml"


class Author:
    """Who pushes and reverts the target of web."""

    def __init__(self, remote: GitRemote) -> None:
        self.remote = remote

    def write(self, tag: str, replicas: int = 2, app: str = "web") -> None:
        self.remote.write(f"apps/shop/{app}/target.yaml", texts.target("shop", app, tag, replicas).decode())

    def push(self, tag: str, message: str = "", **how) -> str:
        """A commit that sets the tag; nothing reaches the remote before the end of the story."""
        self.write(tag, **how)
        return self.remote.commit(message or f"web {tag}")

    def branch(self, name: str = "feature") -> None:
        self.remote.run("checkout", "--quiet", "-B", name, "main")

    def merge(self, *names: str, message: str = "Merge") -> str:
        self.remote.run("checkout", "--quiet", "main")
        self.remote.run("merge", "--quiet", "--no-ff", "-m", message, *(names or ("feature",)))
        return self.remote.tip

    def revert(self, *commits: str) -> str:
        return [self.remote.revert(commit) for commit in commits][-1]


Story = Callable[[Author], object]
STORIES: dict[str, tuple[Story, str]] = {}


def takes_back(expected: str) -> Callable[[Story], Story]:
    """A story that ends at v1 again, and the tags that its end takes back; empty for none."""

    def add(story: Story) -> Story:
        STORIES[story.__name__.replace("_", " ")] = (story, expected)
        return story

    return add


@takes_back("v2")
def the_commit(ada: Author) -> None:
    ada.revert(ada.push("v2"))


@takes_back("v2")
def the_commit_by_an_abbreviation(ada: Author) -> None:
    pushed = ada.push("v2")
    ada.push("v1", f"Undo\n\nThis reverts commit {pushed[:9]} (web v2, 2026-01-01).")


@takes_back("v2 v3")
def a_merge_of_several_commits(ada: Author) -> None:
    ada.branch()
    ada.push("v2")
    ada.push("v3")
    ada.revert(ada.merge())


@takes_back("v2")
def one_commit_of_a_merge(ada: Author) -> None:
    ada.branch()
    pushed = ada.push("v2")
    ada.merge()
    ada.revert(pushed)


@takes_back("v2")
def an_octopus(ada: Author) -> None:
    ada.branch("other")
    ada.write("v2", app="api")
    ada.remote.commit("api v2")
    ada.branch()
    ada.push("v2")
    ada.revert(ada.merge("other", "feature"))


@takes_back("v2")
def on_a_branch_that_was_merged_later(ada: Author) -> None:
    pushed = ada.push("v2")
    ada.branch("undo")
    ada.revert(pushed)
    ada.remote.run("checkout", "--quiet", "main")
    ada.write("v9", app="api")
    ada.remote.commit("api v9")
    ada.merge("undo", message='Merge pull request #13 from shop/undo\n\nRevert "web v2"')


@takes_back("v2")
def on_a_branch_while_main_changed_the_same_file_elsewhere(ada: Author) -> None:
    pushed = ada.push("v2")
    ada.branch("undo")
    ada.revert(pushed)
    ada.remote.run("checkout", "--quiet", "main")
    ada.write("v2", replicas=5)
    ada.remote.commit("five of them")
    ada.merge("undo", message="Merge branch 'undo'")


@takes_back("v2")
def github_a_squash_by_its_number(ada: Author) -> None:
    ada.push("v2", "web v2 (#12)")
    ada.push("v1", 'Revert "web v2 (#12)" (#13)\n\nReverts shop/config#12')


@takes_back("v2")
def github_a_merge_by_its_number(ada: Author) -> None:
    ada.branch()
    ada.push("v2")
    ada.merge(message="Merge pull request #12 from ada/feature\n\nweb v2")
    ada.push("v1", 'Revert "web v2" (#13)\r\n\r\nReverts shop/config#12\r\n')


@takes_back("v2")
def github_a_squash_of_which_the_title_was_kept(ada: Author) -> None:
    ada.push("v2", 'web "v2" (#12)')
    ada.push("v1", 'Revert "web "v2" (#12)" (#13)')


@takes_back("v2")
def github_a_rebased_request_whose_number_no_commit_of_main_says(ada: Author) -> None:
    ada.push("v2", "Ünï ✨ v2")
    ada.push("v1", 'Revert "Ünï ✨ v2" (#13)\n\nReverts shop/config#12')


@takes_back("v2")
def github_a_squash_with_the_messages_of_its_commits(ada: Author) -> None:
    pushed = ada.push("v2")
    ada.push("v1", f'Ünding (#13)\n\n* Revert "web v2"\n\n  This reverts commit {pushed}.\n\n* Words')


@takes_back("v2")
def a_merge_that_says_it_for_its_branch(ada: Author) -> None:
    ada.push("v2", "web v2 (#12)")
    ada.branch("undo")
    ada.push("v1", "back to v1")
    ada.merge("undo", message="Merge pull request #13 from ada/undo\n\nReverts shop/config#12")


@takes_back("v2")
def gitlab_a_merge_request(ada: Author) -> None:
    ada.branch()
    ada.push("v2")
    ada.merge(message="Merge branch 'feature' into 'main'\n\nweb v2\n\nSee merge request shop/config!12")
    ada.push("v1", "Revert \"Merge branch 'feature' into 'main'\"\n\nThis reverts merge request !12")


@takes_back("v2")
def gitea_a_commit(ada: Author) -> None:
    pushed = ada.push("v2")
    ada.push("v1", f"revert {pushed}\n\nrevert web v2")


@takes_back("v2")
def gitea_a_pull_request(ada: Author) -> None:
    ada.branch()
    ada.push("v2")
    ada.merge(message="Merge pull request 'web (v2) from ada' (#12) from ada/feature into main")
    ada.push("v1", "Undo\n\nReverts #12")


@takes_back("v2")
def a_trailer(ada: Author) -> None:
    ada.push("v1", f"Undo\n\nBg-Rollback-To: {ada.push('v2')}")


@takes_back("v2 v3")
def several_commits_one_after_the_other(ada: Author) -> None:
    second, third = ada.push("v2"), ada.push("v3")
    ada.revert(third, second)


@takes_back("v2 v3")
def several_commits_in_one(ada: Author) -> None:
    second, third = ada.push("v2"), ada.push("v3")
    ada.push("v1", f"Undo both\n\nThis reverts commits {third},\nThis reverts commit {second}.")


@takes_back("v2")
def several_commits_named_in_a_row(ada: Author) -> None:
    other = ada.push("v1", replicas=5)
    ada.push("v1", f"Undo\n\nThis reverts commits {other[:12]} and {ada.push('v2')}.")


@takes_back("v2")
def before_a_change_of_replicas(ada: Author) -> None:
    ada.revert(ada.push("v2"))
    ada.push("v1", "more", replicas=9)


@takes_back("v2")
def after_a_change_of_replicas(ada: Author) -> None:
    pushed = ada.push("v2")
    ada.push("v2", "more", replicas=9)
    ada.push("v1", f"Undo\n\nThis reverts commit {pushed}.", replicas=9)


@takes_back("v2 v1")
def the_revert_of_the_revert(ada: Author) -> None:
    again = ada.revert(ada.revert(ada.push("v2")))
    ada.revert(again)


@takes_back("v2")
def two_apps_in_one_commit(ada: Author) -> None:
    ada.write("v2", app="api")
    ada.revert(ada.push("v2"))


@takes_back("")
def nothing_where_nothing_is_named(ada: Author) -> None:
    ada.push("v2")
    ada.push("v1", "slow CI pushes v1 again")


@takes_back("")
def nothing_where_a_sentence_has_the_words(ada: Author) -> None:
    ada.push("v1", f"No\n\nIt is not so that this reverts commit {ada.push('v2')}.")


@takes_back("")
def nothing_where_another_app_is_named(ada: Author) -> None:
    ada.push("v2")
    ada.write("v2", app="api")
    other = ada.remote.commit("api v2")
    ada.push("v1", f"Undo\n\nThis reverts commit {other}.")


@takes_back("")
def nothing_where_the_commit_left_the_version_as_it_was(ada: Author) -> None:
    ada.push("v2")
    more = ada.push("v2", "more", replicas=9)
    ada.push("v1", f"Undo\n\nThis reverts commit {more}.", replicas=2)


@takes_back("")
def nothing_where_the_commit_comes_later_or_never(ada: Author) -> None:
    ada.push("v2")
    ada.push("v1", f"Undo\n\nThis reverts commit {'a' * 40}.\nReverts shop/config#99")


@takes_back("")
def nothing_where_an_ordinary_push_came_in_between(ada: Author) -> None:
    """v3 was pushed, not reverted: what came before it is another story."""
    ada.revert(ada.push("v2"))
    ada.push("v3")
    ada.push("v1", "by hand")


@pytest.fixture
def ada(tmp_path: Path) -> Author:
    remote = GitRemote(tmp_path / "git")
    files = {**texts.folder("shop", "web"), **texts.folder("shop", "api")}
    for path, text in files.items():
        remote.write(path, text.decode())
    author = Author(remote)
    author.push("v1")
    return author


@pytest.fixture
def repository(tmp_path: Path, ada: Author) -> Iterator[Repository]:
    with Repository(RepositorySettings(url=ada.remote.url, cluster="prod", directory=tmp_path / "mirror")) as opened:
        yield opened


def told(repository: Repository, ada: Author) -> tuple[Entry, ...]:
    ada.remote.push("main")
    commit = repository.poll().commit
    return Journals(repository).of(WEB, None, Asked(reverts=True), commit, ["target.yaml"]).entries


@pytest.mark.parametrize("name", STORIES)
def test_a_target_takes_back(name: str, ada: Author, repository: Repository) -> None:
    story, expected = STORIES[name]
    story(ada)
    found = told(repository, ada)
    tags = {texts.digest("web", tag): tag for tag in ("v1", "v2", "v3")}
    says = [each.says for each in found if isinstance(each.says, Targeted)]
    assert {tags[version.digest] for each in says for version in each.taken_back} == set(expected.split())
    assert not says[-1].unread
    assert found[-1].source.commit


def test_what_primary_yaml_named_since_is_told_in_the_order_of_main(ada: Author, repository: Repository) -> None:
    """Also what it came back to: the order tells what was taken back."""
    commits = []
    for tag in ("v1", "v2", "v3"):
        ada.remote.write("apps/shop/web/primary.yaml", texts.primary("shop", "web", tag, 1).decode())
        commits.append(ada.remote.commit(f"promote {tag}"))
    ada.remote.revert(commits[-1])
    ada.remote.push("main")
    head, primary = repository.poll().commit, Asked(names_since=commits[0])
    found = Journals(repository).of(WEB, None, primary, head, ())
    assert found.since == commits[0]
    assert [said.snapshot.digest for _, said in found.of(Named)] == [
        texts.digest("web", tag) for tag in ("v2", "v3", "v2")
    ]


STORE = GroupKey("shop", "store")


def test_what_group_yaml_asks_to_be_tried_again_is_told_in_main_s_order(ada: Author, repository: Repository) -> None:
    """Also what another one has replaced, and who asked."""
    commits = []
    for number in (1, 2, 3):
        spec = f"spec:\n  active: v1\n  retry: {{digest: v{number}-{'0' * 20}, number: {number}}}\n"
        ada.remote.write("groups/shop/store/group.yaml", f"kind: ReleaseGroup\n{spec}")
        commits.append(ada.remote.commit(f"retry v{number}"))
    ada.remote.push("main")
    now = GroupSpec("v1", retry=Retry(f"v3-{'0' * 20}", 3))
    retried, _ = Journals(repository).of_file(STORE, now, Asked(retries_after=1), repository.poll().commit)
    assert [(each.source.commit, each.says) for each in retried] == [
        (commits[at], Retried(Retry(f"v{at + 1}-{'0' * 20}", at + 1))) for at in (1, 2)
    ]
