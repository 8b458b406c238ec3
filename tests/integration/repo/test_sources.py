"""The commit that brought a file's content is found across merges, reverts and thousands of apps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.core.model.version import Source
from gitops_bg.repo.repository import Repository
from tests.fixtures.repos import texts
from tests.fixtures.repos.build import build
from tests.integration.repo.conftest import API, WEB, Opener
from tests.support.git.remote import GitRemote

TARGET = "apps/shop/web/target.yaml"


def target(tag: str, replicas: int = 2) -> str:
    return texts.target("shop", "web", tag, replicas).decode()


def source(repository: Repository, file: str = "target.yaml") -> Source:
    repository.poll()
    found = repository.source(WEB, file)
    assert found is not None
    return found


def test_author_date_and_subject_are_those_of_the_commit(repository: Repository, remote: GitRemote) -> None:
    remote.write(TARGET, target("1.1.0"))
    when = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    pushed = remote.commit("web 1.1.0\n\nBecause.", author="Zoë Ünder <zoe@example.com>", date=when)
    remote.push()
    assert source(repository) == Source(pushed, "Zoë Ünder <zoe@example.com>", when, "web 1.1.0", landed=2)


def test_another_files_commit_is_not_taken_for_it(repository: Repository, remote: GitRemote) -> None:
    pushed = remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    remote.publish("Other", {"apps/shop/web/service.yaml": "a: 1"})
    assert source(repository).commit == pushed


def test_a_revert_and_back_between_two_polls_is_the_last_commit(repository: Repository, remote: GitRemote) -> None:
    source(repository)
    pushed = remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    assert source(repository).commit == pushed
    remote.revert(pushed)
    remote.push()
    remote.publish("Again", {"apps/shop/web/service.yaml": "a: 1", TARGET: target("1.1.0")})
    assert source(repository).subject == "Again"


def test_a_file_that_was_removed_and_restored_is_by_who_restored_it(repository: Repository, remote: GitRemote) -> None:
    """Looked at after each commit, and asked for only where the file is there."""
    source(repository)
    before = remote.read(TARGET)
    remote.remove(TARGET)
    remote.commit("Remove it")
    remote.push()
    repository.poll()
    assert repository.source(WEB, "target.yaml") is None
    restored = remote.publish("Restore it", {TARGET: before})
    assert source(repository).commit == restored


def test_a_change_that_nobody_asked_about_is_not_forgotten(repository: Repository, remote: GitRemote) -> None:
    source(repository)
    before = remote.read(TARGET)
    remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    repository.poll()
    back = remote.publish("Back", {TARGET: before})
    assert source(repository).commit == back


@pytest.fixture
def walks(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is asked of git's history from now on."""
    source(repository, "primary.yaml")
    found: list[tuple[str, ...]] = []
    git = repository.mirror.git
    walk = git.parts
    monkeypatch.setattr(git, "parts", lambda *words, **how: found.append(words) or walk(*words, **how))
    return found


@pytest.mark.parametrize(("pushes", "at_once"), [(30, 1), (4, 12)])
def test_what_main_left_alone_is_not_looked_for_again(
    repository: Repository, remote: GitRemote, walks: list[tuple[str, ...]], pushes: int, at_once: int
) -> None:
    """However far away it was made, and however many commits are pushed together."""
    pushed = source(repository, "primary.yaml")
    for number in range(pushes):
        for more in range(at_once):
            remote.write(TARGET, target(f"2.{number}.{more}"))
            remote.commit(f"Push {number}, {more}")
        remote.push()
        assert source(repository, "primary.yaml") == pushed
    assert not walks


def test_what_was_changed_and_changed_back_in_one_push_is_by_who_changed_it_back(
    repository: Repository, remote: GitRemote
) -> None:
    source(repository)
    before = remote.read(TARGET)
    for text in (target("1.1.0"), before):
        remote.write(TARGET, text)
        last = remote.commit("Change")
        remote.publish("Something else", {"apps/shop/web/service.yaml": f"a: {last}"})
    assert source(repository).commit == last


def test_further_away_git_is_asked(repository: Repository, remote: GitRemote, walks: list[tuple[str, ...]]) -> None:
    pushed = source(repository, "primary.yaml")
    for number in range(40):
        remote.write(TARGET, target(f"2.0.{number}"))
        remote.commit(f"Push {number}")
    remote.push()
    assert source(repository, "primary.yaml") == pushed
    assert walks


