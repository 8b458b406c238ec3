"""A release group on a real Gitea: what main refuses is a pull request, and people approve it (decision 34)."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.web.app import application
from gitops_bg.web.server import WebServer
from tests.fixtures.repos.texts import policy
from tests.integration.agent.forge.test_gitea import SETTINGS
from tests.support.cluster.clusters import SandboxCluster
from tests.support.forges.gitea import Gitea
from tests.support.forges.remote import GiteaRemote
from tests.support.groups import Store
from tests.support.scenario import scenario
from tests.support.waiting import eventually

pytestmark = pytest.mark.real_forge

TOKEN = b"correct horse"
EYES = {
    "policies/eyes.yaml": policy("eyes", "- approvals: {count: 1}", "- separation: {between: [author, merger]}"),
    "policies/people.yaml": """\
apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: ada, emails: [ada@example.com], forge: {gitea: 3}}
""",
}
"""Who pushes has the account `ana`."""


class Pulls:
    """What people do with the pull request of the group."""

    def __init__(self, store: Store, remote: GiteaRemote) -> None:
        self.store = store
        self.remote = remote
        self.branch = promotion_branch(GroupKey(store.world.namespace, "store"))

    def asked(self, version: str) -> dict[str, Any]:
        """What a pipeline is answered that asks for the promotion of a version over HTTP."""
        agent, group = self.store.world.agent, f"{self.store.world.namespace}/{self.store.name}"
        assert agent is not None
        agent.api_token = TOKEN
        with WebServer(application(agent), port=0) as server:
            url = f"{server.url}/api/v1/groups/{group}/promote/{version}"
            answer = httpx.post(url, headers={"Authorization": f"Bearer {TOKEN.decode()}"}, timeout=60)
        assert answer.status_code == 202, answer.text
        said: dict[str, Any] = answer.json()
        self.store.world.wake()
        return said

    def wait(self, title: str, status: str) -> dict[str, Any]:
        """The only open one, once it says so."""

        def found() -> dict[str, Any] | None:
            self.store.world.wake()
            pulls = [each for each in self.remote.pulls() if title in each["title"]]
            is_so = pulls and self.remote.status(pulls[0]["head"]["sha"]) == status
            return pulls[0] if is_so else None

        pull = eventually(found, what=f"a pull request {title!r} whose status is {status}")
        assert pull is not None
        return pull

    def approves(self, pull: dict[str, Any], user: str) -> None:
        body = {"event": "APPROVED", "commit_id": pull["head"]["sha"]}
        self.remote.call("POST", f"/pulls/{pull['number']}/reviews", body, user=user)


@pytest.fixture
def remote(real_forge: Gitea, tmp_path: Path) -> GiteaRemote:
    return GiteaRemote(tmp_path / "remote", real_forge)


@pytest.fixture
def pulls(sandbox_cluster: SandboxCluster, remote: GiteaRemote, tmp_path: Path) -> Iterator[Pulls]:
    """The group `store`: v1 serves, v2 is a candidate; policies ask for a second pair of eyes."""
    with scenario(sandbox_cluster, tmp_path / "agent", remote=remote, **remote.agent_settings()) as world:
        store = Store(world)
        remote.write("gitops-bg.yaml", SETTINGS)
        store.begin()
        world.publish("Two pairs of eyes", EYES)
        yield Pulls(store, remote)


def test_a_promotion_that_main_refuses_is_approved_squashed_and_carried_out(pulls: Pulls, remote: GiteaRemote) -> None:
    store = pulls.store
    remote.protect()
    assert pulls.asked("v2")["branch"] == pulls.branch
    pull = pulls.wait("store: v1 → v2 [test]", "pending")
    assert pull["user"]["login"] == "agent"
    store.world.advance(31)  # A body is not edited more often.
    store.world.wake()
    eventually(lambda: "0 of 1 approvals" in unescape(remote.pulls()[0]["body"]), what="its text counts approvals")
    body = unescape(remote.pulls()[0]["body"]).replace("<code>", "").replace("</code>", "")
    for row in ("| cart | cart-v1 | cart-v2 |", "| /new | 404 | cart-v2 |"):
        assert row in body, body
    assert pulls.asked("v2")["pullRequest"] == pull["html_url"], "asked again, the answer names it"
    eventually(lambda: store.status().get("pullRequest", {}).get("url") == pull["html_url"], what="so does the status")

    pulls.approves(pull, "ben")
    pull = pulls.wait("store: v1 → v2 [test]", "success")
    remote.merge(pull["number"], "squash", user="ben")
    store.world.wake()
    store.wait("v1L v2A")
    eventually(lambda: remote.head(pulls.branch) is None, what="the branch is gone")
    eventually(lambda: "pullRequest" not in store.status(), what="so is it in the status")
    assert [(each["number"], each["merged"]) for each in remote.pulls("all")] == [(pull["number"], True)]
