"""How lists and maps merge: by key, as a set, or as one value. It must hold no merge algorithm.

Built-in types: the `patchMergeKey`, `listType`, `listMapKey` and `mapType` markers of
kubernetes `staging/src/k8s.io/api`. Custom types: `x-kubernetes-*` of their schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from gitops_bg.sandbox.objects.objects import Manifest

_KEYED: dict[tuple[str, str], tuple[str, ...]] = {
    ("spec", "containers"): ("name",),
    ("spec", "initContainers"): ("name",),
    ("spec", "ephemeralContainers"): ("name",),
    ("spec", "volumes"): ("name",),
    ("spec", "imagePullSecrets"): ("name",),
    ("spec", "hostAliases"): ("ip",),
    ("spec", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    ("spec", "ports"): ("port", "protocol"),
    ("containers", "ports"): ("containerPort", "protocol"),
    ("initContainers", "ports"): ("containerPort", "protocol"),
    ("containers", "env"): ("name",),
    ("initContainers", "env"): ("name",),
    ("containers", "volumeMounts"): ("mountPath",),
    ("initContainers", "volumeMounts"): ("mountPath",),
    ("containers", "volumeDevices"): ("devicePath",),
    ("status", "conditions"): ("type",),
    ("metadata", "ownerReferences"): ("uid",),
    ("", "secrets"): ("name",),
    ("", "imagePullSecrets"): ("name",),
}
_SETS = {("metadata", "finalizers")}
_ATOMIC_MAPS = {
    "selector", "labelSelector", "nodeSelector", "configMapKeyRef", "secretKeyRef", "fieldRef",
    "resourceFieldRef", "involvedObject", "targetRef", "podSelector", "namespaceSelector",
}  # fmt: skip
KEY_DEFAULTS: dict[str, Any] = {"protocol": "TCP"}


class Shape(Protocol):
    """How one place of an object merges."""

    @property
    def atomic(self) -> bool:
        """Return whether a map here is one value."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the fields that identify an item of a list here; empty for an ordinary list."""

    @property
    def is_set(self) -> bool:
        """Return whether a list here is a set of scalars."""

    def child(self, name: str) -> Shape:
        """Return the shape of a field of the map here."""

    def item(self) -> Shape:
        """Return the shape of the items of the list here."""


@dataclass(frozen=True, slots=True)
class BuiltinShape:
    """A place in a built-in type, known by its own field name and the one above."""

    parent: str
    name: str

    @property
    def atomic(self) -> bool:
        """Return whether a map here is one value."""
        return self.name in _ATOMIC_MAPS

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the merge keys of a list here."""
        return _KEYED.get((self.parent, self.name), ())

    @property
    def is_set(self) -> bool:
        """Return whether a list here is a set."""
        return (self.parent, self.name) in _SETS

    def child(self, name: str) -> Shape:
        """Return the shape of a field."""
        return _builtin(self.name, name)

    def item(self) -> Shape:
        """Return the shape of an item, which is named like its list."""
        return self


@lru_cache(maxsize=4096)
def _builtin(parent: str, name: str) -> BuiltinShape:
    return BuiltinShape(parent, name)


BUILTIN_ROOT: Shape = _builtin("", "")


@dataclass(frozen=True, slots=True)
class SchemaShape:
    """A place in a custom type, read from its structural schema."""

    schema: Manifest
    is_root: bool = False

    @property
    def atomic(self) -> bool:
        """Return whether a map here is one value."""
        return bool(self.schema.get("x-kubernetes-map-type") == "atomic")

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the merge keys of a list here."""
        if self.schema.get("x-kubernetes-list-type") != "map":
            return ()
        return tuple(self.schema.get("x-kubernetes-list-map-keys") or ())

    @property
    def is_set(self) -> bool:
        """Return whether a list here is a set."""
        return bool(self.schema.get("x-kubernetes-list-type") == "set")

    def child(self, name: str) -> Shape:
        """Return the shape of a field; `metadata` is the same in every type."""
        if self.is_root and name == "metadata":
            return BUILTIN_ROOT.child("metadata")
        schema = (self.schema.get("properties") or {}).get(name) or self.schema.get("additionalProperties")
        return SchemaShape(schema if isinstance(schema, dict) else {})

    def item(self) -> Shape:
        """Return the shape of an item."""
        items = self.schema.get("items")
        return SchemaShape(items if isinstance(items, dict) else {})


def item_key(item: Manifest, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Return what identifies a list item; a port without `protocol` is a TCP port."""
    return tuple(item.get(key, KEY_DEFAULTS.get(key)) for key in keys)
