"""Which environment a repository is read for, and what that costs: one answer for all apps, however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.read.environment import NO_ENVIRONMENT
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from tests.support.git.remote import GitRemote

ENVIRONMENTS = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments:
- {name: dev, clusters: [dev-1]}
- {name: prod, clusters: [prod-eu]}
"""
MANY = 1200
WEB = AppKey("shop", "web")


@contextmanager
def opened(remote: GitRemote, folder: Path, cluster: str) -> Iterator[Repository]:
    """The repository as the agent of a cluster reads it."""
    with Repository(RepositorySettings(url=remote.url, directory=folder / cluster, cluster=cluster)) as repository:
        yield repository


def test_every_one_of_many_apps_has_its_environment(tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "git")
    remote.write("environments.yaml", ENVIRONMENTS)
    for number in range(MANY):
        remote.write(f"apps/shop/a{number}/dev/overlay.yaml", "{}\n")
        remote.write(f"apps/shop/a{number}/app.yaml", "{}\n")
        if number % 2:
            remote.write(f"apps/shop/a{number}/prod/overlay.yaml", "{}\n")
    remote.commit("Many")
    remote.push()
    with opened(remote, tmp_path, "prod-eu") as repository:
        repository.poll()
        apps = repository.apps()
        assert len(apps) == MANY // 2
        homes = repository.homes(apps)
        assert {home.folders for home in homes.values()} == {frozenset({"dev", "prod"})}
        assert not any(home.is_first for home in homes.values())
    with opened(remote, tmp_path, "dev-1") as repository:
        repository.poll()
        homes = repository.homes(repository.apps())
        assert len(homes) == MANY
        assert all(home.is_first for home in homes.values())


def test_what_another_environment_has_changes_nothing_here(tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "git")
    for path, text in {"environments.yaml": ENVIRONMENTS, "apps/shop/web/app.yaml": "{}\n"}.items():
        remote.write(path, text)
    for name in ("dev", "prod"):
        remote.write(f"apps/shop/web/{name}/overlay.yaml", "{}\n")
    remote.commit("Begin")
    remote.push()
    with opened(remote, tmp_path, "prod-eu") as repository:
        assert repository.poll().changed == {WEB}
        for path in ("dev/primary.yaml", "dev/overlay.yaml"):
            remote.write(f"apps/shop/web/{path}", "a: 1\n")
            remote.commit(path)
        remote.push()
        before = dict(repository.apps())
        changed = repository.poll().changed
        assert dict(repository.apps()) == before, "the same files count"
        assert changed <= {WEB}
        remote.write("apps/shop/web/prod/overlay.yaml", "b: 1\n")
        remote.commit("Here")
        remote.push()
        assert repository.poll().changed == {WEB}
        assert repository.places.file(WEB, "primary.yaml") == "apps/shop/web/prod/primary.yaml"


def test_an_app_enters_and_leaves_an_environment_with_its_folder(tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "git")
    for path in ("apps/shop/web/app.yaml", "apps/shop/web/dev/overlay.yaml"):
        remote.write(path, "{}\n")
    remote.write("environments.yaml", ENVIRONMENTS)
    remote.commit("In dev")
    remote.push()
    with opened(remote, tmp_path, "prod-eu") as repository:
        assert repository.poll().changed == frozenset()
        assert repository.apps() == {}
        remote.write("apps/shop/web/prod/overlay.yaml", "{}\n")
        remote.commit("In prod")
        remote.push()
        assert repository.poll().changed == {WEB}
        remote.remove("apps/shop/web/prod/overlay.yaml")
        remote.commit("Out of prod")
        remote.push()
        assert repository.poll().removed == {WEB}


def publish(remote: GitRemote, message: str, files: Mapping[str, str | None]) -> None:
    """One commit; None removes a file."""
    for path, text in files.items():
        if text is None:
            remote.remove(path)
        else:
            remote.write(path, text)
    remote.commit(message)
    remote.push()


def in_both(remote: GitRemote) -> None:
    """The app in both environments."""
    folders = {f"apps/shop/web/{name}/overlay.yaml": "{}\n" for name in ("dev", "prod")}
    publish(remote, "Begin", {"environments.yaml": ENVIRONMENTS, "apps/shop/web/app.yaml": "{}\n", **folders})


@pytest.mark.parametrize("after", [None, "environments:\n  default: {}\n"], ids=["gone", "of another tool"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_file_that_is_gone_stays_in_force_until_the_folders_are_gone_too(
    tmp_path: Path, after: str | None, fresh: bool
) -> None:
    remote = GitRemote(tmp_path / "git")
    in_both(remote)
    with opened(remote, tmp_path, "prod-eu") as repository:
        repository.poll()
        assert repository.environment.name == "prod"
        publish(remote, "Lose it", {"environments.yaml": after})
        if not fresh:
            repository.poll()
    with opened(remote, tmp_path / "again" if fresh else tmp_path, "prod-eu") as repository:
        repository.poll()
        assert repository.environment.name == "prod"
        assert repository.places.file(WEB, "primary.yaml") == "apps/shop/web/prod/primary.yaml"
        (problem,) = repository.environment.problems
        assert str(problem).startswith(
            "environments.yaml: is gone, and apps/shop/web/dev is a folder of an environment: what it said last stays"
        )
        gone = {f"apps/shop/web/{name}/overlay.yaml": None for name in ("dev", "prod")}
        publish(remote, "Give them up", gone)
        repository.poll()
        assert repository.environment == NO_ENVIRONMENT
        assert repository.places.file(WEB, "primary.yaml") == "apps/shop/web/primary.yaml"


def test_what_another_cluster_only_was_named_in_stays_in_force_for_that_one_alone(tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "git")
    in_both(remote)
    publish(remote, "Lose it", {"environments.yaml": None})
    with opened(remote, tmp_path, "elsewhere") as repository:
        repository.poll()
        assert repository.environment == NO_ENVIRONMENT


def test_a_mistake_in_the_first_file_leaves_what_counted_before(tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "git")
    publish(remote, "Begin", {"apps/shop/web/app.yaml": "{}\n"})
    with opened(remote, tmp_path, "prod-eu") as repository:
        repository.poll()
        assert set(repository.apps()) == {WEB}
        publish(remote, "Typo", {"environments.yaml": ENVIRONMENTS.replace("clusters", "cluster")})
        repository.poll()
        assert set(repository.apps()) == {WEB}
        assert repository.environment.hides is None
        assert "cluster: there is no such field" in " ".join(map(str, repository.environment.problems))
        assert repository.places.file(WEB, "primary.yaml") == "apps/shop/web/primary.yaml"


def test_a_repository_that_never_had_environments_is_walked_once(tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "git")
    publish(remote, "Begin", {"apps/shop/web/app.yaml": "{}\n"})
    with opened(remote, tmp_path, "prod-eu") as repository:
        repository.poll()
        asked: list[str] = []
        changes = repository._journal.changes
        repository._journal.changes = lambda *words, **how: (  # type: ignore[method-assign]
            asked.append(how["since"]) or changes(*words, **how)  # type: ignore[func-returns-value]
        )
        for text in ("a: 1\n", "a: 2\n"):
            before = repository.head
            publish(remote, "Change", {"apps/shop/web/app.yaml": text})
            repository.poll()
            assert asked.pop() == before
            assert not asked
