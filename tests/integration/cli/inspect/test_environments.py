"""The reading verbs in a repository with environments: which environment an app is in, and how two of them differ."""

from __future__ import annotations

import pytest

from tests.integration.agent.environments.test_one_environment import ENVIRONMENTS, enter, live_in_prod, released
from tests.integration.cli.conftest import Cli
from tests.support.scenario import App, Scenario


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web` in prod, as `live_in_prod`."""
    return live_in_prod(world)


def test_a_list_shows_environment_and_release_and_only_where_there_are_such(cli: Cli, web: App) -> None:
    head, line = [each.split() for each in cli("get").splitlines()[:2]]
    assert ("ENVIRONMENT" in head, "RELEASE" in head) == (True, True)
    assert ("prod" in line, "r1" in line) == (True, True)
    (row,) = cli.json("get")["items"]
    assert (row["environment"], row["release"]) == ("prod", "r1")


def test_explain_says_which_release_serves_and_which_is_next(cli: Cli, web: App) -> None:
    assert "in prod, release r1 serves, as v1 (v1)" in cli("explain", str(web.key))
    enter(web, "v2", 2)
    web.wait(web.offered, "the promotion is offered")
    said = cli("explain", str(web.key))
    assert "in prod, release r2 is next, as v2 (v2)" in said
    assert web.promotion_branch in said
    shown = cli.json("explain", str(web.key))
    assert shown["environment"] == "prod"
    assert shown["release"].startswith("r1 r1:")


def test_no_verb_decides_for_one_environment_by_what_is_live_in_another(cli: Cli, web: App) -> None:
    """`plan --env dev` promised to scale what prod runs to what dev has."""
    for verb in (("explain", str(web.key)), ("plan",), ("plan", str(web.key)), ("diff", str(web.key))):
        said = cli(*verb, "--env", "dev", code=2)
        assert f"--env dev: {web.key} is in prod in this cluster" in said, verb
        cli(*verb, "--env", "prod")


def test_two_environments_are_compared_by_main_alone(cli: Cli, web: App) -> None:
    said = cli("diff", str(web.key), "--from", "dev", "--to", "prod", code=1)
    assert f"{web.key}: dev would run release r" in said
    assert "prod serves v1 (v1) of release r1" in said
    assert "spec.containers[web].image: registry.example/web:v9 → registry.example/web:v1" in said
    assert "release: spec.template.spec.containers[web].image" in said
    found = cli.json("diff", str(web.key), "--from", "prod", "--to", "prod")
    assert (found["equal"], found["before"], found["after"]["release"]) == (True, found["after"], "r1")


def test_what_cannot_be_compared_says_why(cli: Cli, web: App) -> None:
    assert "there are dev, prod" in cli("diff", str(web.key), "--from", "dev", "--to", "qa", code=2)
    assert "name the environment that dev is compared with" in cli("diff", str(web.key), "--from", "dev", code=2)
    web.scenario.publish("Out of dev", {f"{web.folder}/dev/overlay.yaml": None})
    said = cli("diff", str(web.key), "--from", "dev", "--to", "prod", code=5)
    assert f"{web.key} is not in dev: it has no {web.folder}/dev/ (it is in prod)" in said


def test_a_suspension_is_of_the_environment_where_it_was_asked_for(cli: Cli, web: App) -> None:
    cli("suspend", str(web.key), "-r", "INC-4711")
    web.scenario.wake()
    web.wait_phase("Suspended")
    show = web.scenario.remote.show
    assert "INC-4711" in (show("main", f"{web.folder}/prod/app.yaml") or "")
    assert "INC-4711" not in (show("main", f"{web.folder}/app.yaml") or "")
    cli("resume", str(web.key))
    web.scenario.wake()
    web.wait_phase("Healthy")


def test_a_rollback_in_one_environment_writes_its_primary_alone(cli: Cli, web: App) -> None:
    enter(web, "v2", 2)
    web.wait(web.offered, "the promotion is offered")
    cli("promote", str(web.key))
    web.scenario.wake()
    web.wait_live("v2")
    web.wait_told("promoted")
    cli("rollback", str(web.key), "-r", "it is slow")
    web.scenario.wake()
    web.wait_live("v1")
    remote = web.scenario.remote
    changed = remote.run("log", "-1", "--format=", "--name-only", "main", cwd=remote.bare)
    assert changed.split() == [f"{web.folder}/prod/primary.yaml"]


@pytest.fixture
def unseen(world: Scenario) -> App:
    """The app `web` of two environments, in Git alone: no agent runs, and no cluster has it."""
    app = world.app()
    app.add("v1")
    files = {f"{app.folder}/dev/overlay.yaml": "{}\n", f"{app.folder}/prod/overlay.yaml": "{}\n"}
    world.publish("Environments", {"environments.yaml": ENVIRONMENTS, **files})
    return app


def test_where_no_cluster_says_which_environment_is_meant_somebody_has_to(cli: Cli, unseen: App) -> None:
    said = cli("plan", str(unseen.key))
    assert said.count("nobody said which one is meant (name one by --env: dev, prod)") == 1
    assert "create" not in said
    planned = cli("plan", str(unseen.key), "--env", "dev")
    assert "create the blue ReplicaSet" in planned
    assert f"{unseen.key} in dev (r " in planned
    (shown,) = cli.json("plan", str(unseen.key), "--env", "dev")["apps"]
    assert shown["environment"] == "dev"
    assert "the repository has no environment qa" in cli("plan", str(unseen.key), "--env", "qa")


def test_an_image_is_set_in_the_base_whatever_the_environment(cli: Cli, unseen: App) -> None:
    cli("set-image", str(unseen.key), "web=registry.example/web:v2")
    target = unseen.scenario.remote.show("main", f"{unseen.folder}/target.yaml") or ""
    assert "registry.example/web:v2" in target


def test_check_of_a_remote_builds_its_environments(cli: Cli, unseen: App) -> None:
    overlay = "spec: {template: {spec: {containers: []}}}\n"
    unseen.scenario.publish("Mistake", {f"{unseen.folder}/prod/overlay.yaml": overlay})
    unseen.scenario.publish("Released", {f"{unseen.folder}/prod/release.yaml": released(unseen, "v1", 1)})
    assert f"{unseen.folder}/prod/overlay.yaml:1:" in cli("check", code=1)
