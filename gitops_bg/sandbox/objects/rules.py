"""What happens to an object between the request and the store: identity, defaults, schema, generation.

It must not store anything. Order and rules follow apiserver `pkg/registry/rest/{create,update}.go`.
"""

from __future__ import annotations

import random
from itertools import count
from typing import Any
from uuid import uuid4

from gitops_bg.sandbox.http import decoding
from gitops_bg.sandbox.http.errors import ApiError, bad_request, conflict, invalid, required
from gitops_bg.sandbox.objects import defaults, schema, validation
from gitops_bg.sandbox.objects.fields import BUILTIN_ROOT, SchemaShape, Shape
from gitops_bg.sandbox.objects.kinds import DAEMON_SETS, DEFINITIONS, JOBS, PODS, REPLICASETS, SERVICES, ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, copy_of, timestamp

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_FROM_SERVER = ("uid", "creationTimestamp", "resourceVersion", "generation", "deletionTimestamp")
_KEPT = (*_FROM_SERVER, "name", "namespace", "deletionGracePeriodSeconds")


ASSIGNED = frozenset(("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"))
"""Fields of a spec that the server sets after it noted who owns what."""


class Addresses:
    """Hands out cluster IPs and node ports; they are not used for traffic."""

    def __init__(self) -> None:
        self._hosts = count(2)
        self._ports = count(30000)

    def cluster_ip(self) -> str:
        """Return the next free Service address."""
        number = next(self._hosts)
        return f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"

    def node_port(self) -> int:
        """Return the next free node port."""
        return next(self._ports)


def shape_of(kind: ServedKind) -> Shape:
    """Return how objects of this kind merge."""
    return SchemaShape(kind.schema or {}, is_root=True) if kind.is_custom else BUILTIN_ROOT


