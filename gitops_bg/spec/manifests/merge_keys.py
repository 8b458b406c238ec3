"""The keys by which Kubernetes tells the items of lists apart: `+listMapKey` and `patchMergeKey` in k8s.io/api
core/v1. Strategic merge patches and comparisons with live objects both ask here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
_PORT_KEYS = (("containerPort", "protocol"), ("port", "protocol"))
LIST_KEYS = frozenset((*_MERGE_KEYS.values(), *_PORT_KEYS))
"""All of these keys."""


def merge_keys(items: Sequence[Any], field: str) -> tuple[str, ...]:
    """Return the keys by which the items of a list are told apart; empty where they are told apart by their places."""
    if not all(isinstance(item, dict) for item in items):
        return ()
    if field == "ports":
        return next((keys for keys in _PORT_KEYS if all(keys[0] in item for item in items)), ())
    return _MERGE_KEYS.get(field, ())


def item_key(item: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of these keys in an item, comparable."""
    return tuple(repr(item.get(key) or ("TCP" if key == "protocol" else None)) for key in keys)
