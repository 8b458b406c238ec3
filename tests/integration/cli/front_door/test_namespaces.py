"""A namespace that does not exist is named on every screen, with the command; when it appears, its apps go on."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

from gitops_bg.agent import agent as wiring
from gitops_bg.agent.runtime import failures
from tests.integration.cli.conftest import Cli
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

GROUP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {{name: store, namespace: {namespace}}}
spec: {{active: v1, gateway: {{parentRefs: [{{name: public}}]}}}}
"""


@pytest.fixture
def homeless(world: Scenario) -> App:
    """An app in Git, whose namespace is gone."""
    path = f"/api/v1/namespaces/{world.namespace}"
    world.cluster.request("DELETE", path)
    eventually(lambda: world.cluster.request("GET", path)[0] == 404, what="the namespace is gone")
    app = world.app()
    app.add("v1")
    return app


def test_every_screen_names_it_with_the_command(homeless: App, cli: Cli) -> None:
    namespace = homeless.key.namespace
    said = f"namespace {namespace} does not exist: kubectl create namespace {namespace}"
    assert f"  ! {said}" in cli("plan")
    planned = {each["app"]: each["refused"] for each in cli.json("plan")["apps"]}
    assert planned[str(homeless.key)] == said
    assert f"Refused=True: {said}" in cli("explain", str(homeless.key))
    (condition,) = (each for each in cli.json("explain", str(homeless.key))["conditions"] if each["type"] == "Refused")
    assert (condition["status"], condition["message"]) == (True, said)
    assert said in cli("get", "-n", namespace, code=5)
    comment = html.unescape(cli("plan", "-o", "markdown"))
    assert f"- **refused** <code>{said}</code>" in comment


@pytest.mark.parametrize("verb", ["plan", "explain"])
def test_a_group_there_is_told_of_it_too(homeless: App, cli: Cli, verb: str) -> None:
    namespace = homeless.key.namespace
    homeless.scenario.publish("A group", {f"groups/{namespace}/store/group.yaml": GROUP.format(namespace=namespace)})
    said = f"namespace {namespace} does not exist: kubectl create namespace {namespace}"
    assert said in cli("group", verb, f"{namespace}/store", code=5)


def test_check_live_names_the_line_that_asks_for_it(homeless: App, cli: Cli, tmp_path: Path) -> None:
    namespace = homeless.key.namespace
    found = cli.json("check", "--live", code=1)
    (problem,) = (each for each in found["problems"] if "does not exist" in each["message"])
    assert problem["file"] == f"apps/{homeless.key}/app.yaml"
    line = homeless.app_yaml().splitlines()[problem["line"] - 1]
    assert f"namespace: {namespace}" in line
    assert problem["remedy"] == f"kubectl create namespace {namespace}"
    homeless.scenario.cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    assert "does not exist" not in cli("check", "--live", code=1)  # gitops-bg.yaml is missing here


def test_its_apps_go_on_as_soon_as_it_appears(
    homeless: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The agent says at its start that it is missing; no retry after a refusal comes within this test."""
    monkeypatch.setattr(failures, "_SLOW", 3600.0)
    monkeypatch.setattr(wiring, "LOOK_SECONDS", 0.05)
    world = homeless.scenario
    agent = world.start()
    assert f"namespace {world.namespace} does not exist: kubectl create namespace" in caplog.text
    eventually(lambda: homeless.key in agent._failures.apps, what="the agent was refused")
    world.cluster.create("/api/v1/namespaces", {"metadata": {"name": homeless.key.namespace}})
    homeless.wait_live("v1")
