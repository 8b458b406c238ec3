"""The ReplicaSet controller: as many pods as asked for, and a status that counts them.

It must touch no pod but those that `adoption.py` says are its own.
Rules: kubernetes `pkg/controller/replicaset/{replica_set,replica_set_utils}.go`; which pods go first is
`pkg/controller/controller_utils.go: ActivePodsWithRanks`.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import UTC, datetime

from gitops_bg.sandbox.controllers.adoption import PodOwners, owner_reference
from gitops_bg.sandbox.controllers.label_index import SelectorIndex
from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.watches import DELETED, Change
from gitops_bg.sandbox.objects.kinds import PODS, REPLICASETS, ResourceKey
from gitops_bg.sandbox.objects.objects import (
    Manifest,
    controller_of,
    copy_of,
    dig,
    is_pod_ready,
    key_of,
    labels_of,
    timestamp,
)
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.deleting import Deletion, delete
from gitops_bg.sandbox.verbs.writing import Options, Writer

_MANAGER = "kube-controller-manager"


class ReplicaSets:
    """Creates and deletes pods."""

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop
        self._owners = PodOwners(writer)
        self._selectors = SelectorIndex()
        self._names: dict[str, ObjectKey] = {}

    def notice(self, resource: ResourceKey, change: Change) -> None:
        """Queue the ReplicaSet that changed, or whose pod changed."""
        obj = change.current.obj
        if resource == REPLICASETS:
            self._notice_replica_set(change)
            self._loop.put(self, key_of(obj))
        elif resource == PODS:
            if change.previous is not None:
                self._owners.discard(change.previous.obj)
            if change.type != DELETED:
                self._owners.enter(obj)
            self._wake_owners(obj)

    def _notice_replica_set(self, change: Change) -> None:
        obj = change.current.obj
        if change.type == DELETED:
            del self._names[obj["metadata"]["uid"]]
            self._selectors.discard(*key_of(obj))
        else:
            self._names[obj["metadata"]["uid"]] = key_of(obj)
            self._selectors.add(*key_of(obj), obj["spec"]["selector"].get("matchLabels") or {})

    def _wake_owners(self, pod: Manifest) -> None:
        owner = controller_of(pod)
        if owner is None:
            namespace = key_of(pod)[0]
            for name in self._selectors.matching(namespace, labels_of(pod)):
                self._loop.put(self, (namespace, name))
        elif owner["uid"] in self._names:
            self._loop.put(self, self._names[owner["uid"]])

    def reconcile(self, key: Hashable) -> None:
        """Bring one ReplicaSet's pods to the wanted number and write its status."""
        found = self._store.get(REPLICASETS, key)  # type: ignore[arg-type]
        if found is None:
            return
        replica_set = found.obj
        pods = [pod for pod in self._owners.claim(replica_set) if _is_active(pod)]
        if "deletionTimestamp" not in replica_set["metadata"]:
            pods = self._scale(replica_set, pods)
        self._report(replica_set, pods)

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
        template, owner = replica_set["spec"]["template"], replica_set["metadata"]
        metadata = {k: copy_of(v) for k, v in (template.get("metadata") or {}).items() if k != "creationTimestamp"}
        metadata["generateName"] = f"{owner['name']}-"
        metadata["ownerReferences"] = [owner_reference(replica_set)]
        body = {"metadata": metadata, "spec": copy_of(template["spec"])}
        kind = self._writer.kinds.of(PODS)
        return self._writer.create(kind, owner["namespace"], body, Options(manager=_MANAGER)).obj

    def _delete(self, pod: Manifest) -> None:
        try:
            delete(self._store, self._writer.kinds.of(PODS), *key_of(pod), Deletion())
        except ApiError as error:
            if error.code != 404:
                raise

    def _report(self, replica_set: Manifest, pods: list[Manifest]) -> None:
        available, wait = self._availability(replica_set, pods)
        if wait is not None:
            self._loop.put(self, key_of(replica_set), after=wait)
        wanted_labels = labels_of(replica_set["spec"]["template"]).items()
        counts = {
            "replicas": len(pods),
            "fullyLabeledReplicas": sum(wanted_labels <= labels_of(pod).items() for pod in pods),
            "readyReplicas": sum(map(is_pod_ready, pods)),
            "availableReplicas": available,
        }
        status = {name: number for name, number in counts.items() if number or name == "replicas"}
        status["observedGeneration"] = replica_set["metadata"]["generation"]
        if conditions := dig(replica_set, ("status", "conditions")):
            status["conditions"] = conditions
        if status != replica_set.get("status"):
            self._writer.edit_status(self._writer.kinds.of(REPLICASETS), replica_set, status, _MANAGER)

    def _availability(self, replica_set: Manifest, pods: list[Manifest]) -> tuple[int, float | None]:
        """Return how many pods are available, and the seconds until the next one will be."""
        least = replica_set["spec"].get("minReadySeconds", 0)
        if not least:
            return sum(map(is_pod_ready, pods)), None
        waits = [least - _ready_for(pod) for pod in pods if is_pod_ready(pod)]
        pending = [wait for wait in waits if wait > 0]
        return len(waits) - len(pending), min(pending, default=None)


def _is_active(pod: Manifest) -> bool:
    finished = dig(pod, ("status", "phase")) in ("Succeeded", "Failed")
    return not finished and "deletionTimestamp" not in pod["metadata"]


def _goes_last(pod: Manifest) -> tuple[bool, int, bool, str]:
    """Sort key: pods without a node, then pending, unready and younger ones go first."""
    phase = {"Pending": 0, "Unknown": 1}.get(dig(pod, ("status", "phase"), "Pending"), 2)
    newest_first = "".join(chr(255 - ord(c)) for c in pod["metadata"]["creationTimestamp"])
    return bool(pod["spec"].get("nodeName")), phase, is_pod_ready(pod), newest_first


def _ready_for(pod: Manifest) -> float:
    for condition in pod["status"]["conditions"]:
        if condition["type"] == "Ready":
            since = datetime.fromisoformat(condition.get("lastTransitionTime") or timestamp())
            return (datetime.now(UTC) - since).total_seconds()
    return 0.0
