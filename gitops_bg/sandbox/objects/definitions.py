"""CustomResourceDefinitions: what is applied as one is served at once. It must validate no object.

Rules: kubernetes.io "Extend the Kubernetes API with CustomResourceDefinitions".
"""

from __future__ import annotations

from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects.kinds import DEFINITIONS, Kinds, ResourceKey, Scale, ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, dig
from gitops_bg.sandbox.objects.store import Store


def _scale(subresources: Manifest) -> Scale | None:
    scale = subresources.get("scale")
    if not scale:
        return None
    names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    spec, status, selector = (scale.get(name, "").lstrip(".") for name in names)
    return Scale(spec, status, selector)


def _kind(spec: Manifest, version: Manifest) -> ServedKind:
    names = spec["names"]
    subresources = version.get("subresources") or {}
    return ServedKind(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        has_status="status" in subresources,
        scale=_scale(subresources),
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        schema=dig(version, ("schema", "openAPIV3Schema"), {}),
        columns=tuple(version.get("additionalPrinterColumns") or ()),
        is_custom=True,
    )


class Definitions:
    """Keeps the served types in step with the stored definitions; called inside the store's lock."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store = store
        self._kinds = kinds
        store.listeners.append(self._on_change)

    def _on_change(self, resource: ResourceKey, change: WatchEvent) -> None:
        if resource != DEFINITIONS:
            return
        spec = change.current.obj["spec"]
        key = (spec["group"], spec["names"]["plural"])
        self._kinds.remove(key)
        if change.type == DELETED:
            for stored in self._store.all(key):
                metadata = stored.obj["metadata"]
                self._store.remove(key, (metadata.get("namespace", ""), metadata["name"]))
            return
        versions = [version for version in spec["versions"] if version.get("served", True)]
        self._store.begin(key)
        for version in sorted(versions, key=lambda version: not version.get("storage")):
            self._kinds.add(_kind(spec, version))
