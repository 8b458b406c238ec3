"""Which pods are those of a ReplicaSet or DaemonSet: those it created, plus orphans that its selector matches.

It must create and delete no pod. Rules: kubernetes `pkg/controller/controller_ref_manager.go`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.kinds import PODS
from gitops_bg.sandbox.objects.objects import Manifest, controller_of, key_of, labels_of
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.writing import Options, Writer

_OPTIONS = Options(manager="kube-controller-manager")


def owner_reference(workload: Manifest) -> Manifest:
    """Return the reference that makes a workload the controller of a pod."""
    metadata = workload["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": workload["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**reference, "controller": True, "blockOwnerDeletion": True}


class PodOwners:
    """Pods by the uid of their controller, and those that have none."""

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
