"""A registry with releases, in a network of the tests' own, in which pods have addresses, too."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import urllib3

from deploy.release.oci import Layout, Registry
from tests.support.cluster.traefik import POD_ADDRESSES
from tests.support.network import private_network, why_no_private_network
from tests.support.release.made import Release, tool
from tests.support.waiting import eventually

PORT = 5000
"""Of the registry, in a network of its own."""
REGISTRY = f"127.0.0.1:{PORT}/tools"
CHART = f"oci://{REGISTRY}/charts/gitops-bg"


@contextmanager
def registry_with(*releases: Release) -> Iterator[None]:
    """Run a registry with these releases; skips the test where nobody can have a network of their own."""
    if reason := why_no_private_network():
        pytest.skip(reason)
    crane = tool("crane")
    with private_network(POD_ADDRESSES):
        command = [crane, "registry", "serve", "--address", f"127.0.0.1:{PORT}"]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            eventually(_answers, what="the registry answers")
            for each in releases:
                push(each.layout)
            yield
        finally:
            server.terminate()
            server.wait()


def push(layout: Layout) -> None:
    """Bring a release into the registry."""
    with Registry.connect(plain=True, user="", secret="") as registry:
        for each in registry.push(layout, REGISTRY):
            print(each)


def _answers() -> bool:
    with urllib3.PoolManager(retries=False) as pool:
        try:
            return pool.request("GET", f"http://127.0.0.1:{PORT}/v2/", timeout=2).status == 200
        except urllib3.exceptions.HTTPError:
            return False
