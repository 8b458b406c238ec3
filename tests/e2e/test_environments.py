"""One push travels to production through three real API servers, which share an etcd and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.agent.fleet import DEV, Fleet, fleet_of
from tests.support.cluster.clusters import ControlPlaneCluster, SandboxCluster, TestCluster
from tests.support.cluster.control_plane import assets
from tests.support.sightings import Sightings

_ENVIRONMENTS = (
    DEV
    + """\
- {name: staging, clusters: [staging-1], autoPromotionEnabled: true}
- {name: prod, clusters: [prod-1], after: {proven: 30m}, autoPromotionEnabled: true}
"""
)
_SOAK = 1900.0


def beside_each_other(binaries: Path) -> Callable[[Path], AbstractContextManager[TestCluster]]:
    """Control planes of one etcd: the first brings it."""
    made: list[ControlPlaneCluster] = []

    @contextmanager
    def run(folder: Path) -> Iterator[TestCluster]:
        beside = made[0].control_plane if made else None
        with ControlPlaneCluster.run(binaries, folder, beside=beside) as cluster:
            made.append(cluster)
            yield cluster

    return run


@pytest.fixture
def fleet(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Fleet]:
    """The app `web`, its v1 in all three."""
    binaries = assets()
    assert binaries is not None
    names, run = ("dev-1", "staging-1", "prod-1"), beside_each_other(binaries)
    with fleet_of(sandbox_cluster, tmp_path, names, _ENVIRONMENTS, run=run) as made:
        made.wait_live("staging-1", "v1")
        made.look(2)
        made.soak("staging-1", _SOAK)
        made.wait_live("prod-1", "v1")
        yield made


@pytest.mark.control_plane
def test_one_push_reaches_production_an_agent_dies_a_rollback_stays_and_a_hotfix_skips(fleet: Fleet) -> None:
    with ExitStack() as watched:
        watch = {
            name: watched.enter_context(Sightings(app.scenario.cluster, app.scenario.namespace))
            for name, app in fleet.apps.items()
        }
        one_push_goes_on_only_while_each_agent_lives(fleet)
        a_rollback_in_production_stays_there(fleet)
        a_hotfix_skips_staging(fleet)
        for seen in watch.values():
            seen.assert_traffic_was_safe("web")


def one_push_goes_on_only_while_each_agent_lives(fleet: Fleet) -> None:
    staging = fleet.apps["staging-1"].scenario
    fleet.first.push_image("v2")
    fleet.wait_live("staging-1", "v2")
    fleet.look(2)
    staging.stop()
    fleet.apps["prod-1"].scenario.advance(_SOAK)
    fleet.look(3)
    assert fleet.tags == {"dev-1": "v2", "staging-1": "v2", "prod-1": "v1"}
    staging.start()
    fleet.look(2)
    fleet.soak("staging-1", _SOAK)
    fleet.wait_live("prod-1", "v2")


def a_rollback_in_production_stays_there(fleet: Fleet) -> None:
    fleet.revert_promotion("prod")
    fleet.wait_live("prod-1", "v1")
    fleet.soak("staging-1", _SOAK)
    fleet.look(3)
    assert fleet.tags == {"dev-1": "v2", "staging-1": "v2", "prod-1": "v1"}


def a_hotfix_skips_staging(fleet: Fleet) -> None:
    fleet.first.push_image("v3")
    fleet.wait_live("staging-1", "v3")
    fleet.look(2)
    assert fleet.tags["prod-1"] == "v1"
    made = fleet.cli().json("enter", "web", "--release", "r3", "--into", "prod", "--skip", "staging", "-m", "INC-4711")
    assert (made["changed"], made["skipped"]) == (True, ["staging"])
    fleet.wait_live("prod-1", "v3")
    assert "Bg-Skipped: staging\n" in fleet.remote.run(
        "log", "-1", "--format=%B", made["commit"], cwd=fleet.remote.bare
    )
