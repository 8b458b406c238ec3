"""Which files ever left a folder: as main's history says, by one walk for all apps, and then what is new."""

from __future__ import annotations

import pytest

from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import API, WEB, git_calls
from tests.support.git.remote import GitRemote

FOLDER = "apps/shop/web"


def test_what_left_is_named_also_where_it_is_back_or_left_on_a_branch(
    repository: Repository, remote: GitRemote
) -> None:
    assert repository.removed_files(WEB) == frozenset()
    remote.publish("Limits and more", {f"{FOLDER}/limits.yaml": "a: 1\n", f"{FOLDER}/more.yaml": "a: 1\n"})
    remote.publish("No limits", {f"{FOLDER}/limits.yaml": None})
    remote.publish("Limits again", {f"{FOLDER}/limits.yaml": "a: 1\n"})
    repository.poll()
    assert repository.removed_files(WEB) == {"limits.yaml"}
    remote.checkout("feature", new=True)
    remote.publish("No more", {f"{FOLDER}/more.yaml": None})
    remote.merge("feature")
    repository.poll()
    assert repository.removed_files(WEB) == {"limits.yaml", "more.yaml"}
    assert repository.removed_files(API) == frozenset()


def test_what_left_in_a_history_that_is_no_more_is_forgotten(repository: Repository, remote: GitRemote) -> None:
    before = remote.publish("Limits", {f"{FOLDER}/limits.yaml": "a: 1\n"})
    remote.publish("No limits", {f"{FOLDER}/limits.yaml": None})
    repository.poll()
    assert repository.removed_files(WEB) == {"limits.yaml"}
    remote.force_push(to=before)
    repository.poll()
    assert repository.removed_files(WEB) == frozenset()


def test_many_apps_ask_git_once_for_each_head(
    repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = git_calls(repository, monkeypatch)
    for app in (WEB, API, WEB):
        repository.removed_files(app)
    assert calls == ["log"]
    remote.publish("Limits", {f"{FOLDER}/limits.yaml": "a: 1\n"})
    repository.poll()
    calls.clear()
    for app in (WEB, API):
        repository.removed_files(app)
    assert calls.count("log") == 1
