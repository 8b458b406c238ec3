"""`/scale`, `/binding` and `/log`: views of an object. It must keep no state. `/eviction` is in `eviction.py`.

Scale: autoscaling/v1; the paths of a custom type come from its definition.
"""

from __future__ import annotations

from gitops_bg.sandbox.http.errors import cause, invalid, no_such_path
from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.kinds import Kind
from gitops_bg.sandbox.objects.kinds import Scale as ScalePaths
from gitops_bg.sandbox.objects.objects import Manifest, dig


def served(kind: Kind, subresource: str) -> bool:
    """Return whether a type has this subresource."""
    if subresource == "status":
        return kind.has_status
    if subresource == "scale":
        return kind.scale is not None
    if kind.plural == "namespaces":
        return subresource == "finalize"
    return kind.plural == "pods" and subresource in ("binding", "eviction", "log")


def _paths(kind: Kind) -> ScalePaths:
    if kind.scale is None:
        raise no_such_path()
    return kind.scale


def scale_of(kind: Kind, obj: Manifest) -> Manifest:
    """Return the Scale of an object."""
    paths, metadata = _paths(kind), obj["metadata"]
    selector = dig(obj, paths.selector_path.split("."), "") if paths.selector_path else ""
    text = selectors.as_text(selector) if isinstance(selector, dict) else selector
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = dig(obj, paths.spec_path.split("."), 0)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": dig(obj, paths.status_path.split("."), 0), "selector": text},
    }


def scaled(kind: Kind, obj: Manifest, scale: Manifest) -> Manifest:
    """Return a copy of `obj` with the replicas, and the resourceVersion as a lock, of a Scale."""
    replicas = dig(scale, ("spec", "replicas"), 0)
    if not isinstance(replicas, int) or replicas < 0:
        why = cause("spec.replicas", f"Invalid value: {replicas}: must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", obj["metadata"]["name"], [why])
    metadata = dict(obj["metadata"])
    version = dig(scale, ("metadata", "resourceVersion"))
    if version:
        metadata["resourceVersion"] = version
    return _with({**obj, "metadata": metadata}, _paths(kind).spec_path.split("."), replicas)


def _with(obj: Manifest, path: list[str], value: int) -> Manifest:
    if len(path) == 1:
        return {**obj, path[0]: value}
    return {**obj, path[0]: _with(obj.get(path[0]) or {}, path[1:], value)}


def bound(pod: Manifest, binding: Manifest) -> Manifest:
    """Return a copy of a Pod that is bound to the node of a Binding."""
    node = dig(binding, ("target", "name"), "")
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}
