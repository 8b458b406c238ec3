"""Every verb that reads answers about the right app in every kind of repository: that of the template, one with an
adopted app, one that two clusters follow. What is said of two branches is in `test_of_the_live_app`, of the demo in
`test_keep`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.integration.cli.operate.test_adopt import orders
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import App, Scenario, scenario


def demand_right_answers(cli: Cli, app: App, *, moved: str, ledger: str) -> None:
    """Ask every verb that reads about an app at rest. ``moved`` is an event that its ledger has."""
    name = str(app.key)
    assert name in [f"{each['namespace']}/{each['name']}" for each in cli.json("get")["items"]]
    for verb in ("get", "tree"):
        (shown,) = cli.json(verb, name)["items"]
        assert (shown["name"], shown["phase"]) == (app.name, "Healthy")
    assert cli.json("status", name, "--no-watch")["phase"] == "Healthy"
    assert cli.json("explain", name, "--exit-code")["app"] == name
    for arguments in ((name,), (), ("-n", app.key.namespace)):
        planned = {each["app"]: each for each in cli.json("plan", *arguments)["apps"]}
        assert (planned[name]["phase"], planned[name]["actions"]) == ("Healthy", []), arguments
    assert cli.json("diff", name)["differences"] == []
    told = cli.json("history", name)
    assert told["ledger"] == f"gitops-bg/state/{ledger}"
    assert moved in [each["event"] for each in told["entries"]]
    assert cli.json("history", "--overrides")["ledger"] == told["ledger"]
    cli.json("policies", "replay", "--as-they-were")


def settled(web: App) -> App:
    web.scenario.settle()
    return web


def test_in_the_repository_of_the_template(world: Scenario, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    cli("init", str(folder))
    files = {
        file.relative_to(folder).as_posix().replace("apps/shop", f"apps/{world.namespace}"): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and ".git/" not in file.as_posix()
    }
    moved = {path: text.replace("namespace: shop", f"namespace: {world.namespace}") for path, text in files.items()}
    world.publish("Begin", moved)
    world.start()
    for name in ("web", "api"):
        app = world.app(name)
        app.wait_phase("Healthy")
        demand_right_answers(cli, settled(app), moved="deployed", ledger="test")


def test_with_an_adopted_app(world: Scenario, cli: Cli, tmp_path: Path) -> None:
    orders(world)
    tree = tmp_path / "tree"
    tree.mkdir()
    settings = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\ncommitAuthor: {name: robot, email: r@example.com}\n"
    (tree / "gitops-bg.yaml").write_text(settings)
    cli("adopt", f"{world.namespace}/orders", "--checkout", str(tree), "--scale-down", "progressively")
    world.publish(
        "Adopt orders", {each.relative_to(tree).as_posix(): each.read_text() for each in tree.rglob("*.yaml")}
    )
    world.start()
    app = world.app("orders")
    app.wait(lambda: app.condition("Adopting")["reason"] == "Adopted", "the app is adopted")
    app.wait_phase("Healthy")
    demand_right_answers(cli, settled(app), moved="deployed", ledger="test")


@pytest.fixture
def elsewhere(world: Scenario, tmp_path: Path) -> Iterator[Scenario]:
    """Another cluster that follows the same repository, and the same folder."""
    (tmp_path / "second").mkdir()
    with SandboxCluster.run(tmp_path / "second") as second:
        second.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}})
        git = {"cluster": "second"}
        with scenario(second, tmp_path / "second", namespace=world.namespace, remote=world.remote, git=git) as made:
            yield made


def test_with_two_clusters(world: Scenario, elsewhere: Scenario, cli: Cli) -> None:
    """The ledgers of both are in the repository; each app says which is its own."""
    world.start()
    web = world.app().deploy("v1")
    elsewhere.start()
    there = elsewhere.app()
    there.wait_live("v1")
    there.wait_phase("Healthy")
    demand_right_answers(cli, settled(web), moved="deployed", ledger="test")
    cli.env["GITOPS_BG_KUBECONFIG"] = str(elsewhere.cluster.kubeconfig)
    demand_right_answers(cli, settled(there), moved="deployed", ledger="second")
    assert "(cluster second)" in cli("explain", str(there.key), "--cluster", "test", code=2)
