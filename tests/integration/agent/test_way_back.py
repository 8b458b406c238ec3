"""No rollback goes to a version that was bad: with real Git, on both clusters (decision 16)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster.clusters import TestCluster
from tests.support.scenario import App, Scenario, scenario
from tests.support.sightings import Sightings


@pytest.fixture
def world(cluster: TestCluster, tmp_path: Path) -> Iterator[Scenario]:
    """The story is told on both clusters."""
    with scenario(cluster, tmp_path) as made:
        yield made


def test_revert_of_a_push_never_leads_to_a_version_that_was_rolled_back_as_bad(web: App) -> None:
    """A newer push lifted the hold on v2; the revert of that push names v2 again, and traffic stays with v3."""
    web.revert(web.promote("v2"))
    web.wait_live("v1")
    web.wait_phase("Held")
    pushed = web.push_image("v3")
    web.merge_promotion("v3")
    web.wait_live("v3")
    web.wait_told("promoted", times=2)

    with Sightings(web.scenario.cluster, web.scenario.namespace) as seen:
        web.revert(pushed)
        web.wait_phase("Held")
        web.scenario.wait_idle()

    assert seen.moves("web") == []
    assert web.live_tag() == "v3"
    assert [hold.digest for hold in web.record.holds] == [web.digest("v2")]
    assert not web.offered()
