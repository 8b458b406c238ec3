"""The Deployment controller: a ReplicaSet for each pod template, and the old ones go once the new one is available.

Enough for what is beside the agent: the live Deployment that an app is adopted from, and that somebody scales. It must
touch no ReplicaSet that it did not make. One thing is simpler than in Kubernetes: an update surges by the whole size.
Rules: kubernetes `pkg/controller/deployment/{sync,rolling}.go`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects.kinds import DEPLOYMENTS, REPLICASETS, ResourceKey
from gitops_bg.sandbox.objects.objects import (
    Manifest,
    controller_of,
    copy_of,
    dig,
    key_of,
    labels_of,
    timestamp,
    to_json,
)
from gitops_bg.sandbox.verbs.writing import Options, Writer

HASH = "pod-template-hash"
_OPTIONS = Options(manager="kube-controller-manager")


class Deployments:
    """Makes and scales ReplicaSets."""

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue the Deployment that changed, or whose ReplicaSet did."""
        obj = change.current.obj
        if resource == DEPLOYMENTS and change.type != DELETED:
            self._loop.put(self, key_of(obj))
        elif resource == REPLICASETS and (owner := controller_of(obj)) and owner["kind"] == "Deployment":
            self._loop.put(self, (key_of(obj)[0], owner["name"]))

    def reconcile(self, key: Hashable) -> None:
        """Bring one Deployment's ReplicaSets to the wanted sizes and write its status."""
        found = self._store.get(DEPLOYMENTS, key)  # type: ignore[arg-type]
        if found is None or "deletionTimestamp" in found.obj["metadata"]:
            return
        deployment, wanted = found.obj, found.obj["spec"]["replicas"]
        owned = self._owned(deployment)
        new = next((each for each in owned if labels_of(each).get(HASH) == _hash(deployment)), None)
        if new is None:
            new = self._create(deployment)
            owned.append(new)
        self._scale(new, wanted)
        if dig(new, ("status", "availableReplicas"), 0) >= wanted:
            for old in owned:
                if old is not new:
                    self._scale(old, 0)
        self._report(deployment, owned, new)

    def _owned(self, deployment: Manifest) -> list[Manifest]:
        uid, namespace = deployment["metadata"]["uid"], deployment["metadata"]["namespace"]
        found = (stored.obj for stored in self._store.all(REPLICASETS, namespace))
        return [each for each in found if (owner := controller_of(each)) and owner["uid"] == uid]

    def _create(self, deployment: Manifest) -> Manifest:
        metadata, spec, mark = deployment["metadata"], deployment["spec"], {HASH: _hash(deployment)}
        template = copy_of(spec["template"])
        template["metadata"] = {**(template.get("metadata") or {}), "labels": {**labels_of(template), **mark}}
        selector = copy_of(spec["selector"])
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **mark}
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": metadata["name"], "uid": metadata["uid"]}
        body = {
            "metadata": {
                "name": f"{metadata['name']}-{mark[HASH]}",
                "labels": labels_of(template),
                "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
            },
            "spec": {
                "replicas": spec["replicas"],
                "minReadySeconds": spec.get("minReadySeconds", 0),
                "selector": selector,
                "template": template,
            },
        }
        return self._writer.create(self._writer.kinds.of(REPLICASETS), metadata["namespace"], body, _OPTIONS).obj

    def _scale(self, replica_set: Manifest, replicas: int) -> None:
        if replica_set["spec"]["replicas"] == replicas:
            return

        def edit(live: Manifest) -> Manifest:
            return {**live, "spec": {**live["spec"], "replicas": replicas}}

        try:
            self._writer.modify(self._writer.kinds.of(REPLICASETS), *key_of(replica_set), edit, _OPTIONS)
        except ApiError as error:
            if error.code != 404:
                raise

    def _report(self, deployment: Manifest, owned: list[Manifest], new: Manifest) -> None:
        counts = {
            "replicas": _sum(owned, "replicas"),
            "updatedReplicas": _sum([new], "replicas"),
            "readyReplicas": _sum(owned, "readyReplicas"),
            "availableReplicas": _sum(owned, "availableReplicas"),
        }
        status: Manifest = {name: number for name, number in counts.items() if number}
        status["observedGeneration"] = deployment["metadata"]["generation"]
        status["conditions"] = [self._available(deployment, counts["availableReplicas"])]
        if status != deployment.get("status"):
            self._writer.edit_status(self._writer.kinds.of(DEPLOYMENTS), deployment, status, _OPTIONS.manager)

    def _available(self, deployment: Manifest, available: int) -> Manifest:
        status = "True" if available >= deployment["spec"]["replicas"] else "False"
        before = next(iter(dig(deployment, ("status", "conditions")) or ()), None)
        if before and before["status"] == status:
            return dict(before)
        reason = "MinimumReplicasAvailable" if status == "True" else "MinimumReplicasUnavailable"
        return {"type": "Available", "status": status, "reason": reason, "lastTransitionTime": timestamp()}


def _sum(replica_sets: list[Manifest], count: str) -> int:
    return sum(dig(each, ("status", count), 0) for each in replica_sets)


def _hash(deployment: Manifest) -> str:
    return hashlib.sha256(to_json(deployment["spec"]["template"])).hexdigest()[:10]
