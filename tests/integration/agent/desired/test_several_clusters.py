"""Two clusters that follow one folder, and share its promotion branch."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.repo.settings import RepositorySettings
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import Scenario, scenario

Worlds = tuple[Scenario, Scenario]


@pytest.fixture
def worlds(sandbox_cluster: SandboxCluster, own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Worlds]:
    """Two clusters with one remote; no agent runs yet."""
    with scenario(sandbox_cluster, tmp_path / "a") as one:
        own_sandbox.create("/api/v1/namespaces", {"metadata": {"name": one.namespace}})
        other = RepositorySettings(url=one.remote.url, directory=tmp_path / "b" / "mirror", cluster="other")
        with scenario(own_sandbox, tmp_path / "b", namespace=one.namespace, remote=one.remote, repository=other) as two:
            yield one, two


def look(worlds: Worlds) -> None:
    """Both look at the remote and do what they want of it."""
    for world in worlds:
        world.wake()
        world.settle()


def test_a_version_that_one_cluster_refuses_stays_offered_by_the_other(worlds: Worlds) -> None:
    one, two = worlds
    one.start()
    two.start()
    here, there = one.app(), two.app()
    here.add("v1")
    here.wait_live("v1")
    two.wake()
    there.wait_live("v1")
    here.wait_primary("v1")
    here.push_image("v2")
    here.wait_preview("v2")
    here.wait_offered("v2")
    two.wake()
    there.wait_preview("v2")
    here.ask(Request("1", OperatorCommand.ABORT, "ada", datetime.now(UTC), "no"))
    here.wait(lambda: here.record.held(here.digest("v2")) is not None, "on hold in one cluster")
    look(worlds)
    there.wait_offered("v2")
    look(worlds)

    head = one.remote.head(here.promotion_branch)
    assert "[other]" in one.remote.log(here.promotion_branch)[0].subject
    for _ in range(5):
        look(worlds)
        assert one.remote.head(here.promotion_branch) == head

    here.push_image("v3")
    here.wait_preview("v3")
    two.wake()
    there.wait_preview("v3")
    here.wait_offered("v3")


def test_a_way_back_that_one_cluster_offers_is_not_replaced_by_another_that_never_had_its_version(
    worlds: Worlds,
) -> None:
    one, two = worlds
    one.start()
    here, there = one.app().deploy("v1"), two.app()
    here.promote("v2")
    two.start()
    there.wait_live("v2")
    one.remote.protect()
    here.push_image("v3")
    look(worlds)
    here.wait_offered("v3")
    here.wait_preview("v3")
    there.wait_preview("v3")
    here.ask(Request("1", OperatorCommand.ROLLBACK, "ada", datetime.now(UTC), "5xx"))
    here.wait_live("v1")
    here.wait_offered("v1")
    look(worlds)

    head = one.remote.head(here.promotion_branch)
    for _ in range(3):
        look(worlds)
        assert one.remote.head(here.promotion_branch) == head

    here.merge_offer()
    two.wake()
    there.wait_live("v1")
