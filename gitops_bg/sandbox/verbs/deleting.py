"""Delete: grace periods, finalizers, preconditions, propagation. Collecting dependents is `controllers/garbage.py`.

Rules: apiserver `pkg/registry/rest/delete.go` and `registry/generic/registry/store.go`.
It must delete nothing but what it was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitops_bg.sandbox.http.errors import conflict, not_found
from gitops_bg.sandbox.objects.kinds import NAMESPACES, PODS, ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, Stored, dig, timestamp
from gitops_bg.sandbox.objects.store import Store

_FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


@dataclass(frozen=True, slots=True)
class Deletion:
    """A `metav1.DeleteOptions`."""

    grace_seconds: int | None = None
    propagation: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    @classmethod
    def read(cls, body: Manifest, params: dict[str, str]) -> Deletion:
        """Read the options from the body and, where the body is silent, from the query."""
        grace = body.get("gracePeriodSeconds", params.get("gracePeriodSeconds"))
        policy = body.get("propagationPolicy") or params.get("propagationPolicy", "")
        orphans = body.get("orphanDependents", params.get("orphanDependents") == "true")
        preconditions = body.get("preconditions") or {}
        return cls(
            grace_seconds=None if grace is None else int(grace),
            propagation=policy or ("Orphan" if orphans is True else ""),
            uid=preconditions.get("uid", ""),
            version=preconditions.get("resourceVersion", ""),
            dry_run=bool(body.get("dryRun")) or params.get("dryRun") == "All",
        )


def delete(store: Store, kind: ServedKind, namespace: str, name: str, deletion: Deletion) -> tuple[Stored, bool]:
    """Delete an object or mark it; return its last state and whether it is gone."""
    with store.lock:
        old = store.get(kind.key, (namespace, name))
        if old is None:
            raise not_found(kind.qualified, name)
        _check_preconditions(kind, old.obj, deletion)
        marked = _marked(kind, old.obj, deletion)
        waits = _must_wait(kind, marked)
        if deletion.dry_run:
            return old, not waits
        if not waits:
            return store.remove(kind.key, (namespace, name)), True
        if marked == old.obj:
            return old, False
        return store.put(kind.key, marked), False


def _check_preconditions(kind: ServedKind, obj: Manifest, deletion: Deletion) -> None:
    metadata = obj["metadata"]
    for label, wanted, found in (
        ("UID", deletion.uid, metadata["uid"]),
        ("ResourceVersion", deletion.version, metadata["resourceVersion"]),
    ):
        if wanted and wanted != found:
            why = f"Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {found}"
            raise conflict(kind.qualified, metadata["name"], why)


def _grace(kind: ServedKind, obj: Manifest, deletion: Deletion) -> int:
    if kind.key != PODS or not dig(obj, ("spec", "nodeName")):
        return 0
    if dig(obj, ("status", "phase")) in ("Succeeded", "Failed"):
        return 0
    if deletion.grace_seconds is not None:
        return max(deletion.grace_seconds, 0)
    return int(obj["spec"].get("terminationGracePeriodSeconds", 30))


def _marked(kind: ServedKind, obj: Manifest, deletion: Deletion) -> Manifest:
    metadata = dict(obj["metadata"])
    propagation = deletion.propagation or ("Orphan" if kind.orphans_by_default else "")
    finalizers = list(metadata.get("finalizers") or [])
    added = _FINALIZERS.get(propagation)
    if added and added not in finalizers:
        metadata["finalizers"] = [*finalizers, added]
    grace = _grace(kind, obj, deletion)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = timestamp(grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata:
            metadata["generation"] += 1
    elif grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionGracePeriodSeconds"] = grace
    marked = {**obj, "metadata": metadata}
    if kind.key == NAMESPACES:
        marked["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    return marked


def _must_wait(kind: ServedKind, marked: Manifest) -> bool:
    if marked["metadata"].get("finalizers") or marked["metadata"]["deletionGracePeriodSeconds"] > 0:
        return True
    return kind.key == NAMESPACES and bool((marked.get("spec") or {}).get("finalizers"))
