"""Scheduler and kubelet: places pods, makes them ready or not, ends them. It must not create any.

Pods of ReplicaSets and DaemonSets serve until they are deleted; those of Jobs end as `behaviours.py` says.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from gitops_bg.sandbox.controllers import pod_status
from gitops_bg.sandbox.controllers.behaviours import IMAGE_RULES, Behaviour, ImageRule, behaviour_of, endings_of
from gitops_bg.sandbox.controllers.configuring import Configuring
from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.controllers.pod_status import State
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.kinds import NODES, PODS, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, dig, key_of, labels_of
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.deleting import Deletion, delete
from gitops_bg.sandbox.verbs.writing import Options, Writer

# --- the scheduler: which node a pod goes to, and why to none. It must write nothing ---
# What two versions meet that run side by side. Rules and words: kubernetes
# `pkg/scheduler/framework/plugins/{nodeaffinity,nodeunschedulable,nodeports,podtopologyspread}`. Resources and
# preemption are left out.

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
    """Return a node that takes every pod."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOSTNAME: name}}, "spec": {}}


def is_choosy(pod: Manifest) -> bool:
    """Return whether the pods that are there matter for where this one may go."""
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
    """Return whether a pod asks for a node, by its labels or by its name."""
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
    """Return the node that a pod is on, or that it is for; empty where any will do."""
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
    """Return why a node does not take a pod; empty where it does."""
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
    """Return whether the pods of a spread are still even with one more on this node."""
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


# --- the kubelet ---

_RESTART_SECONDS = 10.0
"""How long a container waits before its second and later restarts; the real kubelet waits longer each time."""


@dataclass(slots=True)
class _Override:
    namespace: str
    selector: selectors.LabelSelector
    ready: bool

    def covers(self, pod: Manifest) -> bool:
        return self.namespace == key_of(pod)[0] and selectors.accepts(self.selector, labels_of(pod))


def _selector(given: str | Mapping[str, str]) -> selectors.LabelSelector:
    return selectors.parse_labels(given) if isinstance(given, str) else selectors.from_object({"matchLabels": given})


