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


def test_who_cannot_read_main_is_told_and_nothing_is_promised_of_it(story: Story) -> None:
    """First the person who asks, then the agent: before and after a push that it has not seen."""
    key, token = str(story.web.key), story.own_token.read_text()
    story.own_token.write_text("wrong")
    said = story.cli("explain", key, code=3)
    assert "main cannot be read from here, so this is what the cluster knows: git ls-remote: fatal: Auth" in said
    assert f"{key}: Healthy" in said
    assert "live traffic goes to v1" in said
    assert "GitReachable=False" not in said
    story.cli("plan", key, code=3)
    story.cli("explain", f"{story.web.key.namespace}/unknown", code=3)
    story.own_token.write_text(token)

    story.server.token = token
    story.web.wait_condition("GitReachable", "False")
    planned = story.cli("plan", key)
    assert f"{key}: Healthy\n  ! the agent cannot read main" in planned

    story.web.push_image("v2")
    said = story.cli("explain", key)
    assert "GitReachable=False: git ls-remote: fatal: Authentication failed" in said
    assert "main was last read at 20" in said
    assert "give the agent credentials that may read the repository" in said
    assert "about to be done" not in said
    planned = story.cli("plan", key)
    assert "! the agent cannot read main: git ls-remote: fatal: Authentication failed" in planned
    assert "nothing to do" not in planned
    (app,) = story.cli.json("plan", key)["apps"]
    assert "main was last read at 20" in app["refused"]
    for verb in (["get"], ["get", key]):
        said = story.cli(*verb)
        assert "Authentication failed" in said
        assert "give the agent credentials that may read the repository" in said
