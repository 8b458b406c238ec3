"""What the agent wrote itself was changed by nobody, whoever else the API server names as its manager."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.core.model.actions import ApplyApp, ApplyService, SwitchTraffic
from gitops_bg.core.model.version import Snapshot
from gitops_bg.core.names import FIELD_MANAGER
from tests.integration.cluster.scene import Scene, config, create, snapshot, switch, watching
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import APPLY, JSON

ONE, TWO = snapshot("v1"), snapshot("v2")
PORTS = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
FORMER = {
    "kubectl create": ("kubectl-create", JSON),
    "kubectl apply": ("kubectl-client-side-apply", JSON),
    "helm, by server-side apply": ("helm", APPLY),
}
"""Who made the Service, and how."""


@pytest.fixture(params=FORMER)
def adopted(request: pytest.FixtureRequest, scene: Scene) -> Scene:
    """A Service of somebody else that leads to the first version since it was taken over."""
    manager, how = FORMER[request.param]
    scene.do(ApplyApp(), create(ONE), create(TWO, number=2))
    scene.available(ONE)
    scene.available(TWO)
    spec = {"selector": {"app": "old", "tier": "web"}, "ports": PORTS, "sessionAffinity": "ClientIP"}
    theirs = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "labels": {"app": "old"}},
        "spec": spec,
    }
    path = services(scene.app.namespace)
    if how == APPLY:
        scene.cluster.patch(f"{path}/web", theirs, APPLY, fieldManager=manager)
    else:
        scene.cluster.create(path, theirs, fieldManager=manager)
    scene.do(switch(ONE, spec["selector"], adopts=True))
    return scene


def managers_of(scene: Scene, field: str) -> set[str]:
    """Who owns a field of the Service's spec."""
    entries = scene.live("services", "web")["metadata"]["managedFields"]
    return {each["manager"] for each in entries if f"f:{field}" in each["fieldsV1"].get("f:spec", {})}


def moves(scene: Scene) -> list[SwitchTraffic]:
    """From one version to the other, five times."""
    pairs: list[tuple[Snapshot, Snapshot]] = [(ONE, TWO), (TWO, ONE), (ONE, TWO), (TWO, ONE), (ONE, TWO)]
    return [switch(there, scene.selector(here), number=1 if there is ONE else 2) for here, there in pairs]


def drifts(scene: Scene, *actions: Any) -> list[str]:
    results = [scene.subject.carry_out(scene.app, config(scene.app), action) for action in actions]
    return [str(entry.drift) for each in results for entry in each.entries if entry.drift]


def test_the_hand_over_takes_the_selector_from_its_former_manager_and_nothing_else(adopted: Scene) -> None:
    assert managers_of(adopted, "selector") == {FIELD_MANAGER}
    assert managers_of(adopted, "sessionAffinity") - {FIELD_MANAGER}


def test_switches_of_the_agent_are_nobodys_doing(adopted: Scene) -> None:
    assert drifts(adopted, *moves(adopted)) == []
    assert drifts(adopted, ApplyService("active", "web", TWO.digest, "as Git says")) == []


def test_what_an_agent_before_wrote_is_nobodys_doing(adopted: Scene, served: TestCluster) -> None:
    with watching(served, adopted.app.namespace) as after:
        assert drifts(after, *moves(after)) == []


def test_what_somebody_claims_without_a_change_is_nobodys_doing(adopted: Scene) -> None:
    said = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    spec = {"selector": adopted.selector(ONE), "ports": adopted.live("services", "web")["spec"]["ports"]}
    path = f"{services(adopted.app.namespace)}/web"
    first, *others = moves(adopted)
    adopted.cluster.patch(path, said | {"spec": spec}, APPLY, fieldManager="helm", force="true")
    assert drifts(adopted, first, *others) == []


def test_what_somebody_changes_is_still_said(adopted: Scene) -> None:
    path = f"{services(adopted.app.namespace)}/web"
    second = moves(adopted)[1]
    adopted.cluster.patch(path, {"spec": {"selector": {"app": "x"}}}, fieldManager="kubectl-edit")
    taken = switch(TWO, adopted.live("services", "web")["spec"]["selector"], number=2)
    assert [each.partition(":")[0] for each in drifts(adopted, taken)] == ["kubectl-edit changed spec.selector"]
    assert drifts(adopted, second) == []
