"""A real Gitea's own webhooks, signed by it, wake the agent: for each push, and for each merged pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.web.server import WebServer
from tests.integration.web.conftest import SECRET, FakeAgent
from tests.support.forges import worlds
from tests.support.forges.gitea import Gitea
from tests.support.waiting import eventually

pytestmark = pytest.mark.real_forge


@pytest.mark.parametrize("event", ["push", "pull_request"])
def test_what_gitea_signs_wakes_the_agent(
    real_forge: Gitea, own_server: WebServer, agent: FakeAgent, tmp_path: Path, event: str
):
    with worlds.world("gitea", tmp_path / "world", lambda: real_forge) as world:
        world.offer()
        number = world.forge().open(worlds.draft()).number
        real_forge.call(
            "POST",
            f"{world.repository_path}/hooks",  # type: ignore[attr-defined]
            {
                "type": "gitea",
                "active": True,
                "events": [event],
                "config": {"url": f"{own_server.url}/webhook", "content_type": "json", "secret": SECRET.decode()},
            },
            user="admin",
        )
        world.merge(number, "ben", "squash")
        assert eventually(lambda: agent.wakes, what="the agent is woken") == ["webhook from gitea"]
