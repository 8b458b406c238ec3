"""The DaemonSet controller: a pod on every node that the template asks for, and a status that counts them.

Rules: kubernetes `pkg/controller/daemon/{daemon_controller,update}.go`. A rolling update takes one pod at a time,
without surge; there are no taints, so every node that the template chooses gets a pod.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

from gitops_bg.sandbox.controllers.kubelet import asks_for_node, is_chosen, wanted_node
from gitops_bg.sandbox.controllers.pod_controller import PodController
from gitops_bg.sandbox.http.watches import WatchEvent
from gitops_bg.sandbox.objects.kinds import DAEMON_SETS, NODES, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, copy_of, dig, is_pod_ready, labels_of, to_json

_REVISION = "controller-revision-hash"
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


class DaemonSets(PodController):
    """Creates and deletes pods, node by node."""

    resource = DAEMON_SETS

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue the DaemonSet that changed, or whose pod changed; all of them where a node did."""
        super().notice(resource, change)
        if resource == NODES:
            for key in self._names.values():
                self._loop.put(self, key)

    def reconcile(self, key: Hashable) -> None:
        """Bring one DaemonSet's pods to its nodes and write its status."""
        found = self._store.get(DAEMON_SETS, key)  # type: ignore[arg-type]
        if found is None:
            return
        daemon_set = found.obj
        claimed = [pod for pod in self._owners.claim(daemon_set) if "deletionTimestamp" not in pod["metadata"]]
        by_node = {wanted_node(pod): pod for pod in claimed}
        template = {"metadata": {}, "spec": daemon_set["spec"]["template"]["spec"]}
        nodes = [stored.obj for stored in self._store.all(NODES)]
        wanted = [node["metadata"]["name"] for node in nodes if is_chosen(template, node)]
        pods = {name: pod for name, pod in by_node.items() if name in wanted}
        if "deletionTimestamp" not in daemon_set["metadata"]:
            for pod in claimed:
                if pods.get(wanted_node(pod)) is not pod:
                    self._delete(pod)
            pods |= {name: self._create(daemon_set, name) for name in wanted if name not in pods}
            self._update(daemon_set, pods)
        self._count(daemon_set, len(wanted), list(pods.values()))

    def _create(self, daemon_set: Manifest, node: str) -> Manifest:
        spec = asks_for_node(copy_of(daemon_set["spec"]["template"]["spec"]), node)
        spec["tolerations"] = [*(spec.get("tolerations") or ()), _CORDONED]
        return self._make(daemon_set, spec, {_REVISION: _revision(daemon_set)})

    def _update(self, daemon_set: Manifest, pods: dict[str, Manifest]) -> None:
        """Take away one outdated pod, once all are ready."""
        if dig(daemon_set, ("spec", "updateStrategy", "type")) != "RollingUpdate":
            return
        outdated = [name for name, pod in pods.items() if labels_of(pod).get(_REVISION) != _revision(daemon_set)]
        if outdated and all(map(is_pod_ready, pods.values())):
            self._delete(pods.pop(outdated[0]))

    def _count(self, daemon_set: Manifest, desired: int, pods: list[Manifest]) -> None:
        available = self._available(daemon_set, pods)
        updated = sum(labels_of(pod).get(_REVISION) == _revision(daemon_set) for pod in pods)
        status = {
            "currentNumberScheduled": len(pods),
            "desiredNumberScheduled": desired,
            "numberMisscheduled": 0,
            "numberReady": sum(map(is_pod_ready, pods)),
            "observedGeneration": daemon_set["metadata"]["generation"],
        }
        counted = {
            "numberAvailable": available,
            "numberUnavailable": desired - available,
            "updatedNumberScheduled": updated,
        }
        self._report(daemon_set, status | {name: number for name, number in counted.items() if number})


def _revision(daemon_set: Manifest) -> str:
    """Return what tells the pods of one template from those of another."""
    return hashlib.sha256(to_json(daemon_set["spec"]["template"])).hexdigest()[:10]
