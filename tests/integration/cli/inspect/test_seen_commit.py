"""`git push && gitops-bg status` is never about the push before: it waits until the agent has read the commit."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Timer

import pytest

from gitops_bg.cli.session import watch
from tests.integration.cli.conftest import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually


@pytest.fixture
def clone(web: App, monkeypatch: pytest.MonkeyPatch) -> App:
    """The app `web`, v1 live, whose user is in their clone. Nobody tells the agent of pushes."""
    web.wait_phase("Healthy")
    web.scenario.wait_idle()
    web.scenario.pull()
    monkeypatch.setattr(web.scenario, "wake", lambda: None)
    monkeypatch.chdir(web.scenario.remote.clone)
    return web


def test_a_push_is_not_answered_by_what_was_live_before_it(cli: Cli, clone: App) -> None:
    """What the agent has read is answered without asking it; a push that does not touch the app is seen as well."""
    key, remote = str(clone.key), clone.scenario.remote
    assert cli("status", key).startswith("Healthy")
    assert "gitops-bg.dev/reconcile-requested-at" not in clone.object()["metadata"]["annotations"]

    clone.scenario.publish("A note", {"README.md": "hello"})
    shown = cli.run("status", key, "--timeout", "60s")
    assert shown.stdout.startswith("Healthy: live traffic goes to v1")
    assert clone.status["handledLook"]["commit"] == remote.tip

    clone.push_image("v2")
    head, origin = remote.tip, remote.run("remote", "get-url", "origin")
    remote.run("remote", "set-url", "origin", "https://git-proxy.example.com/shop/config.git")  # known by its content
    result = cli.run("status", key, "--until-asked", "--timeout", "60s", code=6)
    assert not result.stdout.startswith("Healthy")
    assert "waiting for the promotion branch to be merged" in result.stdout
    answer = clone.status["handledLook"]
    assert (answer["commit"], answer["contains"]) == (head, True)
    remote.run("remote", "set-url", "origin", origin)

    clone.wait_told()
    clone.scenario.wait_idle()  # It reads main also when it has written something.
    clone.push_image("bad")
    assert cli.run("status", key, "--until-seen").stdout, "it ends with the commit, whatever the phase is"
    answer = clone.status["handledLook"]
    assert (answer["commit"], answer["contains"]) == (remote.tip, True)


def test_a_commit_that_main_lacks_has_an_exit_code_of_its_own(
    cli: Cli, clone: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "ASK_AGAIN", 0.2)
    wanted = "0123456789" * 4
    result = cli.run("status", str(clone.key), "--commit", wanted, "--timeout", "5s", code=8)
    assert "Healthy" in result.stdout
    assert "does not have 0123456789: is it pushed?" in result.stderr


def test_one_look_does_not_wait_and_without_an_agent_every_look_ends_in_time(cli: Cli, clone: App) -> None:
    clone.push_image("v2")
    head = clone.scenario.remote.tip
    result = cli.run("status", str(clone.key), "--no-watch", code=8)
    assert f"no agent has answered whether main has {head[:10]}" in result.stderr
    eventually(lambda: clone.status.get("handledLook", {}).get("contains"), what="it was asked all the same")
    clone.scenario.wait_idle()
    clone.scenario.stop()
    clone.push_image("v3")
    result = cli.run("status", str(clone.key), "--timeout", "1s", code=8)
    assert "no agent has answered" in result.stderr


def test_an_app_that_was_pushed_just_now_is_waited_for(
    cli: Cli, world: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish("First", {"README.md": "hello"})
    agent = world.start()
    eventually(lambda: agent.catalog.seen, what="main is read")
    world.wait_idle()
    web = world.app()
    monkeypatch.setattr(world, "wake", lambda: None)
    monkeypatch.chdir(world.remote.clone)
    web.add("v1")
    assert "runs no app" in cli("status", str(web.key), "--no-watch", code=5)
    assert "runs no app" in cli("status", str(web.key), "--timeout", "1s", code=5)
    soon = Timer(1.0, agent.wake, ["a webhook"])
    soon.start()
    assert "live traffic goes to v1" in cli("status", str(web.key), "--timeout", "60s")
    soon.join()


def test_a_head_that_is_not_pushed_is_not_waited_for(cli: Cli, clone: App) -> None:
    remote = clone.scenario.remote
    remote.stage({"README.md": "not pushed"})
    remote.commit("Not pushed")
    result = cli.run("status", str(clone.key))
    assert "is not on main of origin: what follows is about main as the agent reads it" in result.stderr
    assert result.stdout.startswith("Healthy")


def test_a_clone_of_another_repository_says_nothing_of_its_head(
    cli: Cli, clone: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = GitRemote(tmp_path / "other")
    other.write("README.md", "hello")
    other.commit("First")
    other.push()
    monkeypatch.chdir(other.clone)
    result = cli.run("status", str(clone.key))
    assert result.stderr == ""
    assert cli.run("status", str(clone.key), "--until-seen", code=2)
    monkeypatch.chdir(tmp_path)
    assert "is no commit of a clone here" in cli("status", str(clone.key), "--commit", "HEAD", code=2)


def test_a_main_that_cannot_be_read_is_never_healthy_for_status(
    cli: Cli, clone: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world = clone.scenario
    assert world.agent is not None
    monkeypatch.chdir(tmp_path)
    world.remote.go_down()
    world.agent.wake("a test")
    clone.wait_condition("GitReachable", "False")
    result = cli.run("status", str(clone.key), "--timeout", "1s", code=8)
    assert "the agent cannot read main" in result.stderr
    said = json.loads(cli.run("status", str(clone.key), "--no-watch", "-o", "json", code=8).stdout)
    assert [each["type"] for each in said["demands"]] == ["GitReachable"]
    world.remote.come_back()
    assert cli("status", str(clone.key), "--timeout", "30s").startswith("Healthy"), "asked, the agent looks again"