@dataclass(eq=False)
class Kubelet:
    """Runs the pods.

    `end` tells a pod's containers to stop and returns whether they have; they get `drain_after` seconds
    until `close_idle` closes the connections on which nothing happens.
    """

    writer: Writer
    loop: Loop
    ready_after: float = 0.1
    rules: Sequence[ImageRule] = IMAGE_RULES
    drain_after: float = 1.0
    end: Callable[[ObjectKey], bool] = lambda _: True
    close_idle: Callable[[ObjectKey], None] = lambda _: None
    _ending: dict[ObjectKey, float] = field(default_factory=dict)
    _overrides: list[_Override] = field(default_factory=list)
    _started: dict[ObjectKey, float] = field(default_factory=dict)
    _addresses: Any = field(default_factory=lambda: count(2))
    _turns: Any = field(default_factory=count)
    _unplaced: dict[ObjectKey, str] = field(default_factory=dict)
    """The pods without a node, and what they were told."""

    def __post_init__(self) -> None:
        self.configuring = Configuring(self.writer)

    def set_ready(self, namespace: str, pod_label_selector: str | Mapping[str, str], ready: bool) -> None:
        """Make pods ready or unready now, including later ones, whatever their image says."""
        same = (namespace, _selector(pod_label_selector))
        self._overrides = [old for old in self._overrides if (old.namespace, old.selector) != same]
        self._overrides.append(_Override(*same, ready))
        for stored in self.writer.store.all(PODS):
            self.loop.put(self, key_of(stored.obj))

    def behaviour(self, pod: Manifest) -> Behaviour:
        """Return how a pod behaves: the image of its first container says it."""
        return behaviour_of(pod["spec"]["containers"][0]["image"], self.rules, self.ready_after)

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue a pod that is new, was told to end, or may get what it waits for."""
        for waiting in self.configuring.waiting(resource, change.current.obj):
            self.loop.put(self, waiting)
        if resource == NODES:
            self._retry_unplaced()
        if resource != PODS:
            return
        key = key_of(change.current.obj)
        if change.type == DELETED:
            self._started.pop(key, None)
            self._ending.pop(key, None)
            self._unplaced.pop(key, None)
            self._retry_unplaced()
            self.configuring.forget(key)
        elif "deletionTimestamp" in change.current.obj["metadata"] or not (
            key in self._started or key in self._unplaced
        ):
            self.loop.put(self, key)

    def drained_now(self, key: ObjectKey) -> None:
        """Say that an ending pod has finished its requests."""
        self.loop.put(self, key)

    def reconcile(self, key: Hashable) -> None:
        """Bring one pod to the state it should be in at this moment."""
        found = self.writer.store.get(PODS, key)  # type: ignore[arg-type]
        if found is None:
            return
        pod = found.obj
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod)
        elif dig(pod, ("status", "phase")) not in ("Succeeded", "Failed"):
            self._run(pod)

    def _end(self, pod: Manifest) -> None:
        key = key_of(pod)
        if not self.end(key):
            self._drain(key)
            return
        try:
            delete(self.writer.store, self.writer.kinds.of(PODS), *key, Deletion(grace_seconds=0))
        except ApiError as error:
            if error.code != 404:
                raise

    def _drain(self, key: ObjectKey) -> None:
        deadline = self._ending.setdefault(key, time.monotonic() + self.drain_after)
        left = deadline - time.monotonic()
        if left > 0:
            self.loop.put(self, key, after=left)
        else:
            self.close_idle(key)

    def _run(self, pod: Manifest) -> None:
        behaviour = self.behaviour(pod)
        scheduled = pod if pod["spec"].get("nodeName") else self._schedule(pod)
        if scheduled is None:
            return
        pod = scheduled
        without = self.configuring.state_without(pod, pulled=not behaviour.unpulled)
        if without is not None:
            self._report(pod, without)
            return
        started = self._started.setdefault(key_of(pod), time.monotonic())
        left = started + behaviour.ready_after - time.monotonic()
        if pod["spec"]["restartPolicy"] == "Always":
            self._serve(pod, behaviour, left)
        else:
            self._work(pod, behaviour, left)

    def _serve(self, pod: Manifest, behaviour: Behaviour, left: float) -> None:
        """Run a pod that never ends by itself and gets ready in `left` seconds."""
        ready = self._is_to_be_ready(pod, behaviour, left)
        if left > 0 and not behaviour.waiting:
            self.loop.put(self, key_of(pod), after=left)
        waiting = behaviour.waiting or ("ContainerCreating" if left > 0 else "")
        self._report(pod, State(ready, "" if ready else waiting, int(waiting == "CrashLoopBackOff" and not ready)))

    def _work(self, pod: Manifest, behaviour: Behaviour, left: float) -> None:
        """Run a pod of a Job, which starts in `left` seconds, until its commands have ended."""
        restarts = pod_status.restarts_of(pod)
        if behaviour.unpulled or left > 0:
            waiting = behaviour.unpulled or ("CrashLoopBackOff" if restarts else "ContainerCreating")
            self._report(pod, State(waiting=waiting, restarts=restarts))
        else:
            endings = endings_of(pod, behaviour.exit_code)
            left += max(ending.after for ending in endings.values())
            if left <= 0:
                self._finish(pod, {name: ending.exit_code for name, ending in endings.items()}, restarts)
                return
            self._report(pod, State(ready=True, restarts=restarts))
        if not behaviour.unpulled and not math.isinf(left):
            self.loop.put(self, key_of(pod), after=left)

    def _finish(self, pod: Manifest, exits: Mapping[str, int], restarts: int) -> None:
        if pod["spec"]["restartPolicy"] == "Never" or not any(exits.values()):
            self._report(pod, State(restarts=restarts, exits=exits))
            return
        wait = _RESTART_SECONDS if restarts else 0.0
        self._started[key_of(pod)] = time.monotonic() + wait
        self._report(pod, State(waiting="CrashLoopBackOff", restarts=restarts + 1))
        self.loop.put(self, key_of(pod), after=wait)

    def _is_to_be_ready(self, pod: Manifest, behaviour: Behaviour, left: float) -> bool:
        for override in reversed(self._overrides):
            if override.covers(pod):
                return override.ready
        return left <= 0 and not behaviour.waiting

    def _schedule(self, pod: Manifest) -> Manifest | None:
        """Give a pod a node, or say in its status why it has none."""
        key, placement = key_of(pod), self._placement(pod)
        kind = self.writer.kinds.of(PODS)
        if not placement.node:
            if self._unplaced.get(key) != placement.reason:
                self._unplaced[key] = placement.reason
                status = pod_status.unscheduled(pod, placement.reason)
                self.writer.edit_status(kind, pod, status, "kube-scheduler")
            return None

        def bind(live: Manifest) -> Manifest:
            return {**live, "spec": {**live["spec"], "nodeName": placement.node}}

        self._unplaced.pop(key, None)
        self._retry_unplaced()
        return self.writer.modify(kind, *key, bind, Options(manager="kube-scheduler")).obj

    def _placement(self, pod: Manifest) -> Placement:
        nodes = [stored.obj for stored in self.writer.store.all(NODES)]
        there = [stored.obj for stored in self.writer.store.all(PODS)] if is_choosy(pod) else ()
        return place(pod, nodes, there, next(self._turns))

    def _retry_unplaced(self) -> None:
        for key in list(self._unplaced):
            self.loop.put(self, key)

    def _report(self, pod: Manifest, state: State) -> None:
        if dig(pod, ("status", "containerStatuses")) and state == pod_status.reported(pod):
            return
        status = pod_status.status(pod, state)
        status["podIP"] = dig(pod, ("status", "podIP")) or self._address()
        status["podIPs"] = [{"ip": status["podIP"]}]
        self.writer.edit_status(self.writer.kinds.of(PODS), pod, status, "kubelet")

    def _address(self) -> str:
        number = next(self._addresses)
        return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
