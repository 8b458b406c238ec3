"""Where the scheduler of the sandbox puts a pod, and what it says where no node takes it."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.sandbox.controllers.kubelet import HOSTNAME, Placement, host_ports, node_manifest, place

ONE, TWO = node_manifest("one"), node_manifest("two")
CORDONED = {**ONE, "spec": {"unschedulable": True}}
TAKEN = "node(s) didn't have free ports for the requested pod ports"
UNEVEN = "node(s) didn't match pod topology spread constraints"
ELSEWHERE = "node(s) didn't match Pod's node affinity/selector"


def pod(*ports: dict[str, Any], on: str = "", phase: str = "Running", leaving: bool = False, **spec: Any) -> Any:
    """A pod labelled ``app: web`` in the namespace shop."""
    metadata = {"namespace": "shop", "name": "web", "labels": {"app": "web"}}
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    container = {"name": "web", "image": "web:1", "ports": list(ports)}
    node = {"nodeName": on} if on else {}
    return {"metadata": metadata, "spec": {"containers": [container], **node, **spec}, "status": {"phase": phase}}


def port(number: int, host: int = 0, **changes: Any) -> dict[str, Any]:
    return {"containerPort": number, **({"hostPort": host} if host else {}), **changes}


def even(**changes: Any) -> dict[str, Any]:
    spread = {
        "maxSkew": 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return {"topologySpreadConstraints": [spread | changes]}


def on_node(name: str) -> dict[str, Any]:
    """What the DaemonSet controller writes into a pod of its."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    terms = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


EIGHTY = pod(port(80, 80))

# The pod, the nodes, the pods that are there: the node, or why there is none.
TABLE: dict[str, tuple[Any, list[Any], list[Any], str]] = {
    "any node": (pod(), [ONE, TWO], [], "one"),
    "no node at all": (pod(), [], [], "no nodes available to schedule pods"),
    "a node of that label": (pod(nodeSelector={HOSTNAME: "two"}), [ONE, TWO], [], "two"),
    "no node of that label": (pod(nodeSelector={"x": "y"}), [ONE, TWO], [], f"0/2 nodes are available: 2 {ELSEWHERE}."),
    "the node of a DaemonSet's pod": (pod(**on_node("two")), [ONE, TWO], [], "two"),
    "a cordoned node": (pod(), [CORDONED], [], "0/1 nodes are available: 1 node(s) were unschedulable."),
    "a port that is free elsewhere": (EIGHTY, [ONE, TWO], [pod(port(80, 80), on="one")], "two"),
    "a port that is taken": (EIGHTY, [ONE], [pod(port(8080, 80), on="one")], f"0/1 nodes are available: 1 {TAKEN}."),
    "as long as its pod is there": (
        EIGHTY,
        [ONE],
        [pod(port(80, 80), on="one", leaving=True)],
        f"0/1 nodes are available: 1 {TAKEN}.",
    ),
    "of a pod that has ended": (EIGHTY, [ONE], [pod(port(80, 80), on="one", phase="Succeeded")], "one"),
    "of a pod without a node": (EIGHTY, [ONE], [pod(port(80, 80))], "one"),
    "another port": (EIGHTY, [ONE], [pod(port(80, 81), on="one")], "one"),
    "another protocol": (EIGHTY, [ONE], [pod(port(80, 80, protocol="UDP"), on="one")], "one"),
    "the port of a container alone": (EIGHTY, [ONE], [pod(port(80), on="one")], "one"),
    "another address": (
        pod(port(80, 80, hostIP="10.0.0.1")),
        [ONE],
        [pod(port(80, 80, hostIP="10.0.0.2"), on="one")],
        "one",
    ),
    "one address of all": (
        pod(port(80, 80, hostIP="10.0.0.1")),
        [ONE],
        [pod(port(80, 80), on="one")],
        f"0/1 nodes are available: 1 {TAKEN}.",
    ),
    "the emptier node": (pod(**even()), [ONE, TWO], [pod(on="one")], "two"),
    "a skew of two": (pod(**even(maxSkew=2)), [ONE, TWO], [pod(on="one")], "one"),
    "a spread that is a wish": (pod(**even(whenUnsatisfiable="ScheduleAnyway")), [ONE, TWO], [pod(on="one")], "one"),
    "a pod that is going does not count": (pod(**even()), [ONE, TWO], [pod(on="one", leaving=True)], "one"),
    "only one of two nodes is free": (
        pod(**even()),
        [ONE, {**TWO, "spec": {"unschedulable": True}}],
        [pod(on="one")],
        f"0/2 nodes are available: 1 {UNEVEN}, 1 node(s) were unschedulable.",
    ),
    "a node without the key": (
        pod(**even(topologyKey="zone")),
        [ONE],
        [],
        f"0/1 nodes are available: 1 {UNEVEN}.",
    ),
}


@pytest.mark.parametrize(("asked", "nodes", "there", "answer"), TABLE.values(), ids=TABLE)
def test_a_pod_goes_to_the_first_node_that_takes_it(
    asked: Any, nodes: list[Any], there: list[Any], answer: str
) -> None:
    found = place(asked, nodes, there)
    assert found == (Placement(answer) if answer in ("one", "two") else Placement(reason=answer))


def test_pods_take_turns_among_nodes() -> None:
    assert [place(pod(), [ONE, TWO], [], turn).node for turn in range(3)] == ["one", "two", "one"]


def test_a_pod_on_the_network_of_its_node_takes_every_port_that_it_names() -> None:
    sidecar = {"name": "proxy", "image": "p", "restartPolicy": "Always", "ports": [port(15001)]}
    setup = {"name": "setup", "image": "s", "ports": [port(22)]}
    asked = pod(port(80), port(443, 8443), hostNetwork=True, initContainers=[sidecar, setup])
    assert {number for _, _, number in host_ports(asked)} == {80, 8443, 15001}
