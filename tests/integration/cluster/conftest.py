"""A scene for each test: an app of its own, on both clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cluster.scene import Scene, watching
from tests.support.cluster.clusters import TestCluster


@pytest.fixture
def served(cluster: TestCluster) -> TestCluster:
    """The cluster, with our kind."""
    cluster.install_our_kind()
    return cluster


@pytest.fixture
def scene(served: TestCluster, namespace: str) -> Iterator[Scene]:
    with watching(served, namespace) as made:
        yield made
