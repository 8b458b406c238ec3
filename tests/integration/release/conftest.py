"""What is there before somebody installs a release: it is made, and a cluster of today has pods that answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import control_plane
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.pod_servers import PodServers
from tests.support.release.made import Release, Releases


@pytest.fixture(scope="module")
def first(releases: Releases) -> Release:
    """Built before anybody is alone: what it is made of may have to be fetched."""
    return releases("0.1.0")


@pytest.fixture
def cluster(registry: None, tmp_path: Path) -> Iterator[ControlPlaneCluster]:
    """A control plane whose pods answer, in the network of the module's registry."""
    binaries = control_plane.assets()
    if binaries is None:
        pytest.skip(control_plane.HOW_TO_GET_THEM)
    with ControlPlaneCluster.run(binaries, tmp_path, PodServers()) as running:
        yield running
