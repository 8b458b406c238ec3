"""To which forge the agent connects, and to which server it sends a token."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.agent.forge_thread import connect_as, connect_with
from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.forge.connect import CredentialUnusable
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.spec.app.settings import ForgeSettings

NOW = datetime(2026, 12, 1, tzinfo=UTC)
ELSEWHERE = ForgeSettings.model_validate({"type": "gitea", "url": "https://forge.example.com"})


@pytest.fixture
def repository(tmp_path: Path) -> RepositorySettings:
    """Of a repository that is served under another name than its forge."""
    return RepositorySettings(url="https://git.example.com/shop/deployments.git", cluster="test", directory=tmp_path)


@pytest.fixture
def access(tmp_path: Path) -> ForgeAccess:
    """The agent's own token."""
    (tmp_path / "token").write_text("secret")
    return ForgeAccess(token_file=tmp_path / "token")


def test_another_server_gets_a_token_only_where_an_option_names_it(
    repository: RepositorySettings, access: ForgeAccess
) -> None:
    with pytest.raises(CredentialUnusable, match=r"--forge-host forge\.example\.com"):
        connect_with(repository, access, lambda: NOW)(ELSEWHERE)
    with pytest.raises(CredentialUnusable, match=r"--forge-host forge\.example\.com"):
        connect_as(repository, access, ELSEWHERE, "theirs", "https://forge.example.com", lambda: NOW)
    named = replace(access, host="forge.example.com")
    connect_with(repository, named, lambda: NOW)(ELSEWHERE).close()
    connect_as(repository, named, ELSEWHERE, "theirs", "https://forge.example.com", lambda: NOW).close_connections()
