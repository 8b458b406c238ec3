"""What is watched from the first app on that needs it: no namespace holds up those who ask for another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client, EndpointSliceVersion
from gitops_bg.cluster.observation import informers
from gitops_bg.cluster.observation.informers import Informers
from gitops_bg.core.errors import GitopsBgError, Transient
from tests.support.cluster.clusters import SandboxCluster
from tests.support.waiting import eventually


@pytest.fixture
def caches(own_sandbox: SandboxCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Informers]:
    """Of two namespaces; the DaemonSets of one of them cannot be listed for now."""
    monkeypatch.setattr(informers, "_FIRST_LIST_SECONDS", 0.2)
    own_sandbox.install_our_kind()
    for namespace in ("shop", "pay"):
        own_sandbox.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    own_sandbox.sandbox.faults.refuse("list", "daemonsets", "pay", status=503)
    with closing(Client(Access(own_sandbox.kubeconfig))) as client:
        made = Informers(client, EndpointSliceVersion(client), ("shop", "pay"), lambda _: None)
        made.start()
        assert made.wait(30)
        yield made
        made.stop()


def test_a_namespace_whose_daemon_sets_cannot_be_listed_holds_nobody_up_twice(
    caches: Informers, own_sandbox: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Transient):
        caches.follow_daemon_sets("pay")
    asked: list[str] = []
    unknown = caches._daemon_sets.unknown

    def counted(namespace: str) -> GitopsBgError | None:
        asked.append(namespace)
        return unknown(namespace)

    monkeypatch.setattr(caches._daemon_sets, "unknown", counted)
    with pytest.raises(Transient):
        caches.follow_daemon_sets("pay")
    assert asked == ["pay"], "it was asked once, and not waited for"
    own_sandbox.sandbox.faults.clear()
    eventually(lambda: unknown("pay") is None, what="it is listed")
    for namespace in ("shop", "pay"):
        caches.follow_daemon_sets(namespace)
