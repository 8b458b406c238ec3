"""The cluster refuses writes to ReplicaSets (a policy, a quota, missing rights): live traffic stays right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.paths import replica_sets, services
from tests.support.cluster.rawapi import MERGE, Json
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import stretched


@pytest.fixture
def world(own_sandbox: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(own_sandbox, tmp_path) as made:
        yield made


def select(web: App, selector: Json) -> None:
    path = f"{services(web.key.namespace)}/web"
    web.scenario.cluster.patch(path, {"spec": {"selector": selector}}, MERGE, fieldManager="kubectl-edit")


def lead_nowhere(web: App) -> None:
    select(web, {names.DIGEST: "0000000000"})


def lead_to_the_candidate(web: App) -> None:
    select(web, dict(names.selector(web.key, web.digest("v3"))))


def delete(web: App) -> None:
    web.scenario.cluster.delete(f"{services(web.key.namespace)}/web")


def test_live_service_is_repaired_while_the_way_back_is_refused(world: Scenario, own_sandbox: SandboxCluster) -> None:
    world.start()
    web = world.app().deploy("v1")
    commit = web.promote("v2")
    world.wait_idle()
    world.advance(400)
    web.wait(lambda: web.versions()["v1"].replicas == 0, "v1 is archived")
    web.push_image("v3")
    web.wait_offered("v3")
    world.wait_idle()
    own_sandbox.sandbox.faults.refuse("patch", "replicasets", world.namespace)
    web.revert(commit)
    web.wait(lambda: web.condition("Refused")["status"] == "True", "the way back is refused")
    for change in (lead_nowhere, lead_to_the_candidate, delete):
        change(web)
        web.wait_live("v2")
    assert web.versions()["v1"].replicas == 0


def test_live_service_is_repaired_while_a_repair_of_what_serves_is_refused(
    world: Scenario, own_sandbox: SandboxCluster
) -> None:
    world.start()
    web = world.app().deploy("v1")
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    world.wait_idle()
    world.stop()
    path = f"{replica_sets(world.namespace)}/{web.versions()['v2'].name}"
    world.cluster.patch(path, {"metadata": {"labels": {names.COLOR: "red"}}}, MERGE, fieldManager="kubectl-label")
    own_sandbox.sandbox.faults.refuse("patch", "replicasets", world.namespace)
    world.start()
    web.wait(lambda: web.condition("Refused")["status"] == "True", "the repair is refused")
    for change in (lead_nowhere, lead_to_the_candidate, delete):
        change(web)
        web.wait_live("v2")


def test_live_traffic_waits_for_no_right_that_is_back_a_moment_later(
    world: Scenario, own_sandbox: SandboxCluster
) -> None:
    """As of an API server that has just started, which refuses everybody until it has read who has which rights."""
    world.start()
    web = world.app().deploy("v1")
    commit = web.promote("v2")
    world.wait_idle()
    own_sandbox.sandbox.faults.refuse("patch", "services", world.namespace)
    web.revert(commit)
    web.wait(lambda: web.condition("Refused")["status"] == "True", "the switch is refused")
    world.wait_idle()
    own_sandbox.sandbox.faults.clear()
    began = time.monotonic()
    web.wait_live("v1")
    assert time.monotonic() - began < stretched(6)


def test_a_refusal_of_what_moves_no_live_traffic_is_not_asked_again_at_once(
    world: Scenario, own_sandbox: SandboxCluster
) -> None:
    agent = world.start()
    web = world.app().deploy("v1")
    world.wait_idle()
    own_sandbox.sandbox.faults.refuse("create", "replicasets", world.namespace)
    own_sandbox.sandbox.faults.refuse("patch", "replicasets", world.namespace)
    web.push_image("v2")
    web.wait(lambda: web.condition("Refused")["status"] == "True", "the candidate is refused")
    world.wait_idle()
    assert agent._failures._seconds(web.key, Refused("no right")) >= 30
