"""The Services of a namespace that are not ours: which of them count, how often they are listed, and a refused list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.observation.routes import FRESH_SECONDS, RECENT_SECONDS, ForeignServices
from gitops_bg.core import names
from gitops_bg.core.errors import Refused, Transient
from tests.support import manifests
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.cluster.rawapi import Json


@pytest.fixture
def listed(cluster: TestCluster) -> Iterator[ForeignServices]:
    client = Client(Access(cluster.kubeconfig))
    yield ForeignServices(client)
    client.close()


def marked(service: Json, **metadata: object) -> Json:
    return {**service, "metadata": {**service["metadata"], **metadata}}


def test_those_count_that_may_have_every_version(cluster: TestCluster, namespace: str, listed: ForeignServices) -> None:
    def made(name: str, **selector: str) -> Json:
        return manifests.service(namespace, name, **selector)

    headless = made("headless", app="web")
    headless["spec"]["clusterIP"] = "None"
    elsewhere = {"type": "ExternalName", "externalName": "example.org", "selector": {"app": "web"}}
    by_hand = {"app": "web", names.MANAGED_BY: "Helm"}
    for service in (
        made("leak", app="web"),
        marked(made("of-a-tool", app="web", tier="front"), labels=by_hand),
        headless,
        marked(made("ours", app="web"), labels={names.MANAGED_BY: names.MANAGER}),
        marked(made("agreed", app="web"), annotations={names.ALL_VERSIONS: "true"}),
        marked(made("not-agreed", app="web"), annotations={names.ALL_VERSIONS: "false"}),
        made("of-one-version", **{"app": "web", names.DIGEST: "3f9c012345"}),
        made("of-a-number", **{names.VERSION: "5"}),
        made("of-a-color", **{"app": "web", names.COLOR: "blue"}),
        made("of-nothing"),
        {**made("elsewhere"), "spec": elsewhere},
    ):
        cluster.apply(service, manager="kubectl")
    found = listed.of(namespace, 0)
    assert found.trouble is None
    assert {view.name: dict(view.selector) for view in found.services or ()} == {
        "leak": {"app": "web"},
        "of-a-tool": {"app": "web", "tier": "front"},
        "headless": {"app": "web"},
        "not-agreed": {"app": "web"},
    }
    assert listed.of("default", 0).services != found.services


@pytest.fixture
def sandbox(tmp_path) -> Iterator[SandboxCluster]:
    with SandboxCluster.run(tmp_path) as made:
        yield made


def test_one_list_serves_a_namespace_for_a_while_and_what_was_known_outlives_a_refusal(sandbox: SandboxCluster) -> None:
    now, namespace = [1000.0], sandbox.namespace()
    client = Client(Access(sandbox.kubeconfig))
    listed = ForeignServices(client, lambda: now[0])

    def seen(within: float) -> set[str] | None:
        found = listed.of(namespace, within).services
        return None if found is None else {view.name for view in found}

    def apply(name: str) -> None:
        sandbox.apply(manifests.service(namespace, name, app="web"), manager="kubectl")

    faults = sandbox.sandbox.faults
    faults.refuse("list", "services", namespace, times=1)
    refused = listed.of(namespace, RECENT_SECONDS)
    assert refused.services is None
    assert isinstance(refused.trouble, Refused)
    assert isinstance(listed.of(namespace, RECENT_SECONDS).trouble, Refused), "a refused list is not asked for again"

    now[0] += FRESH_SECONDS
    apply("one")
    assert seen(FRESH_SECONDS) == {"one"}
    apply("two")
    now[0] += FRESH_SECONDS
    assert seen(RECENT_SECONDS) == {"one"}
    assert seen(FRESH_SECONDS) == {"one", "two"}, "whose pods depend on it does not believe an old list"

    apply("three")
    now[0] += RECENT_SECONDS
    faults.fail(503, times=9, verb="list", resource="services")
    later = listed.of(namespace, RECENT_SECONDS)
    assert isinstance(later.trouble, Transient)
    assert {view.name for view in later.services or ()} == {"one", "two"}
    faults.clear()
    now[0] += RECENT_SECONDS
    assert seen(RECENT_SECONDS) == {"one", "two", "three"}
    client.close()
