"""The places of an object: how lists and maps merge there, by key, as a set, or as one value; and sets of them, which a
manager owns, in the JSON of `managedFields[].fieldsV1`. It must know nothing of managers, and hold no merge algorithm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from gitops_bg.sandbox.objects.objects import Manifest, to_json

# --- how places merge ---
# Built-in types: the `patchMergeKey`, `listType`, `listMapKey` and `mapType` markers of kubernetes
# `staging/src/k8s.io/api`. Custom types: `x-kubernetes-*` of their schema.

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


# --- field sets ---
# A set is a tree: `f:name` steps into a map, `k:{..}` to a list item, `v:..` to a set element; a node without children,
# or with the child `.`, is itself a member. Algebra and walks follow structured-merge-diff `fieldpath` and `typed`.

Fields = dict[str, Any]
Path = tuple[str, ...]


def item_step(item: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Return the path step to a list item, e.g. `k:{"name":"web"}`."""
    identity = dict(zip(keys, item_key(item, keys), strict=True))
    return "k:" + to_json(dict(sorted(identity.items()))).decode()


def value_step(item: Any) -> str:
    """Return the path step to an element of a set."""
    return "v:" + to_json(item).decode()


def fields_of(value: Any, shape: Shape) -> Fields:
    """Return every field that `value` has."""
    if isinstance(value, dict) and not shape.atomic:
        held = ((name, item) for name, item in value.items() if item is not None)
        return {f"f:{name}": fields_of(item, shape.child(name)) for name, item in held}
    if isinstance(value, list) and shape.keys:
        return {item_step(item, shape.keys): {".": {}, **fields_of(item, shape.item())} for item in value}
    if isinstance(value, list) and shape.is_set:
        return {value_step(item): {} for item in value}
    return {}


def _children(value: Any, shape: Shape) -> dict[str, tuple[Any, Shape]] | None:
    """Return what lies one step below a place, or None where the place is one value."""
    if isinstance(value, dict) and not shape.atomic:
        return {f"f:{name}": (item, shape.child(name)) for name, item in value.items()}
    if isinstance(value, list) and shape.keys:
        return {item_step(item, shape.keys): (item, shape.item()) for item in value}
    if isinstance(value, list) and shape.is_set:
        return {value_step(item): (item, shape) for item in value}
    return None


def changed(old: Any, new: Any, shape: Shape, removed: list[Path], path: Path = ()) -> Fields | None:
    """Return the fields that are new or differ in `new`, or None; append those that went to `removed`."""
    if old == new and type(old) is type(new):
        return None
    before, after = _children(old, shape), _children(new, shape)
    if before is None or after is None:
        return fields_of(new, shape)
    removed.extend((*path, step) for step in before.keys() - after.keys())
    tree: Fields = {}
    for step, (item, below) in after.items():
        if step not in before:
            node: Fields | None = fields_of(item, below)
            if step[0] == "k":
                node = {".": {}, **(node or {})}
        else:
            node = changed(before[step][0], item, below, removed, (*path, step))
        if node is not None:
            tree[step] = node
    return tree or None


_LEAF: Fields = {".": {}}


def union(left: Fields, right: Fields) -> Fields:
    """Return the fields in either set."""
    merged = dict(left)
    for step, node in right.items():
        merged[step] = _joined(merged[step], node) if step in merged else node
    return merged


def _joined(left: Fields, right: Fields) -> Fields:
    return union(left or _LEAF, right or _LEAF) if left or right else {}


def without(left: Fields, right: Fields) -> Fields:
    """Return the members of `left` that are not members of `right`."""
    rest: Fields = {}
    for step, node in left.items():
        kept = _minus(node, right[step]) if step in right else node
        if kept is not None:
            rest[step] = kept
    return rest


def _minus(node: Fields, other: Fields) -> Fields | None:
    rest = without({key: item for key, item in (node or _LEAF).items() if key != "."}, other)
    if "." in (node or _LEAF) and "." not in (other or _LEAF):
        return {".": {}, **rest} if rest else {}
    return rest or None


def common(left: Fields, right: Fields) -> list[Path]:
    """Return the paths that are members of both sets."""
    return [path for path in members(left) if has(right, path)]


def members(tree: Fields, path: Path = ()) -> list[Path]:
    """Return every member of a set as a path."""
    found = []
    for step, node in tree.items():
        if step == ".":
            found.append(path)
        elif node:
            found.extend(members(node, (*path, step)))
        else:
            found.append((*path, step))
    return found


def has(tree: Fields, path: Path) -> bool:
    """Return whether a path is a member of the set."""
    node = tree
    for step in path:
        if step not in node:
            return False
        node = node[step]
    return not node or "." in node


def reaches(tree: Fields, path: Path) -> bool:
    """Return whether the set has a member at or below a path."""
    node = tree
    for step in path:
        if step not in node:
            return False
        node = node[step]
    return True


def cut(tree: Fields, path: Path) -> Fields:
    """Return the set without a path and everything below it."""
    step, rest = path[0], path[1:]
    if step not in tree:
        return tree
    result = dict(tree)
    below = cut(result[step], rest) if rest and result[step] else {}
    if below or (rest and not result[step]):
        result[step] = below
    else:
        del result[step]
    return result


def as_text(path: Path) -> str:
    """Write a path as conflict messages do: `.spec.containers[name="web"].image`."""
    said = ""
    for step in path:
        kind, _, name = step.partition(":")
        if kind == "f":
            said += f".{name}"
        elif kind == "k":
            said += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(name).items()) + "]"
        else:
            said += f"[={name}]"
    return said
