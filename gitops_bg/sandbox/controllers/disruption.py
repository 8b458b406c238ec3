"""The disruption controller: how many pods a PodDisruptionBudget can spare now. It must delete none.

Rules: kubernetes `pkg/controller/disruption/disruption.go`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable

from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects.kinds import BUDGETS, PODS, REPLICASETS, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, age_of, controller_of, dig, is_pod_ready, key_of, timestamp
from gitops_bg.sandbox.verbs.eviction import is_selected
from gitops_bg.sandbox.verbs.writing import Writer

_MANAGER = "kube-controller-manager"
_FORGET_SECONDS = 120.0
"""After how many seconds an eviction that deleted nothing is forgotten."""


class Disruption:
    """Keeps the status of each PodDisruptionBudget in step with its pods."""

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop
        self._budgets: defaultdict[str, set[str]] = defaultdict(set)

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue a budget that changed, and those of a namespace in which a pod or a ReplicaSet changed."""
        namespace, name = key_of(change.current.obj)
        if resource == BUDGETS:
            if change.type == DELETED:
                self._budgets[namespace].discard(name)
                return
            self._budgets[namespace].add(name)
            self._loop.put(self, (namespace, name))
        elif resource in (PODS, REPLICASETS):
            for budget in self._budgets.get(namespace, ()):
                self._loop.put(self, (namespace, budget))

    def reconcile(self, key: Hashable) -> None:
        """Write the status of one budget."""
        with self._store.lock:
            found = self._store.get(BUDGETS, key)  # type: ignore[arg-type]
            if found is None:
                return
            budget = found.obj
            status = self._status_of(budget, self._pods_of(budget))
            if status != budget.get("status"):
                self._writer.edit_status(self._writer.kinds.of(BUDGETS), budget, status, _MANAGER)
            if status.get("disruptedPods"):
                self._loop.put(self, key, after=_FORGET_SECONDS)

    def _pods_of(self, budget: Manifest) -> list[Manifest]:
        pods = (stored.obj for stored in self._store.all(PODS, budget["metadata"]["namespace"]))
        return [pod for pod in pods if is_selected(budget, pod) and _counts(pod)]

    def _status_of(self, budget: Manifest, pods: list[Manifest]) -> Manifest:
        disrupted = _still_disrupted(budget, pods)
        healthy = [pod for pod in pods if _is_healthy(pod) and pod["metadata"]["name"] not in disrupted]
        expected, desired = self._expectation(budget, pods)
        allowed = max(0, len(healthy) - desired) if expected > 0 else 0
        status: Manifest = {
            "observedGeneration": budget["metadata"]["generation"],
            "disruptionsAllowed": allowed,
            "currentHealthy": len(healthy),
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": [_condition(budget, allowed)],
        }
        return {**status, "disruptedPods": disrupted} if disrupted else status

    def _expectation(self, budget: Manifest, pods: list[Manifest]) -> tuple[int, int]:
        """Return how many pods there should be, and how many of them healthy."""
        spec = budget["spec"]
        if "maxUnavailable" in spec:
            expected = self._expected(pods)
            return expected, max(0, expected - _share(spec["maxUnavailable"], expected))
        least = spec.get("minAvailable", 1)
        if isinstance(least, int):
            return len(pods), least
        expected = self._expected(pods)
        return expected, _share(least, expected)

    def _expected(self, pods: list[Manifest]) -> int:
        """Return the replicas that the ReplicaSets of these pods ask for; pods of a DaemonSet have no scale to be
        asked.

        https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors
        """
        namespace = pods[0]["metadata"]["namespace"] if pods else ""
        owners = {owner["name"] for pod in pods if (owner := controller_of(pod)) and owner["kind"] == "ReplicaSet"}
        found = (self._store.get(REPLICASETS, (namespace, name)) for name in owners)
        return sum(stored.obj["spec"]["replicas"] for stored in found if stored)


def _counts(pod: Manifest) -> bool:
    return dig(pod, ("status", "phase")) not in ("Succeeded", "Failed")


def _is_healthy(pod: Manifest) -> bool:
    return is_pod_ready(pod) and "deletionTimestamp" not in pod["metadata"]


def _share(value: int | str, of: int) -> int:
    """Return a number, or a percentage rounded up."""
    return math.ceil(int(value.rstrip("%")) * of / 100) if isinstance(value, str) else value


def _still_disrupted(budget: Manifest, pods: list[Manifest]) -> dict[str, str]:
    """Return the pods whose eviction was allowed and is not seen yet."""
    living = {pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
    noted: dict[str, str] = dig(budget, ("status", "disruptedPods")) or {}
    return {name: since for name, since in noted.items() if name in living and age_of(since) < _FORGET_SECONDS}


def _condition(budget: Manifest, allowed: int) -> Manifest:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    before = next(iter(dig(budget, ("status", "conditions")) or ()), None)
    same = before is not None and before["status"] == status
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "reason": reason,
        "message": "",
        "observedGeneration": budget["metadata"]["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before and same else timestamp(),
    }
