"""The Git writes of several decisions, made together: one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from gitops_bg.agent.desired.git_writes import GitChange, write
from gitops_bg.core.errors import InternalError, InvalidInput
from gitops_bg.core.model.actions import CommitPrimary, OfferPromotion
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app.primary import render_primary
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of
from tests.fixtures.repos import texts
from tests.support.git.remote import GitRemote

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BLUE = configuration_of("ConfigMap", "settings", {"data": {"color": "blue"}})
PASSWORDS = configuration_of("Secret", "passwords", {"data": {"db": "eA=="}})


def version(number: int, *uses: Configuration) -> Version:
    snapshot = snapshot_of(texts.template("web", f"{number}.0.0"), (each.ref for each in uses))
    return Version(number, snapshot, Color.BLUE, Stage.ACTIVE, Source("9be1"), number, NOW)


@pytest.fixture
def remote(tmp_path: Path) -> GitRemote:
    """Two apps that were never promoted."""
    remote = GitRemote(tmp_path / "git")
    files = {"gitops-bg.yaml": texts.SETTINGS, **texts.folder("shop", "web"), **texts.folder("shop", "api")}
    remote.publish("Add web and api", {path: text.decode() for path, text in files.items()})
    return remote


@pytest.fixture
def repository(remote: GitRemote, tmp_path: Path) -> Iterator[Repository]:
    settings = RepositorySettings(url=remote.url, cluster="prod", directory=tmp_path / "mirror")
    with Repository(settings, clock=lambda: NOW, sleep=lambda _: None) as repository:
        repository.poll()
        yield repository


def commit(repository: Repository, of: Version, *contents: Configuration, app: AppKey = WEB) -> GitChange:
    action = CommitPrimary(of, Event.DEPLOYED, "", None, "first")
    return GitChange((action,), Record(), repository.head, contents)


def configuration(remote: GitRemote, app: AppKey = WEB, ref: str = "main") -> object:
    text = remote.show(ref, f"apps/{app.namespace}/{app.name}/primary.yaml")
    return yaml.safe_load(text).get("configuration") if text else "no primary.yaml"


def test_what_the_versions_hold_is_written_with_them(repository: Repository, remote: GitRemote) -> None:
    web = commit(repository, version(1, BLUE, PASSWORDS), PASSWORDS, BLUE)
    written = write(repository, {WEB: web, API: commit(repository, version(1), app=API)})
    assert (written.errors, written.touched) == ((), {WEB, API})
    assert configuration(remote) == [
        {"kind": "ConfigMap", "name": "settings", "data": {"color": "blue"}},
        {"kind": "Secret", "name": "passwords", "data": {"db": "eA=="}},
    ]
    assert configuration(remote, API) is None


def test_what_is_not_at_hand_comes_from_the_primary_that_main_once_had(
    repository: Repository, remote: GitRemote
) -> None:
    first, second = version(1, BLUE, PASSWORDS), version(2)
    path = "apps/shop/web/primary.yaml"
    remote.publish("v1", {path: render_primary(WEB, first, (BLUE, PASSWORDS))})
    remote.publish("v2", {path: render_primary(WEB, second)})
    repository.poll()
    assert write(repository, {WEB: commit(repository, first, PASSWORDS)}).errors == ()
    assert remote.show("main", path) == render_primary(WEB, first, (BLUE, PASSWORDS))


@pytest.mark.parametrize("action", [CommitPrimary, OfferPromotion])
def test_half_a_version_is_not_written_and_keeps_no_other_app_from_it(
    repository: Repository, remote: GitRemote, action: type[CommitPrimary] | type[OfferPromotion]
) -> None:
    half = GitChange(
        (action(version(1, BLUE, PASSWORDS), Event.DEPLOYED, "", None, "first"),), Record(), repository.head, (BLUE,)
    )
    written = write(repository, {WEB: half, API: commit(repository, version(1), app=API)})
    (error,) = written.errors
    assert isinstance(error, InvalidInput)
    assert "apps/shop/web/primary.yaml: what Secret passwords of v1" in str(error)
    assert "is nowhere to be found" in str(error)
    assert configuration(remote) == "no primary.yaml"
    assert configuration(remote, API) is None
    assert remote.head("gitops-bg/promote/shop/web") is None


def test_a_source_that_the_record_lost_is_the_one_of_its_promotion(repository: Repository, remote: GitRemote) -> None:
    path = "apps/shop/web/primary.yaml"
    first = version(1)
    before = render_primary(WEB, first)
    remote.publish("v1", {path: before})
    remote.publish("v1 by a former release", {path: before.replace("commit: 9be1", 'commit: ""')})
    remote.publish("v2", {path: render_primary(WEB, version(2))})
    repository.poll()
    assert write(repository, {WEB: commit(repository, replace(first, source=Source("")))}).errors == ()
    assert remote.show("main", path) == before


def test_a_source_that_main_never_knew_is_written_as_unknown(repository: Repository, remote: GitRemote) -> None:
    unknown = replace(version(1), source=Source(""))
    assert write(repository, {WEB: commit(repository, unknown)}).errors == ()
    assert remote.show("main", "apps/shop/web/primary.yaml") == render_primary(WEB, unknown)


def test_what_nobody_could_read_is_not_pushed_and_keeps_no_other_app_from_it(
    repository: Repository, remote: GitRemote
) -> None:
    whole, before = version(1), remote.head("main")
    cut = replace(whole, snapshot=replace(whole.snapshot, digest="d763871d2b"))
    written = write(repository, {WEB: commit(repository, cut)})
    assert isinstance(written.incomplete[WEB], InternalError), "so that the app's status says it"
    assert written.touched == frozenset(), "so that nobody looks at the remote because of it"
    assert remote.head("main") == before
    changes = {WEB: commit(repository, cut), API: commit(repository, whole, app=API)}
    assert write(repository, changes).touched == {API}
    assert configuration(remote) == "no primary.yaml"
