"""Reading a commit: contents by app, in one exchange for all of them, and only regular files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.repository import Repository
from tests.fixtures.repos import texts
from tests.fixtures.repos.build import build
from tests.integration.repo.conftest import API, WEB, Opener, git_calls
from tests.support.git.remote import GitRemote


def problem(repository: Repository, app: AppKey, name: str) -> Problem:
    content = repository.files(app)[name]
    assert isinstance(content, Problem)
    return content


def test_files_come_byte_for_byte_with_their_blob_ids(repository: Repository, remote: GitRemote) -> None:
    remote.publish("Odd", {"apps/shop/web/odd.yaml": "a: 1\r\n\n\n", "apps/shop/web/empty.yaml": ""})
    repository.poll()
    files = repository.files_of([WEB])[WEB]
    assert files["odd.yaml"].content == b"a: 1\r\n\n\n"
    assert files["empty.yaml"].content == b""
    assert files["odd.yaml"].blob == remote.run("rev-parse", "HEAD:apps/shop/web/odd.yaml")


def test_only_manifests_and_the_kustomization_of_the_folder_itself_are_read(
    repository: Repository, remote: GitRemote
) -> None:
    remote.publish("More", {"apps/shop/web/README.md": "hello", "apps/shop/web/deep/x.yaml": "a: 1", "x.yml": "b: 1"})
    remote.publish("A kustomization", {"apps/shop/web/Kustomization": "resources: []\n"})
    repository.poll()
    assert set(repository.files(WEB)) == {"app.yaml", "primary.yaml", "target.yaml", "Kustomization"}


def test_an_absent_app_has_no_files(repository: Repository) -> None:
    assert repository.files(AppKey("shop", "nobody")) == {}
    assert repository.files_of([]) == {}


def test_an_older_commit_can_be_read(repository: Repository, remote: GitRemote) -> None:
    before = repository.head
    remote.remove("apps/shop/api")
    remote.commit("Remove api")
    remote.push()
    repository.poll()
    assert repository.files(API) == {}
    assert set(repository.files(API, before)) == {"app.yaml", "target.yaml"}
    assert set(repository.apps(before)) == {WEB, API}


def test_blobs_of_many_apps_are_fetched_in_one_exchange_and_only_once(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = build("thousands", tmp_path / "fixture", apps=300, commits=20)
    repository = opened(str(remote))
    repository.poll()
    calls = git_calls(repository, monkeypatch)
    files = repository.files_of(repository.apps())
    assert len(files) == 300
    assert all(len(names) == 3 for names in files.values())
    assert calls.count("fetch") == 1
    calls.clear()
    assert repository.files_of(repository.apps()) == files
    assert "fetch" not in calls


def test_nothing_but_the_two_fetches_ever_goes_to_the_remote(opened: Opener, remote: GitRemote, tmp_path: Path) -> None:
    repository = opened()
    repository.poll()
    remote.go_down()
    assert set(repository.apps()) == {WEB, API}
    assert set(repository.entries_of([WEB])[WEB]) == {"app.yaml", "primary.yaml", "target.yaml"}
    assert repository.source(WEB, "target.yaml") is not None


def test_links_and_submodules_are_problems_and_are_not_followed(opened: Opener, tmp_path: Path) -> None:
    repository = opened(str(build("symlink", tmp_path / "fixture")))
    repository.poll()
    link = AppKey("shop", "link")
    assert "is a symbolic link" in problem(repository, link, "target.yaml").message
    assert "is a submodule" in problem(repository, link, "module").message
    assert isinstance(repository.files(link)["app.yaml"], bytes)
    instead = AppKey("shop", "folder-link")
    assert instead in repository.apps(), "what somebody put into the place of an app's folder does not remove the app"
    assert "is a symbolic link" in problem(repository, instead, "primary.yaml").message
    assert [found.file for found in repository.misplaced()] == ["apps/shop/folder-link"]


def test_a_huge_file_is_a_problem_that_says_the_limit(opened: Opener, tmp_path: Path) -> None:
    repository = opened(str(build("huge-file", tmp_path / "fixture")))
    repository.poll()
    found = problem(repository, AppKey("shop", "huge"), "target.yaml")
    assert found.file == "apps/shop/huge/target.yaml"
    assert "larger than 1024 KiB" in found.message
    assert isinstance(repository.files(WEB)["target.yaml"], bytes)


@pytest.mark.parametrize(
    ("name", "app", "content"),
    [
        ("broken-yaml", "broken", texts.BROKEN),
        ("duplicate-keys", "twice", texts.DUPLICATE_KEYS),
        ("wrong-namespace", "astray", texts.target("other", "astray", "1.0.0")),
        ("anchor-bomb", "bomb", texts.ANCHOR_BOMB),
        ("non-utf-8", "latin", texts.NOT_UTF_8),
    ],
)
def test_what_is_only_bad_yaml_comes_as_it_is_for_the_parser_to_judge(
    name: str, app: str, content: bytes, opened: Opener, tmp_path: Path
) -> None:
    repository = opened(str(build(name, tmp_path / "fixture")))
    repository.poll()
    assert repository.files(AppKey("shop", app))["target.yaml"] == content
    source = repository.source(AppKey("shop", app), "target.yaml")
    assert source is not None
    assert source.author == "Eve Careless <eve@example.com>"


def test_what_can_be_no_app_is_named_with_a_remedy(repository: Repository, remote: GitRemote) -> None:
    remote.publish("Stray", {
        "apps/stray.yaml": "a: 1",
        "apps/shop/web.yaml": "a: 1",
        "apps/shop/Upper/app.yaml": "a: 1",
        "apps/bad_name/x/app.yaml": "a: 1",
        "apps/README.md": "fine",
        "apps/shop/OWNERS": "fine",
    })  # fmt: skip
    repository.poll()
    assert set(repository.apps()) == {WEB, API}
    found = {problem.file: problem for problem in repository.misplaced()}
    assert set(found) == {"apps/stray.yaml", "apps/shop/web.yaml", "apps/shop/Upper", "apps/bad_name"}
    assert all(problem.remedy for problem in found.values())


def test_a_file_name_with_odd_signs_is_only_a_name(repository: Repository, remote: GitRemote) -> None:
    remote.publish("Odd names", {'apps/shop/web/a "b"\n:(glob)*.yaml': "a: 1\n", "apps/shop/web/-x.yaml": "b: 1\n"})
    repository.poll()
    files = repository.files(WEB)
    assert files['a "b"\n:(glob)*.yaml'] == b"a: 1\n"
    assert files["-x.yaml"] == b"b: 1\n"
    assert repository.source(WEB, "-x.yaml") is not None


def test_the_settings_file_may_be_absent(opened: Opener, tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "bare")
    remote.publish("Nothing", {"README.md": "hello"})
    repository = opened(remote.url)
    assert repository.poll().apps == 0
    assert repository.settings_file() is None
    assert repository.misplaced() == ()
