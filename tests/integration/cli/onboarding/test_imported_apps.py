"""Examples in the manner of the peers, imported and pushed: they come up, and a new version waits, or goes live."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.core.model.version import short
from tests.integration.cli.conftest import Cli
from tests.spec.importing.texts import EXAMPLES
from tests.support.scenario import App, Scenario

FILES = {
    "window": ("rollout-by-hand", "window-live"),
    "till": ("rollout-by-shares", "till-live"),
    "warehouse": ("rollout-of-a-deployment", "warehouse"),
    "bakery": ("canary-by-checks", "bakery"),
}
"""The examples by the app that they become: their file, and the Service that live traffic comes by."""


def imported(cli: Cli, world: Scenario, name: str) -> App:
    """The app of an example, imported, pushed and live."""
    file, _ = FILES[name]
    repository = str(world.remote.clone)
    cli("import", str(EXAMPLES / f"{file}.yaml"), "--into", repository, "-n", world.namespace)
    world.remote.run("add", "--all")
    world.remote.commit(f"Take over {name}")
    world.remote.push()
    world.start()
    app = world.app(name)
    app.wait(lambda: app.phase() == "Healthy", "it is healthy")
    return app


@pytest.fixture
def cli(either_world: Scenario, tmp_path: Path) -> Cli:
    """The command line for a world on both clusters."""
    return Cli(either_world.remote, either_world.cluster.kubeconfig, tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_an_imported_example_is_live_behind_its_own_service(name: str, cli: Cli, either_world: Scenario) -> None:
    app = imported(cli, either_world, name)
    assert app.primary_digest()
    assert app.selected(FILES[name][1]) == short(app.primary_digest())


UPDATES = {"window": "AwaitingPromotion", "till": "AwaitingPromotion", "warehouse": "Healthy"}
"""Where the Rollout waited for a person, or measured what is left out, a person decides; else it goes live at once."""


@pytest.mark.parametrize("name", UPDATES)
def test_a_new_version_of_an_imported_rollout_goes_on_as_the_rollout_did(
    name: str, cli: Cli, either_world: Scenario
) -> None:
    app = imported(cli, either_world, name)
    first, service = app.primary_digest(), FILES[name][1]
    cli("set-image", str(app.key), f"{name}=registry.example/{name}:green")
    either_world.wake()
    app.wait(lambda: len(app.record.versions) == 2 and app.phase() == UPDATES[name], f"it is {UPDATES[name]}")
    assert (app.selected(service) == short(first)) == (UPDATES[name] == "AwaitingPromotion")
