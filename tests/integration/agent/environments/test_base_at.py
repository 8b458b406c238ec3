"""What the base of an app was at a commit: also at one of the time before the repository had environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.agent.desired.releases import base_at
from gitops_bg.core.environments.model import Environment, Environments
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from tests.fixtures.repos import texts
from tests.support.git.remote import GitRemote

WEB = AppKey("shop", "web")
ENVIRONMENTS = Environments((Environment("dev", ("dev-1",)), Environment("prod", ("prod-1",))))


@pytest.mark.parametrize("moved", [{}, {"apps/shop/web/prod/overlay.yaml": "{}\n"}], ids=["dev alone", "prod, too"])
def test_a_release_that_was_live_before_there_were_environments_is_found(tmp_path: Path, moved: dict[str, str]) -> None:
    remote = GitRemote(tmp_path / "git")
    files = {path: text.decode() for path, text in texts.folder("shop", "web").items()}
    before = remote.publish("Add web", files)
    remote.publish("Environments", {"apps/shop/web/dev/overlay.yaml": "{}\n", **moved})
    with Repository(RepositorySettings(url=remote.url, directory=tmp_path / "mirror", cluster="prod-1")) as repository:
        repository.poll()
        source = repository.source_of(before)
        found = base_at(repository, WEB, before, source, ENVIRONMENTS)
        assert found is not None
        assert found.id.commit == before
        assert found == base_at(repository, WEB, repository.head, source, ENVIRONMENTS)
