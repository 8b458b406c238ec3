"""A remote with two apps, and the agent's Repository on it; retries never wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.repo.write.commits import Movement
from gitops_bg.repo.write.promotion import PrimaryChange
from tests.fixtures.repos import texts
from tests.support.git.remote import GitRemote

WEB = AppKey("shop", "web")
API = AppKey("shop", "api")
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

Opener = Callable[..., Repository]


@pytest.fixture
def remote(tmp_path: Path) -> GitRemote:
    """Two apps: web is at v1, api was never promoted."""
    remote = GitRemote(tmp_path / "git")
    files = {"gitops-bg.yaml": texts.SETTINGS, **texts.folder("shop", "web"), **texts.folder("shop", "api")}
    files["apps/shop/web/primary.yaml"] = texts.primary("shop", "web", "1.0.0", 1)
    remote.publish("Add web and api", {path: text.decode() for path, text in files.items()})
    return remote


@pytest.fixture
def opened(tmp_path: Path, remote: GitRemote) -> Iterator[Opener]:
    """Opens a Repository on `remote`, or on another URL; all are closed at the end."""
    with ExitStack() as stack:

        def open_one(url: str = "", mirror: str = "mirror", at: datetime = NOON, **settings: object) -> Repository:
            given: dict[str, object] = {"cluster": "prod", "directory": tmp_path / mirror, **settings}
            made = RepositorySettings(url=url or remote.url, **given)  # type: ignore[arg-type]
            return stack.enter_context(Repository(made, clock=lambda: at, sleep=lambda _: None))

        yield open_one


@pytest.fixture
def repository(opened: Opener) -> Repository:
    """A Repository that was polled once."""
    repository = opened()
    repository.poll()
    return repository


def change(
    repository: Repository, tag: str = "2.0.0", version: int = 2, app: AppKey = WEB, **movement: object
) -> PrimaryChange:
    """A promotion of an app to a tag, derived from what the repository shows."""
    facts: dict[str, object] = {
        "event": Event.PROMOTED,
        "from_version": version - 1,
        "from_digest": texts.digest(app.name, "1.0.0"),
        "to_version": version,
        "to_digest": texts.digest(app.name, tag),
        "reason": "all gates are open",
        **movement,
    }
    content = texts.primary(app.namespace, app.name, tag, version)
    return PrimaryChange(content, repository.head, Movement(subject=app, **facts))  # type: ignore[arg-type]


def git_calls(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on, the git commands the repository runs (the streamed ones apart)."""
    calls: list[str] = []
    runner = repository.mirror.git
    execute = runner._execute

    def recorded(arguments: tuple[str, ...], *rest: object) -> object:
        calls.append(next(word for word in arguments if not word.startswith("-") and "=" not in word))
        return execute(arguments, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "_execute", recorded)
    return calls
