"""The DaemonSet controller: a pod on every node that the template asks for, and a status that counts them.

Rules: kubernetes `pkg/controller/daemon/{daemon_controller,update}.go`. A rolling update takes one pod at a time,
without surge; there are no taints, so every node that the template chooses gets a pod.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from datetime import UTC, datetime

from gitops_bg.sandbox.controllers.adoption import PodOwners, owner_reference
from gitops_bg.sandbox.controllers.label_index import SelectorIndex
from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.controllers.scheduling import asks_for_node, is_chosen, wanted_node
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.watches import DELETED, Change
from gitops_bg.sandbox.objects.kinds import DAEMON_SETS, NODES, PODS, ResourceKey
from gitops_bg.sandbox.objects.objects import (
    Manifest,
    controller_of,
    copy_of,
    dig,
    is_pod_ready,
    key_of,
    labels_of,
    timestamp,
    to_json,
)
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.deleting import Deletion, delete
from gitops_bg.sandbox.verbs.writing import Options, Writer

_MANAGER = "kube-controller-manager"
_REVISION = "controller-revision-hash"
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


class DaemonSets:
    """Creates and deletes pods, node by node."""

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop
        self._owners = PodOwners(writer)
        self._selectors = SelectorIndex()
        self._names: dict[str, ObjectKey] = {}

    def notice(self, resource: ResourceKey, change: Change) -> None:
        """Queue the DaemonSet that changed, or whose pod changed; all of them where a node did."""
        if resource == DAEMON_SETS:
            self._notice_daemon_set(change)
        elif resource == PODS:
            if change.previous is not None:
                self._owners.discard(change.previous.obj)
            if change.type != DELETED:
                self._owners.enter(change.current.obj)
            self._wake_owners(change.current.obj)
        elif resource == NODES:
            for key in self._names.values():
                self._loop.put(self, key)

    def _notice_daemon_set(self, change: Change) -> None:
        obj = change.current.obj
        if change.type == DELETED:
            del self._names[obj["metadata"]["uid"]]
            self._selectors.discard(*key_of(obj))
        else:
            self._names[obj["metadata"]["uid"]] = key_of(obj)
            self._selectors.add(*key_of(obj), obj["spec"]["selector"].get("matchLabels") or {})
        self._loop.put(self, key_of(obj))

    def _wake_owners(self, pod: Manifest) -> None:
        owner = controller_of(pod)
        if owner is None:
            for name in self._selectors.matching(key_of(pod)[0], labels_of(pod)):
                self._loop.put(self, (key_of(pod)[0], name))
        elif owner["uid"] in self._names:
            self._loop.put(self, self._names[owner["uid"]])

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
        self._report(daemon_set, len(wanted), list(pods.values()))

    def _create(self, daemon_set: Manifest, node: str) -> Manifest:
        template, owner = daemon_set["spec"]["template"], daemon_set["metadata"]
        metadata = {k: copy_of(v) for k, v in (template.get("metadata") or {}).items() if k != "creationTimestamp"}
        metadata["labels"] = {**labels_of(template), _REVISION: _revision(daemon_set)}
        metadata["generateName"] = f"{owner['name']}-"
        metadata["ownerReferences"] = [owner_reference(daemon_set)]
        spec = asks_for_node(copy_of(template["spec"]), node)
        spec["tolerations"] = [*(spec.get("tolerations") or ()), _CORDONED]
        kind = self._writer.kinds.of(PODS)
        body = {"metadata": metadata, "spec": spec}
        return self._writer.create(kind, owner["namespace"], body, Options(manager=_MANAGER)).obj

    def _delete(self, pod: Manifest) -> None:
        try:
            delete(self._store, self._writer.kinds.of(PODS), *key_of(pod), Deletion())
        except ApiError as error:
            if error.code != 404:
                raise

    def _update(self, daemon_set: Manifest, pods: dict[str, Manifest]) -> None:
        """Take away one outdated pod, once all are ready."""
        if dig(daemon_set, ("spec", "updateStrategy", "type")) != "RollingUpdate":
            return
        outdated = [name for name, pod in pods.items() if labels_of(pod).get(_REVISION) != _revision(daemon_set)]
        if outdated and all(map(is_pod_ready, pods.values())):
            self._delete(pods.pop(outdated[0]))

    def _report(self, daemon_set: Manifest, desired: int, pods: list[Manifest]) -> None:
        available, wait = _availability(daemon_set, pods)
        if wait is not None:
            self._loop.put(self, key_of(daemon_set), after=wait)
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
        status |= {name: number for name, number in counted.items() if number}
        if status != daemon_set.get("status"):
            self._writer.edit_status(self._writer.kinds.of(DAEMON_SETS), daemon_set, status, _MANAGER)


def _availability(daemon_set: Manifest, pods: list[Manifest]) -> tuple[int, float | None]:
    """Return how many pods are available, and the seconds until the next one will be."""
    least = daemon_set["spec"].get("minReadySeconds", 0)
    waits = [least - _ready_for(pod) if least else 0 for pod in pods if is_pod_ready(pod)]
    pending = [wait for wait in waits if wait > 0]
    return len(waits) - len(pending), min(pending, default=None)


def _ready_for(pod: Manifest) -> float:
    since = next(
        (each.get("lastTransitionTime") for each in pod["status"]["conditions"] if each["type"] == "Ready"), ""
    )
    return (datetime.now(UTC) - datetime.fromisoformat(since or timestamp())).total_seconds()


def _revision(daemon_set: Manifest) -> str:
    """What tells the pods of one template from those of another."""
    return hashlib.sha256(to_json(daemon_set["spec"]["template"])).hexdigest()[:10]
