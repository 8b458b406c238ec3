"""A main that the agent cannot read: the remote's words, the age of what is known, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_bg.agent.agent import Agent
from gitops_bg.repo.settings import RepositorySettings
from tests.support.cluster.clusters import SandboxCluster
from tests.support.git.https_server import GitHttpsServer, serving
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually

_POLL = 0.5


@dataclass(frozen=True)
class Story:
    """A v1 that serves, and a remote that asks for a token."""

    world: Scenario
    server: GitHttpsServer
    web: App

    @property
    def agent(self) -> Agent:
        assert self.world.agent is not None
        return self.world.agent


@pytest.fixture
def story(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Story]:
    served, token = GitRemote(tmp_path / "git"), tmp_path / "token"
    served.run("config", "http.receivepack", "true", cwd=served.bare)
    token.write_text("valid")
    with serving(served.bare.parent, tmp_path / "https", "valid") as server:
        settings = RepositorySettings(
            url=f"{server.url}/{served.bare.name}",
            cluster="test",
            directory=tmp_path / "mirror",
            token_file=token,
            ca_file=server.certificate,
        )
        with scenario(sandbox_cluster, tmp_path, remote=served, repository=settings, poll_seconds=_POLL) as world:
            world.start()
            yield Story(world, server, world.app().deploy("v1"))


def test_a_token_that_has_expired_is_said_in_the_remotes_words_with_the_age_of_what_is_known(story: Story) -> None:
    """A poll in vain changes nothing of that; an agent that never read main says that it knows nothing of it."""
    head = story.world.remote.head()
    eventually(lambda: story.agent.catalog.commit == head, what="main is read")
    story.world.wait_idle()  # Git has other words for a token that ends between two requests of one look.
    story.server.token = "another"
    story.web.push_image("v2")

    story.web.wait_condition("GitReachable", "False")
    found = story.web.condition("GitReachable")
    assert found["reason"] == "AuthenticationFailed"
    assert "Authentication failed" in found["message"]
    assert "give a token that may read it by --git-token-file" in found["message"]
    assert f"Z, at {head[:10]}" in found["message"]
    (said,) = story.agent.readiness_problems()
    assert said == f"main cannot be read: {found['message']}"
    _assert_no_poll_in_vain_changes_the_status(story)

    story.server.token = "valid"
    story.web.wait_condition("GitReachable", "Absent")
    assert not story.agent.readiness_problems()
    story.web.wait_offered("v2")

    story.world.stop()
    story.server.token = "another"
    story.world.start()
    story.web.wait_condition("GitReachable", "False")
    assert "main was not read since the agent started" in story.web.condition("GitReachable")["message"]


def _assert_no_poll_in_vain_changes_the_status(story: Story) -> None:
    before = story.web.condition("GitReachable")
    polls: list[str] = []
    failed = story.agent.metrics.poll_failed
    story.agent.metrics.poll_failed = lambda *told, **more: (polls.append(told[0]), failed(*told, **more))[1]  # type: ignore[method-assign]
    eventually(lambda: len(polls) > 2, what="it asks again")
    assert story.web.condition("GitReachable") == before


def test_a_remote_that_says_nothing_for_two_polls_makes_the_agent_unready(story: Story) -> None:
    eventually(lambda: story.agent.catalog.seen, what="main is read")
    story.agent.git.stop(10)  # no look is answered, and none fails
    eventually(lambda: bool(story.agent.readiness_problems()), what="it notices")
    (said,) = story.agent.readiness_problems()
    assert said.startswith("main was last read ")
    assert said.endswith("the Git remote has not answered since")
