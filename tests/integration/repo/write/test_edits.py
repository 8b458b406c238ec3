"""People's edits of files become commits on main that lose nothing, even if main moves meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import Opener
from tests.support.git.remote import GitRemote

TARGET, APP = "apps/shop/web/target.yaml", "apps/shop/web/app.yaml"


def replacing(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new)


def test_edits_of_two_files_are_one_commit(repository: Repository, remote: GitRemote) -> None:
    before = remote.head()
    edits = {TARGET: replacing(b"1.0.0", b"1.1.0"), APP: replacing(b"300", b"60")}
    edited = repository.edits.commit(edits, "web: both\n")
    assert edited.changed
    assert remote.head() == edited.commit
    assert remote.run("rev-parse", "main^", cwd=remote.bare) == before
    assert "1.1.0" in (remote.show("main", TARGET) or "")
    assert "scaleDownDelaySeconds: 60" in (remote.show("main", APP) or "")


def test_an_edit_that_changes_nothing_is_no_commit(repository: Repository, remote: GitRemote) -> None:
    before = remote.head()
    edited = repository.edits.commit({TARGET: lambda data: data}, "nothing\n")
    assert (edited.changed, edited.commit, remote.head()) == (False, before, before)


def test_an_edit_is_made_again_on_what_somebody_pushed_meanwhile(repository: Repository, remote: GitRemote) -> None:
    calls: list[bytes] = []

    def edit(data: bytes) -> bytes:
        calls.append(data)
        if len(calls) == 1:
            remote.publish("meanwhile", {TARGET: data.decode().replace("replicas: 2", "replicas: 5")})
        return data.replace(b"1.0.0", b"1.1.0")

    repository.edits.commit({TARGET: edit}, "web: set image\n")
    text = remote.show("main", TARGET) or ""
    assert "replicas: 5" in text
    assert "1.1.0" in text
    assert [commit.subject for commit in remote.log()][:2] == ["web: set image", "meanwhile"]


def test_a_file_that_is_not_there_is_named(repository: Repository) -> None:
    with pytest.raises(InvalidInput, match=r"apps/shop/web/none\.yaml: is not on main"):
        repository.edits.commit({"apps/shop/web/none.yaml": lambda data: data}, "x\n")


def test_an_edit_that_refuses_leaves_main_alone(repository: Repository, remote: GitRemote) -> None:
    before = remote.head()

    def refuse(_data: bytes) -> bytes:
        raise InvalidInput

    with pytest.raises(InvalidInput):
        repository.edits.commit({APP: replacing(b"300", b"60"), TARGET: refuse}, "x\n")
    assert remote.head() == before


def test_a_protected_main_refuses_edits(repository: Repository, remote: GitRemote) -> None:
    remote.protect()
    with pytest.raises(PushRefused):
        repository.edits.commit({TARGET: replacing(b"1.0.0", b"1.1.0")}, "x\n")


def test_edits_need_no_poll_before(opened: Opener, remote: GitRemote) -> None:
    repository = opened(mirror="other")
    assert repository.edits.commit({TARGET: replacing(b"1.0.0", b"1.1.0")}, "x\n").commit == remote.head()


def test_the_clusters_with_a_ledger_are_named(repository: Repository, remote: GitRemote) -> None:
    assert repository.mirror.clusters() == []
    for name in ("eu", "us/east"):
        remote.run("push", "--quiet", "origin", f"HEAD:refs/heads/gitops-bg/state/{name}")
    assert repository.mirror.clusters() == ["eu", "us/east"]


def test_polls_and_pushes_do_not_wait_while_the_remote_is_asked_for_its_ledgers(repository: Repository) -> None:
    with ThreadPoolExecutor() as pool, repository.lock:
        assert pool.submit(repository.mirror.of_all).result(30) == {}


NEW = "apps/shop/web/settings.yaml"


def test_a_new_file_comes_with_an_edit_in_one_commit(repository: Repository, remote: GitRemote) -> None:
    edited = repository.edits.commit({NEW: b"a: 1\n", TARGET: replacing(b"1.0.0", b"1.1.0")}, "web: both\n")
    assert edited.paths == {NEW, TARGET}
    assert remote.show("main", NEW) == "a: 1\n"
    assert repository.edits.commit({NEW: b"a: 1\n"}, "again\n").changed is False


def test_a_new_file_never_overwrites_one_that_somebody_made(repository: Repository, remote: GitRemote) -> None:
    remote.publish("meanwhile", {NEW: "mine: true\n"})
    with pytest.raises(InvalidInput, match=r"settings\.yaml: is on main already"):
        repository.edits.commit({NEW: b"a: 1\n"}, "web\n")
    assert remote.show("main", NEW) == "mine: true\n"
