"""The ReplicaSet controller: as many pods as asked for, and a status that counts them.

It must touch no pod but those that `pod_controller.py` says are its own.
Rules: kubernetes `pkg/controller/replicaset/{replica_set,replica_set_utils}.go`; which pods go first is
`pkg/controller/controller_utils.go: ActivePodsWithRanks`.
"""

from __future__ import annotations

from collections.abc import Hashable

from gitops_bg.sandbox.controllers.pod_controller import PodController
from gitops_bg.sandbox.objects.kinds import REPLICASETS
from gitops_bg.sandbox.objects.objects import Manifest, copy_of, dig, is_pod_ready, labels_of


class ReplicaSets(PodController):
    """Creates and deletes pods by their number."""

    resource = REPLICASETS

    def reconcile(self, key: Hashable) -> None:
        """Bring one ReplicaSet's pods to the wanted number and write its status."""
        found = self._store.get(REPLICASETS, key)  # type: ignore[arg-type]
        if found is None:
            return
        replica_set = found.obj
        pods = [pod for pod in self._owners.claim(replica_set) if _is_active(pod)]
        if "deletionTimestamp" not in replica_set["metadata"]:
            pods = self._scale(replica_set, pods)
        self._count(replica_set, pods)

    def _scale(self, replica_set: Manifest, pods: list[Manifest]) -> list[Manifest]:
        wanted = replica_set["spec"]["replicas"]
        pods = [*pods, *(self._create(replica_set) for _ in range(wanted - len(pods)))]
        if len(pods) <= wanted:
            return pods
        pods.sort(key=_goes_last)
        for pod in pods[: len(pods) - wanted]:
            self._delete(pod)
        return pods[len(pods) - wanted :]

    def _create(self, replica_set: Manifest) -> Manifest:
        return self._make(replica_set, copy_of(replica_set["spec"]["template"]["spec"]), {})

    def _count(self, replica_set: Manifest, pods: list[Manifest]) -> None:
        wanted_labels = labels_of(replica_set["spec"]["template"]).items()
        counts = {
            "replicas": len(pods),
            "fullyLabeledReplicas": sum(wanted_labels <= labels_of(pod).items() for pod in pods),
            "readyReplicas": sum(map(is_pod_ready, pods)),
            "availableReplicas": self._available(replica_set, pods),
        }
        status = {name: number for name, number in counts.items() if number or name == "replicas"}
        status["observedGeneration"] = replica_set["metadata"]["generation"]
        if conditions := dig(replica_set, ("status", "conditions")):
            status["conditions"] = conditions
        self._report(replica_set, status)


def _is_active(pod: Manifest) -> bool:
    finished = dig(pod, ("status", "phase")) in ("Succeeded", "Failed")
    return not finished and "deletionTimestamp" not in pod["metadata"]


def _goes_last(pod: Manifest) -> tuple[bool, int, bool, str]:
    """Sort key: pods without a node, then pending, unready and younger ones go first."""
    phase = {"Pending": 0, "Unknown": 1}.get(dig(pod, ("status", "phase"), "Pending"), 2)
    newest_first = "".join(chr(255 - ord(c)) for c in pod["metadata"]["creationTimestamp"])
    return bool(pod["spec"].get("nodeName")), phase, is_pod_ready(pod), newest_first