def in_order(kind: ServedKind, body: Any, namespace: str) -> Manifest:
    """Return `body` checked for type and namespace, copied, with `kind` and `apiVersion` first; raise 400."""
    if not isinstance(body, dict) or not isinstance(body.get("metadata") or {}, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    for field, wanted in (("apiVersion", kind.api_version), ("kind", kind.kind)):
        if body.get(field, wanted) != wanted:
            said = "API version" if field == "apiVersion" else "kind"
            raise bad_request(f"the {said} in the data ({body[field]}) does not match the expected {said} ({wanted})")
    decoding.check(kind, body)
    metadata = copy_of(body.get("metadata") or {})
    if kind.namespaced and metadata.setdefault("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    rest = {key: copy_of(value) for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **rest}


def begin(kind: ServedKind, obj: Manifest, addresses: Addresses) -> None:
    """Give a new object its identity and take away what only the server may set."""
    metadata = obj["metadata"]
    if metadata.get("resourceVersion"):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    for name in _FROM_SERVER:
        metadata.pop(name, None)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + "".join(random.choices(_LETTERS, k=5))  # noqa: S311
    if not metadata.get("name"):
        why = "name or generateName is required"
        raise invalid(kind.group, kind.kind, "", [required("metadata.name", why)])
    metadata["uid"] = str(uuid4())
    metadata["creationTimestamp"] = timestamp()
    if kind.has_generation or kind.is_custom:
        metadata["generation"] = 1
    if kind.has_status:
        obj.pop("status", None)
    _begin_builtin(kind, obj, addresses)


def _begin_builtin(kind: ServedKind, obj: Manifest, addresses: Addresses) -> None:
    if kind.key == PODS:
        obj["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    elif kind.key == REPLICASETS:
        obj["status"] = {"replicas": 0}
    elif kind.key == DAEMON_SETS:
        counts = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
        obj["status"] = dict.fromkeys(counts, 0)
    elif kind.key == JOBS:
        obj["status"] = {}
        _select_own_pods(obj)
    elif kind.key == SERVICES:
        obj["status"] = {"loadBalancer": {}}
        _allocate(obj.setdefault("spec", {}), addresses)


def _select_own_pods(job: Manifest) -> None:
    """Let a Job select its pods by its uid, unless it says otherwise (`pkg/registry/batch/job/strategy.go`)."""
    spec, uid = job.get("spec"), job["metadata"]["uid"]
    if not isinstance(spec, dict) or spec.get("manualSelector") or not isinstance(spec.get("template"), dict):
        return
    metadata = spec["template"]["metadata"] = dict(spec["template"].get("metadata") or {})
    labels = metadata["labels"] = dict(metadata.get("labels") or {})
    for prefix in ("", "batch.kubernetes.io/"):
        labels |= {f"{prefix}controller-uid": uid, f"{prefix}job-name": job["metadata"]["name"]}
    spec.setdefault("selector", {}).setdefault("matchLabels", {})["batch.kubernetes.io/controller-uid"] = uid


def _allocate(spec: Manifest, addresses: Addresses) -> None:
    if spec.get("type") != "ExternalName" and not spec.get("clusterIP"):
        spec["clusterIP"] = addresses.cluster_ip()
    if spec.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        for port in spec.get("ports") or ():
            port.setdefault("nodePort", addresses.node_port())


def carry_over(kind: ServedKind, old: Manifest, new: Manifest, subresource: str) -> Manifest:
    """Return `new` with everything that this kind of write may not change taken from `old`."""
    metadata = new["metadata"]
    name = old["metadata"]["name"]
    if metadata.get("name", name) != name:
        said = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise bad_request(said)
    uid = old["metadata"]["uid"]
    if metadata.get("uid", uid) != uid:
        why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {uid}"
        raise conflict(kind.qualified, name, why)
    if subresource == "status":
        return _only_status(old, new)
    for key in _KEPT:
        metadata.pop(key, None)
        if key in old["metadata"]:
            metadata[key] = old["metadata"][key]
    if kind.has_status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = copy_of(old["status"])
    _keep_allocations(kind, old, new)
    return new


def _only_status(old: Manifest, new: Manifest) -> Manifest:
    result: Manifest = copy_of({key: value for key, value in old.items() if key != "status"})
    if "managedFields" in new["metadata"]:
        result["metadata"]["managedFields"] = new["metadata"]["managedFields"]
    if new.get("status") is not None:
        result["status"] = new["status"]
    return result


def _keep_allocations(kind: ServedKind, old: Manifest, new: Manifest) -> None:
    """Keep the cluster IP where an update of a Service leaves it out (`pkg/registry/core/service/storage`)."""
    spec, before = new.get("spec"), old.get("spec")
    if kind.key != SERVICES or not isinstance(spec, dict) or not before:
        return
    if spec.get("type", "ClusterIP") != "ExternalName":
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and field in before:
                spec[field] = before[field]


def settle(kind: ServedKind, obj: Manifest, old: Manifest | None, strict: bool = False) -> None:
    """Fill in defaults, prune unknown fields, and raise 422 for what is wrong; `strict` refuses unknown fields."""
    if kind.is_custom:
        causes = _settle_custom(kind, obj, strict)
    else:
        defaults.fill_in(kind.key, obj)
        causes = validation.causes(kind.key, obj, old)
    if causes:
        raise invalid(kind.group, kind.kind, obj["metadata"]["name"], causes)
    if kind.key == DEFINITIONS:
        _establish(obj)


def _settle_custom(kind: ServedKind, obj: Manifest, strict: bool) -> list[Manifest]:
    own = kind.schema or {}
    unknown = schema.prune(obj, own)
    if unknown and strict:
        said = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: {said}'
        )
    schema.drop_nulls(obj, own)
    schema.default(obj, own)
    return [*validation.metadata(kind.plural, obj), *schema.validate(obj, own)]


def _establish(definition: Manifest) -> None:
    names = definition["spec"]["names"]
    storage = next(version["name"] for version in definition["spec"]["versions"] if version.get("storage"))
    now = definition["metadata"]["creationTimestamp"]
    definition["status"] = {
        "conditions": [
            {"type": "NamesAccepted", "status": "True", "lastTransitionTime": now, "reason": "NoConflicts",
             "message": "no conflicts found"},
            {"type": "Established", "status": "True", "lastTransitionTime": now, "reason": "InitialNamesAccepted",
             "message": "the initial names have been accepted"},
        ],
        "acceptedNames": copy_of(names),
        "storedVersions": [storage],
    }  # fmt: skip


def count_generation(kind: ServedKind, old: Manifest, new: Manifest) -> None:
    """Raise `metadata.generation` when the desired state changed (not for metadata or status)."""
    if kind.is_custom:
        skipped = ("metadata", "status") if kind.has_status else ("metadata",)
        same = all(old.get(key) == new.get(key) for key in old.keys() | new.keys() if key not in skipped)
    elif kind.has_generation:
        same = old.get("spec") == new.get("spec") and old.get("endpoints") == new.get("endpoints")
    else:
        return
    if not same:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
