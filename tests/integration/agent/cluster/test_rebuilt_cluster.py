"""A cluster that is lost comes back from main alone; the ledger adds numbers and holds (DESIGN §4.7)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import STATE_BRANCH, App, Scenario, scenario


@pytest.fixture
def another(web: App, tmp_path: Path) -> Iterator[Scenario]:
    """A new, empty cluster for the same remote; its agent is not started yet."""
    world, folder = web.scenario, tmp_path / "another"
    folder.mkdir()
    with (
        SandboxCluster.run(folder) as cluster,
        scenario(cluster, folder, namespace=world.namespace, remote=world.remote) as made,
    ):
        cluster.create("/api/v1/namespaces", {"metadata": {"name": world.namespace}})
        yield made


def test_holds_and_numbers_are_restored(web: App, another: Scenario) -> None:
    web.revert(web.promote("v2"))
    web.wait_live("v1")
    web.wait_told("rolled-back")
    web.scenario.stop()

    another.start()
    rebuilt = another.app()
    rebuilt.wait_live("v1")
    rebuilt.wait_phase("Held")
    assert not rebuilt.offered(), "what was rolled back stays so"

    rebuilt.push_image("v3")
    rebuilt.wait_offered("v3")
    assert int(rebuilt.versions()["v3"].number) > 2, "no number is given twice"


def test_main_alone_is_enough_where_the_ledger_is_lost_too(web: App, another: Scenario) -> None:
    web.promote("v2")
    web.scenario.stop()
    another.remote.delete_branch(STATE_BRANCH)

    another.start()
    rebuilt = another.app()

    rebuilt.wait_live("v2")
    rebuilt.wait_told("deployed")
    assert rebuilt.versions()["v2"].number == "2"
