"""What the controllers of ReplicaSets and of DaemonSets have in common: which pods are theirs, and that they are woken
by them, make and delete them, and count which are available. It must not decide how many there are to be, and where.

Rules: kubernetes `pkg/controller/controller_ref_manager.go`, `pkg/controller/controller_utils.go`,
`pkg/api/v1/pod/util.go: IsPodAvailable`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from gitops_bg.sandbox.controllers.loop import Loop, SelectorIndex
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.kinds import PODS, ResourceKey
from gitops_bg.sandbox.objects.objects import (
    Manifest,
    controller_of,
    copy_of,
    is_pod_ready,
    key_of,
    labels_of,
    timestamp,
)
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.deleting import Deletion, delete
from gitops_bg.sandbox.verbs.writing import Options, Writer

_OPTIONS = Options(manager="kube-controller-manager")


def owner_reference(workload: Manifest) -> Manifest:
    """Return the reference that makes a workload the controller of a pod."""
    metadata = workload["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": workload["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**reference, "controller": True, "blockOwnerDeletion": True}


class PodOwners:
    """Pods by the uid of their controller, and those that have none. It must create and delete no pod.

    A workload's pods are those that it created, plus orphans that its selector matches.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._owned: defaultdict[str, set[ObjectKey]] = defaultdict(set)
        self._orphans: defaultdict[str, set[ObjectKey]] = defaultdict(set)

    def enter(self, pod: Manifest) -> None:
        """Note a pod under its controller; inside the store's lock."""
        self._set_of(pod).add(key_of(pod))

    def discard(self, pod: Manifest) -> None:
        """Forget a pod as it was entered; inside the store's lock."""
        self._set_of(pod).discard(key_of(pod))
        owner = controller_of(pod)
        if owner and not self._owned[owner["uid"]]:
            del self._owned[owner["uid"]]

    def _set_of(self, pod: Manifest) -> set[ObjectKey]:
        owner = controller_of(pod)
        return self._owned[owner["uid"]] if owner else self._orphans[key_of(pod)[0]]

    def claim(self, workload: Manifest) -> list[Manifest]:
        """Return a workload's pods, after adopting orphans that match and releasing pods that no longer do."""
        selector = selectors.from_object(workload["spec"]["selector"])
        with self._writer.store.lock:
            owned = self._pods(self._owned.get(workload["metadata"]["uid"], ()))
            orphans = self._pods(self._orphans.get(key_of(workload)[0], ()))
        kept = []
        for pod in owned:
            if selectors.accepts(selector, labels_of(pod)):
                kept.append(pod)
            else:
                self._edit_owners(pod, [])
        if "deletionTimestamp" in workload["metadata"]:
            return kept
        for pod in orphans:
            if selectors.accepts(selector, labels_of(pod)) and "deletionTimestamp" not in pod["metadata"]:
                kept += self._edit_owners(pod, [owner_reference(workload)])
        return kept

    def _pods(self, keys: Iterable[ObjectKey]) -> list[Manifest]:
        found = (self._writer.store.get(PODS, key) for key in keys)
        return [stored.obj for stored in found if stored]

    def _edit_owners(self, pod: Manifest, owners: list[Manifest]) -> list[Manifest]:
        """Give a pod another controller, or none; return it, unless it has gone."""

        def edit(live: Manifest) -> Manifest:
            others = [owner for owner in live["metadata"].get("ownerReferences") or () if not owner.get("controller")]
            return {**live, "metadata": {**live["metadata"], "ownerReferences": [*others, *owners]}}

        try:
            return [self._writer.modify(self._writer.kinds.of(PODS), *key_of(pod), edit, _OPTIONS).obj]
        except ApiError as error:
            if error.code != 404:
                raise
            return []


MANAGER = "kube-controller-manager"


class PodController(ABC):
    """Creates and deletes the pods of the workloads of one ``resource``."""

    resource: ResourceKey

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop
        self._owners = PodOwners(writer)
        self._selectors = SelectorIndex()
        self._names: dict[str, ObjectKey] = {}
        """The workloads that there are, by uid."""

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue the workload that changed, or whose pod changed."""
        obj = change.current.obj
        if resource == self.resource:
            self._enter(change)
            self._loop.put(self, key_of(obj))
        elif resource == PODS:
            if change.previous is not None:
                self._owners.discard(change.previous.obj)
            if change.type != DELETED:
                self._owners.enter(obj)
            self._wake_owners(obj)

    @abstractmethod
    def reconcile(self, key: Hashable) -> None:
        """Bring one workload's pods to what it asks for, and write its status."""

    def _enter(self, change: WatchEvent) -> None:
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

    def _make(self, workload: Manifest, spec: Manifest, labels: Mapping[str, str]) -> Manifest:
        """Create a pod of a workload's template, with another ``spec`` and more ``labels``; return it."""
        template, owner = workload["spec"]["template"], workload["metadata"]
        metadata = {k: copy_of(v) for k, v in (template.get("metadata") or {}).items() if k != "creationTimestamp"}
        metadata["labels"] = {**labels_of(template), **labels}
        metadata["generateName"] = f"{owner['name']}-"
        metadata["ownerReferences"] = [owner_reference(workload)]
        kind, body = self._writer.kinds.of(PODS), {"metadata": metadata, "spec": spec}
        return self._writer.create(kind, owner["namespace"], body, Options(manager=MANAGER)).obj

    def _delete(self, pod: Manifest) -> None:
        try:
            delete(self._store, self._writer.kinds.of(PODS), *key_of(pod), Deletion())
        except ApiError as error:
            if error.code != 404:
                raise

    def _available(self, workload: Manifest, pods: Sequence[Manifest]) -> int:
        """Return how many pods are available; the workload is looked at again when the next one will be."""
        least = workload["spec"].get("minReadySeconds", 0)
        waits = [least - _ready_for(pod) if least else 0 for pod in pods if is_pod_ready(pod)]
        pending = [wait for wait in waits if wait > 0]
        if pending:
            self._loop.put(self, key_of(workload), after=min(pending))
        return len(waits) - len(pending)

    def _report(self, workload: Manifest, status: Manifest) -> None:
        if status != workload.get("status"):
            self._writer.edit_status(self._writer.kinds.of(self.resource), workload, status, MANAGER)


def _ready_for(pod: Manifest) -> float:
    """Return the seconds since a pod became ready."""
    found = (each.get("lastTransitionTime") for each in pod["status"]["conditions"] if each["type"] == "Ready")
    since = next(found, None) or timestamp()
    return (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()
