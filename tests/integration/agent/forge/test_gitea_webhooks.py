"""A real agent that polls once an hour, and a real Gitea's signed webhooks: what people do takes effect at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.web.app import application
from gitops_bg.web.server import WebServer
from tests.support.cluster.clusters import SandboxCluster
from tests.support.forges.gitea import Gitea
from tests.support.forges.remote import GiteaRemote
from tests.support.scenario import App, scenario
from tests.support.waiting import eventually

pytestmark = pytest.mark.real_forge

SECRET = "signed-by-both"
SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\nforge: {type: gitea}\n"


@pytest.fixture
def remote(real_forge: Gitea, tmp_path: Path) -> GiteaRemote:
    return GiteaRemote(tmp_path / "remote", real_forge)


@pytest.fixture
def web(sandbox_cluster: SandboxCluster, remote: GiteaRemote, tmp_path: Path) -> Iterator[App]:
    """The app `web`, its v1 live; from then on only Gitea wakes the agent."""
    secret = tmp_path / "webhook-secret"
    secret.write_text(SECRET)
    settings = {**remote.agent_settings(), "webhook_secret_file": secret}
    with scenario(sandbox_cluster, tmp_path / "agent", remote=remote, **settings) as story:
        story.publish("settings", {"gitops-bg.yaml": SETTINGS})
        server = WebServer(application(story.start()), port=0)
        server.start()
        try:
            app = story.app().deploy("v1")
            story.wait_idle()
            events = ["push", "pull_request"]
            config = {"url": f"{server.url}/webhook", "content_type": "json", "secret": SECRET}
            body = {"type": "gitea", "active": True, "events": events, "config": config}
            remote.call("POST", "/hooks", body, user="admin")
            yield app
        finally:
            server.stop()


def test_a_push_a_no_and_a_merge_take_effect_without_a_poll(
    web: App, remote: GiteaRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web.scenario, "wake", lambda: None)
    web.push_image("v2")
    web.wait_offered("v2")
    number = eventually(remote.pulls, what="a pull request")[0]["number"]
    remote.call("PATCH", f"/pulls/{number}", {"state": "closed"})
    web.wait_condition("OnHold")
    remote.call("PATCH", f"/pulls/{number}", {"state": "open"})
    web.wait_condition("OnHold", "Absent")
    remote.merge(number)
    web.wait_live("v2")
