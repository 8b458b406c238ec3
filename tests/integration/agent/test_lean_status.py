"""What the API server keeps of a healthy app: little, whatever lies behind it."""

from __future__ import annotations

from pathlib import Path

from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import scenario

LARGEST_RECORD = 2048
"""Bytes of the record of a healthy app with three versions behind it."""


def test_the_record_of_a_healthy_app_with_three_versions_behind_it_is_small(
    sandbox_cluster: SandboxCluster, tmp_path: Path
) -> None:
    with scenario(sandbox_cluster, tmp_path) as world:
        world.start()
        app = world.app().deploy("v1")
        for count, tag in enumerate(("v2", "v3", "v4"), start=1):
            app.promote(tag)
            app.wait_told("promoted", count)
        world.settle()
        assert (app.phase(), len(app.record.versions)) == ("Healthy", 4)
        assert len(app.status["record"]) <= LARGEST_RECORD
