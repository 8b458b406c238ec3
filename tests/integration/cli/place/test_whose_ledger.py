"""The name of the agent is a setting of the repository: agent and command line read it in one place, so that both know
which commits of a ledger are the agent's own.
"""

from __future__ import annotations

from gitops_bg.cli.repository.worktree import template_folder
from tests.integration.cli.conftest import Cli
from tests.support.groups import Store
from tests.support.scenario import STATE_BRANCH, App, Scenario

SETTINGS = "gitops-bg.yaml"


def named(name: str) -> str:
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
    return f"{head}commitAuthor: {{name: {name}, email: {name}@example.com}}\n"


def of_the_template() -> str:
    return (template_folder() / SETTINGS).read_text()


def events(cli: Cli, app: App) -> list[str]:
    """What moved traffic, newest first."""
    told = [each["event"] for each in cli.json("history", str(app.key))["entries"]]
    return [each for each in told if each in ("promoted", "deployed")]


def test_history_knows_an_agent_that_the_settings_name(world: Scenario, cli: Cli) -> None:
    """And says whose commits a ledger has in which there is none of that agent."""
    world.publish("settings", {SETTINGS: named("robot")})
    world.start()
    web = world.app().deploy("v1")
    web.promote("v2")
    assert events(cli, web) == ["promoted", "deployed"]
    assert len(cli.json("policies", "replay", "--policies", str(template_folder().parent / "policies"))["promotions"])
    assert cli.json("history", "--overrides")["entries"] == []
    world.stop()
    app = world.app("new")
    app.add()
    assert cli.json("history", str(app.key), "--overrides")["entries"] == [], "no policy was overridden yet"
    assert "knows nothing of" in cli("history", str(app.key), code=5)
    world.publish("settings", {SETTINGS: named("other")})
    said = cli("history", str(web.key), code=5)
    assert "robot <robot@example.com> wrote it in commit" in said
    assert "commitAuthor" in said


def test_history_goes_on_where_the_setting_came_later(world: Scenario, cli: Cli) -> None:
    """The template's, here."""
    world.start()
    web = world.app().deploy("v1")
    world.publish("settings", {SETTINGS: of_the_template()})
    web.promote("v2")
    assert events(cli, web) == ["promoted", "deployed"]


def test_so_does_the_history_of_a_group(world: Scenario, cli: Cli) -> None:
    world.publish("settings", {SETTINGS: named("robot")})
    store = Store(world)
    store.begin()
    store.world.wait_idle()
    assert cli.json("group", "history", f"{world.namespace}/store")["entries"]


def test_the_person_of_a_commit_is_not_taken_for_the_agent(world: Scenario, cli: Cli) -> None:
    """Whoever promotes has written nothing to the ledger, and what they push there counts for nothing."""
    world.start()
    web = world.app().deploy("v1")
    world.stop()
    remote = world.remote
    remote.run("fetch", "--quiet", "origin", STATE_BRANCH)
    remote.run("checkout", "--quiet", "--detach", "FETCH_HEAD")
    path = f"{world.namespace}/web.json"
    remote.write(path, remote.read(path).replace('"deployed"', '"promoted"'))
    remote.run("add", path)
    me = ("-c", "user.name=Grace Hopper", "-c", "user.email=grace@example.com")
    remote.run(*me, "commit", "--quiet", "-m", "as I like it", "--author", "Grace Hopper <grace@example.com>")
    remote.run("push", "--quiet", "origin", f"HEAD:{STATE_BRANCH}")
    remote.checkout("main")
    result = cli.run("history", str(web.key))
    assert "deployed" in result.stdout
    assert "Ada Pusher" in result.stderr or "Grace Hopper" in result.stderr
