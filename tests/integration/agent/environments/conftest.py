"""What tests of environments share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.agent.fleet import Fleet, fleet_of
from tests.support.cluster.clusters import SandboxCluster

MakeFleet = Callable[[tuple[str, ...], str], Fleet]


@pytest.fixture
def make_fleet(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[MakeFleet]:
    """Make clusters with one repository, by their names, and by the list of ``environments.yaml``."""
    with ExitStack() as stack:
        yield lambda clusters, environments: stack.enter_context(
            fleet_of(sandbox_cluster, tmp_path, clusters, environments)
        )