def test_the_content_of_a_merged_branch_comes_from_its_own_commit(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("feature", new=True)
    pushed = remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    remote.checkout("main")
    remote.publish("Meanwhile", {"apps/shop/api/service.yaml": "a: 1"})
    remote.merge("feature")
    assert source(repository).commit == pushed


def test_the_content_of_a_merged_revert_comes_from_its_own_commit(repository: Repository, remote: GitRemote) -> None:
    pushed = remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    remote.checkout("undo", new=True)
    reverted = remote.revert(pushed)
    remote.push()
    remote.checkout("main")
    remote.publish("Meanwhile", {"apps/shop/api/service.yaml": "a: 1"})
    remote.merge("undo")
    assert source(repository).commit == reverted


def test_a_merge_that_makes_content_of_its_own_is_the_source(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("feature", new=True)
    remote.publish("replicas", {TARGET: target("1.0.0", replicas=5)})
    remote.checkout("main")
    remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    merge = remote.merge("feature")
    assert source(repository).commit == merge


def test_an_edit_that_a_merge_threw_away_is_not_the_source(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("feature", new=True)
    remote.publish("Thrown away", {TARGET: target("6.6.6")})
    remote.checkout("main")
    kept = remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    remote.run("fetch", "--quiet", "origin")
    remote.run("merge", "--quiet", "-s", "ours", "-m", "Ours", "origin/feature")
    remote.push()
    assert source(repository).commit == kept


def test_an_absent_file_has_no_source(repository: Repository) -> None:
    assert repository.source(API, "primary.yaml") is None
    assert repository.sources([(API, "primary.yaml"), (WEB, "primary.yaml")]).keys() == {(WEB, "primary.yaml")}


def test_strange_authors_and_dates_do_no_harm(repository: Repository, remote: GitRemote) -> None:
    remote.write(TARGET, target("1.1.0"))
    author, date = "\udcff\udcfe x <ada@example.com>", "@99999999999999 +0000"
    remote.run("commit", "-qm", "Odd", f"--author={author}", f"--date={date}")
    remote.push()
    found = source(repository)
    assert found.subject == "Odd"
    assert found.author.endswith("<ada@example.com>")


def test_the_healthy_fixture_tells_its_life(opened: Opener, tmp_path: Path) -> None:
    repository = opened(str(build("healthy", tmp_path / "fixture")))
    repository.poll()
    files = [(WEB, "primary.yaml"), (WEB, "target.yaml"), (API, "primary.yaml"), (API, "target.yaml")]
    subjects = {key: found.subject for key, found in repository.sources(files).items()}
    assert subjects == {
        files[0]: "Revert web",
        files[1]: "web 1.1.0",
        files[2]: "api: deploy v1",
        files[3]: "api 1.1.0",
    }
    assert repository.source(*files[0]).author == "Bob Reverter <bob@example.com>"  # type: ignore[union-attr]


def test_the_walk_for_all_apps_agrees_with_git_log_for_each(opened: Opener, tmp_path: Path) -> None:
    remote = build("thousands", tmp_path / "fixture", apps=150, commits=200)
    repository = opened(str(remote))
    repository.poll()
    sources = repository.sources([(app, "target.yaml") for app in repository.apps()])
    helper = GitRemote(tmp_path / "helper")
    for app in list(repository.apps())[::7]:
        path = f"apps/{app.namespace}/{app.name}/target.yaml"
        expected = helper.run("log", "-1", "--format=%H", "main", "--", path, cwd=remote)
        assert sources[app, "target.yaml"].commit == expected


class TestOlderPrimaries:
    def test_are_found_by_version_and_by_digest(self, opened: Opener, tmp_path: Path) -> None:
        repository = opened(str(build("healthy", tmp_path / "fixture")))
        repository.poll()
        second = texts.primary("shop", "web", "1.1.0", 2)
        assert repository.find_primary(WEB, version=2) == second
        assert repository.find_primary(WEB, digest=texts.digest("web", "1.1.0")) == second
        assert repository.find_primary(WEB, version=1) == texts.primary("shop", "web", "1.0.0", 1)

    def test_are_none_where_there_never_was_one(self, repository: Repository) -> None:
        assert repository.find_primary(WEB, version=9) is None
        assert repository.find_primary(WEB, digest="v1:ff") is None
        assert repository.find_primary(API, version=1) is None

    def test_are_found_in_many_pages_and_after_a_deletion(self, repository: Repository, remote: GitRemote) -> None:
        for version in range(2, 125):
            text = texts.primary("shop", "web", f"{version}.0.0", version).decode()
            remote.write("apps/shop/web/primary.yaml", text)
            remote.commit(f"v{version}")
        remote.remove("apps/shop/web/primary.yaml")
        remote.commit("Gone")
        remote.push()
        repository.poll()
        assert repository.find_primary(WEB, version=3) == texts.primary("shop", "web", "3.0.0", 3)

    def test_keep_nobody_from_the_repository_who_does_not_read(self, repository: Repository) -> None:
        primaries = repository.primaries(WEB)
        next(primaries)
        with ThreadPoolExecutor() as pool:
            assert pool.submit(lambda: repository.head).result(10) == repository.head


def test_who_merged_a_change_let_it_in_and_who_made_it_made_it(repository: Repository, remote: GitRemote) -> None:
    remote.checkout("offer", new=True)
    remote.write(TARGET, target("1.1.0"))
    made = remote.commit("web 1.1.0", author="The agent <agent@example.com>")
    remote.push("offer")
    remote.checkout("main")
    merged = remote.merge("offer")
    remote.push()
    assert source(repository).commit == made
    landing = repository.landings([(WEB, "target.yaml")])[WEB, "target.yaml"]
    assert (landing.commit, landing.author) == (merged, remote.log()[0].author + " <ada@example.com>")


def test_a_change_that_was_not_merged_is_let_in_by_its_own_commit(repository: Repository, remote: GitRemote) -> None:
    pushed = remote.publish("web 1.1.0", {TARGET: target("1.1.0")})
    assert source(repository).commit == pushed
    assert repository.landings([(WEB, "target.yaml")])[WEB, "target.yaml"].commit == pushed
