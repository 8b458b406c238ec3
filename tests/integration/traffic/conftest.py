"""The implementations of the Gateway API that stories are told on: the sandbox's router, or Traefik."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.traefik import TraefikCluster

GatewayCluster = SandboxCluster | TraefikCluster


@pytest.fixture
def traefik(tmp_path: Path) -> Iterator[TraefikCluster]:
    """A control plane of one's own with Traefik in front of real pods (mark `real_gateway`)."""
    with TraefikCluster.serving(tmp_path) as running:
        yield running


@pytest.fixture(params=["sandbox", pytest.param("traefik", marks=(pytest.mark.real_gateway, pytest.mark.slow))])
def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GatewayCluster]:
    """A cluster whose Gateways carry traffic; of the two, a story is told on one (`tests/selection.py`)."""
    if request.param == "traefik":
        yield request.getfixturevalue("traefik")
        return
    with SandboxCluster.run(tmp_path, traffic=True) as running:
        yield running
