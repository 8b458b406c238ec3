"""Which node a pod goes to, and why to none: what two versions meet that run side by side. It must write nothing.

Rules and words: kubernetes `pkg/scheduler/framework/plugins/{nodeaffinity,nodeunschedulable,nodeports,
podtopologyspread}`. Resources and preemption are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.objects import Manifest, dig, labels_of

HOSTNAME = "kubernetes.io/hostname"
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104
_REQUIRED = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")

_CORDON = "node.kubernetes.io/unschedulable"

HostPort = tuple[str, str, int]
"""Protocol, address and port of a node."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The name of a node; where it is empty, why there is none, in the words of the scheduler."""

    node: str = ""
    reason: str = ""


def node_manifest(name: str) -> Manifest:
    """A node that takes every pod."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOSTNAME: name}}, "spec": {}}


def is_choosy(pod: Manifest) -> bool:
    """Whether the pods that are there matter for where this one may go."""
    return bool(host_ports(pod)) or any(_hard_spreads(pod))


def place(pod: Manifest, nodes: Sequence[Manifest], pods: Iterable[Manifest], turn: int = 0) -> Placement:
    """Return the first node, from number `turn` on, that takes a pod beside the `pods` that are there."""
    there = [each for each in pods if each["spec"].get("nodeName") and not _is_over(each)]
    refusals: Counter[str] = Counter()
    for number in range(len(nodes)):
        node = nodes[(turn + number) % len(nodes)]
        refusal = _refusal(pod, node, nodes, there)
        if not refusal:
            return Placement(node["metadata"]["name"])
        refusals[refusal] += 1
    if not nodes:
        return Placement(reason="no nodes available to schedule pods")
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in refusals.items()))
    return Placement(reason=f"0/{len(nodes)} nodes are available: {told}.")


def is_chosen(pod: Manifest, node: Manifest) -> bool:
    """Whether a pod asks for a node, by its labels or by its name."""
    wanted = (pod["spec"].get("nodeSelector") or {}).items()
    if not wanted <= labels_of(node).items():
        return False
    terms = dig(pod["spec"], (*_REQUIRED, "nodeSelectorTerms")) or ()
    return not terms or any(_matches(term, node) for term in terms)


def _matches(term: Manifest, node: Manifest) -> bool:
    named = all(node["metadata"]["name"] in each["values"] for each in term.get("matchFields") or ())
    requirements = selectors.from_object({"matchExpressions": term.get("matchExpressions")})
    return named and selectors.accepts(requirements, labels_of(node))


def asks_for_node(spec: Manifest, name: str) -> Manifest:
    """Return the spec of a pod that is for one node, as the DaemonSet controller makes it."""
    required = dig(spec, _REQUIRED) or {}
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    terms = [{**term, "matchFields": [field]} for term in required.get("nodeSelectorTerms") or [{}]]
    affinity = spec.get("affinity") or {}
    chosen = {**(affinity.get("nodeAffinity") or {}), _REQUIRED[2]: {**required, "nodeSelectorTerms": terms}}
    return {**spec, "affinity": {**affinity, "nodeAffinity": chosen}}


def wanted_node(pod: Manifest) -> str:
    """The node that a pod is on, or that it is for; empty where any will do."""
    terms = dig(pod["spec"], (*_REQUIRED, "nodeSelectorTerms")) or ()
    named = (value for term in terms for field in term.get("matchFields") or () for value in field["values"])
    return pod["spec"].get("nodeName") or next(named, "")


def host_ports(pod: Manifest) -> frozenset[HostPort]:
    """Return the ports of its node that a pod takes: all that its containers name, where it has the node's network."""
    return frozenset(_host_ports(pod["spec"]))


def _host_ports(spec: Manifest) -> Iterator[HostPort]:
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in (*spec["containers"], *sidecars):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
            if number:
                yield port.get("protocol", "TCP"), port.get("hostIP") or _EVERY_ADDRESS, number


def _refusal(pod: Manifest, node: Manifest, nodes: Sequence[Manifest], there: Sequence[Manifest]) -> str:
    """Why a node does not take a pod; empty where it does."""
    if not is_chosen(pod, node):
        return "node(s) didn't match Pod's node affinity/selector"
    if dig(node, ("spec", "unschedulable")) and not _tolerates_cordons(pod):
        return "node(s) were unschedulable"
    if _collides(host_ports(pod), (each for each in there if each["spec"]["nodeName"] == node["metadata"]["name"])):
        return "node(s) didn't have free ports for the requested pod ports"
    if not all(_keeps(spread, pod, node, nodes, there) for spread in _hard_spreads(pod)):
        return "node(s) didn't match pod topology spread constraints"
    return ""


def _tolerates_cordons(pod: Manifest) -> bool:
    return any(
        each.get("key") in (None, _CORDON) and each.get("operator") == "Exists"
        for each in pod["spec"].get("tolerations") or ()
    )


def _collides(wanted: frozenset[HostPort], pods: Iterable[Manifest]) -> bool:
    taken = {port for each in pods for port in host_ports(each)} if wanted else set()
    return any(
        (mine[0], mine[2]) == (its[0], its[2]) and (mine[1] == its[1] or _EVERY_ADDRESS in (mine[1], its[1]))
        for mine in wanted
        for its in taken
    )


def _hard_spreads(pod: Manifest) -> Iterator[Manifest]:
    for each in pod["spec"].get("topologySpreadConstraints") or ():
        if each.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            yield each


def _keeps(
    spread: Manifest, pod: Manifest, node: Manifest, nodes: Sequence[Manifest], there: Sequence[Manifest]
) -> bool:
    """Whether the pods of a spread are still even with one more on this node."""
    key, namespace = spread["topologyKey"], pod["metadata"]["namespace"]
    domains = {each["metadata"]["name"]: labels_of(each).get(key) for each in nodes if is_chosen(pod, each)}
    domain = domains.get(node["metadata"]["name"])
    if domain is None:
        return False
    selector = selectors.from_object(spread.get("labelSelector"))
    counts = Counter({each: 0 for each in domains.values() if each is not None})
    for each in there:
        alive = "deletionTimestamp" not in each["metadata"] and each["metadata"]["namespace"] == namespace
        if alive and domains.get(each["spec"]["nodeName"]) and selectors.accepts(selector, labels_of(each)):
            counts[str(domains[each["spec"]["nodeName"]])] += 1
    itself = selectors.accepts(selector, labels_of(pod))
    return counts[domain] + itself - min(counts.values()) <= int(spread["maxSkew"])


def _is_over(pod: Manifest) -> bool:
    return dig(pod, ("status", "phase")) in ("Succeeded", "Failed")
