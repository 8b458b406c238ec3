"""What the API server keeps of a healthy app: little, whatever lies behind it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import scenario

LARGEST_RECORD, LARGEST_OBJECT, LARGEST_OWNERSHIP = 2048, 5120, 2048
"""Bytes of a healthy app with three versions behind it: of its record; of the object as `kubectl get -o json` shows it;
and of the ``managedFields`` that it leaves out, which say who wrote which field.
"""
REPOSITORY = "https://git.example.com/shop/deployments.git"
OF_A_HEALTHY_APP = {"Ready", "Available", "Progressing", "Completed", "Healthy"}


def test_a_healthy_app_with_three_versions_behind_it_is_small(sandbox_cluster: SandboxCluster, tmp_path: Path) -> None:
    with scenario(sandbox_cluster, tmp_path) as world:
        world.start()
        app = world.app().deploy("v1")
        for count, tag in enumerate(("v2", "v3", "v4"), start=1):
            app.promote(tag)
            app.wait_told("promoted", count)
        world.settle()
        assert (app.phase(), len(app.record.versions)) == ("Healthy", 4)
        assert {each["type"] for each in app.status["conditions"]} == OF_A_HEALTHY_APP
        assert len(app.status["record"]) <= LARGEST_RECORD
        body = app.object()
        ownership = body["metadata"].pop("managedFields")
        body["metadata"]["annotations"]["gitops-bg.dev/repository"] = REPOSITORY  # And not a path of this machine.
        assert len(_json(body)) <= LARGEST_OBJECT
        assert len(_json(ownership)) <= LARGEST_OWNERSHIP


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
