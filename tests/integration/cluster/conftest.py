"""A scene for each test: an app of its own, on both clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.cluster.scene import Scene, watching
from tests.support.clusters import TestCluster

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.fixture
def served(cluster: TestCluster) -> TestCluster:
    """The cluster, with our kind."""
    cluster.install_crd(yaml.safe_load((DEPLOY / "crd.yaml").read_text()))
    return cluster


@pytest.fixture
def scene(served: TestCluster, namespace: str) -> Iterator[Scene]:
    with watching(served, namespace) as made:
        yield made
