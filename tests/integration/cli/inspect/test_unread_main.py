"""What `explain`, `plan`, `status` and `get` say of a main that the agent, or the person who asks, cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_bg.repo.settings import RepositorySettings
from tests.integration.cli.conftest import Cli
from tests.support.cluster.clusters import SandboxCluster
from tests.support.git.https_server import GitHttpsServer, serving
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, scenario


@dataclass(frozen=True)
class Story:
    """A v1 that serves; the agent and the person who asks have tokens of their own for the remote."""

    server: GitHttpsServer
    web: App
    cli: Cli
    own_token: Path

    def expire_the_agents_token(self) -> None:
        self.server.token = self.own_token.read_text()
        self.web.push_image("v2")
        self.web.wait_condition("GitReachable", "False")


@pytest.fixture
def story(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Story]:
    served, token, own = GitRemote(tmp_path / "git"), tmp_path / "token", tmp_path / "own-token"
    served.run("config", "http.receivepack", "true", cwd=served.bare)
    token.write_text("of-the-agent")
    own.write_text("of-the-person")
    with serving(served.bare.parent, tmp_path / "https", token.read_text()) as server:
        url = f"{server.url}/{served.bare.name}"
        settings = RepositorySettings(
            url=url, cluster="test", directory=tmp_path / "mirror", token_file=token, ca_file=server.certificate
        )
        with scenario(sandbox_cluster, tmp_path, remote=served, repository=settings, poll_seconds=0.5) as world:
            world.start()
            web = world.app().deploy("v1")
            cli = Cli(served, world.cluster.kubeconfig, tmp_path)
            cli.env |= {
                "GITOPS_BG_REPO": url,
                "GITOPS_BG_GIT_TOKEN_FILE": str(own),
                "GITOPS_BG_GIT_CA_FILE": str(server.certificate),
            }
            yield Story(server, web, cli, own)


def test_explain_and_plan_promise_nothing_of_a_main_that_the_agent_cannot_read(story: Story) -> None:
    story.expire_the_agents_token()

    said = story.cli("explain", str(story.web.key))
    assert "GitReachable=False: git ls-remote: fatal: Authentication failed" in said
    assert "main was last read at 20" in said
    assert "give the agent credentials that may read the repository" in said
    assert "about to be done" not in said

    planned = story.cli("plan", str(story.web.key))
    assert "! the agent cannot read main: git ls-remote: fatal: Authentication failed" in planned
    assert "nothing to do" not in planned
    (app,) = story.cli.json("plan", str(story.web.key))["apps"]
    assert "main was last read at 20" in app["refused"]


def test_plan_never_says_nothing_to_do_of_an_app_whose_main_is_not_read(story: Story) -> None:
    story.server.token = story.own_token.read_text()
    story.web.wait_condition("GitReachable", "False")
    planned = story.cli("plan", str(story.web.key))
    assert f"{story.web.key}: Healthy\n  ! the agent cannot read main" in planned


def test_who_cannot_read_main_hears_what_the_cluster_knows_and_why_it_is_no_more(story: Story) -> None:
    story.own_token.write_text("wrong")
    said = story.cli("explain", str(story.web.key), code=3)
    assert "main cannot be read from here, so this is what the cluster knows: git ls-remote: fatal: Auth" in said
    assert f"{story.web.key}: Healthy" in said
    assert "live traffic goes to v1" in said
    assert "GitReachable=False" not in said

    story.cli("plan", str(story.web.key), code=3)
    story.cli("explain", f"{story.web.key.namespace}/unknown", code=3)


def test_status_and_get_have_the_words_and_the_remedy(story: Story) -> None:
    story.expire_the_agents_token()
    for verb in (["get"], ["get", str(story.web.key)]):
        said = story.cli(*verb)
        assert "Authentication failed" in said
        assert "give the agent credentials that may read the repository" in said
