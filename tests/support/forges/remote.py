"""A repository on a real Gitea as the remote of a story: pushes go over HTTP, and people use the forge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.repo.settings import RepositorySettings
from tests.support.forges.gitea import Gitea
from tests.support.git.remote import GitRemote


class GiteaRemote(GitRemote):
    """`ana` pushes and uses the forge; the agent has a token of its own."""

    def __init__(self, folder: Path, gitea: Gitea, **settings: Any) -> None:
        self.gitea = gitea
        self.name = gitea.repository(**settings)
        self._url = gitea.git_url(self.name, "ana")
        super().__init__(folder)
        self._url = f"{gitea.url}/admin/{self.name}.git"
        self.bare = gitea.repositories / "admin" / f"{self.name}.git"

    @property
    def url(self) -> str:
        return self._url

    def agent_settings(self) -> dict[str, Any]:
        """What an agent is to be told of it: one token for Git and for pull requests."""
        token = self.folder / "token"
        token.write_text(self.gitea.token("agent", "write:repository", "write:issue"))
        repository = RepositorySettings(
            url=self.url,
            cluster="test",
            directory=self.folder / "mirror",
            username="agent",
            token_file=token,
            allow_http=True,
        )
        return {"repository": repository, "forge": ForgeAccess(token_file=token)}

    def protect(self) -> None:  # type: ignore[override]
        """Main takes pushes of ana only, and merges of what the agent's status calls good."""
        rule = {
            "branch_name": self.branch,
            "enable_push": True,
            "enable_push_whitelist": True,
            "push_whitelist_usernames": ["ana"],
            "enable_status_check": True,
            "status_check_contexts": ["gitops-bg/test"],
        }
        self.call("POST", "/branch_protections", rule, user="admin")

    def call(self, method: str, path: str, body: Any = None, user: str = "ana") -> Any:
        """What a person asks of the repository."""
        return self.gitea.call(method, f"/repos/admin/{self.name}{path}", body, user=user)

    def merge(self, number: int, how: str = "squash", user: str = "ana") -> None:  # type: ignore[override]
        """What a person does who presses the button."""
        self.gitea.merge(f"/repos/admin/{self.name}/pulls/{number}", how, user)

    def pulls(self, state: str = "open") -> list[dict[str, Any]]:
        """Its pull requests, the newest first."""
        return list(self.call("GET", f"/pulls?state={state}"))

    def status(self, commit: str) -> str:
        """What the agent's status of a commit says; empty where there is none."""
        found = self.call("GET", f"/commits/{commit}/statuses")
        return str(found[0]["status"]) if found else ""
